/**
 * The SQLite store and the model, side by side: random sequences of verbs over two handles each, with
 * crashes, steps of the clock and sweeps. After each step the answers are equal, and so is all that can be read.
 * What is in SEEDS is run each time; POSTERN_RUNS adds so many others, and a failure prints its seed.
 * Times are years away from the wall clock, so what an engine stamps by it is known and left out.
 */
import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { newId, newRecipientId } from '../../src/base/id.js'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { OBSERVATIONS } from '../../src/mail/status.js'
import { beginningOf, freshPool } from '../../src/store/built-in.js'
import { createMemory, openMemoryStore } from '../../src/store/memory/open.js'
import type { Store } from '../../src/store/port/store.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { addWorkspace, HOUR, mailFor, outcome, page, type TestAccount, toOne } from './fixture.js'

const START = Date.UTC(2031, 0, 1)
const RUNS = Number(process.env.POSTERN_RUNS ?? 0)
const SEEDS: readonly number[] = [1, 2, 3, 4, 5, 6]

const MOVES = [
  ...(['accept', 'accept', 'accept', 'claim', 'claim', 'claim', 'attempting', 'settle', 'settle'] as const),
  ...(['release', 'reschedule', 'cancel', 'hold', 'operate', 'suppress', 'reroute', 'suspend'] as const),
  ...(['resume', 'sweep', 'wait', 'step', 'start', 'crash', 'key', 'pages', 'log', 'recover'] as const),
] as const

interface Move {
  readonly kind: (typeof MOVES)[number]
  /** Which of the two handles. */
  readonly by: 0 | 1
  readonly a: number
  readonly b: number
  readonly c: number
}

interface World {
  now: number
  readonly accounts: readonly TestAccount[]
  readonly pools: readonly string[]
  readonly mails: string[]
  readonly people: string[]
  readonly leases: Claimed[]
  readonly holds: string[]
  keys: number
}

/** What is stamped by the wall clock becomes one word; ids of events and marks are each engine's own. */
const plain = (value: unknown): unknown => {
  if (typeof value === 'number') return Math.abs(value - Date.now()) < 30 * 24 * HOUR ? 'now' : value
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value
  const own = ['updatedAt', 'older', 'newer', 'mark']
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, field]) => !own.includes(key) && !String(field).startsWith('evt_'))
      .map(([key, field]) => [key, plain(field)]),
  )
}

type Verb<Answer> = (store: Store) => Promise<Answer>

