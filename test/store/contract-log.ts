/**
 * NAME      contract-log - one log, whoever reads it and how
 * DESCRIPTION
 *   Whatever is committed in whatever order, each reader sees each record that is
 *   for it once, and all see them in one order: those who follow in steps of any
 *   size, those who poll pages, and those who walk back from the top.
 */
import fc from 'fast-check'
import type { Test } from 'tap'
import { isId, newId, newRecipientId } from '../../src/base/id.js'
import type { EventType } from '../../src/mail/event-type.js'
import type { LogFilter, LogRow, WholeLog } from '../../src/store/port/log.js'
import type { Store } from '../../src/store/port/store.js'
import { eventually } from '../parts/eventually.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  follow,
  HOUR,
  mailFor,
  newAccount,
  type OpenStore,
  ofLease,
  outcome,
  page,
  report,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

export const logFilter = (at: TestAccount, over: Partial<LogFilter> = {}): LogFilter => ({
  accountId: at.accountId,
  workspaceId: at.workspace.id,
  accountWide: false,
  mode: null,
  types: null,
  emailId: null,
  recipient: null,
  change: null,
  createdAfter: null,
  createdBefore: null,
  ...over,
})

const told = (row: LogRow): string => `${row.type} ${row.recipient ?? JSON.stringify(row.data)} ${row.id}`

/** All records that a filter shows, the newest first. */
const walked = async (store: Store, filter: LogFilter, limit = 7): Promise<LogRow[]> => {
  const rows: LogRow[] = []
  for (let anchor: string | null = null; ; ) {
    const got = await store.log(filter, page({ limit, anchor }))
    rows.push(...got.rows)
    if (!got.hasOlder) return rows
    anchor = got.older
  }
}

interface Reader {
  readonly seen: LogRow[]
  step(limit: number): Promise<boolean>
}

const follower = async (store: Store, filter: LogFilter | WholeLog | null): Promise<Reader> => {
  const seen: LogRow[] = []
  let mark = (await store.logEnds()).newest
  return {
    seen,
    async step(limit) {
      const got = await follow(store, filter, mark, limit)
      if (got === 'gone') throw new Error('gone')
      seen.push(...got.rows)
      mark = got.mark
      return !got.isEnd
    },
  }
}

const poller = async (store: Store, filter: LogFilter): Promise<Reader> => {
  const seen: LogRow[] = []
  let anchor = (await store.log(filter, page())).newer
  return {
    seen,
    async step(limit) {
      const got = await store.log(filter, page({ limit, direction: 'newer', anchor }))
      seen.push(...[...got.rows].reverse())
      anchor = got.newer
      return got.hasNewer
    },
  }
}

/** What may be committed; each move is one or a few verbs. */
const MOVES = [
  'mail',
  'crowd',
  'later',
  'suppressed',
  'attempt',
  'report',
  'forged',
  'hold',
  'notice',
] as const
type Move = (typeof MOVES)[number]

const createMoves = (store: Store, at: TestAccount) => {
  const ids: string[] = []
  let n = 0
  const to = (over = {}) => {
    const one = toOne(`u${n++ % 5}@example.com`, over)
    ids.push(one.id)
    return one
  }
  const scope = {
    ...{ accountId: at.accountId, workspaceId: at.workspace.id },
    poolId: null,
    domain: null,
    emailId: null,
  }
  const moves: Record<Move, () => Promise<unknown>> = {
    mail: () => accepted(store, at, { recipients: [to()] }),
    crowd: () => accepted(store, at, { recipients: [to(), to(), to(), to()], mode: n % 2 ? 'live' : 'test' }),
    later: () => accepted(store, at, { recipients: [to(), to()], scheduledAt: T0 + 48 * HOUR }),
    suppressed: () => accepted(store, at, { recipients: [to(), to({ suppressed: true })] }),
    async attempt() {
      const claimed = await store.claim(at.poolId, 2, T0 + HOUR, T0 + n)
      await store.settle(
        claimed.map((one, i) => (i === 0 ? ofLease(one) : ofLease(one, { seen: 'postponed', retryAt: T0 }))),
      )
    },
    report: () =>
      store.settle(ids.slice(-3).map((id) => report(id, { seen: 'dsn-delivered', dedupe: `d${n++}` }))),
    forged: () =>
      store.settle(
        ids.slice(-2).map((id) => report(id, { seen: 'dsn-failed', trusted: false, dedupe: `f${n++}` })),
      ),
    async hold() {
      const hold = {
        ...scope,
        id: newId('hold'),
        owner: 'operator' as const,
        reason: 'a test',
        createdAt: T0,
      }
      await store.hold(hold)
      await store.operate({ action: 'release', scope, to: null, reason: 'a test', now: T0 })
    },
    notice: () =>
      store.addNotice({
        type: n % 2 ? 'suppression.added' : 'upstream.down',
        accountId: at.accountId,
        workspaceId: n % 2 ? at.workspace.id : null,
        mode: 'live',
        now: T0,
        data: { n: n++ },
      }),
  }
  return (move: Move) => moves[move]()
}

