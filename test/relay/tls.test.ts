/**
 * What an upstream's certificate, login and STARTTLS may do to us, with a real
 * SMTP server (smtp-server) and small TCP liars.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { generate } from 'selfsigned'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import type { UpstreamRow } from '../../src/store/port/tenants.js'
import { authority } from '../parts/certificates.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'

const pems = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 })
const fingerprint = createHash('sha256').update(new X509Certificate(pems.cert).raw).digest('hex')

interface Seen {
  readonly mails: { secure: boolean; user: string | undefined }[]
  clear: string
}

const tlsUpstream = async (t: Test, options: SMTPServerOptions = {}) => {
  const seen: Seen = { mails: [], clear: '' }
  const server = new SMTPServer({
    key: pems.private,
    cert: pems.cert,
    authOptional: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      password === 'right' ? done(null, { user: username }) : done(new Error('no')),
    onData: (stream, session, done) => {
      stream.resume()
      stream.on('end', () => {
        seen.mails.push({ secure: session.secure, user: session.user as string | undefined })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { seen, port: (server.server.address() as AddressInfo).port }
}

const send = async (port: number, change: Partial<UpstreamRow>) => {
  const row = upstreamRow(port, { host: 'localhost', ...change })
  const { queue, stop } = startFlow([poolRow([row])], { timeouts: { connect: 2_000, greeting: 2_000 } })
  queue.add(mail())
  await queue.settled(1)
  await stop()
  const [outcome] = queue.outcomes
  return {
    seen: outcome?.seen,
    stage: outcome?.detail?.stage,
    tls: outcome?.detail?.tls,
    error: outcome?.detail?.error,
  }
}

t.test('STARTTLS, as asked', async (t) => {
  const { seen, port } = await tlsUpstream(t)
  t.match(await send(port, { tls: 'required' }), { seen: 'accepted', tls: /^TLSv1/ })
  t.match(await send(port, { tls: 'opportunistic' }), { seen: 'accepted', tls: /^TLSv1/ })
  t.match(await send(port, { tls: 'none' }), { seen: 'accepted', tls: null })
  t.same(
    seen.mails.map(({ secure }) => secure),
    [true, true, false],
  )
})

t.test('a self-signed certificate does not verify, unless it is pinned', async (t) => {
  const { seen, port } = await tlsUpstream(t)
  t.match(await send(port, { tls: 'verify' }), { seen: 'postponed', stage: 'tls', error: /self.signed/ })
  t.match(await send(port, { tls: 'verify', fingerprint }), { seen: 'accepted' })
  t.match(await send(port, { tls: 'required', fingerprint: fingerprint.toUpperCase() }), { seen: 'accepted' })
  const wrong = fingerprint.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
  for (const tls of ['verify', 'required', 'opportunistic'] as const) {
    t.match(await send(port, { tls, fingerprint: wrong }), {
      seen: 'postponed',
      stage: 'tls',
      error: /pinned/,
    })
  }
  t.match(await send(port, { tls: 'opportunistic' }), { seen: 'accepted', tls: /^TLSv1/ }, 'nobody asked')
  t.ok(seen.mails.every(({ secure }) => secure))
})

t.test('a private authority', async (t) => {
  const { caFile, issue } = await authority(t)
  const other = await authority(t)
  const cases = [
    ['good', await issue('localhost'), caFile, null],
    [
      'of another authority',
      await issue('localhost'),
      other.caFile,
      /unable to|issuer|signature|self.signed/i,
    ],
    ['expired', await issue('localhost', -1), caFile, /expired/],
    ['for another name', await issue('mta.example.com'), caFile, /altnames|does not match/i],
  ] as const
  for (const [name, pair, ca, error] of cases) {
    for (const secure of [false, true]) {
      const { seen, port } = await tlsUpstream(t, { key: pair.key, cert: pair.cert, secure })
      const tls = secure ? 'implicit' : 'verify'
      const login = { user: 'postern', sealedPassword: 'right' }
      const outcome = await send(port, { tls, caFile: ca, ...login })
      const wanted =
        error === null ? { seen: 'accepted', tls: /^TLSv1/ } : { seen: 'postponed', stage: 'tls', error }
      t.match(outcome, wanted, `${name}, ${tls}`)
      t.same(seen.mails, error === null ? [{ secure: true, user: 'postern' }] : [])
    }
  }
  const { port } = await tlsUpstream(t)
  t.match(await send(port, { tls: 'verify', caFile: '/nowhere/ca.pem' }), {
    seen: 'postponed',
    stage: 'tls',
    error: /certificate file.*ENOENT/,
  })
})

t.test('a client certificate', async (t) => {
  const { caFile, issue } = await authority(t)
  const { key, cert } = await issue('localhost')
  const ours = await issue('postern.test')
  const { seen, port } = await tlsUpstream(t, {
    key,
    cert,
    ca: readFileSync(caFile),
    requestCert: true,
    rejectUnauthorized: true,
  })
  const ask = { tls: 'verify', caFile } as const
  t.match(await send(port, ask), { seen: 'postponed' }, 'none is not enough')
  t.match(await send(port, { ...ask, clientCertFile: ours.certFile, clientKeyFile: ours.keyFile }), {
    seen: 'accepted',
  })
  t.equal(seen.mails.length, 1)
})

t.test('TLS from the first byte', async (t) => {
  const { port } = await tlsUpstream(t, { secure: true })
  t.match(await send(port, { tls: 'implicit' }), { seen: 'postponed', stage: 'tls' })
  t.match(await send(port, { tls: 'implicit', fingerprint }), { seen: 'accepted', tls: /^TLSv1/ })
})

t.test('a login', async (t) => {
  const { seen, port } = await tlsUpstream(t)
  const login = { tls: 'required', user: 'postern', sealedPassword: 'right' } as const
  t.match(await send(port, login), { seen: 'accepted' })
  t.equal(seen.mails[0]?.user, 'postern')
  const refused = await send(port, { ...login, sealedPassword: 'wrong' })
  t.match(refused, { seen: 'postponed', stage: 'auth' }, 'a wrong password is our trouble, not a bounce')
  t.notMatch(JSON.stringify(refused), 'wrong')
})

/** Plays the lines; what the client says after the last of them is kept. */
const liar = async (t: Test, play: (line: string) => string | null) => {
  const heard: string[] = []
  const server: Server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.write('220 liar.test ESMTP\r\n')
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('latin1').split('\r\n')) {
        if (line === '') continue
        heard.push(line)
        const answer = play(line)
        if (answer !== null) socket.write(answer)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return { heard, port: (server.address() as AddressInfo).port }
}