class Pair {
  readonly #memory = createMemory()
  #sqlite: Store[] = []
  #model: Store[] = []
  constructor(private readonly dataDir: string) {}
  async open(): Promise<void> {
    this.#sqlite = [true, false].map((daemon) => openSqliteStore({ dataDir: this.dataDir, daemon }))
    this.#model = [openMemoryStore(this.#memory), openMemoryStore(this.#memory)]
    for (const store of [...this.#sqlite, ...this.#model]) await store.open()
  }
  async close(): Promise<void> {
    for (const store of [...this.#sqlite, ...this.#model].reverse()) await store.close()
  }
  /** Asks both; the answer of SQLite. */
  async ask<Answer>(verb: Verb<Answer>, by: 0 | 1 = 0): Promise<Answer> {
    const answer = await verb(this.#sqlite[by] as Store)
    deepStrictEqual(plain(await verb(this.#model[by] as Store)), plain(answer))
    return answer
  }
}

const scopeOf = ({ accounts }: World, a: number) => {
  const { accountId, workspace } = accounts[a % accounts.length] as TestAccount
  return {
    accountId,
    workspaceId: a % 3 === 0 ? null : workspace.id,
    poolId: null,
    domain: null,
    emailId: null,
  }
}

const accept = (world: World, { a, b, c }: Move): Verb<unknown> => {
  const at = world.accounts[a % world.accounts.length] as TestAccount
  const recipients = Array.from({ length: 1 + (b % 3) }, (_, i) =>
    toOne(`${'abcd'[(a + i) % 4]}@${c % 2 ? 'x' : 'y'}.test`, {
      id: newRecipientId(),
      suppressed: (b + i) % 9 === 0,
    }),
  )
  const mail = mailFor(at, {
    ...{ createdAt: world.now, recipients, poolId: world.pools[c % world.pools.length] as string },
    ...{
      mode: a % 5 === 0 ? 'test' : 'live',
      source: b % 2 ? 'smtp' : 'api',
      mailFrom: b % 2 ? 's@x.test' : null,
    },
    ...(c % 4 === 0 && { scheduledAt: world.now + (b % 5) * HOUR }),
  })
  world.mails.push(mail.id)
  world.people.push(...recipients.map(({ id }) => id))
  const { now } = world
  return (store) => store.accept({ mails: [mail], idempotency: null, now })
}

const settle = (world: World, { a, b, c }: Move): Verb<unknown> => {
  const lease = world.leases[a % Math.max(1, world.leases.length)]
  const seen = OBSERVATIONS[b % OBSERVATIONS.length] as (typeof OBSERVATIONS)[number]
  const recipientId = lease?.recipientId ?? world.people[a % Math.max(1, world.people.length)] ?? 'none'
  const isOurs = lease !== undefined && ['accepted', 'postponed', 'rejected', 'expired'].includes(seen)
  const one = outcome(recipientId, {
    ...{ seen, at: world.now, source: isOurs ? 'smtp' : 'dsn', trusted: isOurs || c % 7 !== 0 },
    ...(isOurs && { leaseGen: lease.leaseGen, attempt: lease.attempts + 1 }),
    retryAt: seen === 'postponed' && c % 3 !== 0 ? world.now + (c % 6) * HOUR : null,
    deadline: seen === 'dsn-delayed' ? world.now + 5 * HOUR : null,
    dedupe: c % 2 ? `k${a % 5}` : null,
    reply: { code: 450, enhanced: '4.2.1', text: `said ${c}` },
  })
  return (store) => store.settle([one])
}

const ACTIONS = ['release', 'retry', 'reroute', 'purge'] as const

const verbOf = (world: World, move: Move): Verb<unknown> => {
  const { now } = world
  const { kind, a, b, c } = move
  const mail = world.mails[a % Math.max(1, world.mails.length)] ?? 'em_none'
  const lease = world.leases[a % Math.max(1, world.leases.length)]
  const at = world.accounts[b % world.accounts.length] as TestAccount
  const viewer = { accountId: at.accountId, workspaceId: null, mode: null }
  const pool = world.pools[c % world.pools.length] as string
  switch (kind) {
    case 'accept':
      return accept(world, move)
    case 'settle':
      return settle(world, move)
    case 'attempting':
      return async (store) =>
        lease && store.attempting([{ ...lease, attempt: lease.attempts + 1, upstreamId: 'up_1', at: now }])
    case 'release':
      return async (store) => lease && store.release([lease], now + (b % 3) * HOUR)
    case 'reschedule':
      return (store) => store.reschedule(viewer, mail, now + (c % 5) * HOUR, now)
    case 'cancel':
      return (store) => store.cancel(viewer, mail, now)
    case 'hold': {
      const id = newId('hold')
      const scope = {
        ...scopeOf(world, a),
        poolId: b % 2 ? pool : null,
        domain: c % 3 === 0 ? 'x.test' : null,
      }
      world.holds.push(id)
      return (store) => store.hold({ ...scope, id, reason: 'x', owner: 'operator', createdAt: now })
    }
    case 'operate': {
      const action = ACTIONS[b % ACTIONS.length] as (typeof ACTIONS)[number]
      const hold =
        action === 'release' && c % 2 ? (world.holds[a % Math.max(1, world.holds.length)] ?? null) : null
      const scope = scopeOf(world, a)
      return (store) => store.operate({ action, scope, hold, to: pool, reason: 'y', now })
    }
    case 'suppress': {
      const email = `${'abcd'[a % 4]}@x.test`
      const row = { id: newId('sup'), accountId: at.accountId, workspaceId: at.workspace.id, email }
      const more = {
        origin: 'manual',
        sourceId: null,
        reason: null,
        expiresAt: c % 2 ? now + HOUR : null,
      } as const
      return b % 4 === 0
        ? (store) => store.removeSuppression(at.workspace.id, email)
        : async (store) => (await store.addSuppression({ ...row, ...more, createdAt: now })).email
    }
    case 'reroute':
      return (store) => {
        const from = { poolId: at.poolId, routes: [] }
        const moving = { accountId: at.accountId, from, to: { poolId: pool, routes: [] }, now }
        return store.updateWorkspace(at.workspace.id, { poolId: pool }, moving)
      }
    case 'suspend':
      return (store) => store.suspendWorkspace(at.workspace, 'unpaid', now)
    case 'resume':
      return (store) => store.resumeWorkspace(at.workspace.id, now)
    case 'sweep':
      return (store) => store.sweep(now, { bodiesMs: 24 * HOUR, emailsMs: 48 * HOUR })
    case 'step':
      return (store) => store.adjustTimes(now, ((a % 9) - 4) * HOUR || HOUR, 4 * HOUR)
    case 'start':
      return (store) => store.adjustTimes(now, 0, 4 * HOUR)
    case 'key': {
      const claim = {
        workspaceId: at.workspace.id,
        mode: 'live',
        key: `k${a % 3}`,
        fingerprint: `f${b % 2}`,
      } as const
      const token = `t${world.keys++}`
      return (store) => store.claimKey({ ...claim, token, now, lockedUntil: now + HOUR })
    }
    case 'recover':
      // another store that lives: nothing of it is freed
      return (store) => store.recover('earlier', now)
    case 'log':
      return walkLog(viewer.accountId, 1 + (a % 4))
    case 'pages':
      return walk(viewer.accountId, 1 + (a % 4), b % 2 ? 'older' : 'newer')
    default:
      return async () => null
  }
}

/** All mails, a page at a time. */
const walk =
  (accountId: string, limit: number, direction: 'older' | 'newer'): Verb<unknown> =>
  async (store) => {
    const filter = { accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
    const pages: unknown[] = []
    for (let anchor: string | null = null; ; ) {
      const got = await store.emails(
        { ...filter, createdAfter: null, createdBefore: null },
        page({ limit, direction, anchor, countUpTo: 5 }),
      )
      pages.push([got.rows.map(({ id }) => id), got.hasOlder, got.hasNewer, got.total])
      if (direction === 'older' ? !got.hasOlder : !got.hasNewer) return pages
      anchor = direction === 'older' ? got.older : got.newer
    }
  }

/** The log of the account, a page at a time; what one order tells of many it tells in an order of the engine's own. */
const walkLog =
  (accountId: string, limit: number): Verb<unknown> =>
  async (store) => {
    const none = { mode: null, types: null, emailId: null, recipient: null, change: null }
    const filter = {
      accountId,
      workspaceId: null,
      accountWide: true,
      createdAfter: null,
      createdBefore: null,
    }
    const pages: unknown[] = []
    const seen: string[] = []
    for (let anchor: string | null = null; ; ) {
      const got = await store.log({ ...filter, ...none }, page({ limit, anchor, countUpTo: 5 }))
      pages.push([got.rows.length, got.hasOlder, got.hasNewer, got.total])
      seen.push(...got.rows.map(({ type, recipientId, change }) => `${type} ${recipientId} ${change}`))
      if (!got.hasOlder) return [pages, seen.sort()]
      anchor = got.older
    }
  }

/** The port gives these in no order. */
const inOrder = (rows: readonly { readonly poolId: string; readonly workspaceId: string }[]) =>
  [...rows].sort((a, b) => (a.poolId + a.workspaceId < b.poolId + b.workspaceId ? -1 : 1))

/** An order over many recipients goes in an order of the engine's own: what is told of each of them counts. */
const ofEach = <Event extends { readonly recipientId: string | null }>(events: readonly Event[]): Event[] =>
  [...events].sort((a, b) => String(a.recipientId).localeCompare(String(b.recipientId)))

/** Everything that can be read of the account. */
const dump =
  ({ accounts, mails, pools }: World): Verb<unknown> =>
  async (store) => {
    const { accountId } = accounts[0] as TestAccount
    const scope = { accountId, workspaceId: null, mode: null }
    const all = page({ limit: 100 })
    const ofMail = async (id: string) => [
      await store.email(scope, id),
      await store.body(id),
      ofEach((await store.events(id, all)).rows),
    ]
    const waiting = await store.entriesOf(mails)
    return [
      await Promise.all(mails.map(ofMail)),
      [...waiting].sort((a, b) => (a.recipientId < b.recipientId ? -1 : 1)),
      [
        await store.nextDue(),
        await store.nextDue(pools.slice(0, 1)),
        (await store.duePools(START + 999 * HOUR)).toString(),
      ],
      [await store.depth({ accountId, workspaceId: null }), await store.heldDepth()].map(inOrder),
      await store.queueCount({ ...scope, poolId: null, domain: null, emailId: null }),
      await store.pendingDsns(START + 9999 * HOUR, 100),
      (await store.suppressions(accounts[0]?.workspace.id ?? '', null, all)).rows.map(({ email }) => email),
      (await store.workspaces(accountId, all)).rows,
    ]
  }

const begin = async (pair: Pair): Promise<World> => {
  const accountId = newId('acct')
  const beginning = beginningOf(accountId, START)
  await pair.ask((store) => store.createAccount({ id: accountId, name: 'x', createdAt: START }, beginning))
  const extra = freshPool(accountId, 'extra', START)
  await pair.ask((store) => store.createPool(extra))
  const pools = [...beginning.pools.map(({ id }) => id), extra.id]
  const first = { accountId, workspace: beginning.workspace, poolId: pools[0] as string }
  let second = first
  const shop = { id: newId('ws'), ambiguous: 'hold', senderDsn: true } as const
  await pair.ask(async (store) => {
    second = await addWorkspace(store, first, 'shop', shop)
  })
  const accounts = [first, second]
  return { now: START, accounts, pools, mails: [], people: [], leases: [], holds: [], keys: 0 }
}

const perform = async (pair: Pair, world: World, move: Move): Promise<void> => {
  const { kind, by, a, c } = move
  if (kind === 'wait') world.now += ((a % 40) + 1) * (HOUR / 4)
  if (kind === 'step') world.now += ((a % 9) - 4) * HOUR || HOUR
  if (kind === 'crash') {
    await pair.close()
    await pair.open()
    await pair.ask((store) => store.recover('earlier', world.now))
  } else if (kind === 'claim') {
    const pool = world.pools[c % world.pools.length] as string
    const { now } = world
    // when its leases run out a store knows, but not that another one has set the clock
    const until = now + (by === 0 ? HOUR : 99_999 * HOUR)
    world.leases.push(...(await pair.ask((store) => store.claim(pool, 1 + (a % 4), until, now), by)))
  } else await pair.ask(verbOf(world, move), kind === 'step' ? 0 : by)
  await pair.ask(dump(world))
}

const moves = fc.array(
  fc.record<Move>({
    kind: fc.constantFrom(...MOVES),
    by: fc.constantFrom(0, 0, 0, 1),
    a: fc.nat(99),
    b: fc.nat(99),
    c: fc.nat(99),
  }),
  { minLength: 1, maxLength: 80, size: 'max' },
)

const run = async (t: Test, numRuns: number, seed?: number): Promise<void> => {
  t.setTimeout(Math.max(120_000, numRuns * 20_000))
  let n = 0
  const property = fc.asyncProperty(moves, async (script) => {
    const pair = new Pair(t.testdir({ [`run-${n++}`]: {} }))
    await pair.open()
    try {
      const world = await begin(pair)
      for (const [i, move] of script.entries())
        await perform(pair, world, move).catch((error: Error) => {
          throw new Error(`at move ${i}, ${move.kind}: ${error.message}`)
        })
    } finally {
      await pair.close()
    }
  })
  await fc.assert(property, { numRuns, ...(seed !== undefined && { seed }) })
  t.pass(`${numRuns} sequences`)
}

for (const seed of SEEDS) t.test(`seed ${seed}`, (t) => run(t, 1, seed))
if (RUNS > 0) {
  // as long as that takes
  t.setTimeout(0)
  t.test('others', { timeout: 0 }, (t) => run(t, RUNS))
}
