/**
 * NAME      contract-reports - reports kept beside their events
 */
import type { Test } from 'tap'
import { MAX_REPORTS } from '../../src/lifecycle/facts.js'
import {
  type accepted as accept,
  accepted,
  addWorkspace,
  claimOne,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  report,
  T0,
} from './fixture.js'

const LONG = { bodiesMs: 1e12, emailsMs: 1e12 }
const told = (mail: Awaited<ReturnType<typeof accept>>, name: string, text = name) =>
  report(mail.recipients[0]?.id ?? '', {
    seen: 'reported',
    trusted: false,
    dedupe: `report:${mail.id}:${name}`,
    detail: { unapplied: 'unread', report: name },
    report: { name, octets: Buffer.from(text) },
  })

export const reportsContract = async (t: Test, open: OpenStore): Promise<void> => {
  const textOf = (octets: Uint8Array | null) => (octets === null ? null : Buffer.from(octets).toString())

  await t.test('kept with its event, once, for its mail alone', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const [mail, other] = [await accepted(store, at), await accepted(store, at)]
    await store.settle([told(mail, 'one', 'as it came'), told(mail, 'one', 'again')])
    t.equal(textOf(await store.report(mail.id, 'one')), 'as it came')
    t.equal(await store.report(other.id, 'one'), null)
    t.equal(await store.report(mail.id, 'two'), null)
    t.equal(await store.report('em_00000000000000000000000000', 'one'), null)
    await store.settle(Array.from({ length: MAX_REPORTS + 5 }, (_, n) => told(other, `n${n}`)))
    t.equal(textOf(await store.report(other.id, `n${MAX_REPORTS - 1}`)), `n${MAX_REPORTS - 1}`)
    t.equal(await store.report(other.id, `n${MAX_REPORTS}`), null, 'a mail keeps so many, and all events')
    const name = 'true'
    await store.settle([
      { ...told(other, name), seen: 'complained', trusted: true, detail: { report: name } },
    ])
    t.equal(textOf(await store.report(other.id, name)), name, 'what changed something has its place')
  })

  await t.test('it goes after its time, with its mail, and with its workspace', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const [mail, erased] = [await accepted(store, at), await accepted(store, shop)]
    await store.settle([told(mail, 'one'), told(erased, 'two')])
    await store.deleteWorkspace(at.accountId, shop.workspace.id, 'x', T0)
    await store.sweep(T0, LONG)
    await store.sweep(T0 + 1, LONG)
    t.equal(await store.report(erased.id, 'two'), null, 'erased')
    const now = Date.now()
    await store.sweep(now + HOUR, { ...LONG, reportsMs: 2 * HOUR })
    t.equal(textOf(await store.report(mail.id, 'one')), 'one')
    await store.sweep(now + 3 * HOUR, { ...LONG, reportsMs: 2 * HOUR })
    t.equal(await store.report(mail.id, 'one'), null, 'its time is over')
    await store.settle([told(mail, 'three'), ofLease(await claimOne(store, at, T0))])
    t.equal(textOf(await store.report(mail.id, 'three')), 'three')
    await store.sweep(T0 + 1e12, { bodiesMs: HOUR, emailsMs: HOUR })
    t.equal(await store.report(mail.id, 'three'), null, 'gone with its mail')
  })
}
