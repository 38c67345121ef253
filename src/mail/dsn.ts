/**
 * NAME      dsn - a delivery status notification (RFC 3464, RFC 3462, RFC 6533)
 *   RFC 3464 allows printable ASCII only, so an international address goes in as `utf-8;` with `\x{F6}` for what is
 *   not (RFC 6533 section 3). A report that travels as SMTPUTF8 itself (message/global-delivery-status) shows it as it
 *   is. A client chose ENVID and ORCPT, and xtext can hide a line end: what would not stay on its line goes in as it
 *   came, still encoded.
 *   Three parts: words for a person, fields for a machine, and the message that it is about; whole only when it failed
 *   and the client asked for RET=FULL, else its header. Status and Action agree in class, whatever the other side
 *   said, but for 4.4.7 and its kin: a mail that expired has failed. A sender whose own address is beyond ASCII gets
 *   the international form. The same report is the same bytes: Message-ID and time come from outside.
 */
import { isAscii } from './address.js'
import { boundaryOf, plainBody } from './compose.js'
import { decodeXtext, encodeUtf8Xtext } from './encoding.js'
import { asBuffer, foldField, formatDate, scanHeader, textField } from './header.js'
import type { Reply } from './reply.js'
import type { Action } from './report/report.js'

const LONGEST = 900

/** Words of some server on one line; beyond ASCII only where that is allowed. */
const oneLine = (text: string, unicode: boolean): string => {
  const line = text.replace(/[\x00-\x20\x7f-\x9f\u2028\u2029]+/g, ' ').trim()
  return (unicode ? line : line.replace(/[^\x20-\x7e]/g, '?')).slice(0, LONGEST)
}

const printable = (text: string): boolean => /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(text)

/** An xtext parameter as a field shows it. */
const shownXtext = (given: string): string => {
  const text = decodeXtext(given)
  return printable(text) ? text : oneLine(given, false)
}

/** `rfc822; ann@example.com`. */
const addressField = (address: string, unicode: boolean): string => {
  if (isAscii(address)) return `rfc822; ${oneLine(address, false)}`
  return `utf-8; ${unicode ? oneLine(address, true) : encodeUtf8Xtext(address)}`
}

/** `Original-Recipient` from the ORCPT that the client gave. */
const originalField = (orcpt: string): string => {
  const semicolon = orcpt.indexOf(';')
  const type = oneLine(orcpt.slice(0, semicolon), false)
  return `${type}; ${shownXtext(orcpt.slice(semicolon + 1))}`
}

/** A host's name, or null when it is none. */
const hostField = (host: string | null): string | null => {
  const name = host?.replace(/^[\w.-]+\s*;\s*/, '').trim() ?? ''
  return /^[\x21-\x7e]{1,255}$/.test(name) ? `dns; ${name}` : null
}

export interface DsnRecipient {
  readonly address: string
  /** ORCPT as the client gave it, or null. */
  readonly orcpt: string | null
  readonly reply: Reply | null
  /** Why, when no server said it: `connection refused`. */
  readonly cause: string | null
  readonly remoteMta: string | null
  readonly lastAttempt: number
  readonly retryUntil: number | null
}

export interface Dsn {
  /** With angle brackets. */
  readonly messageId: string
  readonly hostname: string
  readonly now: number
  readonly action: Action
  /** Where it goes. */
  readonly sender: string
  /** xtext. */
  readonly envid: string | null
  readonly arrivedAt: number
  readonly recipients: readonly DsnRecipient[]
  readonly original: {
    readonly messageId: string
    readonly subject: string
    /** The bytes, or null when they are gone. */
    readonly raw: Uint8Array | null
    readonly whole: boolean
  }
}

const TITLE: Record<Action, string> = {
  failed: 'Undelivered',
  delayed: 'Delayed',
  delivered: 'Delivered',
  relayed: 'Handed on',
  expanded: 'Handed on to a list',
}

const STORY: Record<Action, string> = {
  failed: 'Your message could not be delivered to the recipients below, and will not be tried again.',
  delayed:
    'Your message has not reached the recipients below yet. It is still being tried: do not send it again.',
  delivered: 'Your message was delivered to the recipients below.',
  relayed:
    'Your message was handed to the mail servers of the recipients below, which do not report whether they deliver it.',
  expanded: 'Your message was handed on to the members of the lists below.',
}

const FALLBACK: Record<Action, string> = {
  failed: '5.0.0',
  delayed: '4.0.0',
  delivered: '2.0.0',
  relayed: '2.0.0',
  expanded: '2.0.0',
}

/** `Undelivered: Receipt 42`. */
export const dsnSubject = (action: Action, subject: string): string =>
  `${TITLE[action]}: ${oneLine(subject, true) || '(no subject)'}`

const isBad = (action: Action): boolean => action === 'failed' || action === 'delayed'

