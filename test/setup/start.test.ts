/**
 * How long a start waits for its setup: where another applies the same, and where the store does not answer. Daemons wait for
 * half a minute and a minute; here both are short. Each daemon is a store of its own on the same database.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { createDialler } from '../../src/base/dial.js'
import { silentLog } from '../../src/base/log.js'
import { applyPlan } from '../../src/setup/apply.js'
import { SetupError } from '../../src/setup/files.js'
import { readJsonSetup } from '../../src/setup/json.js'
import { planSetup } from '../../src/setup/plan.js'
import { applyAtStart } from '../../src/setup/start.js'
import type { Store } from '../../src/store/port/store.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { newKeyText } from '../../src/tenant/key.js'
import { ensureAccount } from '../../src/tenant/workspace.js'
import { eventually } from '../parts/eventually.js'
import { noPostgres } from '../parts/postgres.js'
import { freshDatabase } from '../store/postgres/database.js'

const pepper = randomBytes(32)
const dialler = createDialler({ allow: [], ownPorts: () => [], lookup: async () => [] })
const PATIENT = { waitMs: 600_000, mostMs: 600_000 }
const SHORT = { ...PATIENT, waitMs: 500 }

const depsOf = (store: Store) => ({
  ...{ store, pepper, clock: systemClock, perMinute: 100, authFailures: 100 },
  ...{ dialler, dataDir: '/nowhere' },
})

const source = (body: Record<string, unknown>) => ({ from: 'postern.d', read: () => readJsonSetup(body) })
const SHOP = source({ setup: 'shop', pools: { eu: {}, us: {} } })
const LOGIN = { setup: 'first', credentials: { 'default/a': { cidr: '10.0.0.0/8' } } }

/** Each with the account; the first has a credential, so that nothing is a first start. */
const daemons = async (open: () => Promise<Store>, many: number) => {
  const first = await open()
  const { id: accountId } = await ensureAccount(depsOf(first))
  const start = (store: Store, one = SHOP, times = SHORT) =>
    applyAtStart({ deps: depsOf(store), accountId, log: silentLog() }, [one], times)
  t.equal(await start(first, source(LOGIN), PATIENT), null)
  const others = await Promise.all(Array.from({ length: many - 1 }, open))
  const names = async () =>
    (await first.pools(accountId, { limit: 9, direction: 'older', anchor: null, countUpTo: 0 })).rows.map(
      ({ name }) => name,
    )
  return { all: [first, ...others], accountId, start, names }
}

