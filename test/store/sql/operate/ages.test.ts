/** What SQLite counts in steps is what counting row by row finds. */
import { join } from 'node:path'
import t from 'tap'
import { AGE_EDGES, QUEUE_GROUPS, type QueueAge } from '../../../../src/store/port/operations.js'
import { queueAges } from '../../../../src/store/sql/schedule.js'
import { openWriter } from '../../../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../../../src/store/sqlite/open.js'
import { createStatements } from '../../../../src/store/sqlite/statements.js'
import { accepted, addWorkspace, newAccount, T0, toOne } from '../../fixture.js'

const MAILS = 40
const NOW = T0 + 2 * 86_400_000
const HOSTS = ['"a@b"@x.test', 'ana@x.test', 'ben@y.test', 'me@localhost']

const ageOf = (queuedAt: number): number => {
  const at = AGE_EDGES.findIndex((edge) => NOW - queuedAt < edge)
  return at < 0 ? AGE_EDGES.length : at
}

t.test('by steps of any length', async (t) => {
  const dataDir = t.testdir()
  const store = openSqliteStore({ dataDir, daemon: false })
  await store.open()
  const at = await newAccount(store)
  const places = [at, await addWorkspace(store, at, 'second')]
  const other = await newAccount(store)
  for (let i = 0; i < MAILS; i++) {
    const recipients = [toOne(HOSTS[i % HOSTS.length] ?? '')]
    await accepted(store, places[i % 2] ?? at, { recipients })
  }
  await accepted(store, other)
  await store.close()

  const db = openWriter(join(dataDir, 'postern.db'))
  const change = db.prepare(
    'UPDATE recipients SET queued_at = ?, due_at = ?, boot = ?, status = ?, last_response = ? WHERE id = ?',
  )
  const ids = db.prepare('SELECT id FROM recipients ORDER BY id').pluck().all() as string[]
  ids.forEach((id, i) => {
    const isUnderWay = i % 11 === 0
    const status = i % 7 === 0 && !isUnderWay ? 'scheduled' : 'queued'
    // half of them fall due at the same moment
    const due = isUnderWay ? null : i % 2 === 0 ? NOW : NOW + i
    change.run(NOW - i * i * 60_000, due, isUnderWay ? 1 : null, status, i % 3 === 0 ? `451 ${i}` : null, id)
  })

  const sql = createStatements(db)
  const numbers = new Map(db.prepare('SELECT n, id FROM workspaces').raw().all() as [number, string][])
  const pools = new Map(db.prepare('SELECT n, id FROM pools').raw().all() as [number, string][])
  const rows = db.prepare('SELECT * FROM recipients').all() as Record<string, number | string | null>[]
  const ours = rows.filter((row) =>
    places.some(({ workspace }) => workspace.id === numbers.get(row.workspace as number)),
  )
  const keyOf = {
    pool: (row: (typeof rows)[number]) => pools.get(row.pool as number) ?? '',
    workspace: (row: (typeof rows)[number]) => numbers.get(row.workspace as number) ?? '',
    domain: (row: (typeof rows)[number]) => String(row.address_lc).replace(/^.*@/, ''),
  }
  const open = ours.filter(({ status }) => status !== 'scheduled')
  const of = { accountId: at.accountId, workspaceId: null }
  const sorted = (all: readonly QueueAge[]) => [...all].sort((a, b) => (a.key < b.key ? -1 : 1))

  for (const by of QUEUE_GROUPS) {
    const keys = [...new Set(open.map(keyOf[by]))].sort()
    const wanted = keys.map((key) => {
      const these = open.filter((row) => keyOf[by](row) === key)
      const due = these.flatMap(({ due_at }) => (due_at === null ? [] : [due_at as number]))
      return {
        key,
        recipients: these.length,
        ages: [0, 1, 2, 3, 4].map((n) => these.filter((row) => ageOf(row.queued_at as number) === n).length),
        oldestAt: Math.min(...these.map((row) => row.queued_at as number)),
        nextDueAt: Math.min(...due),
      }
    })
    for (const step of [1, 3, 1_000]) {
      const found = sql.ask(queueAges('recipients', of, by, 1_000, NOW, step))
      t.match(sorted(found.rows), wanted, `by ${by}, ${step} at a time`)
      t.match(found, { complete: true, scheduled: ours.length - open.length, rows: { length: keys.length } })
      for (const { lastResponse } of found.rows) t.match(lastResponse, /^451 \d+$/)
    }
  }

  const few = sql.ask(queueAges('recipients', of, 'pool', 10, NOW, 3))
  t.match(few, { complete: false }, 'no more than it was told')
  t.ok(few.scheduled + (few.rows[0]?.recipients ?? 0) <= 10)
  const hidden = sql.ask(queueAges('recipients', { ...of, liveOnly: true }, 'pool', 1_000, NOW))
  t.same(hidden, { rows: [], scheduled: 0, scheduledOf: {}, complete: true }, 'nothing of the sandbox')
  db.close()
})
