/**
 * NAME      sender - does a machine write here, and why
 * DESCRIPTION
 *   Text grammars are for notices of MTAs only; a person who quotes or forwards
 *   a bounce must not be taken for one. So evidence is added up from the header
 *   and the opening words. No single sign decides: Auto-Submitted stands on
 *   some bounces and on every vacation notice, and people answer with `<>`.
 */
import { findAddresses } from '../addresses.js'
import { type Headers, header, isReturned, type Mail, readHeaders, words } from '../mime.js'
import type { Notice } from './notice.js'
import {
  ANSWERED_SUBJECT,
  AUTOREPLY_SUBJECT,
  BOUNCE_SUBJECT,
  ENTRY,
  FINAL_REPLY,
  FORWARDED_SUBJECT,
  MYSELF,
  OPENING,
  OTHER_SUBJECT,
  PERSONAL,
  REASON,
  ROBOT,
  TO_OWNER,
  YOUR_MAIL,
} from './phrases.js'

const ENOUGH = 4

const nullSender = (headers: Headers): boolean => {
  const path = headers.get('return-path')?.[0]
  return path !== undefined && /^<?\s*(?:mailer-daemon.{0,200})?>?$/i.test(path)
}

export const isForwarded = (headers: Headers): boolean => FORWARDED_SUBJECT.test(words(headers, 'subject'))

export const isRobot = (headers: Headers): boolean => {
  const from = words(headers, 'from').trim()
  if (/^(?:.{0,60}<\s*@?>)?$/.test(from)) return headers.has('from')
  return ROBOT.test(from.replace(/@[^\s>]+/g, '@'))
}

/** Fields that only bounces have. */
const TELLING = [
  'x-ms-exchange-message-is-ndr',
  'x-mlserver',
  'x-mx-bounce',
  'x-bounced-address',
  'x-mailer-daemon-recipients',
]

/** Signs that only machines give; without one of them no words are enough. */
const marks = (headers: Headers): number => {
  let weight = 0
  if (isRobot(headers)) weight += /mailer[-_]?daemon/i.test(words(headers, 'from')) ? 3 : 2
  if (nullSender(headers)) weight += 1
  if (headers.has('x-failed-recipients')) weight += 2
  if (TELLING.some((name) => headers.has(name))) weight += 2
  if (
    /^multipart\/report\b(?!.{0,300}(?:disposition|feedback|tlsrpt))/i.test(header(headers, 'content-type'))
  )
    weight += 2
  if (/smtp32|m-filter/i.test(header(headers, 'x-mailer'))) weight += 2
  return weight
}

/** Written by a machine, going by the sender alone: enough to believe a status part. */
export const isMachine = (headers: Headers): boolean => isRobot(headers) || nullSender(headers)

/** A copy of our mail is enclosed, and not a bounce that a person passes on. */
const encloses = ({ headers, parts }: Mail): boolean => {
  const copy = parts.find((part) => isReturned(part, headers))
  return copy !== undefined && !isRobot(readHeaders(copy.body).headers)
}

/** The subject that our own mail had, if a copy shows it. */
export const returnedSubject = ({ headers, parts }: Mail, { returned }: Notice): string => {
  const copy = parts.find((part) => isReturned(part, headers))
  if (copy !== undefined) return words(readHeaders(copy.body).headers, 'subject')
  return /(?:^|\n)subject:[ \t]{0,9}([^\n]{3,400})/i.exec(returned.slice(0, 8_000))?.[1] ?? ''
}

/** What of a robot's subject is ours: it repeats it behind a colon, "Undeliverable: Password reset", or answers it. */
const ourSubject = (mail: Mail, notice: Notice): string => {
  if (!isRobot(mail.headers)) return ''
  const subject = words(mail.headers, 'subject')
  const colon = /^[^:]{1,200}:\s/.exec(subject)?.[0]
  if (colon !== undefined && BOUNCE_SUBJECT.test(colon.trim().replace(/\s*:$/, '')))
    return subject.slice(colon.length)
  const ours = returnedSubject(mail, notice).trim()
  return ours.length > 2 ? ours : ''
}

