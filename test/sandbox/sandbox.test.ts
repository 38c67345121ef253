/**
 * The sandbox as an upstream: nodemailer relays to it, the real bounce door
 * takes what comes back. One case per row of its table.
 */
import { createTransport } from 'nodemailer'
import t from 'tap'
import { silentLog } from '../../src/base/log.js'
import { createSandbox } from '../../src/sandbox/sandbox.js'
import { ALIASES, SIMULATIONS, simulationFor } from '../../src/sandbox/simulation.js'
import { eventually } from '../parts/eventually.js'
import { bounceWith, limitsWith } from '../parts/settings.js'
import { openBounceDoor } from '../smtp/doors.js'

const SENDER = 'btoken1@bounces.test'

const { door, reports } = await openBounceDoor()
const sandbox = createSandbox({
  hostname: 'sandbox.test',
  bounceAddress: () => door.address,
  log: silentLog(),
  pace: 20,
})
await sandbox.start()
t.teardown(async () => {
  await sandbox.stop()
  await door.stop()
})

const send = (to: string, dsn: Record<string, unknown> = {}): Promise<string> => {
  reports.length = 0
  return submit(to, dsn)
}

const submit = async (to: string, dsn: Record<string, unknown> = {}): Promise<string> => {
  const transport = createTransport({ ...sandbox.address, secure: false, ignoreTLS: true })
  const reply = await transport
    .sendMail({
      envelope: { from: SENDER, to },
      dsn: {
        id: 'em_1',
        return: 'headers',
        notify: ['success', 'failure', 'delay'],
        recipient: `rfc822;${to}`,
        ...dsn,
      },
      raw: 'From: a@b.test\r\nSubject: Hi\r\nMessage-ID: <m1@b.test>\r\n\r\n.dot\r\nbody\r\n',
    })
    .then(
      (sent) => sent.response,
      (error: { response?: string }) => error.response ?? String(error),
    )
  transport.close()
  return reply
}

const MARK = 'delayed@mark.test'

/** Waits for that many reports, then for both of a later mail that takes longest, so that one too many has come too. */
const arrived = async (count: number): Promise<string[]> => {
  await eventually(`${count} reports`, () => reports.length >= count)
  await submit(MARK)
  const texts = () => reports.map(({ raw }) => raw.toString('latin1'))
  await eventually('the mark', () => texts().filter((text) => text.includes(MARK)).length === 2)
  return texts().filter((text) => !text.includes(MARK))
}

const actions = (texts: readonly string[]): string[] =>
  texts.map(
    (text) =>
      /^(?:Action|Feedback-Type|Auto-Submitted: auto-replied \(vacation\)).*/m.exec(text)?.[0] ?? text,
  )

t.test('delivered, and any other name: a success DSN with all that was asked to come back', async (t) => {
  t.match(await send('anyone@x.test'), /^250 2\.0\.0 /)
  const [text = ''] = await arrived(1)
  t.equal(reports.length, 3)
  t.equal(reports[0]?.address, SENDER)
  t.match(text, /^Content-Type: multipart\/report; report-type=delivery-status/m)
  for (const line of [
    'Reporting-MTA: dns; sandbox.test',
    'Original-Envelope-Id: em_1',
    'Original-Recipient: rfc822;anyone@x.test',
    'Final-Recipient: rfc822; anyone@x.test',
    'Action: delivered',
    'Status: 2.0.0',
    'Message-ID: <m1@b.test>',
  ]) {
    t.ok(text.includes(`\r\n${line}\r\n`), line)
  }
})

t.test('bounced: at RCPT, with the code that the address asks for', async (t) => {
  t.match(await send('bounced@x.test'), /^550 5\.1\.1 /)
  t.match(await send('bounced+5.2.2@x.test'), /^552 5\.2\.2 Mailbox full/)
  t.match(await send('Bounced+5.7.1@x.test'), /^554 5\.7\.1 /)
  t.same(await arrived(0), [])
})

t.test('bounced-later and late-bounce: failure DSNs', async (t) => {
  t.match(await send('bounced-later+5.2.1@x.test', { return: 'full' }), /^250 /)
  const [text = ''] = await arrived(1)
  t.same(actions([text]), ['Action: failed'])
  t.match(text, /^Status: 5\.2\.1\r\n/m)
  t.match(text, /^Diagnostic-Code: smtp; 550 5\.2\.1 /m)
  t.match(text, /\r\n\.dot\r\nbody\r\n/)
  t.match(await send('late-bounce@x.test'), /^250 /)
  t.same(actions(await arrived(2)), ['Action: delivered', 'Action: failed'])
})

