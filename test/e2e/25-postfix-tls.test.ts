/**
 * `postern upstream test` and real mail against a Postfix with TLS and logins, in
 * each TLS mode: what it must accept, and what it must refuse to do in clear.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { here } from '../cli/desk.js'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'
import { sasl } from '../parts/sasl.js'

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(120_000)
  const bouncePort = await freePort()
  const { caFile, issue } = await authority(t)
  const { caFile: otherCa } = await authority(t)
  const good = await issue('localhost')
  const upstream = new Postfix()
  const auth = await sasl(join(upstream.dir, 'auth'), 'gateway', 'right horse')
  await upstream.start({
    bouncePort,
    settings: {
      smtpd_tls_security_level: 'may',
      smtpd_tls_cert_file: good.certFile,
      smtpd_tls_key_file: good.keyFile,
      smtpd_tls_auth_only: 'yes',
      smtpd_sasl_auth_enable: 'yes',
      smtpd_sasl_type: 'dovecot',
      smtpd_sasl_path: join(upstream.dir, 'auth'),
      smtpd_tls_received_header: 'yes',
      smtpd_sasl_authenticated_header: 'yes',
    },
  })
  const bare = await new Postfix().start({ bouncePort })
  const postern = new Postern({
    bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' },
    relay: { poll: '100ms' },
  })
  t.teardown(async () => {
    await postern.remove()
    upstream.stop()
    bare.stop()
    auth.close()
  })
  await postern.start()
  const [right, wrong] = [join(postern.dir, 'right'), join(postern.dir, 'wrong')]
  writeFileSync(right, 'right horse\n')
  writeFileSync(wrong, 'wrong horse\n')

  const at = (query: string, port = upstream.port, host = 'localhost') => `smtp://${host}:${port}?${query}`
  const signed = (query: string, file = right) =>
    `smtp://gateway@localhost:${upstream.port}?password_file=${file}&${query}`
  const CASES: readonly (readonly [string, string, object])[] = [
    ['none', at('tls=none'), { ok: true, tls: null }],
    ['opportunistic', at('tls=opportunistic'), { ok: true, tls: 'TLSv1.3' }],
    ['opportunistic, not offered', at('tls=opportunistic', bare.port), { ok: true, tls: null }],
    ['required', at('tls=required'), { ok: true, tls: 'TLSv1.3' }],
    ['required, not offered', at('tls=required', bare.port), { ok: false, stage: 'tls' }],
    ['verify, unknown authority', at('tls=verify'), { ok: false, stage: 'tls' }],
    ['verify, private authority', at(`tls=verify&ca_file=${caFile}`), { ok: true, tls: 'TLSv1.3' }],
    ['verify, another authority', at(`tls=verify&ca_file=${otherCa}`), { ok: false, stage: 'tls' }],
    [
      'verify, wrong name',
      at(`tls=verify&ca_file=${caFile}`, upstream.port, '127.0.0.1'),
      { ok: false, stage: 'tls' },
    ],
    ['verify, not offered', at(`tls=verify&ca_file=${caFile}`, bare.port), { ok: false, stage: 'tls' }],
    ['implicit at a STARTTLS port', at('tls=implicit'), { ok: false }],
    ['a login', signed(`tls=verify&ca_file=${caFile}`), { ok: true, said: /signed in/ }],
    ['a login, required', signed('tls=required'), { ok: true, said: /signed in/ }],
    ['a wrong password', signed(`tls=verify&ca_file=${caFile}`, wrong), { ok: false, stage: 'auth' }],
    ['a login, but no TLS to protect it', signed('tls=none'), { ok: false, stage: 'auth' }],
  ]

  t.test('postern upstream test', { timeout: 60_000 }, async (t) => {
    const args = CASES.flatMap(([, url]) => ['--upstream', url])
    const made = await here(['pool', 'create', 'all', ...args, '--config', postern.configFile])
    t.equal(made.code, 0, made.stderr)
    const { code, stdout } = await here(['upstream', 'test', 'all', '--json', '--config', postern.configFile])
    t.equal(code, 69, 'some fail')
    const trials = JSON.parse(stdout)
    for (const [i, [name, , wanted]] of CASES.entries()) t.match(trials[i], wanted, name)
    t.notMatch(stdout, 'horse')
  })

  t.test('mail, in the same words', { timeout: 60_000 }, async (t) => {
    await postern.route(signed(`tls=verify&ca_file=${caFile}`))
    const key = await postern.key()
    const body = { from: 'App <app@gw.test>', to: 'tls@deliver.test', subject: 'tls', text: 'hello' }
    const id = (await postern.api('POST', '/v1/emails', key, body)).body.id
    const record = await postern.until(key, id, ['sent', 'delivered'])
    const copy = () => upstream.delivered().find((raw) => raw.includes(record.message_id))
    await eventually('a copy at the upstream', copy)
    t.match(copy(), /using TLSv1\.3/)
    t.match(copy(), /Authenticated sender: gateway/)
    const timeline = (await here(['email', 'show', id, '--config', postern.configFile])).stdout
    t.match(timeline, /TLSv1\.3/)
  })
}