const FILTERS: readonly Partial<LogFilter>[] = [
  {},
  { workspaceId: null, accountWide: true },
  { mode: 'test' },
  { change: true },
  { change: false },
  { types: ['email.queued'] },
  { types: ['email.scheduled', 'email.bounced', 'upstream.down'], accountWide: true },
  { recipient: 'U1@example.com' },
]

const matches = (filter: LogFilter, row: LogRow): boolean =>
  (filter.workspaceId === null ||
    row.workspaceId === filter.workspaceId ||
    (filter.accountWide && row.workspaceId === null)) &&
  (filter.accountWide || row.workspaceId !== null) &&
  (filter.mode === null || row.mode === filter.mode) &&
  (filter.change === null || row.change === filter.change) &&
  (filter.types === null || filter.types.includes(row.type)) &&
  (filter.recipient === null || row.recipient?.toLowerCase() === filter.recipient.toLowerCase())

type Hop = { readonly reader: number; readonly limit: number }

/** Of all accounts. */
const ENDS: WholeLog = { types: ['email.sent', 'email.bounced', 'email.complained'] }
const TEST_ENDS: WholeLog = { ...ENDS, mode: 'test' }
const LIVE: WholeLog = { types: null, mode: 'live' }

const readers = async (store: Store, at: TestAccount): Promise<Reader[]> => [
  await follower(store, null),
  ...(await Promise.all(FILTERS.map((over) => follower(store, logFilter(at, over))))),
  ...(await Promise.all(FILTERS.map((over) => poller(store, logFilter(at, over))))),
  await follower(store, LIVE),
  await follower(store, TEST_ENDS),
  await follower(store, ENDS),
]

/** Each reader has seen what the one who reads everything has seen, and nothing else. */
const agree = async (t: Test, store: Store, at: TestAccount, all: readonly Reader[]): Promise<void> => {
  for (const reader of all) while (await reader.step(50)) {}
  const everything = (all[0]?.seen ?? []).filter((row) => row.accountId === at.accountId)
  t.equal(new Set(everything.map((row) => row.id)).size, everything.length, 'ids are unique')
  const ends = all.at(-1)?.seen.filter((row) => row.accountId === at.accountId)
  const wanted = everything.filter(({ type }) => (ENDS.types as readonly string[]).includes(type))
  t.same(ends?.map(told), wanted.map(told), 'followed by type, whosever it is')
  const tests = all.at(-2)?.seen.filter((row) => row.accountId === at.accountId)
  t.same(
    tests?.map(told),
    wanted.filter(({ mode }) => mode === 'test').map(told),
    'followed by type and mode',
  )
  const live = all.at(-3)?.seen.filter((row) => row.accountId === at.accountId)
  t.same(
    live?.map(told),
    everything.filter(({ mode }) => mode === 'live').map(told),
    'followed by mode, first events too',
  )
  for (const [i, over] of FILTERS.entries()) {
    const filter = logFilter(at, over)
    const wanted = everything.filter((row) => matches(filter, row)).map(told)
    const what = JSON.stringify(over)
    t.same(all[1 + i]?.seen.map(told), wanted, `followed ${what}`)
    t.same(all[1 + FILTERS.length + i]?.seen.map(told), wanted, `polled ${what}`)
    t.same((await walked(store, filter)).reverse().map(told), wanted, `walked back ${what}`)
    const counted = await store.log(filter, page({ limit: 1, countUpTo: 10_000 }))
    t.equal(counted.total, wanted.length)
  }
}

const interleaved = async (t: Test, store: Store): Promise<void> => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          { weight: 2, arbitrary: fc.constantFrom(...MOVES) },
          {
            weight: 3,
            arbitrary: fc.record({
              reader: fc.nat(2 * FILTERS.length),
              limit: fc.integer({ min: 1, max: 6 }),
            }),
          },
        ),
        { minLength: 10, maxLength: 60 },
      ),
      async (script: readonly (Move | Hop)[]) => {
        const at = await newAccount(store)
        const all = await readers(store, at)
        const move = createMoves(store, at)
        for (const one of script) {
          if (typeof one === 'string') await move(one)
          else await all[one.reader]?.step(one.limit)
        }
        await agree(t, store, at, all)
      },
    ),
    { numRuns: 25 },
  )
}