/** `place` makes a database, and answers what opens one store more on it. */
const contract = async (t: Test, place: (t: Test) => Promise<() => Promise<Store>>): Promise<void> => {
  await t.test('another holds the lock: all start without, and say so; then one makes it', async (t) => {
    const open = await place(t)
    const { all, accountId, start, names } = await daemons(open, 3)
    const [first] = all as [Store]
    const holder = await open()
    const lock = { accountId, setup: 'shop', owner: 'somebody', until: Date.now() + 3_600_000 }
    t.equal(await holder.beginSetup(lock, Date.now()), 'done')
    const told = [
      {
        where: 'postern.d',
        message:
          'another has been applying it for more than 0.5 s: started without waiting for it any longer',
      },
    ]
    t.same(await Promise.all(all.map((one) => start(one))), [told, told, told])
    t.notOk((await names()).includes('eu'), 'none of them made anything')
    await holder.endSetup(lock)
    t.same(await Promise.all(all.map((one) => start(one, SHOP, PATIENT))), [null, null, null])
    t.same((await names()).filter((name) => /^(eu|us)$/.test(name)).sort(), ['eu', 'us'], 'once')
    t.equal((await first.managed(accountId)).filter(({ setup }) => setup === 'shop').length, 2)
  })

  await t.test('the lock ends by itself while it is waited for', async (t) => {
    const { accountId, start, all, names } = await daemons(await place(t), 1)
    const [first] = all as [Store]
    const lock = { accountId, setup: 'shop', owner: 'who was killed', until: Date.now() + 300 }
    t.equal(await first.beginSetup(lock, Date.now()), 'done')
    t.equal(await start(first, SHOP, PATIENT), null)
    t.ok((await names()).includes('us'))
  })

  await t.test('what another made while it was looked at is no mistake', async (t) => {
    const { start, all } = await daemons(await place(t), 2)
    const [first, second] = all as [Store, Store]
    const one = source({ setup: 'shop', keys: { 'default/web': { secret: newKeyText('live') } } })
    t.equal(await start(first, one, PATIENT), null)
    let looks = 0
    // as both were before the first began
    const keys: Store['keys'] = async (...asked) => {
      const found = await second.keys(...asked)
      return looks++ === 0 ? { ...found, rows: [] } : found
    }
    const managed: Store['managed'] = async (of) => (looks < 2 ? [] : second.managed(of))
    const late = Object.assign(Object.create(second), { keys, managed })
    t.equal(await start(late, one, PATIENT), null)
    t.ok(looks > 1, 'it looked again')
  })

  await t.test(
    'who applies a plan that another has done changes nothing, and no entry says so',
    async (t) => {
      const { accountId, all } = await daemons(await place(t), 2)
      const actor = { kind: 'cli', id: 'cli:1', name: 'bo', address: null } as const
      const [first, second] = all as [Store, Store]
      const planOf = (store: Store) =>
        planSetup(depsOf(store), accountId, SHOP.read(), { prune: false, adopt: [], again: [] })
      const plan = await planOf(second)
      const apply = (store: Store) =>
        applyPlan({ deps: depsOf(store), accountId, actor }, plan, () => planOf(store), PATIENT)
      t.equal((await apply(first)).length, 2)
      const refused: unknown = await apply(second).catch((error: unknown) => error)
      t.match(refused, { options: { reason: 'plan_changed' } })
      const about = { action: 'setup.applied', actorId: 'cli:1' }
      const whole = { ...about, objectId: null, workspaceId: null, since: null, until: null }
      const page = { limit: 9, direction: 'older', anchor: null, countUpTo: 0 } as const
      const { rows } = await first.audit(accountId, whole, page)
      t.same(
        rows.map(({ detail }) => detail),
        [{ changed: 2 }],
      )
    },
  )

  await t.test('another took over while it stood still: it looks again', async (t) => {
    const { accountId, start, all, names } = await daemons(await place(t), 1)
    const [first] = all as [Store]
    const other = { accountId, setup: 'shop', owner: 'other', until: Date.now() + 3_600_000 }
    let took = 'nothing'
    const stolen = (store: Store): Store => {
      const createPool: Store['createPool'] = async (row) => {
        if (took === 'nothing') {
          took = await first.beginSetup(other, Date.now() + 60_000)
          setTimeout(() => void first.endSetup(other), 50)
        }
        return store.createPool(row)
      }
      const by: Store['by'] = (...args) => stolen(store.by(...args) as Store)
      return Object.assign(Object.create(store), { createPool, by })
    }
    t.equal(await start(stolen(first), SHOP, PATIENT), null)
    t.equal(took, 'done')
    t.same((await names()).filter((name) => /^(eu|us)$/.test(name)).sort(), ['eu', 'us'], 'once')
  })

  await t.test(
    'it takes too long: the start goes on, what is under way ends, and nothing is begun any more',
    async (t) => {
      const { accountId, start, all, names } = await daemons(await place(t), 1)
      const [first] = all as [Store]
      let answer = (): void => {}
      let hasBegun = false
      const silence = new Promise<void>((resolve) => {
        answer = resolve
      })
      /** The same store, whose first pool takes long. */
      const slow = (store: Store): Store => {
        const createPool: Store['createPool'] = async (row) => {
          hasBegun = true
          await silence
          return store.createPool(row)
        }
        const by: Store['by'] = (...args) => slow(store.by(...args) as Store)
        return Object.assign(Object.create(store), { createPool, by })
      }
      t.same(await start(slow(first), SHOP, { ...PATIENT, mostMs: 300 }), [
        { where: 'postern.d', message: 'was not applied within 0.3 s' },
      ])
      answer()
      const isFree = async () =>
        (await first.beginSetup(
          { accountId, setup: 'shop', owner: 'next', until: Date.now() + 1 },
          Date.now(),
        )) === 'done'
      await eventually('the apply gives its lock back', isFree)
      const made = await names()
      t.equal(made.includes('eu'), hasBegun, 'what had begun, where the machine was fast enough')
      t.notOk(made.includes('us'))
      t.equal(await start(first, SHOP, PATIENT), null, 'the next start goes on with it')
      t.ok((await names()).includes('us'))
    },
  )

  await t.test(
    'where nobody could use it yet: what is wrong ends the start, another that applies it does not',
    async (t) => {
      const store = await (await place(t))()
      const { id: accountId } = await ensureAccount(depsOf(store))
      const starting = { deps: depsOf(store), accountId, log: silentLog() }
      const wrong = source({ setup: 'shop', pools: { eu: { upstreams: ['nonsense'] } } })
      await t.rejects(applyAtStart(starting, [wrong], SHORT), SetupError)
      await store.beginSetup(
        { accountId, setup: 'shop', owner: 'x', until: Date.now() + 3_600_000 },
        Date.now(),
      )
      t.match(await applyAtStart(starting, [SHOP], SHORT), [{ message: /another has been applying it/ }])
      await t.rejects(applyAtStart(starting, [SHOP, wrong], SHORT), SetupError)
    },
  )
}

t.test('SQLite', (t) =>
  contract(t, async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'postern-start-'))
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
    return async () => {
      const store = openSqliteStore({ dataDir, daemon: false })
      t.teardown(() => store.close())
      await store.open()
      return store
    }
  }),
)

t.test('PostgreSQL', { skip: noPostgres() }, (t) => contract(t, async (t) => (await freshDatabase(t)).open))
