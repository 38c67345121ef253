/**
 * Webhooks in the words of other services, through the whole product: mail of the sandbox, posted to a receiver in the shape of
 * listmonk's, and checked by the services' own code. No secret of an endpoint stands in any file or line of the daemon after.
 */
import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Resend } from 'resend'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { type Bounce, hear, type ListmonkSettings } from '../parts/listmonk.js'
import { BIN, cleanEnv, Postern } from '../parts/postern.js'
import { type Received, receiver } from '../parts/receiver.js'

const { EventWebhook } = createRequire(import.meta.url)('@sendgrid/eventwebhook') as {
  EventWebhook: new () => {
    convertPublicKeyToECDSA(key: string): unknown
    verifySignature(key: unknown, body: string, signature: string, timestamp: string): boolean
  }
}

t.setTimeout(240_000)
const postern = new Postern({ webhook: { allow_networks: ['127.0.0.0/8'] } })
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key('--mode', 'test')

const PASSWORD = 'hush:Grüße-8c1f'
const login = join(postern.dir, 'login')
writeFileSync(login, `listmonk:${PASSWORD}\n`, { mode: 0o600 })

const settings: { -readonly [K in keyof ListmonkSettings]: ListmonkSettings[K] } = {
  postmark: { user: 'listmonk', password: PASSWORD },
}
const noted: (Bounce & { readonly service: string })[] = []
const refused: string[] = []
const end = await receiver(t, {
  behave(response, received) {
    const { status, bounces } = hear(settings, received)
    const service = received.path.split('/').at(-1) ?? ''
    noted.push(...bounces.map((one) => ({ ...one, service })))
    if (status !== 200) refused.push(`${service} ${status} ${received.body}`)
    response.writeHead(status).end()
  },
})
const urlOf = (format: string) => `http://127.0.0.1:${end.port}/webhooks/service/${format}`

const create = (format: string, ...more: readonly string[]) =>
  postern.json(
    ...['webhook', 'create', urlOf(format), '--format', format, '--mode', 'test', '--workspace', 'default'],
    ...more,
  )

const sendgrid = await create('sendgrid')
const postmark = await create('postmark', '--auth', login)
const mailgun = await create('mailgun')
const resend = await create('resend')
settings.sendgridKey = sendgrid.public_key
settings.mailgunKey = mailgun.signing_secret

const gotBy = (format: string): readonly Received[] =>
  end.received.filter(({ path }) => path === new URL(urlOf(format)).pathname)

// biome-ignore lint/suspicious/noExplicitAny: the JSON of other services
const bodies = (format: string): any[] => gotBy(format).map(({ body }) => JSON.parse(body))

const header = ({ headers }: Received, name: string): string => String(headers[name])

const isSigned = ({ body, ...one }: Received, publicKey: string): boolean => {
  const checker = new EventWebhook()
  const name = 'x-twilio-email-event-webhook'
  const [signature, at] = [
    header({ body, ...one }, `${name}-signature`),
    header({ body, ...one }, `${name}-timestamp`),
  ]
  return checker.verifySignature(checker.convertPublicKeyToECDSA(publicKey), body, signature, at)
}

const send = async (to: string) =>
  (
    await postern.api('POST', '/v1/emails', key, {
      ...{ from: 'Acme <a@acme.test>', to, subject: 'Hi', text: 'Hello' },
      tags: [
        { name: 'tag', value: 'welcome' },
        { name: 'order', value: '42' },
      ],
    })
  ).body.id as string