const kinds = (rows: readonly LogRow[]): readonly [EventType, boolean][] =>
  rows.map((row) => [row.type, row.change])

const changesAndNotes = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const mail = await accepted(store, at)
  const [one] = mail.recipients
  const id = one?.id ?? ''
  await store.settle([report(id, { seen: 'dsn-failed', trusted: false, dedupe: `forged ${id}` })])
  const scope = {
    accountId: at.accountId,
    workspaceId: at.workspace.id,
    poolId: null,
    domain: null,
    emailId: null,
  }
  await store.hold({ ...scope, id: newId('hold'), owner: 'operator', reason: 'look', createdAt: T0 })
  await store.operate({ action: 'release', scope, to: null, reason: 'done', now: T0 })
  for (let n = 1; n <= 20; n++) {
    const claimed = await claimOne(store, at, T0 + n)
    await store.settle([ofLease(claimed, { seen: 'postponed', retryAt: T0 + n, at: T0 + n })])
  }
  await store.settle([report(id, { seen: 'complained', source: 'arf', dedupe: `complaint ${id}` })])
  await store.settle([report(id, { seen: 'reported', source: 'arf', dedupe: `feedback ${id}` })])
  const rows = (await walked(store, logFilter(at))).reverse()
  t.same(kinds(rows.slice(0, 5)), [
    ['email.queued', true],
    ['email.bounced', false],
    ['email.held', false],
    ['email.released', false],
    ['email.deferred', true],
  ])
  t.same(kinds(rows.slice(5, 24)), Array(19).fill(['email.deferred', false]))
  t.same(kinds(rows.slice(24)), [
    ['email.complained', true],
    ['email.reported', false],
  ])
  t.equal(rows[1]?.applied, false)
}

const firstEvents = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const mail = await accepted(store, at, {
    recipients: [toOne('a@x.test'), toOne('b@x.test', { suppressed: true }), toOne('c@x.test')],
    tags: [{ name: 'kind', value: 'receipt' }],
  })
  const rows = await walked(store, logFilter(at), 2)
  t.same(rows.map((row) => [row.type, row.recipient, row.source]).sort(), [
    ['email.bounced', 'b@x.test', 'system'],
    ['email.queued', 'a@x.test', 'api'],
    ['email.queued', 'c@x.test', 'api'],
  ])
  const events = (await store.events(mail.id, page())).rows
  t.same(
    events.map(({ id }) => id),
    rows.map(({ id }) => id),
    'the timeline has the same',
  )
  for (const row of rows) {
    t.ok(isId('evt', row.id), row.id)
    t.match(await store.loggedEvent(at.accountId, row.id), {
      id: row.id,
      type: row.type,
      mail: { id: mail.id },
    })
    t.equal(await store.loggedEvent(newId('acct'), row.id), null, 'not of another account')
    const digit = row.id.at(-1) === '0' ? '1' : '0'
    t.equal(
      await store.loggedEvent(at.accountId, `${row.id.slice(0, -1)}${digit}`),
      null,
      'nor by half an id',
    )
  }
  t.match(rows[0]?.mail, {
    from: mail.from,
    subject: mail.subject,
    messageId: mail.messageId,
    tags: mail.tags,
  })
  for (const none of [
    '',
    'evt_',
    'em_1',
    newId('evt'),
    `evt_${'z'.repeat(26)}`,
    `evt_${newRecipientId()}0000000000`,
  ]) {
    t.equal(await store.loggedEvent(at.accountId, none), null, none)
  }
}

const whose = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const other = await addWorkspace(store, at, 'log-other')
  const stranger = await newAccount(store)
  await accepted(store, at)
  await accepted(store, other, { mode: 'test' })
  await accepted(store, stranger)
  const notice = { accountId: at.accountId, mode: 'live' as const, now: T0, data: { domain: 'a.test' } }
  await store.addNotice({
    ...notice,
    type: 'domain.verified',
    workspaceId: null,
    dedupe: `whose ${at.accountId}`,
  })
  t.equal(
    await store.addNotice({
      ...notice,
      type: 'domain.verified',
      workspaceId: null,
      dedupe: `whose ${at.accountId}`,
    }),
    null,
  )
  const seen = async (over: Partial<LogFilter>) =>
    (await walked(store, logFilter(at, over))).map(({ type }) => type)
  t.same(await seen({}), ['email.queued'])
  t.same(await seen({ workspaceId: null }), ['email.queued', 'email.queued'])
  t.same(await seen({ workspaceId: null, accountWide: true }), [
    'domain.verified',
    'email.queued',
    'email.queued',
  ])
  t.same(await seen({ workspaceId: null, mode: 'test', accountWide: true }), ['email.queued'])
}

