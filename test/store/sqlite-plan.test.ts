/**
 * What a page costs must not grow with history: every statement of the lists and
 * of the queue is a search in an index, none sorts, none scans a table that
 * grows.
 */
import t from 'tap'
import { parseQuery } from '../../src/mail/query.js'
import type { LogFilter } from '../../src/store/port/log.js'
import type { EmailFilter } from '../../src/store/port/mail.js'
import { audited, LOOKED } from '../../src/store/sql/audit.js'
import { bounced } from '../../src/store/sql/bounces.js'
import type { ErasePlace } from '../../src/store/sql/erase.js'
import { logReads } from '../../src/store/sql/log/reads.js'
import { emailReads, mailReads } from '../../src/store/sql/mails.js'
import { walk } from '../../src/store/sql/orders.js'
import { answered } from '../../src/store/sql/query.js'
import { depthReads, dueReads, queuePage } from '../../src/store/sql/queue.js'
import { readingReads } from '../../src/store/sql/reading.js'
import { searchReads } from '../../src/store/sql/search/reads.js'
import { indexReads } from '../../src/store/sql/search/tokens.js'
import { statisticsReads } from '../../src/store/sql/statistics.js'
import { tenantReads } from '../../src/store/sql/tenants.js'
import { createBodyStore } from '../../src/store/sqlite/body.js'
import { openReader, openWriter, prepareFile } from '../../src/store/sqlite/connect.js'
import { migrate } from '../../src/store/sqlite/migrate/migrate.js'
import { WORDS } from '../../src/store/sqlite/search.js'
import {
  asking,
  createStatements,
  logEnds,
  MAIL,
  type Statements,
} from '../../src/store/sqlite/statements.js'
import type { WriterVerbs } from '../../src/store/sqlite/thread/wire.js'
import { createWriteContext, type WriteContext } from '../../src/store/sqlite/write/context.js'
import { createVerbs } from '../../src/store/sqlite/write/verbs.js'
import { HOUR, page, T0 } from './fixture.js'

/** Workspaces, pools, their pauses and holds are few, days too, order_state has one row, tags that a mail carries are few. */
const SMALL =
  /SCAN (accounts|workspaces|w|resumes|queue_orders|order_state|o|log_state|s|email_days|carried_bodies|statistics_place|search_(?:state|parts)|alarm_mark|sandbox_place|outages|warmup_days|pools|p|holds|h|pauses|counted|met|pepper|CONSTANT ROW|\d+-ROW VALUES CLAUSE|\(subquery-\d+\))( USING (COVERING )?INDEX \S+)?$/

/** The recipients of one mail are sorted, the events of all mails to one address, and complaints, of which there are few. */
const withinMail = (text: string, detail: string): boolean =>
  (detail === 'USE TEMP B-TREE FOR LAST TERM OF ORDER BY' && text.endsWith('r.first DESC LIMIT ? + 0')) ||
  (detail === 'USE TEMP B-TREE FOR LAST TERM OF ORDER BY' && text.endsWith('r.first ASC LIMIT ? + 0')) ||
  (detail === 'USE TEMP B-TREE FOR ORDER BY' && text.includes('r.address_lc = ?')) ||
  (detail === 'USE TEMP B-TREE FOR DISTINCT' && text.includes('v.scope = ? AND v.kind = ?'))