t.test(
  'a receiver in the shape of listmonk notes what bounced, hard or soft, and who complained',
  async (t) => {
    await send('delivered@example.com')
    await send('bounced@example.com')
    await send('bounced+5.2.2@example.com')
    await send('complained@example.com')
    const bounced = (service: string) =>
      Object.fromEntries(
        noted.filter((one) => one.service === service).map(({ email, type }) => [email, type]),
      )
    const all = {
      'bounced@example.com': 'hard',
      'bounced+5.2.2@example.com': 'soft',
      'complained@example.com': 'complaint',
    }
    await eventually(
      'all of it is noted',
      () => noted.filter(({ type }) => type === 'complaint').length >= 2,
      {
        seen: () => JSON.stringify({ noted, refused }),
      },
    )
    await eventually('by each', () => Object.keys(bounced('sendgrid')).length === 2)
    t.match(bounced('postmark'), all)
    // of SendGrid it reads no complaints; what it is told of bounces, it takes for hard but for two classes
    t.match(bounced('sendgrid'), { 'bounced@example.com': 'hard', 'bounced+5.2.2@example.com': 'hard' })
    t.match(bounced('mailgun'), { 'bounced@example.com': 'hard', 'complained@example.com': 'complaint' })
    t.ok(noted.every(({ at }) => Math.abs(at - Date.now()) < 240_000))
    await eventually('each got all', () => bodies('resend').some(({ type }) => type === 'email.complained'))
    t.same(
      refused.filter((line) => !line.startsWith('resend')),
      [],
      'nothing is refused',
    )
  },
)

t.test("each post is verified by its service's own code", async (t) => {
  for (const one of gotBy('sendgrid')) t.ok(isSigned(one, sendgrid.public_key))
  t.strictSame(
    new Set(bodies('sendgrid').map(([{ event }]) => event)),
    new Set(['processed', 'delivered', 'bounce', 'spamreport']),
  )
  t.match(bodies('sendgrid')[0], [{ category: ['welcome'], order: '42', sg_message_id: /^em_/ }])
  t.strictSame(
    new Set(bodies('postmark').map(({ RecordType }) => RecordType)),
    new Set(['Delivery', 'Bounce', 'SpamComplaint']),
  )
  t.strictSame(
    new Set(bodies('mailgun').map(({ 'event-data': { event } }) => event)),
    new Set(['accepted', 'delivered', 'failed', 'complained']),
  )
  const tokens = bodies('mailgun').map(({ signature: { token } }) => token)
  t.equal(new Set(tokens).size, tokens.length, 'a token is used once')
  const client = new Resend('re_123')
  for (const one of gotBy('resend')) {
    const headers = {
      id: header(one, 'svix-id'),
      timestamp: header(one, 'svix-timestamp'),
      signature: header(one, 'svix-signature'),
    }
    const webhookSecret = resend.signing_secret
    t.ok(client.webhooks.verify({ payload: one.body, headers, webhookSecret }))
  }
})

t.test('a test, a replay and a rotation', async (t) => {
  for (const [{ id }, format] of [
    [sendgrid, 'sendgrid'],
    [postmark, 'postmark'],
    [mailgun, 'mailgun'],
  ] as const) {
    const before = noted.length
    t.match(await postern.json('webhook', 'test', id), { status: 'success', type: 'webhook.test' }, format)
    t.equal(noted.length, before, 'a test is no bounce')
  }
  const events = await postern.api('GET', `/v1/webhooks/${sendgrid.id}/events`, key)
  const first = events.body.data.find((one: { type: string }) => one.type === 'email.bounced')
  const count = () => bodies('sendgrid').filter(([{ sg_event_id: id }]) => id === first.id).length
  t.equal(count(), 1)
  await postern.json('webhook', 'replay', sendgrid.id, first.id)
  await eventually('it is posted again', () => count() === 2)
  const shown = await postern.api('GET', `/v1/webhooks/${sendgrid.id}/events/${first.id}`, key)
  t.match(shown.body, { payload: [{ event: 'bounce', sg_event_id: first.id }] }, 'and shown as it is posted')

  const rotated = await postern.json('webhook', 'rotate', sendgrid.id)
  t.not(rotated.public_key, sendgrid.public_key)
  settings.sendgridKey = rotated.public_key
  t.match(await postern.json('webhook', 'test', sendgrid.id), { status: 'success' }, 'the new key signs')
  const last = gotBy('sendgrid').at(-1)
  t.notOk(last && isSigned(last, sendgrid.public_key))
})

