/** An address that bounces softly for too long is suppressed, where its workspace wants that. */
import type { Test } from 'tap'
import { observed } from '../../src/lifecycle/facts.js'
import type { SoftLimits } from '../../src/store/port/alarms.js'
import type { Store } from '../../src/store/port/store.js'
import { HOUR, mailFor, newAccount, T0, type TestAccount, toOne } from './fixture.js'

const DAY = 24 * HOUR
const ANA = 'Ana@y.test'

/** One mail to her, sent then; how it ended. */
const sent = async (
  store: Store,
  at: TestAccount,
  when: number,
  seen: 'accepted' | 'rejected',
  reason = 'mailbox_full',
): Promise<void> => {
  const mail = mailFor(at, { recipients: [toOne(ANA)], to: [ANA], createdAt: when })
  await store.accept({ mails: [mail], idempotency: null, now: when })
  const claimed = await store.claim(at.poolId, 10, when + HOUR, when)
  await store.settle(
    claimed.map(({ recipientId, leaseGen }) =>
      observed({
        ...{ recipientId, seen, at: when, source: 'smtp', leaseGen, attempt: 1 },
        ...(seen === 'rejected' && { reason, detail: { class: 'soft' } }),
      }),
    ),
  )
}

const begun = async (store: Store, suppressSoft: SoftLimits): Promise<TestAccount> => {
  const at = await newAccount(store)
  await store.updateWorkspace(at.workspace.id, { suppressSoft })
  return at
}

const row = (store: Store, at: TestAccount) => store.suppression(at.workspace.id, 'ana@y.test')

export const softBouncesContract = async (t: Test, store: Store): Promise<void> => {
  await t.test('so many of one kind, over so many days', async (t) => {
    const at = await begun(store, { mailbox_full: { bounces: 3, days: 10 } })
    for (const day of [0, 2, 4]) await sent(store, at, T0 + day * DAY, 'rejected')
    t.equal(await row(store, at), null, 'many, and not for long')
    await sent(store, at, T0 + 11 * DAY, 'rejected')
    t.match(await row(store, at), { origin: 'soft_bounce', reason: 'mailbox_full', sourceId: /^em_/ })
  })

  await t.test('few over long, or of other kinds, are not enough', async (t) => {
    const at = await begun(store, { mailbox_full: { bounces: 3, days: 10 } })
    for (const day of [0, 20]) await sent(store, at, T0 + day * DAY, 'rejected')
    for (const day of [21, 22, 40]) await sent(store, at, T0 + day * DAY, 'rejected', 'suspended')
    t.equal(await row(store, at), null)
  })

  await t.test('mail that is taken begins it anew', async (t) => {
    const at = await begun(store, { mailbox_full: { bounces: 2, days: 5 } })
    await sent(store, at, T0, 'rejected')
    await sent(store, at, T0 + DAY, 'accepted')
    await sent(store, at, T0 + 8 * DAY, 'rejected')
    t.equal(await row(store, at), null)
    await sent(store, at, T0 + 14 * DAY, 'rejected')
    t.match(await row(store, at), { origin: 'soft_bounce' })
  })

  await t.test('off unless somebody says so', async (t) => {
    const at = await newAccount(store)
    for (const day of [0, 20, 40]) await sent(store, at, T0 + day * DAY, 'rejected')
    t.equal(await row(store, at), null)
  })
}