t.test('reads', async (t) => {
  const file = prepareFile(t.testdir())
  const writer = openWriter(file)
  migrate(writer, T0, '0.0.0')
  const db = openReader(file)
  const statements = createStatements(db)
  const used = new Set<string>()
  const noted = (text: string) => {
    used.add(text)
    return statements(text)
  }
  const sql: Statements = Object.assign(noted, {
    ...{ ask: asking(noted), askLater: statements.askLater },
  })
  const emails = answered({ ...emailReads(MAIL), ...mailReads(MAIL) }, sql.ask)
  const account = db.prepare('SELECT id FROM accounts').pluck().get() as string
  const none: EmailFilter = {
    accountId: account,
    workspaceId: null,
    mode: null,
    status: null,
    to: null,
    tag: null,
    createdAfter: null,
    createdBefore: null,
  }
  const filters: Partial<EmailFilter>[] = [
    {},
    { mode: 'live' },
    { status: 'sent' },
    { to: 'a@b.c' },
    { tag: { name: 'a', value: 'b' } },
    { to: 'a@b.c', tag: { name: 'a', value: 'b' }, status: 'sent', mode: 'test' },
    { createdAfter: 1, createdBefore: 2 },
    { status: 'sent', createdAfter: 1, createdBefore: 2 },
    { to: 'a@b.c', createdAfter: 1 },
  ]
  for (const filter of filters) {
    for (const direction of ['older', 'newer'] as const) {
      for (const anchor of [null, '9']) {
        emails.emails({ ...none, ...filter }, page({ direction, anchor, countUpTo: 10 }))
      }
    }
  }
  emails.email({ accountId: account, workspaceId: null, mode: null }, 'em_0')
  emails.recipient('0')
  void createBodyStore('', sql, () => {}).body('em_0')
  emails.findEmails('a@b.c', 5)
  emails.findEmails('<a@b.c>', 5)
  const log = answered(logReads(MAIL, logEnds), sql.ask)
  log.events('em_0', page({ countUpTo: 10 }))
  const everything = { ...none, accountWide: true, types: null, emailId: null, recipient: null, change: null }
  const logFilters: Partial<LogFilter>[] = [
    {},
    { mode: 'live', change: true },
    { types: ['email.queued', 'email.bounced'] },
    { emailId: 'em_0' },
    { recipient: 'a@b.c', types: ['email.sent'] },
    { createdAfter: 1, createdBefore: 2 },
    { change: false },
    { types: ['email.scheduled'] },
    { emailId: 'em_0', recipient: 'a@b.c' },
  ]
  for (const filter of logFilters) {
    for (const direction of ['older', 'newer'] as const) {
      for (const anchor of [null, '9', '9.1']) {
        log.log({ ...everything, ...filter }, page({ direction, anchor, countUpTo: 10 }))
      }
    }
  }
  log.loggedEvent(account, 'evt_00000000000000000000000000')
  writer.prepare('UPDATE search_state SET place = 9000').run()
  const search = {
    ...answered(searchReads(WORDS), sql.ask),
    ...answered(indexReads, sql.ask),
  }
  for (const q of [
    'receipt',
    'status:sent',
    'reason:spam',
    'is:held',
    'is:complained',
    '-receipt',
    '<a@b.c>',
    'a@b.c',
    'em_00000000000000000000000000',
    'pool:a',
  ]) {
    const parsed = parseQuery(q, { day: Date.parse, time: Date.parse })
    if ('mistake' in parsed) throw new Error(parsed.mistake.message)
    for (const direction of ['older', 'newer'] as const)
      search.searchEmails(
        { ...none, query: parsed.query, subjects: true },
        page({ direction, anchor: '9', countUpTo: 10 }),
      )
  }
  search.notIndexedSince()
  const reading = answered(readingReads(logEnds), sql.ask)
  reading.readPlaces()
  reading.readLog('both', '1', null, 10)
  sql.ask(tenantReads.suppressions('ws_0', null, page({ anchor: '9', countUpTo: 10 })))
  sql.ask(tenantReads.keys(account, page({ direction: 'newer', anchor: '9' })))
  const statistics = answered(statisticsReads, sql.ask)
  sql.ask(dueReads(MAIL.waiting).nextDue())
  sql.ask(depthReads(MAIL.waiting).depth(T0))
  const counted = { mode: 'live', dimension: 'tag', span: 60, from: T0, to: T0 + 2 * HOUR } as const
  statistics.statistics({ ...counted, accountId: account, workspaceId: null, tagName: null }, null)
  statistics.statistics({ ...counted, accountId: null, workspaceId: 'ws_0', tagName: 'kind' }, '[0,-1,""]')
  const scope = { accountId: account, workspaceId: null, poolId: null, domain: null, emailId: null }
  for (const part of ['waiting', 'held', 'leased'] as const)
    sql.ask(walk(MAIL.waiting, scope, [part], null, 10))
  sql.ask(walk(MAIL.waiting, { ...scope, emailId: 'em_0' }, ['waiting'], null, 10))
  // a range of the queue is read only where there is something in it
  const waits = writer.prepare(
    `INSERT INTO recipients (id, workspace, pool, kind, status, updated_at, queued_at, due_at, held, written, address_lc, email_ord)
     SELECT ?, w.n, p.n, 'to', 'queued', 0, 0, ?, ?, 'a@b.c', 'a@b.c', 1 FROM workspaces w, pools p LIMIT 1`,
  )
  waits.run('1', 1, null)
  waits.run('2', null, 'hold_0')
  for (const direction of ['older', 'newer'] as const) {
    for (const part of ['waiting', 'leased', 'held']) {
      for (const poolId of [null, db.prepare('SELECT id FROM pools').pluck().get() as string]) {
        const anchor = JSON.stringify(['after', part, part === 'held' ? 'hold_0' : 1, '0'])
        for (const at of [null, anchor])
          sql.ask(
            queuePage(MAIL.waiting, { ...scope, poolId }, page({ direction, anchor: at, countUpTo: 10 })),
          )
      }
    }
  }
  t.ok(used.size > 30)
  for (const text of used) {
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all(...(text.match(/\?/g) ?? []).map(() => null)) as {
      detail: string
    }[]
    for (const { detail } of plan) {
      const leased =
        /boot IS NOT NULL/.test(text) && /recipients_leased|TEMP B-TREE FOR GROUP BY/.test(detail)
      t.ok(
        /^(SEARCH|CO-ROUTINE|CORRELATED|SCALAR|LEFT)/.test(detail) ||
          SMALL.test(detail) ||
          leased ||
          /^SCAN search_\d+ VIRTUAL TABLE/.test(detail) ||
          withinMail(text, detail),
        `${detail} in ${text.replace(/\s+/g, ' ').slice(0, 90)}`,
      )
    }
  }
  db.close()
  writer.close()
})