/** Signed with the name that stands in From, or ending in a question: somebody shows a notice and wants to know. */
const isSigned = (headers: Headers, { lines }: Notice): boolean => {
  const name = /^["'\s]*(\p{L}{3,40})(?=[^<]{0,60}<)/u.exec(words(headers, 'from'))?.[1]
  const last = lines.findLast((line) => line.trim() !== '')?.trim() ?? ''
  if (/[?？]$/.test(last)) return true
  return (
    name !== undefined &&
    last
      .replace(/[.!\s]+$/, '')
      .toLowerCase()
      .endsWith(name.toLowerCase())
  )
}

const MAX_STARK = 1_500

/**
 * Nothing but a notice, whoever signs and whatever it answers: it opens with the failure of your mail,
 * and the sentence ends in the address, on a line of its own.
 */
export const isStark = ({ lines, flat }: Notice): boolean => {
  if (flat.length > MAX_STARK || !YOUR_MAIL.test(flat) || PERSONAL.test(flat) || MYSELF.test(flat))
    return false
  const said = lines.filter((line) => line.trim() !== '').slice(0, 5)
  const at = said.findIndex((line) => /^\s*<?[^\s<>@]{1,100}@[^\s<>@]{1,200}>?:?$/.test(line))
  const last = (said[at - 1] ?? '').split(/[.!?]\s/).pop() ?? ''
  return at > 0 && OPENING.test(said[0] ?? '') && OPENING.test(last)
}

/** How strongly header and words say that an MTA reports. */
export const isNotice = (mail: Mail, notice: Notice): boolean => {
  const { headers } = mail
  const marked = marks(headers)
  const enclosed = encloses(mail)
  const signed = marked < 2 && isSigned(headers, notice)
  const stark = !signed && isStark(notice)
  const answers = stark && ANSWERED_SUBJECT.test(words(headers, 'subject'))
  if (isForwarded(headers) && !isRobot(headers) && !answers) return false
  const ours = ourSubject(mail, notice)
  if (OTHER_SUBJECT.test(words(headers, 'subject').replace(ours, ''))) return false
  const bare = !enclosed && notice.returned === '' && !headers.has('x-failed-recipients')
  // postmasters also write to those who own a mailbox here
  if (bare && TO_OWNER.test(notice.flat.slice(0, 4_000).replace(ours, ''))) return false
  // an empty return path is no proof: a person tells of a bounce in his own words, and has no copy of our mail to show
  if (marked < 2 && bare && PERSONAL.test(notice.flat.slice(0, 4_000))) return false
  // where nothing in the header tells, a reply for good beside words about your mail does
  const replied =
    !signed &&
    YOUR_MAIL.test(notice.flat) &&
    !PERSONAL.test(notice.flat) &&
    !MYSELF.test(notice.flat) &&
    (FINAL_REPLY.test(notice.text) || REASON.test(notice.flat))
  // a program's list speaks for itself in every language
  const entry = marked > 1 && ENTRY.test(notice.text) ? 1 : 0
  const first = notice.lines.find((line) => line.trim() !== '') ?? ''
  const subject = BOUNCE_SUBJECT.test(words(headers, 'subject')) ? 2 : 0
  const opening = OPENING.test(notice.flat.slice(0, 4_000)) ? 2 : 0
  return (
    marked +
      subject +
      opening +
      entry +
      (enclosed ? 1 : 0) +
      (stark ? 3 : 0) +
      (replied && OPENING.test(first) ? 1 : 0) >=
    (marked > 0 ? ENOUGH : ENOUGH + 1)
  )
}

const AUTO_FIELDS = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-autogenerated', 'x-apple-action']

/** An answer by its subject, whoever signs: a vacation notice of the postmaster is one too. */
export const isAway = (headers: Headers): boolean => {
  const subject = words(headers, 'subject')
  return AUTOREPLY_SUBJECT.test(subject) && !BOUNCE_SUBJECT.test(subject)
}

/** A vacation notice or another answer of a machine (RFC 3834); what is merely generated is not one. */
export const isAutoReply = (headers: Headers): boolean => {
  const submitted = header(headers, 'auto-submitted').toLowerCase()
  return (
    AUTOREPLY_SUBJECT.test(words(headers, 'subject')) ||
    /^auto-(?:replied|notified)/.test(submitted) ||
    (submitted.startsWith('auto-generated') && nullSender(headers)) ||
    (headers.has('x-auto-response-suppress') && nullSender(headers)) ||
    /auto[_-]?reply/i.test(header(headers, 'precedence')) ||
    AUTO_FIELDS.some((name) => headers.has(name))
  )
}

/** Whom the report was sent to: the sender of the original. Not a hint to whose mail it was. */
export const addressees = (headers: Headers): string[] =>
  ['to', 'delivered-to', 'x-original-to'].flatMap((name) =>
    findAddresses(words(headers, name)).map((found) => found.address),
  )