t.test('deferred: once, or for ever', async (t) => {
  t.match(await send('deferred@x.test'), /^451 4\.2\.0 /)
  t.match(await send('deferred@x.test'), /^250 /)
  t.same(actions(await arrived(1)), ['Action: delivered'])
  t.match(await send('deferred@x.test'), /^451 /, 'a later mail is deferred anew')
  t.match(await send('deferred+4.2.2@x.test'), /^452 4\.2\.2 /)
  for (let i = 0; i < 3; i++) t.match(await send('deferred+forever@x.test'), /^451 4\.2\.0 /)
})

t.test('delayed: a delay DSN, then a failure', async (t) => {
  t.match(await send('delayed@x.test'), /^250 /)
  const texts = await arrived(2)
  t.same(actions(texts), ['Action: delayed', 'Action: failed'])
  t.match(texts[0], /^Will-Retry-Until: /m)
  t.match(texts[1], /^Status: 4\.4\.7\r\n/m)
})

t.test('relayed: a report of success that is not delivery', async (t) => {
  t.match(await send('relayed@x.test'), /^250 /)
  const [text = ''] = await arrived(1)
  t.same(actions([text]), ['Action: relayed'])
  t.match(text, /^Status: 2\.0\.0\r\n/m)
})

t.test('slow, complained, ooto', async (t) => {
  t.match(await send('slow@x.test'), /^250 /)
  t.same(actions(await arrived(1)), ['Action: delivered'])
  t.match(await send('complained@x.test'), /^250 /)
  t.same(actions(await arrived(2)), ['Action: delivered', 'Feedback-Type: abuse'])
  t.match(await send('ooto@x.test'), /^250 /)
  t.match(actions(await arrived(2))[1], /^Auto-Submitted: auto-replied \(vacation\)/)
})

t.test('NOTIFY is honoured', async (t) => {
  await send('delivered@x.test', { notify: ['failure'] })
  await send('bounced-later@x.test', { notify: ['never'] })
  t.same(await arrived(0), [])
  await send('delayed@x.test', { notify: ['failure', 'delay'] })
  t.same(actions(await arrived(2)), ['Action: delayed', 'Action: failed'])
})

t.test('a bounce door that opens late still gets the report', async (t) => {
  const late = await openBounceDoor()
  const address = late.door.address
  await late.door.stop()
  const impatient = createSandbox({
    hostname: 's.test',
    bounceAddress: () => address,
    log: silentLog(),
    pace: 10,
  })
  await impatient.start()
  const transport = createTransport({ ...impatient.address, secure: false, ignoreTLS: true })
  await transport.sendMail({
    envelope: { from: SENDER, to: 'bounced-later@x.test' },
    raw: 'Subject: x\r\n\r\nx\r\n',
  })
  transport.close()
  const { createBounceDoor } = await import('../../src/smtp/bounce-door.js')
  const { systemClock } = await import('../../src/base/clock.js')
  const got: string[] = []
  const again = createBounceDoor({
    config: {
      hostname: 'mx.test',
      bounce: bounceWith(address),
      limits: limitsWith(),
    },
    verifyRecipient: () => true,
    ingest: async (to) => {
      got.push(to)
      return undefined
    },
    clock: systemClock,
    log: silentLog(),
  })
  await again.start()
  await eventually('the report comes', () => got.length > 0)
  t.same(got, [SENDER])
  await impatient.stop()
  await again.stop()
})

t.test('the table is for people too', async (t) => {
  for (const { name, shows } of SIMULATIONS) {
    t.equal(simulationFor(`${name}@x.test`).name, name)
    t.match(shows, /^\S.{10,}/)
  }
  t.equal(simulationFor('"bounced"@x.test').name, 'bounced')
  t.equal(
    simulationFor('bounced+4.2.2@x.test').reply?.slice(0, 9),
    '550 5.1.1',
    'a code that does not fit is ignored',
  )
})

t.test('second names', async (t) => {
  for (const [name, first] of Object.entries(ALIASES)) {
    t.same(simulationFor(`${name}@x.test`), simulationFor(`${first}@x.test`), name)
    t.not(simulationFor(`${first}@x.test`), SIMULATIONS[0], `${first} is a row`)
  }
  t.match(simulationFor('Hard+5.1.2@x.test').reply, /^550 5\.1\.2 /)
  t.match(simulationFor('soft+5.3.4@x.test').reply, /^552 5\.3\.4 /)
  t.match(simulationFor('soft@x.test').reply, /^552 5\.2\.2 /)
})
