/** contract-carry - mail that moves: a lot goes one of two ways, a mail that is known is passed over */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { LotRow } from '../../src/store/port/operations.js'
import type { Store } from '../../src/store/port/store.js'
import {
  accepted,
  HOUR,
  newAccount,
  type OpenStore,
  scopeOf,
  statusOf,
  T0,
  type TestAccount,
} from './fixture.js'

const lotOf = (at: TestAccount): LotRow => ({
  ...{ id: newId('lot'), accountId: at.accountId, file: '/tmp/x', state: 'marking', createdAt: T0 },
})

/** A lot with one mail, marked and closed. */
const exported = async (store: Store) => {
  const at = await newAccount(store)
  const mail = await accepted(store, at)
  const lot = lotOf(at)
  await store.addLot(lot)
  const scope = { accountId: at.accountId, workspaceId: null, poolId: null, domain: null, emailId: null }
  const marked = await store.markLot(lot.id, scope, 'moving', T0)
  return { at, mail, lot, scope, marked }
}

export const carryContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('what is marked is not sent, and is due again when it is taken back', async (t) => {
    const { at, mail, lot, marked } = await exported(store)
    t.equal(marked, 1)
    t.same(await store.claim(at.poolId, 10, T0 + HOUR, T0), [])
    t.same((await store.exported(lot.id, '')).ids, [mail.id])
    t.match(await store.lots(at.accountId), [{ id: lot.id, state: 'marking', recipients: 1 }])
    t.equal(await store.endLot(lot.id, 'forgotten', T0), 'marking', 'only what is in its file')
    t.equal(await store.closeLot(lot.id), true)
    t.match(await store.lot(at.accountId, lot.id), { state: 'exported' })
    t.equal(await store.endLot(lot.id, 'taken_back', T0), 1)
    t.equal(await store.closeLot(lot.id), false)
    t.equal(await store.endLot(lot.id, 'forgotten', T0), 'taken_back', 'not both')
    t.match(await store.claim(at.poolId, 10, T0 + HOUR, T0), [{ emailId: mail.id }])
    t.equal(await store.lot((await newAccount(store)).accountId, lot.id), null)
  })

  await t.test('an appointment that has left is another store’s', async (t) => {
    const { at, lot, scope } = await exported(store)
    const mail = await accepted(store, at, { scheduledAt: T0 + HOUR })
    t.equal(await store.markLot(lot.id, scope, 'moving', T0), 1)
    t.equal(await store.reschedule(scopeOf(at), mail.id, T0 + 2 * HOUR, T0), 'not_scheduled')
    t.equal(await store.cancel(scopeOf(at), mail.id, T0), 'not_scheduled')
    t.same(await store.claim(at.poolId, 10, T0 + 9 * HOUR, T0 + 8 * HOUR), [])
  })

  await t.test('what is forgotten is canceled', async (t) => {
    const { at, mail, lot, scope } = await exported(store)
    await store.closeLot(lot.id)
    t.equal(await store.endLot(lot.id, 'forgotten', T0), 1)
    t.equal(await statusOf(store, at, mail.id), 'canceled')
    await t.rejects(store.markLot(lot.id, scope, 'x', T0), { code: 'resource.conflict' })
  })

  await t.test('it arrives whole, once', async (t) => {
    const { mail, lot } = await exported(store)
    await store.closeLot(lot.id)
    const carried = await store.carried(mail.id)
    if (carried === null) return t.fail('the mail is there')
    t.equal(await store.carried(newId('em')), null)
    const there = await open(t)
    const at = await newAccount(there)
    const to = { workspaceId: at.workspace.id, poolId: at.poolId, lot: lot.id }
    t.same(await there.knownEmails([mail.id]), [])
    t.equal(await there.carryIn(carried, to, T0), 'accepted')
    t.equal(await there.carryIn(carried, to, T0), 'known')
    t.same(await there.knownEmails([mail.id, newId('em')]), [mail.id])
    t.same(Buffer.from((await there.body(mail.id)) ?? ''), Buffer.from(mail.raw))
    t.equal((await there.email(scopeOf(at), mail.id))?.subject, mail.subject)
    t.match(await there.claim(at.poolId, 10, T0 + HOUR, T0), [{ emailId: mail.id }])
    t.equal(await store.carryIn(carried, { ...to, lot: null }, T0), 'known', 'and changes nothing here')
    t.match(await store.exported(lot.id, ''), { ids: [mail.id] })
  })
}
