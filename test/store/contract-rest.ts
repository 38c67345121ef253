/** contract-rest - the age of a mail, which grows only while it may go */
import fc from 'fast-check'
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Claimed } from '../../src/lifecycle/facts.js'
import type { Store } from '../../src/store/port/store.js'
import type { PoolRow, UpstreamRow } from '../../src/store/port/tenants.js'
import {
  accepted,
  addWorkspace,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  T0,
  type TestAccount,
} from './fixture.js'

const member = (state: UpstreamRow['state']): UpstreamRow => ({
  ...{
    id: 'up_1',
    host: 'mta.test',
    port: 25,
    tls: 'none',
    fingerprint: null,
    user: null,
    sealedPassword: null,
  },
  ...{ clientCertFile: null, clientKeyFile: null, weight: 1, priority: 1, maxConnections: 1 },
  ...{ messagesPerConnection: 1, rate: null, state },
})

const poolOf = (at: TestAccount, state: UpstreamRow['state'], now: number, id: string): PoolRow => ({
  ...{
    id,
    accountId: at.accountId,
    name: id.slice(-12),
    kind: 'relay',
    returnPath: 'verp',
    notifySuccess: true,
  },
  ...{ relayedMeans: 'delivered', upstreams: [member(state)], createdAt: T0, updatedAt: now },
})

/** A workspace with a pool of its own that has one upstream. */
const begin = async (store: Store) => {
  const at = { ...(await newAccount(store)), poolId: newId('pool') }
  const pool = (state: UpstreamRow['state'], now: number) => poolOf(at, state, now, at.poolId)
  await store.createPool(pool('active', T0))
  const scope = {
    accountId: at.accountId,
    workspaceId: at.workspace.id,
    poolId: null,
    domain: null,
    emailId: null,
  }
  return {
    at,
    scope,
    hold: (now: number) =>
      store.hold({ ...scope, id: newId('hold'), reason: 'x', owner: 'operator', createdAt: now }),
    release: (now: number) => store.operate({ action: 'release', scope, to: null, reason: 'x', now }),
    pause: (now: number) => store.updatePool(pool('paused', now)),
    resume: (now: number) => store.updatePool(pool('active', now)),
    claim: (now: number) => store.claim(at.poolId, 10, now + HOUR, now),
  }
}

/** Deferred at once, so that later times are due, and its age counts from T0. */
const waiting = async (store: Store, { at, claim }: Awaited<ReturnType<typeof begin>>): Promise<Claimed> => {
  await accepted(store, at)
  const [one] = await claim(T0)
  if (one === undefined) throw new Error('nothing is due')
  await store.settle([ofLease(one, { seen: 'postponed', at: T0, retryAt: T0 })])
  return one
}

const STEPS = ['hold', 'release', 'pause', 'resume', 'claim'] as const

