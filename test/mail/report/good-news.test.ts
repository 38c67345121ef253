/** A report of success that was cut before its status part must never be read as a failure. */
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'

const mail = (...lines: readonly string[]): Buffer =>
  Buffer.from(
    [
      'From: MAILER-DAEMON@mta.upstream.test (Mail Delivery System)',
      'To: b1@bounce.test',
      'Subject: Successful Mail Delivery Report',
      '',
      ...lines,
      '',
    ].join('\r\n'),
  )

t.test('words of success alone', async (t) => {
  const notices = [
    [
      'Your message was successfully delivered to the destination(s)',
      'listed below.',
      '',
      '<list@deliver.test>: alias expanded',
    ],
    [
      'The following addresses had successful delivery notifications',
      '-----',
      'you@far.test (relayed to non-DSN-aware mailer)',
    ],
  ]
  for (const lines of notices) {
    const report = await readReport(mail(...lines))
    t.strictSame([...new Set(report.recipients.map(({ action }) => action))], ['delivered'])
    t.not(report.kind, 'bounce')
  }
})

t.test('good news for one and bad news for another is bad news', async (t) => {
  const lines = [
    'Your message was successfully delivered to <a@x.test>.',
    '',
    '<b@x.test>: could not be delivered: user unknown',
  ]
  t.equal((await readReport(mail(...lines))).kind, 'bounce')
})
