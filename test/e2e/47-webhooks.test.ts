/**
 * Webhooks through the whole product: the resend client makes an endpoint, mail goes
 * its way in the sandbox, and a real receiver verifies what it is told.
 */
import { Resend } from 'resend'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { answer, type Received, receiver } from '../parts/receiver.js'

t.setTimeout(180_000)
const postern = new Postern({ webhook: { allow_networks: ['127.0.0.0/8'] } })
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key('--mode', 'test')
const client = new Resend(key, { baseUrl: `${postern.url}/v1` })
const mail = {
  from: 'Acme <a@acme.test>',
  subject: 'Hi',
  text: 'Hello',
  tags: [{ name: 'kind', value: 'receipt' }],
}

interface Told {
  readonly type: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
  readonly data: any
}

const told = ({ body }: Received): Told => JSON.parse(body)
const about = (all: readonly Received[], id: string | undefined): Told[] =>
  all.map(told).filter(({ data }) => data.email_id === id)
const header = ({ headers }: Received, name: string): string => String(headers[name])

/** Both libraries, with the headers as they came. */
const verifies = (one: Received, secret: string): boolean => {
  const headers = {
    id: header(one, 'webhook-id'),
    timestamp: header(one, 'webhook-timestamp'),
    signature: header(one, 'webhook-signature'),
  }
  try {
    client.webhooks.verify({ payload: one.body, headers, webhookSecret: secret })
    new Webhook(secret).verify(one.body, one.headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

const create = async (url: string, events: readonly string[]) => {
  const made = await client.webhooks.create({ endpoint: url, events: events as never })
  if (made.data === null) throw new Error(JSON.stringify(made.error))
  return made.data
}

t.test('a mail, told from its beginning to its end, before and during a rotation', async (t) => {
  const end = await receiver(t)
  const made = await create(`http://127.0.0.1:${end.port}/hook`, [
    'email.queued',
    'email.sent',
    'email.delivered',
    'email.bounced',
    'email.delivery_delayed',
  ])
  const sent = await client.emails.send({ ...mail, to: 'delivered@example.com' })
  const id = sent.data?.id
  await eventually('it is delivered', () =>
    about(end.received, id).some(({ type }) => type === 'email.delivered'),
  )
  const all = about(end.received, id)
  t.strictSame(
    [...all].sort((a, b) => a.data.sequence - b.data.sequence).map(({ type }) => type),
    ['email.queued', 'email.sent', 'email.delivered'],
    'in the order of data.sequence',
  )
  t.match(all[0]?.data, {
    email_id: id,
    from: 'Acme <a@acme.test>',
    to: ['delivered@example.com'],
    subject: 'Hi',
    recipient: 'delivered@example.com',
    tags: { kind: 'receipt' },
    mode: 'test',
  })
  for (const one of end.received) t.ok(verifies(one, made.signing_secret))
  t.equal(
    new Set(end.received.map((one) => header(one, 'webhook-id'))).size,
    end.received.length,
    'each once',
  )

  const rotated = await client.webhooks.rotateSigningSecret(made.id)
  const fresh = rotated.data?.signing_secret ?? ''
  const second = (await client.emails.send({ ...mail, to: 'bounced@example.com' })).data?.id
  await eventually('it bounced', () =>
    about(end.received, second).some(({ type }) => type === 'email.bounced'),
  )
  const both = await eventually('what is posted has the new signature, too', async () => {
    await client.emails.send({ ...mail, to: 'delivered@example.com' })
    return end.received.find((one) => verifies(one, fresh))
  })
  t.ok(verifies(both, made.signing_secret), 'either secret verifies it')
  const bounced = about(end.received, second).find(({ type }) => type === 'email.bounced')
  t.match(bounced?.data, { bounce: { type: 'Permanent', subType: 'NoEmail' }, smtp: { code: 550 } })

  const third = (await client.emails.send({ ...mail, to: 'deferred@example.com' })).data?.id
  await eventually('it is delayed, by the name that was asked for', () =>
    about(end.received, third).some(({ type }) => type === 'email.delivery_delayed'),
  )
  t.equal((await client.webhooks.remove(made.id)).error, null)
})

t.test('failures are seen with their cause, and posted again under the same ids', async (t) => {
  const end = await receiver(t, { behave: answer(302, '', { location: 'http://169.254.169.254/' }) })
  const { id } = await create(`http://127.0.0.1:${end.port}/hook`, ['email.delivered'])
  const sent = (await client.emails.send({ ...mail, to: 'delivered@example.com' })).data?.id
  await eventually('it was posted', () => about(end.received, sent).length)
  const failed = await eventually('and is shown as failed', async () => {
    const { body } = await postern.api('GET', `/v1/webhooks/${id}/events?failed=true`, key)
    return body.data[0]
  })
  t.match(failed, {
    type: 'email.delivered',
    http_status_code: 302,
    cause: 'redirected to http://169.254.169.254/, we do not follow',
    request_headers: { 'webhook-id': failed.id },
  })
  end.behave = answer(200, 'ok')
  const again = await client.webhooks.events.replay({ webhookId: id, eventId: failed.id })
  t.equal(again.data?.id, failed.id)
  const posts = await eventually('it was posted again', () => {
    const all = end.received.filter((one) => header(one, 'webhook-id') === failed.id)
    return all.length >= 2 && all
  })
  t.equal(new Set(posts.map(({ body }) => body)).size, 1, 'word for word')
  await eventually('and the client sees that it was taken', async () => {
    const one = await client.webhooks.events.get({ webhookId: id, eventId: failed.id })
    return one.data?.status === 'success'
  })
  const tries = await client.webhooks.events.attempts.list({ webhookId: id, eventId: failed.id })
  t.ok(tries.data?.data.some(({ http_status_code: code }) => code === 302))
  t.ok(tries.data?.data.some(({ http_status_code: code }) => code === 200))
})

t.test('many again, from the command line, beside the daemon', async (t) => {
  const end = await receiver(t)
  const { id } = await create(`http://127.0.0.1:${end.port}/hook`, ['email.queued'])
  const ids: (string | undefined)[] = []
  for (let i = 0; i < 5; i++)
    ids.push((await client.emails.send({ ...mail, to: 'delivered@example.com' })).data?.id)
  await eventually('they are told', () => end.received.length >= 5)
  const first = new Set(end.received.map((one) => header(one, 'webhook-id')))
  const done = await postern.json('webhook', 'replay', id, '--since', '1h')
  t.ok(done.matched >= 5)
  await eventually('and told again', () => end.received.length >= 5 + done.matched)
  const later = end.received.slice(5).map((one) => header(one, 'webhook-id'))
  t.ok([...first].every((event) => later.includes(event)))
  const off = await postern.json('webhook', 'update', id, '--disable')
  t.equal(off.status, 'disabled')
  t.equal((await client.webhooks.get(id)).data?.status, 'disabled')
})

t.test('an address that must not be called is refused by its name', async (t) => {
  const refused = await postern.api('POST', '/v1/webhooks', key, {
    endpoint: 'https://169.254.169.254/latest/meta-data/',
    events: ['*'],
  })
  t.match(refused, { status: 422, body: { errors: [{ field: 'body.endpoint', kind: 'forbidden' }] } })
})
