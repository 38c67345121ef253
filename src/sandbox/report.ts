/**
 * NAME      report - DSNs, complaints and auto-replies as mails
 * DESCRIPTION
 *   Writes what a far MTA writes: multipart/report with message/delivery-status
 *   (RFC 3464, RFC 3462), a feedback report (RFC 5965), or a vacation notice
 *   (RFC 3834). The returned part carries the headers that tell whose mail it was.
 */
import type { MailOfEvent } from '../store/port/log.js'
import type { Report } from './simulation.js'

/** A mail that the sandbox took. */
export interface Received {
  readonly sender: string
  readonly recipient: string
  /** Decoded, or null when not given. */
  readonly orcpt: string | null
  /** What NOTIFY said, upper case. */
  readonly notify: readonly string[]
  readonly envid: string | null
  /** Octets as latin1, each line with its CRLF. */
  readonly headers: string
  readonly arrivedAt: number
}

const CRLF = '\r\n'

/** Text as a string of its UTF-8 octets: a report is put together in latin1, byte for byte. */
const octets = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** One line, whatever was in it. */
const plain = (text: string): string => octets(text.replace(/[\x00-\x1f\x7f]+/g, ' '))

const dated = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000')

/** The headers of a mail, as far as its record tells them. */
export const headersOf = ({ from, to, subject, messageId, createdAt }: MailOfEvent): string =>
  [
    `From: ${plain(from)}`,
    ...(to.length === 0 ? [] : [`To: ${plain(to.join(', '))}`]),
    `Subject: ${plain(subject)}`,
    `Message-ID: ${plain(messageId)}`,
    `Date: ${dated(createdAt)}`,
    '',
  ].join(CRLF)

/** A header field of the mail, or null. */
const fieldOf = ({ headers }: Received, name: string): string | null =>
  new RegExp(`^${name}: (.*)`, 'im').exec(headers)?.[1] ?? null

const TITLES = {
  delivered: 'Successful Mail Delivery Report',
  relayed: 'Successful Mail Delivery Report',
  delayed: 'Delayed Mail (still being retried)',
  failed: 'Undelivered Mail Returned to Sender',
} as const

interface Parts {
  /** Of its Message-ID: the same report has the same. */
  readonly id: string
  readonly hostname: string
  readonly boundary: string
  readonly now: number
}

const head = ({ id, now }: Parts, fields: Record<string, string>): string[] => [
  `Date: ${dated(now)}`,
  `Message-ID: <${id}>`,
  ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  'MIME-Version: 1.0',
]

const multipart = (type: string, parts: Parts, sections: readonly string[][]): string[] => [
  `Content-Type: multipart/report; report-type=${type}; boundary="${parts.boundary}"`,
  '',
  ...sections.flatMap((section) => [`--${parts.boundary}`, ...section, '']),
  `--${parts.boundary}--`,
  '',
]

const TEXT = ['Content-Type: text/plain; charset=us-ascii', '']

/** The mail that came, as the last part of a report. */
const returned = ({ headers }: Received): string[] => ['Content-Type: text/rfc822-headers', '', headers]

type Dsn = Extract<Report, { kind: keyof typeof TITLES }>

const wordsOf = (report: Dsn): { basic: string; status: string; text: string } => {
  if (report.kind === 'delivered') return { basic: '250', status: '2.0.0', text: 'Delivered to mailbox' }
  if (report.kind === 'relayed')
    return { basic: '250', status: '2.0.0', text: 'Taken by a server that offers no DSN' }
  return { basic: report.kind === 'delayed' ? '451' : '550', status: report.status, text: report.text }
}

const perRecipient = (report: Dsn, mail: Received, { hostname, now }: Parts): string[] => {
  const { basic, status, text } = wordsOf(report)
  return [
    ...(mail.orcpt === null ? [] : [`Original-Recipient: ${octets(mail.orcpt)}`]),
    `Final-Recipient: rfc822; ${octets(mail.recipient)}`,
    `Action: ${report.kind}`,
    `Status: ${status}`,
    `Remote-MTA: dns; mx.${hostname}`,
    `Diagnostic-Code: smtp; ${basic} ${status} ${text}`,
    ...(report.kind === 'delayed' ? [`Will-Retry-Until: ${dated(now + 4 * 86_400_000)}`] : []),
  ]
}

const writeDsn = (report: Dsn, mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: `Mail Delivery System <MAILER-DAEMON@${parts.hostname}>`,
    To: mail.sender,
    Subject: TITLES[report.kind],
    'Auto-Submitted': 'auto-replied',
  }),
  ...multipart('delivery-status', parts, [
    [
      ...TEXT,
      `This is the sandbox at ${parts.hostname}.`,
      '',
      `<${octets(mail.recipient)}>: ${TITLES[report.kind]}`,
    ],
    [
      'Content-Type: message/delivery-status',
      '',
      `Reporting-MTA: dns; ${parts.hostname}`,
      ...(mail.envid === null ? [] : [`Original-Envelope-Id: ${mail.envid}`]),
      `Arrival-Date: ${dated(mail.arrivedAt)}`,
      '',
      ...perRecipient(report, mail, parts),
    ],
    returned(mail),
  ]),
]

const writeComplaint = (mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: `Feedback loop <fbl@${parts.hostname}>`,
    To: mail.sender,
    Subject: `FW: ${fieldOf(mail, 'Subject') ?? ''}`,
  }),
  ...multipart('feedback-report', parts, [
    [...TEXT, 'This is an email abuse report for a message that a recipient marked as spam.'],
    [
      'Content-Type: message/feedback-report',
      '',
      'Feedback-Type: abuse',
      'User-Agent: Postern-Sandbox/1.0',
      'Version: 1',
      `Original-Mail-From: <${mail.sender}>`,
      `Original-Rcpt-To: <${octets(mail.recipient)}>`,
      `Arrival-Date: ${dated(mail.arrivedAt)}`,
      `Reporting-MTA: dns; ${parts.hostname}`,
    ],
    returned(mail),
  ]),
]

const writeAutoReply = (mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: octets(mail.recipient),
    To: mail.sender,
    Subject: `Out of office: ${fieldOf(mail, 'Subject') ?? ''}`,
    'In-Reply-To': fieldOf(mail, 'Message-ID') ?? '<unknown>',
    'Auto-Submitted': 'auto-replied (vacation)',
  }),
  ...TEXT,
  'I am away until Monday.',
  '',
]

/** The mail that reports, as bytes. */
export const writeReport = (report: Report, mail: Received, parts: Parts): Buffer => {
  const lines =
    report.kind === 'complaint'
      ? writeComplaint(mail, parts)
      : report.kind === 'auto-reply'
        ? writeAutoReply(mail, parts)
        : writeDsn(report, mail, parts)
  return Buffer.from(lines.join(CRLF), 'latin1')
}
