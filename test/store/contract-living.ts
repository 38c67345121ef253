/**
 * NAME      contract-living - two living stores on the same data
 * DESCRIPTION
 *   What one of them holds under lease stays its own, whatever the other does.
 */
import type { Test } from 'tap'
import type { Store } from '../../src/store/port/store.js'
import { backAndForth } from './contract-log.js'
import { accepted, claimOne, HOUR, newAccount, ofLease, T0, timeline, toOne } from './fixture.js'

/** Both opened, and closed when the test ends. */
export type OpenTwo = (t: Test) => Promise<readonly [Store, Store]>

export const livingContract = async (t: Test, openTwo: OpenTwo): Promise<void> => {
  await t.test('recover takes nothing of a store that lives', async (t) => {
    const [store, other] = await openTwo(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at, { recipients: [toOne('a@x.test'), toOne('b@x.test')] })
    const [first, second] = await store.claim(at.poolId, 2, T0 + HOUR, T0)
    if (first === undefined || second === undefined) throw new Error('expected two')
    await store.attempting([{ ...first, attempt: 1, upstreamId: 'up_1', at: T0 }])
    t.same(await other.recover('earlier', T0 + 9 * HOUR), { released: 0, ambiguous: 0 })
    t.same(await other.recover([], T0 + 9 * HOUR), { released: 0, ambiguous: 0 }, 'nobody is said to be dead')
    t.same(await other.claim(at.poolId, 9, T0 + 19 * HOUR, T0 + 9 * HOUR), [])
    t.match(await store.settle([ofLease(first), ofLease(second)]), [{ applied: true }, { applied: true }])
    t.same(await timeline(store, mail.id), ['queued', 'queued', 'sent', 'sent'], 'and nothing was ambiguous')
  })

  await t.test('one recipient is leased to one of them', async (t) => {
    const [store, other] = await openTwo(t)
    const at = await newAccount(store)
    await accepted(store, at)
    const claimed = await claimOne(other, at, T0)
    t.same(await store.claim(at.poolId, 9, T0 + HOUR, T0), [])
    t.same(await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }]), [false])
    await store.release([claimed], T0)
    t.same(await other.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }]), [true])
    t.same(await other.recover('earlier', T0), { released: 0, ambiguous: 0 }, 'nor does it take its own')
  })

  await t.test('nothing of the log comes twice to whoever goes back and forth', async (t) => {
    const [store, other] = await openTwo(t)
    await backAndForth(t, store, other)
  })
}
