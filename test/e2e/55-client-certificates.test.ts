/**
 * A client certificate stands for a login, by the built daemon: without AUTH as Postfix's relay_clientcerts
 * has it, with AUTH EXTERNAL, on resumed TLS sessions too; not a stranger's, and no longer once revoked.
 */
import { X509Certificate } from 'node:crypto'
import { connect, type TLSSocket } from 'node:tls'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

t.setTimeout(120_000)
const ca = await authority(t)
const [ours, strange] = await Promise.all(['satellite.test', 'stranger.test'].map((name) => ca.issue(name)))
if (ours === undefined || strange === undefined) throw new Error('no certificates')
const daemon = new Postern({
  submission: [
    { host: '127.0.0.1', port: 0, tls: 'starttls', client_certificates: true },
    { host: '127.0.0.1', port: 0, tls: 'implicit', client_certificates: true },
    { host: '127.0.0.1', port: 0, tls: 'implicit' },
  ],
})
t.teardown(() => daemon.remove())
await daemon.start()
const fingerprint = new X509Certificate(ours.cert).fingerprint256
const made = await daemon.json(
  ...[
    'credential',
    'create',
    '--workspace',
    'default',
    '--mode',
    'test',
    '--certificate-fingerprint',
    fingerprint,
  ],
)

const send = (at: number, pair: typeof ours | null) => {
  const transport = createTransport({
    ...{ host: '127.0.0.1', port: daemon.ports.submission[at] ?? 0, secure: at > 0, requireTLS: true },
    tls: { rejectUnauthorized: false, ...(pair && { key: pair.key, cert: pair.cert }) },
  })
  return transport.sendMail({ from: 'cron@acme.test', to: 'delivered@example.com', subject: 'x', text: 'x' })
}

t.test('without AUTH, on the listeners that ask for one', async (t) => {
  t.match(made, {
    username: null,
    cidr: null,
    certificate_fingerprint: fingerprint.replaceAll(':', '').toLowerCase(),
  })
  for (const at of [0, 1]) {
    t.match((await send(at, ours)).response, /queued as em_/)
    await t.rejects(send(at, strange), /530 5\.7\.0/)
    await t.rejects(send(at, null), /530 5\.7\.0/)
  }
  await t.rejects(send(2, ours), /530 5\.7\.0/, 'not where nobody asked')
})

interface Talk {
  readonly socket: TLSSocket
  ask(line: string): Promise<string>
}

const talk = async (pair: typeof ours, session?: Buffer): Promise<Talk> => {
  const { key, cert } = pair
  const port = daemon.ports.submission[1] ?? 0
  const socket = connect({
    host: '127.0.0.1',
    port,
    key,
    cert,
    rejectUnauthorized: false,
    ...(session && { session }),
  })
  let heard = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    heard += chunk
  })
  const reply = async (): Promise<string> => {
    await eventually('a reply', () => /^\d{3} [^\r]*\r\n$/m.test(heard), { every: 1, seen: () => heard })
    const whole = heard
    heard = ''
    return whole
  }
  await reply()
  return {
    socket,
    ask(line) {
      socket.write(`${line}\r\n`)
      return reply()
    },
  }
}

t.test('AUTH EXTERNAL is offered to who is known, with and without an initial response', async (t) => {
  for (const words of ['AUTH EXTERNAL =', 'AUTH EXTERNAL c2F0ZWxsaXRl']) {
    const { socket, ask } = await talk(ours)
    t.match(await ask('EHLO x'), /AUTH PLAIN LOGIN EXTERNAL\r/)
    t.match(await ask(words), /^235 /)
    socket.destroy()
  }
  const known = await talk(ours)
  await known.ask('EHLO x')
  t.equal(await known.ask('AUTH EXTERNAL'), '334 \r\n')
  t.match(await known.ask(''), /^235 /)
  known.socket.destroy()
  const other = await talk(strange)
  t.match(await other.ask('EHLO x'), /AUTH PLAIN LOGIN\r/)
  t.match(await other.ask('AUTH EXTERNAL ='), /^504 /)
  other.socket.destroy()
})

t.test('a resumed session is known, too', async (t) => {
  const first = await talk(ours)
  const session = new Promise<Buffer>((resolve) => first.socket.once('session', resolve))
  await first.ask('EHLO x')
  const kept = first.socket.getSession() ?? (await session)
  first.socket.destroy()
  const again = await talk(ours, kept)
  await again.ask('EHLO x')
  t.match(await again.ask('MAIL FROM:<cron@acme.test>'), /^250 /)
  again.socket.destroy()
})

t.test('one certificate is one credential, and a revoked one is none', async (t) => {
  const { code, stderr } = await daemon.cli(
    ...[
      'credential',
      'create',
      '--workspace',
      'default',
      '--certificate-fingerprint',
      `sha256 Fingerprint=${fingerprint}`,
    ],
  )
  t.not(code, 0)
  t.match(stderr, /already a credential/)
  const open = await talk(ours)
  await open.ask('EHLO x')
  await daemon.json('credential', 'revoke', made.id, '--yes')
  t.match(await open.ask('MAIL FROM:<cron@acme.test>'), /^421 4\.7\.0/)
  open.socket.destroy()
  await t.rejects(send(1, ours), /530 5\.7\.0/)
})