const inClear = (heard: readonly string[]): readonly string[] =>
  heard.filter((line) => /^(MAIL|RCPT|DATA|AUTH)/i.test(line))

t.test('nothing goes out in clear when TLS must be', async (t) => {
  const plays: Record<string, (line: string) => string | null> = {
    'not offered': (line) => (line.startsWith('EHLO') ? '250 liar.test\r\n' : '502 what\r\n'),
    refused: (line) =>
      line.startsWith('EHLO') ? '250-liar.test\r\n250 STARTTLS\r\n' : '454 4.7.0 later\r\n',
    'garbage after STARTTLS': (line) =>
      line.startsWith('EHLO')
        ? '250-liar.test\r\n250 STARTTLS\r\n'
        : line === 'STARTTLS'
          ? '220 go\r\n250-injected\r\n250 AUTH PLAIN\r\nnot a handshake'
          : null,
    'EHLO refused': (line) => (line.startsWith('EHLO') ? '502 no\r\n' : '250 liar.test\r\n'),
  }
  for (const [name, play] of Object.entries(plays)) {
    for (const tls of ['required', 'verify'] as const) {
      const { heard, port } = await liar(t, play)
      const outcome = await send(port, { tls, user: 'u', sealedPassword: 'p' })
      t.match(outcome, { seen: 'postponed' }, `${name}, ${tls}`)
      t.same(inClear(heard), [], `${name}, ${tls}`)
    }
  }
})

t.test('opportunistic goes on in clear, but never with a password', async (t) => {
  const play = (line: string): string | null => {
    if (line.startsWith('EHLO')) return '250-liar.test\r\n250-AUTH PLAIN\r\n250 STARTTLS\r\n'
    if (line === 'STARTTLS') return '454 4.7.0 not today\r\n'
    if (line.startsWith('DATA')) return '354 go\r\n'
    return line === '.' || /^(MAIL|RCPT)/.test(line) ? '250 ok\r\n' : null
  }
  const open = await liar(t, play)
  t.match(await send(open.port, { tls: 'opportunistic' }), { seen: 'accepted', tls: null })
  const guarded = await liar(t, play)
  const outcome = await send(guarded.port, { tls: 'opportunistic', user: 'u', sealedPassword: 'p' })
  t.match(outcome, { seen: 'postponed', stage: 'tls' })
  t.same(inClear(guarded.heard), [])
  const stripped = await liar(t, (line) =>
    line.startsWith('EHLO') ? '250-liar.test\r\n250 AUTH PLAIN\r\n' : '502 5.5.1 what?\r\n',
  )
  const silent = await send(stripped.port, { tls: 'opportunistic', user: 'u', sealedPassword: 'p' })
  t.match(silent, { seen: 'postponed', stage: 'tls' }, 'not offered at all')
  t.same(inClear(stripped.heard), [])
})
