/**
 * NAME      contract-times - what waits, when the wall clock was set
 */
import type { Test } from 'tap'
import type { Claimed, NewEmail } from '../../src/lifecycle/facts.js'
import type { Store } from '../../src/store/port/store.js'
import { eventually } from '../parts/eventually.js'
import {
  accepted,
  claimOne,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  report,
  scopeOf,
  T0,
  type TestAccount,
} from './fixture.js'

const DAY = 24 * HOUR
const LONGEST = 8 * HOUR

const dueOf = async (store: Store, at: TestAccount, mail: NewEmail): Promise<number | null | undefined> =>
  (await store.email(scopeOf(at), mail.id))?.recipients[0]?.dueAt

const waits = (retryAt: number) => ({ seen: 'postponed', at: T0, retryAt }) as const

/** A mail deferred until `retryAt`. */
const deferred = async (store: Store, at: TestAccount, retryAt: number): Promise<NewEmail> => {
  const mail = await accepted(store, at)
  await store.settle([ofLease(await claimOne(store, at, T0), waits(retryAt))])
  return mail
}

const claim = (store: Store, at: TestAccount, now: number): Promise<readonly Claimed[]> =>
  store.claim(at.poolId, 10, now + HOUR, now)

export const timesContract = async (t: Test, open: OpenStore): Promise<void> => {
  for (const by of [HOUR, -HOUR, 2 * DAY, -2 * DAY]) {
    await t.test(`a step by ${by / HOUR} h moves what waits, and no appointment`, async (t) => {
      const store = await open(t)
      const at = await newAccount(store)
      const mail = await deferred(store, at, T0 + 60_000)
      const scheduledAt = T0 + 20 * DAY
      const later = await accepted(store, at, { scheduledAt })
      t.equal(await store.adjustTimes(T0 + by, by, LONGEST), 1)
      t.equal(await dueOf(store, at, mail), T0 + by + 60_000, 'as long to wait as before')
      t.equal(await dueOf(store, at, later), scheduledAt)
      const [again] = await claim(store, at, T0 + by + 60_000)
      t.equal(again?.queuedAt, T0 + by, 'it has waited as long as before')
    })
  }

  await t.test('and then back again: nothing has changed', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await deferred(store, at, T0 + 60_000)
    await store.adjustTimes(T0 + 2 * DAY, 2 * DAY, LONGEST)
    await store.adjustTimes(T0, -2 * DAY, LONGEST)
    t.equal(await dueOf(store, at, mail), T0 + 60_000)
    // at once: what was just written is no news to a clock that is put right
    const written = (await store.email(scopeOf(at), mail.id))?.recipients[0]?.updatedAt ?? 0
    await store.adjustTimes(written + 10 + HOUR, HOUR, LONGEST)
    await store.adjustTimes(written + 20, -HOUR, LONGEST)
    t.equal(await dueOf(store, at, mail), T0 + 60_000)
  })

  await t.test('held mail, leases and deadlines move too', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await deferred(store, at, T0 + 60_000)
    const { accountId, workspace } = at
    const scope = { accountId, workspaceId: workspace.id, poolId: null, domain: null, emailId: mail.id }
    const hold = { id: 'hold_1', accountId, workspaceId: workspace.id, poolId: null, domain: null }
    await store.hold({ ...hold, emailId: mail.id, reason: 'x', owner: 'operator', createdAt: T0 })
    const leased = await accepted(store, at)
    const lease = await claimOne(store, at, T0)
    t.equal(lease.emailId, leased.id)
    const reported = await accepted(store, at)
    await store.settle([ofLease(await claimOne(store, at, T0))])
    const delayed = { seen: 'dsn-delayed', deadline: T0 + HOUR } as const
    await store.settle([report(reported.recipients[0]?.id ?? '', delayed)])

    await store.adjustTimes(T0 + 2 * DAY, 2 * DAY, LONGEST)
    t.same(await claim(store, at, T0 + 2 * DAY + 1), [], 'a lease did not run out')
    t.match(await store.settle([ofLease(lease)]), [{ applied: true }])
    const keep = { bodiesMs: 30 * DAY, emailsMs: 30 * DAY }
    t.equal(await store.sweep(T0 + 2 * DAY, keep), 0, 'no deadline is over')
    t.ok(await store.sweep(T0 + 2 * DAY + HOUR, keep), 'now it is')
    await store.operate({ action: 'release', to: null, scope, reason: 'x', now: T0 + 2 * DAY })
    t.equal(await dueOf(store, at, mail), T0 + 2 * DAY + 60_000)
  })

  await t.test('a lease runs out by a clock that was set back', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    await claimOne(store, at, T0)
    await store.adjustTimes(T0 - 2 * DAY, -2 * DAY, LONGEST)
    t.same(await claim(store, at, T0 - 2 * DAY + HOUR - 1), [])
    t.match(await claim(store, at, T0 - 2 * DAY + HOUR), [{ emailId: mail.id }])
  })

  await t.test('a lease that was written by the new clock runs out by it', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    await claimOne(store, at, T0)
    await store.adjustTimes(T0 + 1_000, 2 * DAY, LONGEST)
    t.match(await claim(store, at, T0 + 2 * HOUR), [{ emailId: mail.id }])
  })

  await t.test('what it only brings nearer counts and wakes, too', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    await deferred(store, at, T0 + DAY)
    const mail = await deferred(store, at, T0 + DAY)
    let woken = 0
    t.teardown(store.onDue(() => void woken++))
    // both were written by the new clock
    t.equal(await store.adjustTimes(T0 + 1_000, HOUR, 2 * DAY), 0)
    t.equal(woken, 0)
    t.equal(await store.adjustTimes(T0 + 1_000, HOUR, LONGEST), 2)
    t.equal(await dueOf(store, at, mail), T0 + 1_000 + LONGEST)
    await eventually('whoever waits is woken', () => woken > 0)
  })

  await t.test('deadlines can be left alone', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    await store.settle([ofLease(await claimOne(store, at, T0))])
    await store.settle([report(mail.recipients[0]?.id ?? '', { seen: 'dsn-delayed', deadline: T0 + HOUR })])
    const keep = { bodiesMs: 30 * DAY, emailsMs: 30 * DAY }
    t.equal(await store.sweep(T0 + 2 * HOUR, { ...keep, deadlines: false }), 0)
    t.equal(await store.sweep(T0 + 2 * HOUR, keep), 1)
  })

  await t.test('at a start nothing waits longer than it was told to', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const soon = await deferred(store, at, T0 + 60_000)
    t.equal(await store.adjustTimes(T0, 0, LONGEST), 0, 'a clock that is right moves nothing')
    const far = await deferred(store, at, T0 + DAY)
    const later = await accepted(store, at, { scheduledAt: T0 + 20 * DAY })
    t.equal(await store.adjustTimes(T0, 0, LONGEST), 1)
    t.equal(await dueOf(store, at, far), T0 + LONGEST)
    t.equal(await dueOf(store, at, soon), T0 + 60_000)
    const fresh = await accepted(store, at, { createdAt: T0 + 2 * DAY })
    t.equal(await store.adjustTimes(T0, 0, LONGEST), 1, 'accepted by a clock that was ahead')
    t.equal(await dueOf(store, at, fresh), T0, 'it is due now')
    t.equal((await claim(store, at, T0))[0]?.queuedAt, T0)
    t.equal(await dueOf(store, at, later), T0 + 20 * DAY, 'an appointment stands')
  })
}
