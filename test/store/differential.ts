/**
 * An engine and the model, side by side: random sequences of verbs over two handles each, with crashes, steps
 * of the clock, sweeps and orders that are cut off between their steps. After each step the answers are
 * equal, and so is all that can be read.
 * What is in SEEDS is run each time; POSTERN_RUNS adds so many others, and a failure prints its seed.
 * Times are years away from the wall clock, so what an engine stamps by it is known and left out.
 */
import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { beginningOf, freshPool } from '../../src/store/pools.js'
import type { QueueOrder } from '../../src/store/port/operations.js'
import type { Store } from '../../src/store/port/store.js'
import { createMemory, openMemoryStore } from '../model/open.js'
import { MOVES, type Move, orderOf, type Side, type Verb, verbOf, type World } from './differential-moves.js'
import { addWorkspace, HOUR, page, type TestAccount } from './fixture.js'

const START = Date.UTC(2031, 0, 1)
const RUNS = Number(process.env.POSTERN_RUNS ?? 0)
const SEEDS: readonly number[] = [1, 2, 3, 4, 5, 6]
const KEEP = { bodiesMs: 1e13, emailsMs: 1e13, deadlines: false }

/** A database, or the model, for one run. */
export interface Engine {
  /** Two handles on it; again after they were closed. */
  open(): Promise<readonly Store[]>
  /** Gives an order and dies after so many steps. */
  cutOff(order: QueueOrder, steps: number): Promise<void>
  /** Until all that is committed can be followed. */
  settled(stores: readonly Store[]): Promise<unknown>
  /** Mail that was leased as it was accepted, since the last time; where somebody takes it. */
  leased?(): Promise<readonly Claimed[]>
  /** It forgets what it knows of such mail without a look. */
  forget?(): void
}

const model = (): Engine => {
  const memory = createMemory()
  let stores: readonly Store[] = []
  return {
    async open() {
      stores = [openMemoryStore(memory), openMemoryStore(memory)]
      for (const store of stores) await store.open()
      return stores
    },
    cutOff: async (order) => void (await stores[0]?.operate(order)),
    settled: async () => null,
  }
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

class Pair {
  #engine: readonly Store[] = []
  #model: readonly Store[] = []
  constructor(
    private readonly engine: Engine,
    private readonly model: Engine,
  ) {}
  async open(): Promise<void> {
    this.#engine = await this.engine.open()
    this.#model = await this.model.open()
  }
  async close(): Promise<void> {
    for (const store of [...this.#engine, ...this.#model].reverse()) await store.close()
  }
  settled = (): Promise<unknown> => this.engine.settled(this.#engine)
  /** Asks both; the answer of the engine. */
  async ask<Answer>(verb: Verb<Answer>, by: 0 | 1 = 0): Promise<Answer> {
    const answer = await verb(this.#engine[by] as Store, 'engine')
    deepStrictEqual(plain(answer), plain(await verb(this.#model[by] as Store, 'model')))
    return answer
  }
  /** Gives an order and dies after so many steps; after what comes `next` a sweep finishes it. */
  async cutOff(order: QueueOrder, steps: number, next: Verb<unknown>): Promise<void> {
    await this.engine.cutOff(order, steps)
    await this.model.cutOff(order, steps)
    await this.ask(next)
    // what two sweeps of one store have seen, nobody works on any more
    for (const store of [this.#engine[0], this.#model[0]])
      for (let i = 0; i < 2; i++) await store?.sweep(order.now, KEEP)
  }
  /** What was leased as it was accepted. */
  async leased(): Promise<readonly Claimed[]> {
    const leased = (await this.engine.leased?.()) ?? []
    deepStrictEqual(plain(leased), plain((await this.model.leased?.()) ?? []))
    return leased
  }
  forget = (): void => this.model.forget?.()
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
        [...(await store.duePools(START + 999 * HOUR))].sort(),
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
  const marks: Record<Side, string | null> = { engine: null, model: null }
  return { now: START, accounts, pools, mails: [], people: [], leases: [], holds: [], keys: [], marks }
}

const perform = async (pair: Pair, world: World, move: Move): Promise<void> => {
  const { kind, by, a, c } = move
  if (kind === 'wait') world.now += ((a % 40) + 1) * (c % 3 === 0 ? 2 * HOUR : HOUR / 4)
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
  } else if (kind === 'cut_off') {
    const order = orderOf(world, move)
    // only a purge asks what was there when it was given
    const next = order.action === 'purge' ? verbOf(world, { ...move, kind: 'accept' }) : async () => null
    await pair.cutOff(order, a % 3, next)
  } else {
    if (kind === 'follow' || kind === 'log') await pair.settled()
    if (kind === 'settle') pair.forget()
    await pair.ask(verbOf(world, move), kind === 'step' ? 0 : by)
    world.leases.push(...(await pair.leased()))
  }
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

type Begun = (t: Test, n: number) => Promise<Engine>

const run = async (t: Test, begun: Begun, beside: Begun, numRuns: number, seed?: number): Promise<void> => {
  t.setTimeout(Math.max(120_000, numRuns * 20_000))
  let n = 0
  const property = fc.asyncProperty(moves, async (script) => {
    const pair = new Pair(await begun(t, n), await beside(t, n++))
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

/** `begun` makes an engine for the n-th run of a test, and `beside` what it is held against. */
export const differential = async (
  t: Test,
  begun: Begun,
  beside: Begun = async () => model(),
): Promise<void> => {
  for (const seed of SEEDS) await t.test(`seed ${seed}`, (t) => run(t, begun, beside, 1, seed))
  if (RUNS === 0) return
  // as long as that takes
  t.setTimeout(0)
  await t.test('others', { timeout: 0 }, (t) => run(t, begun, beside, RUNS))
}
