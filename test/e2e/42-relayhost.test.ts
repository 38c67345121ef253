/**
 * A legacy host whose Postfix hands everything to Postern: relayhost, a login and a
 * verified certificate are its whole change. Three recipients come in one transaction;
 * a password that was revoked keeps the mail in the client's queue, and loses none.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'

const PLAIN_LOGINS = ['/usr/lib/x86_64-linux-gnu/sasl2', '/usr/lib/aarch64-linux-gnu/sasl2', '/usr/lib/sasl2']
const why =
  noPostfix() ??
  (PLAIN_LOGINS.some((folder) => existsSync(join(folder, 'libplain.so')))
    ? null
    : 'Postfix can not log in as a client (apt-get install libsasl2-modules)')

const MESSAGE = [
  'From: Cron <cron@legacy.test>',
  'To: Ana <ana@example.com>, ben@example.com',
  'Subject: nightly report',
  'Message-ID: <nightly-1@legacy.test>',
  'Date: Fri, 20 Nov 2026 03:00:00 +0000',
  '',
  '.hidden',
  'Zażółć gęślą jaźń',
  '',
].join('\r\n')

if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(120_000)
  const mx = await new PlainMx().start()
  const postern = new Postern()
  const legacy = new Postfix()
  t.teardown(async () => {
    legacy.stop()
    await postern.remove()
    await mx.stop()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
  const key = await postern.key()
  const sender = await postern.json('key', 'create', '--workspace', 'default', '--name', 'legacy host')
  const host = `[localhost]:${postern.ports.submission[0]}`
  const logins = join(legacy.dir, 'logins')
  writeFileSync(logins, `${host} legacy:${sender.secret}\n`, { mode: 0o600 })
  await legacy.start({
    bouncePort: await freePort(),
    retry: '1s',
    lifetime: '1h',
    settings: {
      default_transport: 'smtp',
      relayhost: host,
      smtp_sasl_auth_enable: 'yes',
      smtp_sasl_password_maps: `texthash:${logins}`,
      smtp_sasl_security_options: 'noanonymous',
      smtp_tls_security_level: 'secure',
      smtp_tls_CAfile: join(postern.dir, 'data', 'self-signed.crt'),
    },
  })
  const submit = async (raw: string, to: readonly string[]): Promise<void> => {
    const client = createTransport({ host: '127.0.0.1', port: legacy.port, secure: false, ignoreTLS: true })
    await client.sendMail({ envelope: { from: 'cron@legacy.test', to: [...to] }, raw })
    client.close()
  }
  const arrived = (subject: string) =>
    eventually(subject, () => newest(subject), { every: 100, seen: () => legacy.log() })
  const newest = async (wanted: string) => {
    const { body } = await postern.api('GET', '/v1/emails?limit=1', key)
    return body.data[0]?.subject === wanted ? body.data[0] : null
  }

  t.test('three recipients of one mail: one email, all of its bytes', async (t) => {
    const to = ['ana@example.com', 'ben@example.com', 'audit@example.com']
    await submit(MESSAGE, to)
    const email = await arrived('nightly report')
    const record = await postern.until(key, email.id, ['sent'])
    t.same(
      record.recipients.map((one: { address: string; kind: string }) => [one.address, one.kind]).sort(),
      [
        ['ana@example.com', 'to'],
        ['audit@example.com', 'bcc'],
        ['ben@example.com', 'to'],
      ],
    )
    t.equal(record.source, 'smtp')
    t.equal(mx.messages.length, 3)
    for (const raw of mx.messages) {
      t.ok(raw.endsWith(Buffer.from(MESSAGE.slice(MESSAGE.indexOf('\r\n\r\n'))).toString('latin1')))
      t.match(raw, /^Message-ID: <nightly-1@legacy\.test>\r$/m)
      t.notMatch(raw, /audit@/)
    }
    t.match(legacy.log(), new RegExp(`status=sent \\(250 2\\.6\\.0 Ok: queued as ${email.id}\\)`))
  })

  t.test('a revoked key: the mail waits with the client, and comes when a new one is written', async (t) => {
    await postern.json('key', 'revoke', sender.id, '--yes')
    const later = MESSAGE.replaceAll('nightly', 'morning')
    await submit(later, ['ana@example.com'])
    await eventually('the login is refused', () =>
      /SASL authentication failed.*535 5\.7\.8/.test(legacy.log()),
    )
    t.equal(mx.messages.length, 3, 'nothing was taken')
    const renewed = await postern.key()
    writeFileSync(logins, `${host} legacy:${renewed}\n`, { mode: 0o600 })
    legacy.reload()
    const email = await arrived('morning report')
    await postern.until(key, email.id, ['sent'])
    t.equal(mx.messages.length, 4)
    t.match(mx.messages[3], /^Message-ID: <morning-1@legacy\.test>\r$/m)
  })
}
