/**
 * REQUIRETLS (RFC 8689) through the whole product: a client asks for it, and the
 * mail leaves under verified TLS to a server that goes on like this, or not at all.
 */
import { createTransport } from 'nodemailer'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t from 'tap'
import { authority, type Pair } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

interface Taken {
  readonly sender: string
  readonly required: boolean
  readonly secure: boolean
  readonly raw: string
}

const upstream = async (pair: Pair, options: SMTPServerOptions = {}) => {
  const taken: Taken[] = []
  const server = new SMTPServer({
    key: pair.key,
    cert: pair.cert,
    disabledCommands: ['AUTH'],
    authOptional: true,
    logger: false,
    hideDSN: false,
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('no') ? Object.assign(new Error('no such user'), { responseCode: 550 }) : null),
    onData: (stream, { envelope, secure }, done) => {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const sender = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        taken.push({
          sender,
          required: envelope.requireTLS === true,
          secure,
          raw: Buffer.concat(parts).toString(),
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { taken, port: (server.server.address() as { port: number }).port }
}

t.setTimeout(120_000)
const { caFile, issue } = await authority(t)
const pair = await issue('localhost')
const strict = await upstream(pair, { hideREQUIRETLS: false })
const lax = await upstream(pair, { hideREQUIRETLS: true })
const postern = new Postern()
t.teardown(() => postern.remove())
await postern.start()
const url = (port: number) => `smtp://localhost:${port}?tls=verify&ca_file=${caFile}`
await postern.route(url(lax.port))
await postern.json(
  'pool',
  'create',
  'unverified',
  '--upstream',
  `smtp://localhost:${strict.port}?tls=required`,
)
await postern.json(
  'pool',
  'create',
  'both',
  ...['--upstream', url(lax.port), '--upstream', `${url(strict.port)}&priority=1`],
)
await postern.json('workspace', 'update', 'default', '--sender-dsn')
const key = await postern.key()

const submit = async (to: string, required = true): Promise<string> => {
  const client = createTransport({
    host: '127.0.0.1',
    port: postern.ports.submission[0] ?? 0,
    auth: { user: 'any', pass: key },
    tls: { rejectUnauthorized: false },
  })
  const { response } = await client.sendMail({
    from: 'app@acme.test',
    to,
    subject: 'Secret',
    text: 'the body',
    headers: { 'TLS-Required': 'No' },
    dsn: { id: 'x', return: 'full', notify: ['failure'], recipient: to },
    ...(required ? { requireTLSExtensionEnabled: true } : {}),
  })
  return /em_[0-9a-z]{26}/.exec(response)?.[0] ?? response
}

t.test('no member of the pool will do: bounced, and the timeline says why', async (t) => {
  const wanted = { smtp: { code: 550, enhanced: '5.7.30' } }
  for (const [pool, why] of [
    ['main', /does not offer it/],
    ['unverified', /verified TLS/],
  ] as const) {
    await postern.json('workspace', 'update', 'default', '--pool', pool)
    const id = await submit('you@example.com')
    await postern.until(key, id, ['bounced'])
    const events = (await postern.api('GET', `/v1/emails/${id}/events`, key)).body.data
    const bounced = events.find(({ type }: { type: string }) => type === 'email.bounced')
    t.match(bounced, wanted)
    t.match(bounced.smtp.text, why)
  }
  const listed = await postern.json('suppression', 'list')
  t.notMatch(JSON.stringify(listed), 'you@example.com', 'the address has done nothing wrong')
})

t.test('another member will do; who did not ask goes the ordinary way', async (t) => {
  await postern.json('workspace', 'update', 'default', '--pool', 'both')
  await postern.until(key, await submit('ana@example.com'), ['sent', 'delivered'])
  const [mail] = strict.taken.filter(({ raw }) => raw.includes('ana@example.com'))
  t.match(mail, { required: true, secure: true, raw: /^TLS-Required: No\r$/im }, 'the field is left alone')
  await postern.until(key, await submit('bob@example.com', false), ['sent', 'delivered'])
  t.equal(lax.taken.filter(({ raw }) => raw.includes('bob@example.com')).length, 1)
})

t.test(
  'a report on it requires TLS too, without the body; where that can not be it goes all the same',
  async (t) => {
    const id = await submit('nobody@example.com')
    const about = ({ sender, raw }: Taken) => sender === '' && raw.includes('nobody@example.com')
    const all = () => [...strict.taken, ...lax.taken]
    const report = await eventually('a report', () => all().find(about))
    t.match(report.raw, 'Subject: Secret')
    t.notMatch(report.raw, 'the body', 'RET=FULL counts for nothing')
    t.equal((await postern.api('GET', `/v1/emails/${id}`, key)).body.status, 'bounced')
  },
)
