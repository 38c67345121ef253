/**
 * The addresses of the bounce domain beside return paths, by the built daemon: mail to postmaster@
 * and abuse@ reaches a person, a complaint at fbl@ finds its mail, and STARTTLS shows the
 * certificate that a reload brought.
 */
import { copyFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { signedIn } from '../parts/browser.js'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'
import { dial } from '../smtp/client.js'

t.setTimeout(120_000)
const upstream = new UpstreamServer()
const port = await upstream.listen()
const ca = await authority(t)
const pair = await ca.issue('gw.postern.test')
const daemon = new Postern({
  tls: { cert_file: pair.certFile, key_file: pair.keyFile },
  bounce: { host: '127.0.0.1', port: 0, domain: 'bounce.test', postmaster: 'Ann <ann@people.test>' },
  relay: { poll: '100ms' },
})
t.teardown(async () => {
  await daemon.remove()
  await upstream.close()
})
await daemon.start()
await daemon.route(`smtp://127.0.0.1:${port}?tls=none`)
const key = await daemon.key()
const mta = () =>
  createTransport({
    ...{ host: '127.0.0.1', port: daemon.ports.bounce, requireTLS: true, name: 'mta.far.test' },
    tls: { rejectUnauthorized: false },
  })

t.test(
  'mail to abuse@ goes on to a person, from the null sender, and comes round no second time',
  async (t) => {
    const raw =
      'From: who@far.test\r\nTo: abuse@bounce.test\r\nSubject: spam from you\r\n\r\n.dot\r\nbare\nend\r\n'
    await mta().sendMail({ envelope: { from: 'who@far.test', to: ['abuse@bounce.test'] }, raw })
    const sent = await eventually('the mail', () =>
      upstream.received.find(({ rcpt }) => rcpt.join().includes('ann@')),
    )
    t.match(sent.mail, /^MAIL FROM:<> /)
    t.match(sent.wire, /^Delivered-To: abuse@bounce\.test\r\nReceived: from mta\.far\.test /)
    t.ok(sent.wire.includes('Subject: spam from you\r\n') && sent.wire.includes('..dot\r\nbare\r\nend'))
    t.notMatch(sent.wire, /X-Postern-Ref/)
    const round = mta().sendMail({ envelope: { from: '', to: ['abuse@bounce.test'] }, raw: sent.wire })
    await t.rejects(round, /554 5\.4\.6 Mail loop/)
    const { data } = (await daemon.api('GET', '/v1/emails', key)).body
    t.match(data, [{ from: '<>', to: ['ann@people.test'], subject: 'spam from you', source: 'system' }])
    const shown = await daemon.api('GET', `/v1/emails/${data[0].id}`, key)
    t.match(shown.body, { from: '<>', tags: [{ name: 'mail_to', value: 'abuse' }] })
    t.match((await daemon.cli('email', 'show', data[0].id)).stdout, /spam from you/)
  },
)

t.test('a complaint without a token, at fbl@', async (t) => {
  const mail = { from: 'shop@acme.test', to: 'reader@example.com', subject: 'News', text: 'x' }
  const { id } = (await daemon.api('POST', '/v1/emails', key, mail)).body
  await daemon.until(key, id, ['sent'])
  const wire = upstream.received.find(({ rcpt }) => rcpt.join().includes('reader@'))?.wire ?? ''
  const reference = /^X-Postern-Ref: c[0-9a-z]{33}\r\n/.exec(wire)?.[0] ?? 'none'
  const raw = [
    'From: loop@isp.test\r\nSubject: abuse\r\nMIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n',
    '--b\r\nContent-Type: message/feedback-report\r\n',
    'Feedback-Type: abuse\r\nUser-Agent: isp/1\r\nVersion: 1\r\n',
    `--b\r\nContent-Type: message/rfc822\r\n\r\n${reference}From: shop@acme.test\r\nSubject: News\r\n\r\nx`,
    '--b--\r\n',
  ].join('\r\n')
  await mta().sendMail({ envelope: { from: '', to: ['fbl@bounce.test'] }, raw })
  const { data } = (await daemon.api('GET', `/v1/emails/${id}/events`, key)).body
  t.match(data[0], { type: 'email.complained', recipient: 'reader@example.com', applied: true })
})

/** The fingerprint that STARTTLS shows. */
const shown = async (): Promise<string> => {
  const { socket, until } = dial(daemon.ports.bounce)
  socket.write('EHLO x\r\nSTARTTLS\r\n')
  await until(/220 2\.0\.0/)
  socket.removeAllListeners('data')
  const secure = connect({ socket, rejectUnauthorized: false })
  await new Promise((resolve) => secure.once('secureConnect', resolve))
  const { fingerprint256 } = secure.getPeerCertificate()
  secure.destroy()
  return fingerprint256
}

t.test('SIGHUP brings the renewed certificate to the bounce door', async () => {
  const before = await shown()
  const fresh = await ca.issue('gw.postern.test')
  copyFileSync(fresh.certFile, pair.certFile)
  copyFileSync(fresh.keyFile, pair.keyFile)
  process.kill(daemon.pid, 'SIGHUP')
  await eventually('another certificate', async () => (await shown()) !== before)
})

t.test('where nobody is named, mail to postmaster@ is taken and stands in the log', async (t) => {
  const plain = new Postern({ bounce: { host: '127.0.0.1', port: 0, domain: 'bounce.test' } })
  t.teardown(() => plain.remove())
  await plain.start()
  const to = (address: string, raw: string) =>
    createTransport({ host: '127.0.0.1', port: plain.ports.bounce, ignoreTLS: true }).sendMail({
      envelope: { from: 'who@far.test', to: [address] },
      raw,
    })
  const subject = '=?utf-8?q?You_spam_=1B[31m_me?='
  await to(
    'Postmaster@bounce.test',
    `From: Ann <who@far.test>\r\nSubject: ${subject}\r\nContent-Type: text/html\r\n\r\n<script>x()</script><p>${'stop it '.repeat(1_000)}</p>\r\n`,
  )
  await to('abuse@bounce.test', 'no header at all')
  const list = await plain.json('event', 'list', '--type', 'postmaster.received')
  t.equal(list.length, 2)
  const [abuse, letter] = list
  t.match(abuse, {
    type: 'postmaster.received',
    email_id: null,
    change: false,
    data: { to: 'abuse@bounce.test' },
  })
  t.match(letter.data, {
    ...{ from: 'Ann <who@far.test>', subject: 'You spam  [31m me', to: 'postmaster@bounce.test' },
    ...{ text: /^stop it stop it/, ip: '127.0.0.1' },
  })
  t.ok(letter.data.text.length <= 2_000)
  t.match((await plain.cli('event', 'show', letter.id)).stdout, /stop it/)
  const list2 = await plain.api('GET', '/v1/events?type=postmaster.received', await plain.key())
  t.same(list2.body.data, [], 'the key of a workspace does not see it')
  const owner = await signedIn(plain)
  const { html } = await owner.visit('/settings/postmaster')
  t.match(
    html,
    /<bdi>Ann &lt;who@far\.test>?(&gt;)?<\/bdi>.*<bdi>You spam {2}\[31m me<\/bdi>.*stop it stop it/s,
  )
  t.match(html, 'href="/settings/postmaster"')
  const { token } = await plain.json('session', 'create', '--role', 'member')
  const asMember = (path: string) => plain.api('GET', path, token)
  for (const path of ['/v1/events', '/v1/events/stream'])
    t.match(await asMember(`${path}?type=postmaster.received`), {
      status: 403,
      body: { code: 'auth.role_forbidden', detail: 'mail to postmaster@ is for owners' },
    })
  t.notMatch((await asMember('/v1/events')).text, 'postmaster.received')
  t.equal((await asMember(`/v1/events/${letter.id}`)).status, 404)
  t.same((await asMember('/v1/events?email_id=em_1')).body.data, [])
  owner.setCookie('postern_session', token)
  t.equal((await owner.visit('/settings/postmaster')).status, 403)
  t.notMatch((await owner.visit('/')).html, '/settings/postmaster')
})
