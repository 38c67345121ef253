import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import t from 'tap'
import { type Dsn, type DsnRecipient, writeDsn } from '../../../src/mail/dsn.js'
import { readReport } from '../../../src/mail/report/read-report.js'
import type { Action } from '../../../src/mail/report/report.js'

const NOW = Date.UTC(2026, 10, 21, 10)
const ORIGINAL =
  'Received: from app\r\nFrom: app@acme.test\r\nTo: ana@example.com\r\nSubject: Receipt 42\r\n' +
  'Message-ID: <r42@acme.test>\r\n\r\nHello\r\n.\r\n--=_x\r\n'

const recipient = (over: Partial<DsnRecipient> = {}): DsnRecipient => ({
  address: 'ana@example.com',
  orcpt: null,
  reply: { code: 550, enhanced: '5.1.1', text: 'no such user' },
  cause: null,
  remoteMta: 'mx.example.com',
  lastAttempt: NOW - 1000,
  retryUntil: null,
  ...over,
})

const dsn = (over: Partial<Dsn> = {}, original: Partial<Dsn['original']> = {}): Dsn => ({
  messageId: '<em_01k9f3m2zq8v6t4r2p0nxcwbha@gw.test>',
  hostname: 'gw.test',
  now: NOW,
  action: 'failed',
  sender: 'app@acme.test',
  envid: null,
  arrivedAt: NOW - 60_000,
  recipients: [recipient()],
  original: {
    messageId: '<r42@acme.test>',
    subject: 'Receipt 42',
    raw: Buffer.from(ORIGINAL),
    whole: false,
    ...original,
  },
  ...over,
})

const text = (one: Dsn): string => writeDsn(one).toString('utf8')

t.test('our own reader understands every action', async (t) => {
  const codes: Record<Action, DsnRecipient['reply']> = {
    failed: { code: 550, enhanced: '5.1.1', text: 'no such user' },
    delayed: { code: 451, enhanced: '4.7.1', text: 'greylisted' },
    delivered: { code: 250, enhanced: '2.0.0', text: 'ok' },
    relayed: { code: 250, enhanced: null, text: 'ok' },
    expanded: null,
  }
  for (const [action, reply] of Object.entries(codes) as [Action, DsnRecipient['reply']][]) {
    const recipients = [recipient({ reply }), recipient({ address: 'bob@example.com', reply })]
    const report = await readReport(writeDsn(dsn({ action, envid: 'QQ314', recipients })))
    t.same(
      report.recipients.map(({ address, action: read }) => [address, read]),
      [
        ['ana@example.com', action],
        ['bob@example.com', action],
      ],
    )
    t.match(report, { reportingMta: 'gw.test', envid: 'QQ314', originalMessageId: '<r42@acme.test>' })
    t.match(report.recipients[0]?.remoteMta, 'mx.example.com')
  }
})

t.test('status and action agree in class', async (t) => {
  const statusIn = (action: Action, enhanced: string | null) =>
    /^Status: (.*)\r$/m.exec(
      text(dsn({ action, recipients: [recipient({ reply: { code: 550, enhanced, text: '' } })] })),
    )?.[1]
  t.equal(statusIn('failed', '4.4.7'), '4.4.7', 'expired')
  t.equal(statusIn('failed', '2.0.0'), '5.0.0')
  t.equal(statusIn('delayed', '5.7.1'), '4.0.0')
  t.equal(statusIn('delivered', null), '2.0.0')
})

t.test('parameters come out of xtext, and stay on their line', async (t) => {
  const written = text(
    dsn({ envid: 'a+20b+3Dc', recipients: [recipient({ orcpt: 'rfc822;bob+2Bx@example.com' })] }),
  )
  t.match(written, /^Original-Envelope-Id: a b=c\r$/m)
  t.match(written, /^Original-Recipient: rfc822; bob\+x@example\.com\r$/m)
  const evil = text(
    dsn(
      {
        envid: 'a+0D+0AX-Evil:+20yes',
        recipients: [
          recipient({
            orcpt: 'rfc822;x+0D+0A+0D+0AAction:+20delivered',
            reply: { code: 550, enhanced: null, text: 'one\r\nAction: delivered\r\n\r\nX: y' },
          }),
        ],
      },
      { subject: 'x\r\nX-Evil: yes', messageId: '<a>\r\nX-Evil: yes' },
    ),
  )
  t.notMatch(evil, /^(?:X-Evil|Action: delivered)/m)
  t.equal(evil.match(/^Action:/gm)?.length, 1)
})