export const restContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('held, then paused: it is as old as before, and knows when it was set free', async (t) => {
    const kit = await begin(store)
    await waiting(store, kit)
    await kit.hold(T0 + HOUR)
    await kit.release(T0 + 5 * HOUR)
    await kit.pause(T0 + 6 * HOUR)
    await kit.resume(T0 + 8 * HOUR)
    t.match(await kit.claim(T0 + 9 * HOUR), [{ queuedAt: T0 + 6 * HOUR, freedAt: T0 + 8 * HOUR }])
  })

  await t.test('a pause that was over before counts for nothing', async (t) => {
    const kit = await begin(store)
    await kit.pause(T0)
    await kit.resume(T0 + HOUR)
    await accepted(store, kit.at, { createdAt: T0 + 2 * HOUR })
    await kit.hold(T0 + 3 * HOUR)
    await kit.release(T0 + 5 * HOUR)
    t.match(await kit.claim(T0 + 5 * HOUR), [{ queuedAt: T0 + 4 * HOUR, freedAt: T0 + 5 * HOUR }])
    await accepted(store, kit.at, { createdAt: T0 + 5 * HOUR + 9 })
    t.match(await kit.claim(T0 + 5 * HOUR + 9), [{ queuedAt: T0 + 5 * HOUR + 9, freedAt: null }])
  })

  await t.test('of a pause and a hold the later end counts', async (t) => {
    const kit = await begin(store)
    await waiting(store, kit)
    await kit.pause(T0 + HOUR)
    await kit.resume(T0 + 2 * HOUR)
    await kit.hold(T0 + 3 * HOUR)
    await kit.release(T0 + 3.5 * HOUR)
    t.match(await kit.claim(T0 + 3.5 * HOUR), [{ freedAt: T0 + 3.5 * HOUR }])
  })

  await t.test('a clock that is set takes pauses along', async (t) => {
    const kit = await begin(store)
    await waiting(store, kit)
    await kit.pause(T0 + HOUR)
    await kit.resume(T0 + 2 * HOUR)
    const by = 48 * HOUR
    await store.adjustTimes(T0 + 2 * HOUR + by, by, 99 * HOUR)
    t.match(await kit.claim(T0 + 3 * HOUR + by), [{ queuedAt: T0 + HOUR + by }])
    await store.adjustTimes(T0, -by, 99 * HOUR)
  })

  await t.test('what is held is as old in another pool as when it was held', async (t) => {
    const kit = await begin(store)
    await waiting(store, kit)
    await kit.hold(T0 + HOUR)
    await kit.pause(T0 + 2 * HOUR)
    await kit.resume(T0 + 3 * HOUR)
    const to = poolOf(kit.at, 'active', T0, newId('pool'))
    await store.createPool(to)
    const order = { scope: kit.scope, reason: 'x', now: T0 + 5 * HOUR }
    await store.operate({ ...order, action: 'reroute', to: to.id })
    await kit.release(T0 + 5 * HOUR)
    const claimed = await store.claim(to.id, 9, T0 + 9 * HOUR, T0 + 5 * HOUR)
    t.match(claimed, [{ queuedAt: T0 + 4 * HOUR }])
  })

  await t.test('whatever the order of holds and pauses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...STEPS), { maxLength: 14 }), async (steps) => {
        const kit = await begin(store)
        const { queuedAt } = await waiting(store, kit)
        let age = T0 - queuedAt
        let [held, paused, now] = [false, false, T0]
        for (const step of [...steps, 'release', 'resume', 'claim'] as const) {
          now += HOUR
          if (!held && !paused) age += HOUR
          if (step === 'claim') {
            const [one] = held || paused ? [] : await kit.claim(now)
            if (one === undefined) continue
            if (now - one.queuedAt !== age) throw new Error(`${now - one.queuedAt} instead of ${age}`)
            await store.settle([ofLease(one, { seen: 'postponed', at: now, retryAt: now })])
            continue
          }
          if (step === 'hold' && held) continue
          await kit[step](now)
          if (step === 'hold' || step === 'release') held = step === 'hold'
          else paused = step === 'pause'
        }
      }),
      { numRuns: 25 },
    )
  })

  await t.test(
    'a pool that follows rests with its leader, and another pool takes the age along',
    async (t) => {
      const kit = await begin(store)
      await store.updateWorkspace(kit.at.workspace.id, { poolId: kit.at.poolId })
      const other = await addWorkspace(store, kit.at, 'follower')
      const follower = { ...other, poolId: newId('pool') }
      await store.createPool({ ...poolOf(other, 'active', T0, follower.poolId), upstreams: [] })
      await accepted(store, follower)
      await kit.pause(T0 + HOUR)
      await kit.resume(T0 + 4 * HOUR)
      const [one] = await store.claim(follower.poolId, 10, T0 + 9 * HOUR, T0 + 6 * HOUR)
      t.equal(one?.queuedAt, T0 + 3 * HOUR)
      if (one !== undefined)
        await store.settle([ofLease(one, { seen: 'postponed', at: T0, retryAt: T0 + 6 * HOUR })])
      const scope = { ...kit.scope, workspaceId: other.workspace.id }
      const order = { action: 'reroute', scope, to: kit.at.poolId, reason: 'x', now: T0 + 7 * HOUR } as const
      t.equal(await store.operate(order), 1)
      t.match(await kit.claim(T0 + 8 * HOUR), [{ queuedAt: T0 + 3 * HOUR }])
    },
  )

  await t.test('the clock is set while it rests', async (t) => {
    const own = await open(t)
    const kit = await begin(own)
    await waiting(own, kit)
    await kit.hold(T0 + HOUR)
    await kit.pause(T0 + HOUR)
    const by = 48 * HOUR
    await own.adjustTimes(T0 + HOUR + by, by, HOUR)
    await kit.resume(T0 + 2 * HOUR + by)
    await kit.release(T0 + 3 * HOUR + by)
    t.match(await kit.claim(T0 + 3 * HOUR + by), [{ queuedAt: T0 + 2 * HOUR + by }])
  })
}