t.test('webhook listen posts the same, here and now', async (t) => {
  const near = await receiver(t)
  const keyFile = join(postern.dir, 'listen.key')
  writeFileSync(keyFile, key, { mode: 0o600 })
  const formats = ['sendgrid', 'postmark', 'mailgun', 'resend']
  const said: string[] = []
  for (const format of formats) {
    const words = ['webhook', 'listen', '--config', postern.configFile, '--key-file', keyFile]
    const to = ['--forward', `http://127.0.0.1:${near.port}/${format}`, '--format', format]
    const auth = format === 'postmark' ? ['--auth', login] : []
    const args = [BIN, ...words, '--url', postern.url, ...to, ...auth]
    const child = spawn(process.execPath, args, { env: cleanEnv() })
    t.teardown(() => child.kill('SIGKILL'))
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
  }
  const listening = () => said.filter((line) => line.startsWith('listening')).length === formats.length
  await eventually('all listen', listening, { seen: () => said })
  const id = await send('bounced@example.com')
  // what Mailgun's form is signed with is made anew at each try
  const text = (body: string) => body.replace(/"signature":\{.*?\}/, '')
  const nearBy = (format: string) => near.received.filter(({ path }) => path === `/${format}`)
  for (const format of formats) {
    const byEndpoint = () => gotBy(format).filter(({ body }) => body.includes(id))
    const isBounced = () =>
      [byEndpoint(), nearBy(format)].every((all) =>
        all.some(({ body }) => /"(bounce|failed|HardBounce|email\.bounced)"/.test(body)),
      )
    await eventually(`${format} is told of the bounce twice`, isBounced, { seen: () => said })
    // posts of one mail are under way side by side: each receiver may get them in another order
    const texts = (all: readonly { readonly body: string }[]) => all.map(({ body }) => text(body)).sort()
    t.same(texts(nearBy(format)), texts(byEndpoint()), format)
  }
  const publicKey = /verified by this key: (\S+)/.exec(said.join('\n'))?.[1] ?? ''
  for (const one of nearBy('sendgrid')) t.ok(isSigned(one, publicKey))
  const basic = `Basic ${Buffer.from(`listmonk:${PASSWORD}`).toString('base64')}`
  for (const one of nearBy('postmark')) t.equal(header(one, 'authorization'), basic)

  const wrong = (...words: readonly string[]) =>
    postern.cli('webhook', 'listen', '--key-file', keyFile, ...words)
  t.match(await wrong('--format', 'ses'), { code: 64 })
  t.match(await wrong('--format', 'postmark', '--events', 'email.sent'), {
    code: 64,
    stderr: /Postmark has no word for any of them; it has for email\.delivered/,
  })
  t.match(await wrong('--auth', login), { code: 64, stderr: /postmark only/ })
  t.match(await wrong('--format', 'postmark', '--auth', keyFile), { code: 65, stderr: /user:password/ })
})

t.test('no secret stands in a file or a line after', async (t) => {
  const listed = await postern.api('GET', `/v1/webhooks/${postmark.id}/events`, key)
  t.notMatch(listed.text, Buffer.from(`listmonk:${PASSWORD}`).toString('base64'))
  await postern.stop()
  const secrets = [
    PASSWORD,
    Buffer.from(`listmonk:${PASSWORD}`).toString('base64'),
    ...[sendgrid, postmark, mailgun, resend].map(({ signing_secret }) => signing_secret.slice(6)),
  ]
  for (const secret of secrets) {
    t.notMatch(postern.output.join('\n'), secret)
    const { status } = spawnSync('grep', ['-raqF', secret, join(postern.dir, 'data')])
    t.equal(status, 1, 'grep ends with 1 where it finds nothing')
  }
})
