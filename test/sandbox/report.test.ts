/** What the sandbox writes, our own reader of reports understands. */
import t from 'tap'
import { readReport } from '../../src/mail/report/read-report.js'
import { headersOf, type Received, writeReport } from '../../src/sandbox/reporter.js'
import type { SimulatedReport } from '../../src/sandbox/simulation.js'

const mail: Received = {
  sender: 'btoken@bounces.test',
  recipient: 'ana@example.test',
  orcpt: 'rfc822;Ana@example.test',
  notify: [],
  envid: 'em_1',
  headers: headersOf({
    ...{ id: 'em_1', poolId: 'pool_1', from: 'a@b.test', to: ['ana@example.test'], tags: [] },
    ...{ subject: 'Zażółć\r\nBcc: gęślą', messageId: '<m1@b.test>', createdAt: 0, scheduledAt: null },
  }),
  arrivedAt: 0,
}
const parts = { id: 'r1.0@sandbox.test', hostname: 'sandbox.test', boundary: 'xyz', now: 1_000_000 }
const read = (report: SimulatedReport, more: Partial<Received> = {}) =>
  readReport(writeReport(report, { ...mail, ...more }, parts))

t.test('delivered, delayed, failed', async (t) => {
  t.match(await read({ kind: 'delivered' }), {
    kind: 'delivered',
    reportingMta: /sandbox\.test/,
    envid: 'em_1',
    originalMessageId: /m1@b\.test/,
    recipients: [{ finalRecipient: 'ana@example.test', action: 'delivered' }],
  })
  t.match(await read({ kind: 'delayed', status: '4.4.1', text: 'Connection timed out' }), {
    kind: 'delay',
    recipients: [{ action: 'delayed', status: '4.4.1' }],
  })
  t.match(await read({ kind: 'failed', status: '5.1.1', text: 'No such user here' }), {
    kind: 'bounce',
    recipients: [{ action: 'failed', status: '5.1.1', class: 'hard', address: /ana@example\.test/i }],
  })
  t.match(await read({ kind: 'failed', status: '5.2.2', text: 'Mailbox full' }), {
    recipients: [{ class: 'soft' }],
  })
})

t.test('a complaint and an auto-reply', async (t) => {
  t.match(await read({ kind: 'complaint' }), { kind: 'arf', feedbackType: 'abuse' })
  t.match(await read({ kind: 'auto-reply' }), { kind: 'autoreply' })
})

t.test('without ORCPT and ENVID, and with a recipient beyond ASCII', async (t) => {
  const report = await read(
    { kind: 'failed', status: '5.1.1', text: 'No such user here' },
    { orcpt: null, envid: null, recipient: 'łukasz@example.test' },
  )
  t.match(report, { envid: null, recipients: [{ action: 'failed', originalRecipient: null }] })
})

t.test('every line ends in CRLF, and no text of the mail makes a header', async (t) => {
  for (const kind of ['delivered', 'complaint', 'auto-reply'] as const) {
    const text = writeReport({ kind }, mail, parts).toString('latin1')
    t.notMatch(text, /[^\r]\n|\r[^\n]/)
    t.notMatch(text, /^Bcc:/m)
    t.match(text, /^Message-ID: <r1\.0@sandbox\.test>\r$/m)
  }
})