t.test('RET decides how much comes back', async (t) => {
  t.notMatch(text(dsn()), 'Hello')
  t.match(text(dsn()), /Content-Type: text\/rfc822-headers/)
  t.match(text(dsn({}, { whole: true })), /Content-Type: message\/rfc822\r\n[\s\S]*Hello/)
  t.notMatch(text(dsn({}, { raw: null })), 'rfc822-headers')
  const eight = text(dsn({}, { raw: Buffer.from('Subject: ü\r\n\r\nx') }))
  t.match(eight, /Content-Type: message\/global-headers\r\nContent-Transfer-Encoding: 8bit/)
})

t.test('international addresses (RFC 6533)', async (t) => {
  const recipients = [recipient({ address: 'dömi@example.com' })]
  const plain = dsn({ recipients })
  t.match(text(plain), /^Final-Recipient: utf-8; d\\x\{F6\}mi@example\.com\r$/m)
  t.notMatch(text(plain).split('delivery-status\r\n')[1]?.split('--=_')[0], /[^\x00-\x7f]/)
  const global = dsn({ recipients, sender: 'jürgen@acme.test' })
  t.match(text(global), /message\/global-delivery-status/)
  t.match(text(global), /^Final-Recipient: utf-8; dömi@example\.com\r$/m)
  for (const one of [plain, global]) {
    const report = await readReport(writeDsn(one))
    t.equal(report.recipients[0]?.address, 'dömi@example.com')
    t.equal(report.recipients[0]?.action, 'failed')
  }
})

const PYTHON = '/usr/bin/python3'
const READ = `
import email, email.policy, json, sys
m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
parts = list(m.iter_parts())
print(json.dumps({
  "type": m.get_content_type(), "report": m.get_param("report-type"), "auto": m["auto-submitted"], "to": m["to"],
  "subject": m["subject"], "parts": [p.get_content_type() for p in parts], "text": parts[0].get_content(),
  "status": [[[k, str(v)] for k, v in g.items()] for g in parts[1].get_payload()],
  "back": str(parts[2].get_payload(0)["subject"]) if parts[2].get_content_type() == "message/rfc822" else parts[2].get_payload(),
  "defects": [str(d) for p in m.walk() for d in p.defects]}))
`

t.test("Python's email package reads it", async (t) => {
  if (!existsSync(PYTHON)) return void t.comment('skipped: Python is not installed')
  const read = (one: Dsn) =>
    JSON.parse(execFileSync(PYTHON, ['-c', READ], { input: writeDsn(one), encoding: 'utf8' }))
  const recipients = [
    recipient({ orcpt: 'rfc822;ana@example.com' }),
    recipient({ address: 'bob@example.com' }),
  ]
  const seen = read(dsn({ envid: 'Q1', recipients }, { whole: true, subject: 'Größe 42' }))
  t.same(seen.defects, [])
  t.match(seen, {
    type: 'multipart/report',
    report: 'delivery-status',
    auto: 'auto-replied',
    to: 'app@acme.test',
    subject: 'Undelivered: Größe 42',
    parts: ['text/plain', 'message/delivery-status', 'message/rfc822'],
    back: 'Receipt 42',
  })
  t.match(seen.text, '<ana@example.com>: 550 5.1.1 no such user')
  t.equal(seen.status.length, 3)
  t.same(Object.fromEntries(seen.status[1]), {
    'Original-Recipient': 'rfc822; ana@example.com',
    'Final-Recipient': 'rfc822; ana@example.com',
    Action: 'failed',
    Status: '5.1.1',
    'Remote-MTA': 'dns; mx.example.com',
    'Diagnostic-Code': 'smtp; 550 5.1.1 no such user',
    'Last-Attempt-Date': 'Sat, 21 Nov 2026 09:59:59 +0000',
  })
  t.match(read(dsn()).back, 'Subject: Receipt 42')
})