const retention = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const at = await newAccount(store)
  const began = (await store.logEnds()).newest
  await accepted(store, at)
  await store.addNotice({
    type: 'domain.failed',
    accountId: at.accountId,
    workspaceId: null,
    mode: 'live',
    now: T0,
    data: {},
  })
  t.match(await follow(store, null, began, 10), {
    rows: [{ type: 'email.queued' }, { type: 'domain.failed' }],
    isEnd: true,
  })
  const keep = { bodiesMs: 90 * 24 * HOUR, emailsMs: 90 * 24 * HOUR }
  await store.sweep(Date.now(), { ...keep, logMs: 30 * 24 * HOUR })
  t.not(await follow(store, null, began, 10), 'gone', 'young enough')
  await store.sweep(Date.now() + 1, { ...keep, logMs: -HOUR })
  t.equal(await follow(store, null, began, 10), 'gone')
  const { oldest } = await store.logEnds()
  t.match(await follow(store, null, oldest, 10), { rows: [], isEnd: true })
  const left = await walked(store, logFilter(at, { workspaceId: null, accountWide: true }))
  t.same(
    left.map(({ type }) => type),
    ['email.queued'],
    'a mail keeps its events, and what has no mail is gone',
  )
}

/** From every page that is walked back to, the pages forward bring what is newer, and nothing that it has shown. */
export const backAndForth = async (t: Test, store: Store, other = store): Promise<void> => {
  const at = await newAccount(store)
  const filter = logFilter(at)
  const [move, moveOther] = [createMoves(store, at), createMoves(other, at)]
  const moves: readonly Move[] = ['mail', 'crowd', 'attempt', 'report']
  for (const one of moves) {
    await move(one)
    await moveOther('crowd')
  }
  const pages: { readonly newer: string; readonly limit: number; readonly top: string }[] = []
  for (const limit of [3, 7, 50])
    for (let anchor: string | null = null, hasOlder = true; hasOlder; ) {
      const got = await store.log(filter, page({ limit, anchor }))
      const top = got.rows[0]?.id
      if (top !== undefined) pages.push({ newer: got.newer, limit, top })
      ;({ hasOlder, older: anchor } = got)
    }
  const ids = async () => (await walked(store, filter)).map(({ id }) => id)
  const before = await ids()
  for (const by of [moveOther, move]) await by('crowd')
  const all = await ids()
  for (const { newer, limit, top } of pages) {
    const old = new Set(before.slice(before.indexOf(top)))
    const wanted = all.filter((id) => !old.has(id)).reverse()
    const seen: string[] = []
    let anchor = newer
    const goOn = async (): Promise<boolean> => {
      const got = await store.log(filter, page({ limit, direction: 'newer', anchor }))
      seen.push(...got.rows.map(({ id }) => id).reverse())
      anchor = got.newer
      return got.hasNewer ? goOn() : seen.length >= wanted.length
    }
    await eventually('it comes to the end', goOn)
    t.same(seen, wanted, `forward from ${newer} in pages of ${limit}`)
  }
}

export const logContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('every reader sees every record once, in one order', (t) => interleaved(t, store))
  await t.test('nothing comes twice to whoever goes back and forth', (t) => backAndForth(t, store))
  await t.test('changes are told apart from notes', (t) => changesAndNotes(t, store))
  await t.test('first events are like the others', (t) => firstEvents(t, store))
  await t.test('whose a record is', (t) => whose(t, store))
  await t.test('a mark is told from other text', async (t) => {
    t.ok(store.isMark((await store.logEnds()).newest))
    t.notOk(store.isMark('yesterday'))
  })
  await t.test('how far back it can be followed', (t) => retention(t, open))
  await t.test('a thousand records of one moment', async (t) => {
    const at = await newAccount(store)
    const mails = Array.from({ length: 100 }, () =>
      mailFor(at, { recipients: Array.from({ length: 10 }, (_, i) => toOne(`r${i}@x.test`)) }),
    )
    await store.accept({ mails, idempotency: null, now: T0 })
    for (const limit of [1, 7, 100]) {
      const rows = await walked(store, logFilter(at), limit)
      t.equal(new Set(rows.map(({ id }) => id)).size, 1000, `in pages of ${limit}`)
      t.equal(rows.length, 1000)
    }
    await store.settle(mails.flatMap(({ recipients }) => recipients.map(({ id }) => outcome(id))))
  })
}
