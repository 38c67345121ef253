/**
 * NAME      arf - complaints
 * DESCRIPTION
 *   RFC 5965 feedback reports, RFC 6591 authentication failures, and the older
 *   form of Outlook.com that sends the message without a feedback part. Only
 *   the type tells a complaint (abuse, fraud) from a report that must suppress
 *   nobody (opt-out, auth-failure, not-spam); it is passed on as it stands.
 */
import { findAddresses } from './addresses.js'
import { header, type Mail, type Part, readHeaders, textOf } from './mime.js'

interface Feedback {
  readonly type: string
  readonly addresses: readonly string[]
  readonly envid: string | null
  readonly mailFrom: string | null
  readonly reportingMta: string | null
}

const all = (headers: ReadonlyMap<string, readonly string[]>, name: string): string[] =>
  (headers.get(name) ?? []).flatMap((value) => findAddresses(value).map((found) => found.address))

const unique = (list: readonly string[]): string[] => [...new Set(list)].slice(0, 100)

const fromPart = (part: Part, returned: Part | undefined): Feedback => {
  const { headers } = readHeaders(`${textOf(part).trimStart()}\n`)
  const type = (/^[\w-]+/.exec(header(headers, 'feedback-type'))?.[0] ?? 'abuse').toLowerCase()
  const inner = returned === undefined ? new Map<string, string[]>() : readHeaders(returned.body).headers
  const named = [
    all(headers, 'original-rcpt-to'),
    all(headers, 'removal-recipient'),
    all(inner, 'x-hmxmroriginalrecipient'),
    all(inner, 'x-apparently-to'),
    all(inner, 'to'),
  ].find((list) => list.length > 0)
  return {
    type: type === 'opt-out-list' ? 'opt-out' : type,
    addresses: unique(named ?? []),
    envid: header(headers, 'original-envelope-id') || null,
    mailFrom: all(headers, 'original-mail-from')[0] ?? null,
    reportingMta: header(headers, 'reporting-mta').replace(/^dns;\s*/i, '') || null,
  }
}

/** Outlook.com's "complaint about message from", which has no feedback part. */
const fromReturned = (returned: Part | undefined): Feedback | null => {
  if (returned === undefined) return null
  const { headers } = readHeaders(returned.body)
  const addresses = all(headers, 'x-hmxmroriginalrecipient')
  // the address can be blacked out; then our own reference in what is returned shows what it is
  if (addresses.length === 0 && !headers.has('x-postern-ref')) return null
  return { type: 'abuse', addresses: unique(addresses), envid: null, mailFrom: null, reportingMta: null }
}

export const readFeedback = (mail: Mail): Feedback | null => {
  const part = mail.parts.find((one) => one.type === 'message/feedback-report')
  const returned = mail.parts.find((one) => /^(?:message\/rfc822|text\/rfc822-headers)$/.test(one.type))
  if (part !== undefined) return fromPart(part, returned)
  const subject = header(mail.headers, 'subject')
  return /^\s*complaint about message from/i.test(subject) ? fromReturned(returned) : null
}
