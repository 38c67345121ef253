/** Every mail of test/fixtures says what its expected.json says, with LF and with CRLF. */
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'
import { allFixtures, fixtureRaw, forgottenFixtures, said } from './fixtures.js'

const fixtures = allFixtures()
t.ok(fixtures.length > 80, 'the fixtures are where this test looks for them')
t.same(forgottenFixtures(), [], 'each .eml has its entry in the expected.json of its folder')

t.test('each fixture is read as expected', async (t) => {
  for (const { name, raw, expected } of fixtures) {
    t.same(said(await readReport(raw)), expected, name)
    const crlf = Buffer.from(Buffer.from(raw).toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')
    t.same(said(await readReport(crlf)), expected, `${name} with CRLF`)
  }
})

t.test('what the report tells about itself and the original', async (t) => {
  const report = await readReport(fixtureRaw('written', 'dsn.eml'))
  t.match(report, {
    source: 'status-part',
    reportingMta: 'mx.peer.test',
    messageId: '<r1@mx.peer.test>',
    originalMessageId: '<order-1@shop.test>',
    returnPathHints: ['b3x9@bounce.shop.test'],
    refs: [],
  })
  t.match(report.recipients[0], {
    finalRecipient: 'ann@peer.test',
    originalRecipient: null,
    diagnostic: '550 5.1.1 no such user',
    code: 550,
    category: 'unknown_user',
    fault: 'recipient',
  })
})

t.test('ENVID and X-Postern-Ref are handed on', async (t) => {
  const raw = fixtureRaw('written', 'dsn.eml')
    .toString('latin1')
    .replace('Reporting-MTA:', 'Original-Envelope-Id: token+3Dx+2By\nReporting-MTA:')
    .replace('From: Shop', 'X-Postern-Ref: ref-1\nFrom: Shop')
  const report = await readReport(Buffer.from(raw, 'latin1'))
  t.equal(report.envid, 'token=x+y')
  t.same(report.refs, ['ref-1'])
})

t.test('a file of several mails gives one report', async (t) => {
  const one = fixtureRaw('written', 'dsn.eml').toString('latin1')
  const two = fixtureRaw('written', 'yahoo.eml').toString('latin1')
  const line = 'From MAILER-DAEMON  Mon Mar  2 09:05:00 2026\n'
  const report = await readReport(Buffer.from(`${line}${one}\n${line}${two}`, 'latin1'))
  t.equal(report.kind, 'bounce')
  t.equal(report.recipients.length, 2)
})

t.test('nothing at all is no report', async (t) => {
  t.equal((await readReport(new Uint8Array())).kind, 'none')
  t.equal((await readReport(Buffer.from('\n\n\n'))).kind, 'none')
  t.equal((await readReport(Buffer.from([0, 255, 254, 13, 10, 0]))).kind, 'none')
})
