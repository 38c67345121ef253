/**
 * The owners of an endpoint get a mail when it fails: one of a kind in an hour, also
 * when the service begins anew, and none for what they did themselves.
 */
import t from 'tap'
import type { Store } from '../../../src/store/port/store.js'
import { createNoticeMails } from '../../../src/submission/operator-mail.js'
import { eventually } from '../../parts/eventually.js'
import { openOffice } from '../house.js'

const QUIET = { info: () => {}, error: () => {} } as never

const mailsIn = async (store: Store, accountId: string) => {
  const all = { workspaceId: null, mode: null, status: null, to: null, tag: null }
  const filter = { accountId, ...all, createdAfter: null, createdBefore: null }
  const page = { limit: 50, direction: 'older', anchor: null, countUpTo: 0 } as const
  return (await store.emails(filter, page)).rows
}

t.test('one mail of a kind in an hour', async (t) => {
  const { store, account, workspace, clock } = await openOffice(t)
  const config = {
    hostname: 'gw.test',
    default_from: null,
    webhook: { notify: ['Ops <ops@acme.test>', 'b@acme.test'] },
  }
  const begin = async () => {
    const service = createNoticeMails({ store, config, clock, log: QUIET, accepting: () => true })
    await service.start()
    return service
  }
  const happens = (type: 'webhook.failing' | 'webhook.disabled', data: object) =>
    store.addNotice({
      type,
      accountId: account.id,
      workspaceId: null,
      mode: 'live',
      now: clock.now(),
      data: { webhook_id: 'wh_1', endpoint: 'https://app.test/hook', ...data },
    })
  await happens('webhook.disabled', { reason: 'requested' })
  await happens('webhook.failing', { failures: 4, since: '2026-11-20T10:00:00.000Z', waiting: 9 })
  await happens('webhook.failing', { failures: 4, since: '2026-11-20T10:00:00.000Z', waiting: 12 })
  const first = await begin()
  await eventually('a mail', async () => (await mailsIn(store, account.id)).length === 1)
  await first.stop()
  const second = await begin()
  await happens('webhook.disabled', { reason: 'failures' })
  await eventually('a second mail', async () => (await mailsIn(store, account.id)).length === 2)
  await second.stop()
  const [disabled, failing] = await mailsIn(store, account.id)
  t.match(failing, {
    source: 'system',
    workspaceId: workspace.id,
    to: ['ops@acme.test', 'b@acme.test'],
    subject: 'Webhook takes no posts: https://app.test/hook',
    tags: [{ name: 'webhook', value: 'wh_1' }],
  })
  t.match(disabled, { subject: 'Webhook was disabled: https://app.test/hook' })
  const text = String(await store.body(String(failing?.id)))
  t.match(text, /4 posts in a row failed, the first at 2026-11-20T10:00:00\.000Z\. 9 wait\./)
  t.match(text, /postern webhook events wh_1 --failed/)
})

t.test('nobody is named, nobody is written to', async (t) => {
  const { store, clock } = await openOffice(t)
  const config = { hostname: 'gw.test', default_from: null, webhook: { notify: [] } }
  const watched = { ...store, follow: () => t.fail('nothing is to be read') as never }
  const service = createNoticeMails({ store: watched, config, clock, log: QUIET, accepting: () => true })
  await service.start()
  await service.stop()
  t.pass()
})