const statusOf = (action: Action, enhanced: string | null): string => {
  const classes = action === 'failed' ? /^[45]\./ : action === 'delayed' ? /^4\./ : /^2\./
  return enhanced !== null && classes.test(enhanced) ? enhanced : FALLBACK[action]
}

const saidBy = ({ reply, cause }: DsnRecipient): string | null => {
  if (reply === null) return cause
  const start = [reply.code, reply.enhanced].filter((part) => part !== null && part !== '').join(' ')
  return reply.text.startsWith(start) ? reply.text : `${start} ${reply.text}`
}

const words = ({ action, hostname, original, recipients }: Dsn): string => {
  const lines = recipients.map((one) => {
    const said = saidBy(one)
    return `<${oneLine(one.address, true)}>${said === null ? '' : `: ${oneLine(said, true)}`}`
  })
  return [
    `This is the mail gateway at ${hostname}.`,
    '',
    STORY[action],
    '',
    `  Subject:    ${oneLine(original.subject, true)}`,
    `  Message-ID: ${oneLine(original.messageId, true)}`,
    '',
    ...lines,
    '',
  ].join('\n')
}

const statusFields = (dsn: Dsn, unicode: boolean): string => {
  const { action } = dsn
  const field = (name: string, value: string | null): string => (value === null ? '' : foldField(name, value))
  const groups = dsn.recipients.map((one) => {
    const said = saidBy(one)
    const type = one.reply === null ? 'x-postern' : 'smtp'
    return (
      field('Original-Recipient', one.orcpt === null ? null : originalField(one.orcpt)) +
      field('Final-Recipient', addressField(one.address, unicode)) +
      field('Action', action) +
      field('Status', statusOf(action, one.reply?.enhanced ?? null)) +
      field('Remote-MTA', hostField(one.remoteMta)) +
      field('Diagnostic-Code', said === null ? null : `${type}; ${oneLine(said, unicode)}`) +
      field('Last-Attempt-Date', isBad(action) ? formatDate(one.lastAttempt) : null) +
      field('Will-Retry-Until', one.retryUntil === null ? null : formatDate(one.retryUntil))
    )
  })
  const message =
    field('Reporting-MTA', `dns; ${dsn.hostname}`) +
    field('Original-Envelope-Id', dsn.envid === null ? null : shownXtext(dsn.envid)) +
    field('Arrival-Date', formatDate(dsn.arrivedAt))
  return [message, ...groups].join('\r\n')
}

const isSevenBit = (bytes: Uint8Array): boolean => bytes.every((byte) => byte < 0x80)

/** The message that it is about, as a part: fields, an empty line, content. */
const returned = ({ raw, whole }: Dsn['original'], unicode: boolean): readonly Buffer[] => {
  if (raw === null) return []
  const bytes = asBuffer(raw)
  const header = bytes.subarray(0, scanHeader(bytes).end)
  const international = unicode || !isSevenBit(header)
  const content = whole ? bytes : header
  const type = whole
    ? international
      ? 'message/global'
      : 'message/rfc822'
    : international
      ? 'message/global-headers'
      : 'text/rfc822-headers'
  const encoding = isSevenBit(content) ? '7bit' : '8bit'
  return [
    Buffer.from(`Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ]
}

/** The whole mail. */
export const writeDsn = (dsn: Dsn): Buffer => {
  const unicode = !isAscii(dsn.sender)
  const boundary = boundaryOf(dsn.messageId)
  const reference = /^<[\x21-\x3b\x3d\x3f-\x7e]{3,900}>$/.test(dsn.original.messageId)
    ? foldField('In-Reply-To', dsn.original.messageId) + foldField('References', dsn.original.messageId)
    : ''
  const text = plainBody(words(dsn), null, boundary)
  const head =
    `Date: ${formatDate(dsn.now)}\r\nMessage-ID: ${dsn.messageId}\r\n` +
    `From: Mail Delivery System <MAILER-DAEMON@${dsn.hostname}>\r\nTo: <${dsn.sender}>\r\n` +
    textField('Subject', dsnSubject(dsn.action, dsn.original.subject)) +
    `${reference}Auto-Submitted: auto-replied\r\nMIME-Version: 1.0\r\n` +
    `Content-Type: multipart/report; report-type=delivery-status;\r\n boundary="${boundary}"\r\n`
  const status = unicode ? 'message/global-delivery-status' : 'message/delivery-status'
  const mark = `--${boundary}`
  const third = returned(dsn.original, unicode)
  return Buffer.concat([
    Buffer.from(`${head}\r\n${mark}\r\n${text.fields}\r\n${text.content}\r\n${mark}\r\n`),
    Buffer.from(`Content-Type: ${status}\r\n`),
    Buffer.from(
      `${unicode ? 'Content-Transfer-Encoding: 8bit\r\n' : ''}\r\n${statusFields(dsn, unicode)}\r\n`,
    ),
    ...(third.length === 0 ? [] : [Buffer.from(`${mark}\r\n`), ...third]),
    Buffer.from(`${mark}--\r\n`),
  ])
}
