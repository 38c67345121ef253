/**
 * NAME      contract-dead - what is left of a store that died, for the one that is opened after it
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Claimed } from '../../src/lifecycle/facts.js'
import type { Store } from '../../src/store/port/store.js'
import { eventually } from '../parts/eventually.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  HOUR,
  newAccount,
  ofLease,
  page,
  report,
  scopeOf,
  T0,
  type TestAccount,
  timeline,
  toOne,
} from './fixture.js'

/** The daemon's store, and how it is opened again when it has died. */
export type OpenAgain = (t: Test) => Promise<{ readonly store: Store; again(): Promise<Store> }>

const NONE = { released: 0, ambiguous: 0 }

const mark = (store: Store, claimed: Claimed) =>
  store.attempting([{ ...claimed, attempt: claimed.attempts + 1, upstreamId: 'up_1', at: T0 + 5 }])

const recipientOf = async (store: Store, at: TestAccount, emailId: string) =>
  (await store.email(scopeOf(at), emailId))?.recipients[0]

export const deadContract = async (t: Test, open: OpenAgain): Promise<void> => {
  await t.test('what was not begun is due again, what was may have been taken', async (t) => {
    const { store, again } = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at, { recipients: [toOne('a@x.test'), toOne('b@x.test')] })
    const old = await store.claim(at.poolId, 2, T0 + HOUR, T0)
    const [begun, idle] = old
    if (begun === undefined || idle === undefined) throw new Error('expected two')
    await mark(store, begun)
    const next = await again()
    t.same(await next.claim(at.poolId, 9, T0 + 99 * HOUR, T0 + 98 * HOUR), [], 'time ends no such lease')
    let isWoken = false
    t.teardown(next.onDue(() => (isWoken = true)))
    t.same(await next.recover('earlier', T0 + 9), { released: 1, ambiguous: 1 })
    await eventually('whoever waits is woken', () => isWoken)
    t.same(await next.recover('earlier', T0 + 9), NONE, 'once')
    t.equal(await next.nextDue(), T0 + 9)
    const claimed = await next.claim(at.poolId, 9, T0 + HOUR, T0 + 9)
    const attempts = new Map(claimed.map((one) => [one.recipientId, one.attempts]))
    t.equal(attempts.get(begun.recipientId), 1, 'the attempt that may have been the last one counts')
    t.equal(attempts.get(idle.recipientId), 0)
    t.match(
      (await next.events(mail.id, page())).rows.find(({ attempt }) => attempt === 1),
      {
        ...{ type: 'email.sent', recipientId: begun.recipientId, source: 'system', applied: false },
        ...{ occurredAt: T0 + 5, reason: 'ambiguous', detail: { ambiguous: true, held: false } },
        mta: { poolId: at.poolId, upstreamId: 'up_1', host: null },
      },
    )
    t.match(await next.settle(old.map((one) => ofLease(one))), [{ applied: false }, { applied: false }])
    t.match(await next.settle(claimed.map((one) => ofLease(one))), [{ applied: true }, { applied: true }])
  })

  await t.test('or is held, where the workspace wants that', async (t) => {
    const { store, again } = await open(t)
    const at = await addWorkspace(store, await newAccount(store), 'shop', { ambiguous: 'hold' })
    const mail = await accepted(store, at)
    await mark(store, await claimOne(store, at, T0))
    const next = await again()
    t.same(await next.recover('earlier', T0 + HOUR), { released: 0, ambiguous: 1 })
    t.same(await next.claim(at.poolId, 9, T0 + 99 * HOUR, T0 + 98 * HOUR), [], 'it is not sent again')
    t.match(await recipientOf(next, at, mail.id), { attempts: 1, dueAt: null, reason: 'ambiguous' })
    t.match(await next.entriesOf([mail.id]), [{ held: 'ambiguous', underWay: false }])
    const scope = { ...scopeOf(at), poolId: null, domain: null, emailId: mail.id }
    const other = { hold: newId('hold'), scope, to: null, reason: 'x', now: T0 + 2 * HOUR }
    t.equal(await next.operate({ ...other, action: 'release' }), 0, 'nor by the end of any hold')
    await next.operate({ action: 'release', scope, to: null, reason: 'x', now: T0 + 3 * HOUR })
    t.match(await claimOne(next, at, T0 + 3 * HOUR), { queuedAt: T0 + 2 * HOUR, freedAt: T0 + 3 * HOUR })
  })

  await t.test('and what has ended meanwhile is at rest', async (t) => {
    const { store, again } = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await mark(store, claimed)
    await store.settle([report(claimed.recipientId, { seen: 'dsn-failed' })])
    const next = await again()
    t.same(await next.recover('earlier', T0), { released: 1, ambiguous: 0 })
    t.match(await recipientOf(next, at, mail.id), { status: 'bounced', attempts: 0, dueAt: null })
    t.same(await timeline(next, mail.id), ['queued', 'bounced'])
    t.equal(await next.nextDue(), null)
  })
}
