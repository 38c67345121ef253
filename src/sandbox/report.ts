/**
 * NAME      report - DSNs, complaints and auto-replies as mails
 * DESCRIPTION
 *   Writes what a far MTA writes: multipart/report with message/delivery-status
 *   (RFC 3464, RFC 3462), a feedback report (RFC 5965), or a vacation notice
 *   (RFC 3834). The returned part carries the headers alone, or the whole mail
 *   when RET=FULL asked for it.
 */
import type { Report } from './simulation.js'

/** A mail that the sandbox took. */
export interface Received {
  readonly sender: string
  readonly recipient: string
  /** Decoded, or null when not given. */
  readonly orcpt: string | null
  /** What NOTIFY said, upper case; null when it said nothing. */
  readonly notify: readonly string[] | null
  readonly envid: string | null
  readonly ret: string | null
  readonly raw: Buffer
  readonly arrivedAt: number
}

const CRLF = '\r\n'

/** Text as a string of its UTF-8 octets: a report is put together in latin1, byte for byte. */
const octets = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

const headersOf = (raw: Buffer): string => {
  const end = raw.indexOf('\r\n\r\n')
  return raw.subarray(0, end === -1 ? raw.length : end + 2).toString('latin1')
}

/** A header field of the mail, unfolded, or null. */
const fieldOf = (raw: Buffer, name: string): string | null => {
  const found = new RegExp(`^${name}:((?:.*\\r\\n[ \\t])*.*)`, 'im').exec(headersOf(raw))
  return found?.[1]?.replace(/\r\n[ \t]+/g, ' ').trim() ?? null
}

const dated = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000')

const TITLES = {
  delivered: 'Successful Mail Delivery Report',
  relayed: 'Successful Mail Delivery Report',
  delayed: 'Delayed Mail (still being retried)',
  failed: 'Undelivered Mail Returned to Sender',
} as const

interface Parts {
  readonly hostname: string
  readonly boundary: string
  readonly now: number
}

const head = ({ hostname, boundary, now }: Parts, fields: Record<string, string>): string[] => [
  `Date: ${dated(now)}`,
  `Message-ID: <${boundary}@${hostname}>`,
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
const returned = (mail: Received, whole: boolean): string[] =>
  whole
    ? ['Content-Type: message/rfc822', 'Content-Transfer-Encoding: 8bit', '', mail.raw.toString('latin1')]
    : ['Content-Type: text/rfc822-headers', '', headersOf(mail.raw)]

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
    returned(mail, mail.ret === 'FULL' && report.kind === 'failed'),
  ]),
]

const writeComplaint = (mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: `Feedback loop <fbl@${parts.hostname}>`,
    To: mail.sender,
    Subject: `FW: ${fieldOf(mail.raw, 'Subject') ?? ''}`,
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
    returned(mail, true),
  ]),
]

const writeAutoReply = (mail: Received, parts: Parts): string[] => [
  ...head(parts, {
    From: octets(mail.recipient),
    To: mail.sender,
    Subject: `Out of office: ${fieldOf(mail.raw, 'Subject') ?? ''}`,
    'In-Reply-To': fieldOf(mail.raw, 'Message-ID') ?? '<unknown>',
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
