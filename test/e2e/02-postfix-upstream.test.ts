/**
 * The main job with real parts: mail goes in at either door, out through a real
 * Postfix, and its real DSNs come back through the bounce door and set statuses.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  const bouncePort = await freePort()
  const mx = await new PlainMx().start()
  const upstream = await new Postfix().start({ bouncePort, plainMxPort: mx.port })
  const postern = new Postern({ bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' } })
  t.teardown(async () => {
    await postern.remove()
    upstream.stop()
    await mx.stop()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${upstream.port}?tls=none`)
  const key = await postern.key()

  const send = async (to: string | string[], more: object = {}): Promise<string> => {
    const answer = await postern.api('POST', '/v1/emails', key, {
      from: 'App <app@gw.test>',
      to,
      subject: 'e2e',
      text: 'hello',
      ...more,
    })
    if (answer.status !== 202) throw new Error(answer.text)
    return answer.body.id
  }

  t.test('delivered: the success report sets it', async (t) => {
    const record = await postern.until(key, await send('ok@deliver.test'), ['delivered'])
    t.equal(record.status, 'delivered')
    const events = (await postern.api('GET', `/v1/emails/${record.id}/events`, key)).body.data
    t.ok(
      events.some(
        (event: { source: string; type: string }) =>
          event.source === 'dsn' && event.type === 'email.delivered',
      ),
    )
    const mail = upstream.delivered().find((raw) => raw.includes(record.message_id))
    t.ok(mail, 'the mailbox has it')
    t.match(mail ?? '', /^Subject: e2e$/m)
    t.notMatch(mail ?? '', /^bcc:/im)
  })

  t.test('refused at RCPT: bounced with the upstream reply', async (t) => {
    const record = await postern.until(key, await send('nobody@deliver.test'), ['bounced'])
    t.match(record.recipients[0].last_response, /^550 5\.1\.1/)
  })

  t.test('accepted, then bounced by a report', async (t) => {
    const record = await postern.until(key, await send('who@local5.test'), ['bounced'])
    const events = (await postern.api('GET', `/v1/emails/${record.id}/events`, key)).body.data
    const bounce = events.find((event: { type: string }) => event.type === 'email.bounced')
    t.equal(bounce.source, 'dsn')
    t.equal(bounce.smtp.enhanced, '5.1.1')
  })

  t.test('relayed to a hop without DSN: delivered, as far as anyone can tell', async (t) => {
    const record = await postern.until(key, await send('far@mx.test'), ['delivered'])
    t.equal(record.status, 'delivered')
    t.ok(mx.messages.some((raw) => raw.includes(record.message_id)))
  })

  t.test('delayed, then expired', async (t) => {
    const id = await send('later@defer.test')
    await postern.until(key, id, ['deferred'])
    const record = await postern.until(key, id, ['bounced'], 60_000)
    t.equal(record.status, 'bounced')
  })

  t.test('busy: our own attempt is postponed and the mail stays with us', async (t) => {
    const record = await postern.until(key, await send('busy@deliver.test'), ['deferred'])
    t.equal(record.recipients[0].attempts, 1)
    t.match(record.recipients[0].last_response, /^451 4\.3\.0/)
  })

  t.test('many recipients, each with its own fate; bcc leaves no trace', async (t) => {
    const id = await send(['a@deliver.test', 'nobody@deliver.test'], { bcc: 'hidden@deliver.test' })
    const record = await postern.until(key, id, ['delivered', 'bounced'])
    t.equal(record.status, 'bounced')
    t.match(record.counts, { delivered: 2, bounced: 1 })
    const copies = upstream.delivered().filter((raw) => raw.includes(record.message_id))
    t.equal(copies.length, 2)
    for (const copy of copies)
      t.notMatch(copy.replace(/^(X-Original-To|Delivered-To|Received|\s+for ).*$/gim, ''), /hidden@/)
  })

  t.test('SMTP: a nodemailer client on STARTTLS, relayed byte for byte', async (t) => {
    const client = createTransport({
      host: '127.0.0.1',
      port: postern.ports.submission[0] ?? 0,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'apikey', pass: key },
    })
    const raw = [
      'From: App <app@gw.test>',
      'To: smtp@deliver.test',
      'Subject:  odd   spacing kept',
      'X-Odd:   folded\r\n\tby hand',
      'Message-ID: <mine-1@gw.test>',
      'Date: Fri, 20 Nov 2026 10:00:00 +0000',
      '',
      '.leading dot',
      '8-bit: żółć',
      'trailing space ',
      '',
    ].join('\r\n')
    const sent = await client.sendMail({ envelope: { from: 'app@gw.test', to: ['smtp@deliver.test'] }, raw })
    const id = /queued as (em_[0-9a-z]{26})/.exec(sent.response)?.[1] ?? ''
    t.match(sent.response, /^250 2\.6\.0 /)
    const record = await postern.until(key, id, ['delivered'])
    t.equal(record.source, 'smtp')
    t.equal(record.message_id, '<mine-1@gw.test>')
    const mail = upstream.delivered().find((one) => one.includes('<mine-1@gw.test>')) ?? ''
    const sentBytes = Buffer.from(raw, 'utf8').toString('latin1').replaceAll('\r\n', '\n')
    t.ok(mail.endsWith(sentBytes), 'everything below the added Received lines is as it was sent')
    client.close()
  })

  t.test(
    'SMTP: implicit TLS with swaks',
    { skip: existsSync('/usr/bin/swaks') ? false : 'swaks is not installed' },
    async (t) => {
      const args = [
        '--server',
        `127.0.0.1:${postern.ports.submission[1]}`,
        '--tls-on-connect',
        '--auth',
        'LOGIN',
        '--auth-user',
        'x',
        '--auth-password',
        key,
      ]
      const output = await new Promise<string>((resolve) => {
        execFile(
          'swaks',
          [...args, '--from', 'app@gw.test', '--to', 'swaks@deliver.test'],
          (_error, stdout, stderr) => resolve(stdout + stderr),
        )
      })
      const id = /250 2\.6\.0 .*queued as (em_[0-9a-z]{26})/.exec(output)?.[1] ?? ''
      t.ok(id, output)
      await postern.until(key, id, ['delivered'])
    },
  )

  t.test('curl sends, as in the README', async () => {
    const body = JSON.stringify({ from: 'app@gw.test', to: 'curl@deliver.test', subject: 'curl', text: 'x' })
    const args = [
      '-sS',
      `${postern.url}/v1/emails`,
      '-H',
      `Authorization: Bearer ${key}`,
      '-H',
      'Content-Type: application/json',
      '-d',
      body,
    ]
    const output = await new Promise<string>((resolve) =>
      execFile('curl', args, (_error, stdout) => resolve(stdout)),
    )
    await postern.until(key, JSON.parse(output).id, ['delivered'])
  })

  t.test('a forged return path is refused at RCPT', async (t) => {
    const client = createTransport({ host: '127.0.0.1', port: bouncePort, ignoreTLS: true })
    const forged = client.sendMail({
      envelope: { from: '', to: ['b10000000000000000aaaaaaaaaaaaaaaa@bounce.test'] },
      raw: 'From: <>\r\nTo: x\r\nSubject: Undelivered\r\n\r\nx\r\n',
    })
    t.equal(
      await forged.then(
        () => 'accepted',
        (error: { responseCode?: number }) => error.responseCode,
      ),
      550,
    )
    client.close()
  })
}
