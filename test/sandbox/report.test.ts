/** What the sandbox writes, our own reader of reports understands. */
import t from 'tap'
import { readReport } from '../../src/mail/report/read-report.js'
import { type Received, writeReport } from '../../src/sandbox/report.js'
import type { Report } from '../../src/sandbox/simulation.js'

const mail: Received = {
  sender: 'btoken@bounces.test',
  recipient: 'ana@example.test',
  orcpt: 'rfc822;Ana@example.test',
  notify: null,
  envid: 'em_1',
  ret: null,
  raw: Buffer.from(
    'From: a@b.test\r\nSubject: Zażółć\r\n gęślą\r\nMessage-ID: <m1@b.test>\r\n\r\nBody: no header\r\n',
  ),
  arrivedAt: 0,
}
const parts = { hostname: 'sandbox.test', boundary: 'xyz', now: 1_000_000 }
const read = (report: Report, more: Partial<Received> = {}) =>
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
  t.match(await read({ kind: 'failed', status: '5.1.1', text: 'No such user here' }, { ret: 'FULL' }), {
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

t.test('every line ends in CRLF, and only the headers come back unless RET=FULL', async (t) => {
  const failed: Report = { kind: 'failed', status: '5.1.1', text: 'x' }
  for (const ret of ['FULL', 'HDRS', null]) {
    const text = writeReport(failed, { ...mail, ret }, parts).toString('latin1')
    t.notMatch(text, /[^\r]\n|\r[^\n]/)
    t.equal(text.includes('Body: no header'), ret === 'FULL')
  }
})
