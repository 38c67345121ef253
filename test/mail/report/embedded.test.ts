/** The words of a report inside ordinary mail are no report: whoever shows, forwards or counts bounces names nobody. */
import t from 'tap'
import { readMail, toBinary } from '../../../src/mail/report/mime.js'
import { noticeOf } from '../../../src/mail/report/notice.js'
import { readReport } from '../../../src/mail/report/read-report.js'
import { allFixtures } from './fixtures.js'

type Ordinary = readonly [name: string, head: string, around: (text: string) => string]

const ORDINARY: readonly Ordinary[] = [
  [
    'a newsletter',
    'From: Shop News <news@far.test>\nSubject: March: how to read returned mail\nList-Unsubscribe: <https://far.test/u>',
    (text) => `Hello readers,\n\nthis month a look at what servers write:\n\n${text}\n\nSee you in April!`,
  ],
  [
    'a ticket',
    'From: Help desk <help@far.test>\nSubject: [#4711] Mail comes back: delivery failure\nAuto-Submitted: auto-generated',
    (text) => `Ann Miller wrote on Monday:\n\n${text}\n\n-- \nPlease answer above this line.`,
  ],
  [
    'a forwarded bounce',
    'From: Sue <sue@far.test>\nSubject: Fwd: Undelivered Mail Returned to Sender',
    (text) =>
      `Can you look at this?\n\n---------- Forwarded message ----------\nFrom: Mail Delivery System <mailer-daemon@peer.test>\nSubject: Undelivered Mail\n\n${text}`,
  ],
  [
    'a bounce forwarded without a word',
    'From: Sue <sue@far.test>\nSubject: WG: Undelivered Mail Returned to Sender',
    (text) => text,
  ],
  [
    'a quoting answer',
    'From: Sue <sue@far.test>\nSubject: Re: Your invoice\nIn-Reply-To: <i@shop.test>',
    (text) => `I got this from your server:\n\n${text}\n\nKind regards\nSue`,
  ],
  [
    'people among themselves',
    'Return-Path: <>\nFrom: Sue <sue@far.test>\nSubject: Mail delivery failed',
    (text) => `Hi Bob,\n\nmy message to Ann came back, do you know why?\n\n${text}\n\nCheers, Sue`,
  ],
  [
    'a summary of logs',
    'From: root@far.test (Cron Daemon)\nSubject: Logwatch for mx.far.test (Linux)',
    (text) => `--------------------- Postfix Begin ------------------------\n\n${text}\n`,
  ],
  [
    'a DMARC report',
    'From: noreply-dmarc@far.test\nSubject: Report domain: shop.test Submitter: far.test Report-ID: 17',
    (text) => `This is a DMARC aggregate report.\n\n${text}`,
  ],
  [
    'an answer of somebody away',
    'Return-Path: <>\nFrom: Bob <bob@far.test>\nSubject: Out of office: Your order\nAuto-Submitted: auto-replied',
    (text) => `I am away until Monday. Your message:\n\n${text}`,
  ],
  [
    'a monitor',
    'From: Monitoring <alerts@far.test>\nSubject: PROBLEM: 14 mails in the queue',
    (text) => `The last lines of the log:\n\n${text}\n\nThis alert is repeated every hour.`,
  ],
]

const texts = allFixtures()
  .filter(({ expected }) => ['bounce', 'delay', 'delivered'].includes(expected.kind))
  .map(({ name, raw }) => ({ name, text: noticeOf(readMail(toBinary(raw))).text }))
  .filter(({ text }) => text.trim() !== '')

for (const [what, head, around] of ORDINARY) {
  t.test(what, async (t) => {
    for (const { name, text } of texts) {
      const mail = `${head}\nTo: orders@shop.test\nContent-Type: text/plain; charset=utf-8\n\n${around(text)}\n`
      const { kind, recipients } = await readReport(Buffer.from(mail))
      if (!['none', 'autoreply'].includes(kind) || recipients.length > 0) t.fail(`${name}: ${kind}`)
    }
    t.pass(`${texts.length} texts`)
  })
}
