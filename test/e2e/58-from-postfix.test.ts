/**
 * Twenty-two ways in which a Postfix hands mail on, as people set them up: each main.cf is made into a setup, applied, and
 * mail goes by it through a real Postfix, with the login, the TLS and the way that the file says.
 */
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { here } from '../cli/desk.js'
import { authority } from '../parts/certificates.js'
import { DnsServer } from '../parts/dns-server.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'
import { sasl } from '../parts/sasl.js'

const USER = 'ana@shop.test'
const SECRET = 'right: horse'

interface Form {
  readonly name: string
  readonly cf: string
  /** Tables beside main.cf. */
  readonly tables?: Readonly<Record<string, string>>
  /** By which Postfix mail leaves: the one with TLS and logins, or the plain one. */
  readonly via: 'secure' | 'plain'
  /** The workspace that its mail goes by. */
  readonly workspace?: string
  readonly code?: number
  readonly text?: RegExp
  readonly said?: RegExp
  /** In the trace that the upstream adds. */
  readonly trace?: RegExp
}

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(600_000)
  const bouncePort = await freePort()
  const tlsPort = await freePort()
  // tcpmux; a free port may be somebody else's a moment later
  const nowhere = 1
  const { caFile, issue } = await authority(t)
  const cert = await issue('localhost')
  const secure = new Postfix()
  const auth = await sasl(join(secure.dir, 'auth'), USER, SECRET)
  await secure.start({
    ...{ bouncePort, tlsPort },
    settings: {
      smtpd_tls_security_level: 'may',
      smtpd_tls_cert_file: cert.certFile,
      smtpd_tls_key_file: cert.keyFile,
      smtpd_tls_auth_only: 'yes',
      smtpd_tls_ask_ccert: 'yes',
      smtpd_tls_CAfile: caFile,
      smtpd_sasl_auth_enable: 'yes',
      smtpd_sasl_type: 'dovecot',
      smtpd_sasl_path: join(secure.dir, 'auth'),
      smtpd_tls_received_header: 'yes',
      smtpd_sasl_authenticated_header: 'yes',
    },
  })
  const plain = await new Postfix().start({ bouncePort })
  const dns = await new DnsServer().start()
  dns.mx.set('relay.shop.test', [
    [20, 'localhost'],
    [10, 'down.localhost'],
  ])
  const postern = new Postern({
    bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' },
    relay: { poll: '100ms', retry: ['1s'] },
  })
  t.teardown(async () => {
    await postern.remove()
    secure.stop()
    plain.stop()
    auth.close()
    dns.stop()
  })
  await postern.start()

  const S = `[localhost]:${secure.port}`
  const P = `[localhost]:${plain.port}`
  const login = `smtp_sasl_auth_enable = yes
smtp_sasl_security_options = noanonymous
smtp_sasl_password_maps = hash:/etc/postfix/sasl_passwd
`
  const passwd = { sasl_passwd: `${S} ${USER}:${SECRET}\n` }
  const signed = new RegExp(`Authenticated sender: ${USER}`)
  const print = new X509Certificate(readFileSync(cert.certFile)).fingerprint256

  const FORMS: readonly Form[] = [
    {
      ...{ name: 'a service for sending, its key as the password', via: 'secure', trace: signed },
      cf: `relayhost = ${S}\n${login}smtp_tls_security_level = encrypt\nsmtp_tls_note_starttls_offer = yes\n`,
      tables: passwd,
      text: /smtp:\/\/ana%40shop.test@localhost:\d+\?tls=required&password_file=\.\/localhost\.password/,
    },
    {
      ...{ name: 'as postconf -n prints it, TLS where it is offered', via: 'secure', trace: signed },
      cf: `alias_maps = hash:/etc/aliases\ncompatibility_level = 3.6\ninet_interfaces = loopback-only\nmydestination = $myhostname, localhost\nmyhostname = app1.shop.test\nrelayhost = ${S}\n${login}smtp_tls_security_level = may\n`,
      tables: { sasl_passwd: `# by host name\nlocalhost ${USER}:${SECRET}\n` },
      text: /tls=opportunistic/,
      said: /hostname: app1\.shop\.test/,
    },
    {
      ...{ name: 'a mailbox provider, its certificate checked', via: 'secure', trace: signed },
      cf: `relayhost = ${S}\n${login}smtp_tls_security_level = verify\nsmtp_tls_CAfile = ${caFile}\n`,
      tables: passwd,
      text: /tls=verify&ca_file=/,
    },
    {
      ...{ name: 'the old words for TLS, one mechanism', via: 'secure', trace: /TLSv1/ },
      cf: `relayhost = ${S}\nsmtp_use_tls = yes\n${login}smtp_sasl_mechanism_filter = plain\n`,
      tables: passwd,
      text: /auth_mechanism=PLAIN/,
    },
    {
      ...{ name: 'submission with TLS from the first byte', via: 'secure', trace: signed },
      cf: `relayhost = [localhost]:${tlsPort}\n${login}smtp_tls_wrappermode = yes\nsmtp_tls_security_level = encrypt\nsmtp_tls_CAfile = ${caFile}\n`,
      tables: { sasl_passwd: `[localhost]:${tlsPort} ${USER}:${SECRET}\n` },
      text: /tls=implicit&ca_file=/,
      said: /checks the certificate here/,
    },
    {
      ...{ name: 'a relay by sender', via: 'secure', workspace: 'news-test', trace: signed },
      cf: `relayhost = ${P}\nsender_dependent_relayhost_maps = hash:/etc/postfix/relay_by_sender\n${login}smtp_tls_security_level = may\n`,
      tables: { ...passwd, relay_by_sender: `@news.test ${S}\n` },
      said: /mail from @news\.test goes by the workspace news-test/,
    },
    {
      ...{ name: 'a relay by sender: the others', via: 'plain' },
      cf: `relayhost = ${P}\nsender_dependent_relayhost_maps = hash:/etc/postfix/relay_by_sender\n`,
      tables: { relay_by_sender: `@news.test ${S}\n@alerts.test DUNNO\n` },
    },
    {
      ...{ name: 'a login by sender', via: 'secure', workspace: 'ana-shop-test', trace: signed },
      cf: `relayhost = ${S}\nsmtp_sender_dependent_authentication = yes\n${login}smtp_tls_security_level = encrypt\n`,
      tables: { sasl_passwd: `${USER} ${USER}:${SECRET}\n${S} nobody:else\n` },
      text: /default_from: ana@shop\.test/,
    },
    {
      ...{ name: 'a domain that goes another way', via: 'plain' },
      cf: `relayhost = [localhost]:${nowhere}\ntransport_maps = hash:/etc/postfix/transport\n`,
      tables: {
        transport: `deliver.test   smtp:${P}\n.deliver.test smtp:${P}\nbob@deliver.test smtp:${S}\nold.test error:5.1.2 closed\n`,
      },
      code: 65,
      said: /transport of bob@deliver\.test is not taken: routes are by domain\n.*\n?.*transport of old\.test is not taken: error: is no server/,
    },
    {
      ...{ name: 'everything by the table, one domain as before', via: 'plain' },
      cf: `relayhost = ${P}\ntransport_maps = texthash:/etc/postfix/transport\n`,
      tables: { transport: `* relay:[localhost]:${nowhere}\ndeliver.test :\n` },
    },
    {
      ...{ name: 'MX hosts, the first of which is down', via: 'plain' },
      cf: `relayhost = relay.shop.test:${plain.port}\nsmtp_tls_security_level = none\n`,
      text: /down\.localhost:\d+\?tls=none\n +- smtp:\/\/localhost:\d+\?tls=none&priority=1/,
      said: /has no brackets: the MX hosts that it has now are the upstreams \(down\.localhost, localhost\)/,
    },
    {
      ...{ name: 'no brackets and no MX', via: 'plain' },
      cf: `relayhost = localhost:${plain.port}\n`,
      text: /smtp:\/\/localhost:\d+\?tls=none/,
    },
    {
      ...{ name: 'a null client', via: 'plain' },
      cf: `myhostname = app1.localhost\nmyorigin = $mydomain\nrelayhost = [$mydomain]:${plain.port}\ninet_interfaces = loopback-only\nmydestination =\n`,
    },
    {
      ...{ name: 'TLS by a policy', via: 'secure', trace: signed },
      cf: `relayhost = ${S}\n${login}smtp_tls_security_level = none\nsmtp_tls_policy_maps = hash:/etc/postfix/tls_policy\n`,
      tables: { ...passwd, tls_policy: `${S} encrypt protocols=!SSLv2:!SSLv3 ciphers=high\n` },
      text: /tls=required/,
    },
    {
      ...{ name: 'a pinned certificate', via: 'secure', trace: signed },
      cf: `relayhost = ${S}\n${login}smtp_tls_fingerprint_digest = sha256\nsmtp_tls_policy_maps = inline:{ {${S} = fingerprint match=${print}} }\n`,
      tables: passwd,
      text: /tls=required&fingerprint=[0-9a-f]{64}/,
    },
    {
      ...{ name: 'a fallback', via: 'plain' },
      cf: `relayhost = [localhost]:${nowhere}\nsmtp_fallback_relay = ${P}\n`,
      text: /priority=500/,
    },
    {
      ...{ name: 'two relays in a row', via: 'plain' },
      cf: `relayhost = [localhost]:${nowhere}, ${P}\n`,
      text: /priority=1/,
    },
    {
      ...{ name: 'a password in main.cf itself', via: 'secure', trace: signed },
      cf: `relayhost = ${S}\nsmtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = static:{${USER}:${SECRET}}\nsmtp_tls_security_level = encrypt\n`,
    },
    {
      ...{ name: 'an address, no TLS, no login', via: 'plain' },
      cf: `relayhost = 127.0.0.1:${plain.port}\nsmtp_tls_security_level = none\nmynetworks = 127.0.0.0/8 10.0.0.0/8\n`,
      said: /10\.0\.0\.0\/8 sent without a password there and may not here/,
    },
    {
      ...{ name: 'lines that go on, parameters of parameters, CRLF', via: 'plain' },
      cf: `# ours\r\nrelay_name = localhost\r\nrelay_port = ${plain.port}\r\nrelayhost =\r\n\t[\${relay_name}]:$relay_port\r\n`,
    },
    {
      ...{ name: 'a client certificate', via: 'secure', trace: /Client CN "localhost"/ },
      cf: `relayhost = ${S}\nsmtp_tls_security_level = secure\nsmtp_tls_CAfile = ${caFile}\nsmtp_tls_cert_file = ${cert.certFile}\nsmtp_tls_key_file = ${cert.keyFile}\n`,
      text: /client_cert_file=.*client_key_file=/,
    },
    {
      ...{ name: 'tables that are no text', via: 'plain', code: 65 },
      cf: `default_transport = smtp:${P}\ntransport_maps = pcre:/etc/postfix/by_pattern, ldap:/etc/postfix/ldap.cf, proxy:mysql:/etc/postfix/sql.cf\n`,
      said: /pcre:\S+ is not read.*\n.*ldap:\S+ is not read.*\n.*proxy:mysql:\S+ is not read/,
    },
  ]

  const cli = (...args: readonly string[]) => here([...args, '--config', postern.configFile])

  const sendBy = async (workspace: string): Promise<string> => {
    const made = await cli('key', 'create', '--workspace', workspace, '--name', 'move', '--json')
    const key = JSON.parse(made.stdout).token ?? JSON.parse(made.stdout).key
    const body = { from: 'App <app@shop.test>', to: 'ann@deliver.test', subject: 'moved', text: 'hello' }
    const { status, body: sent, text } = await postern.api('POST', '/v1/emails', key, body)
    if (status !== 202) throw new Error(text)
    return (await postern.until(key, sent.id, ['sent', 'delivered'])).message_id
  }

  for (const [n, form] of FORMS.entries())
    t.test(form.name, { timeout: 120_000 }, async (t) => {
      const folder = join(postern.dir, `cf${n}`)
      mkdirSync(folder)
      writeFileSync(join(folder, 'main.cf'), form.cf)
      for (const [name, text] of Object.entries(form.tables ?? {})) writeFileSync(join(folder, name), text)
      const out = join(postern.dir, `moved${n}`)
      const resolver = `127.0.0.1:${dns.port}`
      const main = join(folder, 'main.cf')
      const workspace = `shop${n}`
      const done = await cli('import', main, '--out', out, '--workspace', workspace, '--resolver', resolver)
      t.equal(done.code, form.code ?? 0, done.stderr)
      t.notMatch(done.stdout + done.stderr, /right: horse/, 'no secret is said')
      const text = readFileSync(join(out, 'postfix.yaml'), 'utf8')
      t.notMatch(text, /right: horse/)
      if (form.text !== undefined) t.match(text, form.text)
      if (form.said !== undefined) t.match(done.stderr, form.said)
      const applied = await cli('apply', out, '--yes')
      t.equal(applied.code, 0, applied.stdout + applied.stderr)
      const at = form.via === 'secure' ? secure : plain
      // the relay knows of a pool that has changed a moment later: what came before that went where it led until then
      const copy = await eventually('it arrives', async () => {
        const id = await sendBy(form.workspace ?? workspace)
        const found = () => at.delivered().find((raw) => raw.includes(id))
        return eventually('this one arrives', found, { ms: 5_000 }).catch(() => null)
      })
      if (form.trace !== undefined) t.match(copy, form.trace)
    })
}