const KEEP = { bodiesMs: HOUR, emailsMs: HOUR, logMs: HOUR, reportsMs: HOUR }

/** Shared verbs prepare what they ask for only when they do. */
const useSome = (context: WriteContext, verbs: WriterVerbs): void => {
  const { db, sql } = context
  const { id, account_id } = db.prepare('SELECT id, account_id FROM workspaces').get() as Record<
    string,
    string
  >
  const [workspaceId, accountId] = [String(id), String(account_id)]
  db.exec('BEGIN')
  context.order.begin()
  for (let i = 0; i < 25; i++) {
    const ids = { id: `sup_${i}`, accountId, list: workspaceId, email: `${i}@b.c`, sourceId: null }
    const row = { ...ids, origin: 'bounce', reason: null, expiresAt: null, createdAt: T0 } as const
    verbs.addHardBounce({ row, recipientId: `rcp_${i}`, upstreamId: 'up_1', said: '550' })
  }
  const incident = String(db.prepare('SELECT id FROM incidents WHERE account_id = ?').pluck().get(accountId))
  verbs.decideStep(accountId, incident, 'accepted', T0, true)
  const count = { workspaceId, span: T0, tried: 1, complaints: 0, hardBounces: 0, deferrals: 0 }
  verbs.keepRead({ to: '1', alarms: { from: null, counts: [count], now: T0 } })
  verbs.noteOutage('up_1', T0, null)
  verbs.noteOutage('up_1', null, null)
  const counted = { span: 60, at: T0, mode: 'live', dimension: 'tag', counts: [1, 1] } as const
  const rows = Array.from({ length: 700 }, (_, i) => ({ ...counted, workspaceId, value: `kind\n${i}` }))
  verbs.keepRead({ to: '1', statistics: { from: null, rows } })
  const { takenBy, bouncesOf } = bounced(MAIL)
  sql.ask(takenBy('rcp_1'))
  sql.ask(bouncesOf({ emailId: 'em_1', workspace: 1, address: 'a@b.c' }, 'mailbox_full', T0))
  for (const { columns, name } of Object.values(LOOKED)) sql(`SELECT ${columns} FROM ${name} WHERE id = ?`)
  const audit = audited(LOOKED, { places: context.order, now: () => T0 })
  const acting = { actor: { kind: 'cli', id: 'cli:0', name: null, address: null }, entry: 'aud_1' } as const
  for (let n = 0; n < 2; n++)
    sql.ask(sql.ask(audit('addJob', [{ accountId, id: 'job_1', q: null }], acting))(undefined))
  verbs.sweepStep(T0 + 1000 * HOUR, KEEP)
  for (let place: ErasePlace | null = null, again = true; again; )
    ({ place, again } = verbs.eraseStep(workspaceId, T0, place))
  db.exec('COMMIT')
}

t.test('writes', async (t) => {
  const db = openWriter(prepareFile(t.testdir()))
  migrate(db, T0, '0.0.0')
  const used: string[] = []
  const prepare = db.prepare.bind(db)
  db.prepare = ((text: string) => {
    used.push(text)
    return prepare(text)
  }) as typeof db.prepare
  const context = createWriteContext(db)
  useSome(context, createVerbs(context))
  /** Walks from the oldest row or the newest with a limit, small tables (posts that wait, replays), and the leases of this moment. */
  const allowed =
    /LIMIT 200|LIMIT 100000\)|FROM (order_state|search_state|search_spans|search_parts|email_days|carried_bodies|sessions|suppressions|rate_windows|workspaces)|boot (= \?|IS NOT NULL)|UPDATE (order_state|search_state|log_state|posts|webhook_places)|FROM replays|'pepper' AS id/
  for (const text of used.filter((one) => /^\s*(SELECT|UPDATE|DELETE)/.test(one))) {
    const names = (text.match(/@\w+/g) ?? []).map((name) => [name.slice(1), null])
    const values = names.length > 0 ? [Object.fromEntries(names)] : (text.match(/\?/g) ?? []).map(() => null)
    const plan = prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values) as { detail: string }[]
    for (const { detail } of plan) {
      t.ok(
        !/^SCAN|TEMP B-TREE/.test(detail) ||
          SMALL.test(detail) ||
          allowed.test(text) ||
          /VIRTUAL TABLE/.test(detail),
        `${detail} in ${text.replace(/\s+/g, ' ').slice(0, 90)}`,
      )
    }
  }
  db.close()
})
