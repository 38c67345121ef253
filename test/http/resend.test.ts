/** The official client of the API whose names we took, unchanged, with its base URL on us. */
import { Resend } from 'resend'
import t from 'tap'
import { MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const client = new Resend(kit.key, { baseUrl: `${kit.url}/v1` })

t.test('emails', async (t) => {
  const sent = await client.emails.send({
    ...MAIL,
    replyTo: 'help@acme.test',
    tags: [{ name: 'kind', value: 'receipt' }],
    attachments: [
      { filename: 'a.txt', content: Buffer.from('hello'), contentType: 'text/plain' },
      { filename: 'b.txt', content: 'aGVsbG8=', contentId: 'b' },
    ],
  })
  t.equal(sent.error, null)
  const id = sent.data?.id ?? ''
  const read = await client.emails.get(id)
  t.equal(read.error, null)
  t.match(read.data, { id, subject: 'Hi', last_event: 'queued', reply_to: ['help@acme.test'], text: 'Hello' })
  const listed = await client.emails.list({ limit: 1 })
  t.equal(listed.data?.data[0]?.id, id)
  t.equal(listed.data?.has_more, false)
})

t.test('idempotency', async (t) => {
  const once = () => client.emails.send(MAIL, { idempotencyKey: 'k' })
  const [first, second] = [await once(), await once()]
  t.equal(first.data?.id, second.data?.id)
  const other = await client.emails.send({ ...MAIL, subject: 'Other' }, { idempotencyKey: 'k' })
  t.match(other.error, { code: 'idempotency.body_mismatch', status: 409 })
})

t.test('scheduled mail', async (t) => {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const inTwo = new Date(Date.now() + 7_200_000).toISOString()
  const sent = await client.emails.send({ ...MAIL, scheduledAt: inAnHour })
  const id = sent.data?.id ?? ''
  t.equal((await client.emails.update({ id, scheduledAt: inTwo })).data?.id, id)
  t.equal((await client.emails.cancel(id)).data?.id, id)
  t.match((await client.emails.update({ id, scheduledAt: inTwo })).error, { code: 'resource.conflict' })
})

t.test('scheduled mail, in the words that its users write', async (t) => {
  const at = async (scheduledAt: string) => {
    const sent = await client.emails.send({ ...MAIL, scheduledAt })
    t.equal(sent.error, null, scheduledAt)
    const id = sent.data?.id ?? ''
    return { id, at: Date.parse((await client.emails.get(id)).data?.scheduled_at ?? '') }
  }
  const inAMinute = await at('in 1 min')
  t.ok(Math.abs(inAMinute.at - Date.now() - 60_000) < 30_000)
  const hour = (time: number) => new Date(time).getUTCHours()
  t.equal(hour((await at('tomorrow at 9am')).at), 9)
  const friday = await at('Friday at 3pm')
  t.strictSame([new Date(friday.at).getUTCDay(), hour(friday.at)], [5, 15])
  const moved = await client.emails.update({ id: inAMinute.id, scheduledAt: 'in 1 hour' })
  t.equal(moved.error, null)
  t.match((await client.emails.send({ ...MAIL, scheduledAt: 'Friday at 3pm ET' })).error, {
    errors: [{ field: 'body.scheduled_at', kind: 'format', message: /"in 10 min".*"tomorrow at 9am"/ }],
  })
})

t.test('batch', async (t) => {
  const all = await client.batch.send([MAIL, { ...MAIL, to: 'bob@example.com' }])
  t.equal(all.data?.data.length, 2)
  const strict = await client.batch.send([MAIL, { ...MAIL, to: 'nonsense' }])
  t.match(strict.error, { code: 'validation.request_invalid', status: 422 })
  const permissive = await client.batch.send([MAIL, { ...MAIL, to: 'nonsense' }], {
    batchValidation: 'permissive',
  })
  t.equal(permissive.data?.data.length, 1)
  t.match(permissive.data?.errors, [{ index: 1 }])
})

t.test('suppressions', async (t) => {
  const added = await client.suppressions.add({ email: 'gone@example.com' })
  t.equal(added.error, null)
  t.equal((await client.suppressions.get('gone@example.com')).data?.id, added.data?.id)
  t.equal((await client.suppressions.list({ origin: 'manual', limit: 10 })).data?.data.length, 1)
  t.equal((await client.suppressions.remove(added.data?.id ?? '')).data?.deleted, true)
  t.equal((await client.suppressions.batch.add({ emails: ['a@b.test', 'c@d.test'] })).data?.data.length, 2)
  t.equal((await client.suppressions.batch.remove({ emails: ['a@b.test'] })).data?.data.length, 1)
})

t.test('keys, with a session as the key', async (t) => {
  const person = new Resend(kit.session, { baseUrl: `${kit.url}/v1` })
  const { row } = await kit.tenants.createKey(kit.accountId, { name: 'gone soon' })
  t.ok((await person.apiKeys.list()).data?.data.some(({ id }) => id === row.id))
  t.equal((await person.apiKeys.remove(row.id)).error, null)
})

t.test('a platform key with its header, and errors as errors', async (t) => {
  const platform = new Resend(kit.platform, { baseUrl: `${kit.url}/v1` })
  t.match((await platform.emails.send(MAIL)).error, { code: 'validation.workspace_header_required' })
  const sent = await platform.emails.send(MAIL, { headers: { 'X-Workspace-Id': kit.workspaceId } })
  t.equal(sent.error, null)
  const stranger = new Resend('re_unknown', { baseUrl: `${kit.url}/v1` })
  t.match((await stranger.emails.get('em_x')).error, { code: 'auth.credentials_invalid', status: 401 })
  t.match((await client.domains.list()).error, { code: 'auth.scope_forbidden', status: 403 })
  t.match((await client.contacts.list({ audienceId: 'x' })).error, { code: 'route.not_found' })
})
