/**
 * A trial tells in words what is wrong with TLS, and what is offered.
 */
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import { seal } from '../../../src/base/secret.js'
import { tryUpstream } from '../../../src/relay/trial.js'
import type { UpstreamRow } from '../../../src/store/port/tenants.js'
import { UPSTREAM_SEAL } from '../../../src/tenant/pool.js'
import { poolRow, TOKEN_PARTS, upstreamRow } from '../parts.js'

const PEPPER = Buffer.alloc(32, 7)
const login = { user: 'u', sealedPassword: seal(PEPPER, UPSTREAM_SEAL, 'right') }

const serve = async (t: Test, options: SMTPServerOptions = {}): Promise<number> => {
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    onAuth: ({ password }, _session, done) =>
      password === 'right' ? done(null, { user: 'u' }) : done(new Error('no')),
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return (server.server.address() as AddressInfo).port
}

const attempt = (port: number, change: Partial<UpstreamRow>) => {
  const row = upstreamRow(port, change)
  const { dialler } = TOKEN_PARTS
  const deps = {
    pepper: PEPPER,
    hostname: 'postern.test',
    dialler,
    endpoints: {},
    store: { rotateToken: async () => true },
  }
  return tryUpstream(deps, poolRow([row]), row)
}

t.test('what is offered, and what would be used', async (t) => {
  const port = await serve(t, { authMethods: ['LOGIN', 'CRAM-MD5'], hideENHANCEDSTATUSCODES: false })
  t.match(await attempt(port, { tls: 'required', ...login }), {
    ok: true,
    said: /^TLSv1\.\d, signed in by LOGIN/,
    mechanisms: ['LOGIN', 'CRAM-MD5'],
    mechanism: 'LOGIN',
  })
  t.match(await attempt(port, { tls: 'required' }), {
    ok: true,
    mechanisms: ['LOGIN', 'CRAM-MD5'],
    mechanism: null,
  })
  t.match(await attempt(port, { tls: 'required', ...login, authMechanism: 'PLAIN' }), {
    ok: false,
    stage: 'auth',
    said: 'the server offers LOGIN, CRAM-MD5 only, and PLAIN is set',
    mechanisms: ['LOGIN', 'CRAM-MD5'],
    mechanism: null,
  })
  const modern = await serve(t, { authMethods: ['XOAUTH2'] })
  t.match(await attempt(modern, { tls: 'required', ...login }), {
    ok: false,
    stage: 'auth',
    said: 'the server offers XOAUTH2 only, and there is a password',
  })
})

t.test('TLS at the wrong port', async (t) => {
  const plain = await serve(t)
  const secure = await serve(t, { secure: true })
  t.match(await attempt(plain, { tls: 'implicit' }), {
    ok: false,
    stage: 'tls',
    said: 'this port speaks plain SMTP first: use smtp:// with STARTTLS',
  })
  const modes = ['none', 'opportunistic', 'required'] as const
  for (const { ok, said } of await Promise.all(modes.map((tls) => attempt(secure, { tls }))))
    t.same([ok, said], [false, 'this port speaks TLS from the start: use smtps://'])
  const old = await serve(t, {
    secure: true,
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  const { said } = await attempt(old, { tls: 'implicit', fingerprint: '0'.repeat(64) })
  t.match(said, /^no TLS could be agreed: /)
  t.notMatch(said, /\.c:|routines|[0-9A-F]{8}:/, 'nothing of OpenSSL')
})
