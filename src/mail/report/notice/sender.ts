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
import { AUTOREPLY_SUBJECT, BOUNCE_SUBJECT, FORWARDED_SUBJECT, OPENING, ROBOT } from './phrases.js'

const ENOUGH = 4

const nullSender = (headers: Headers): boolean => {
  const path = headers.get('return-path')?.[0]
  return path !== undefined && (/^<?\s*>?$/.test(path) || ROBOT.test(path))
}

export const isForwarded = (headers: Headers): boolean => FORWARDED_SUBJECT.test(words(headers, 'subject'))

const isRobot = (headers: Headers): boolean => {
  const from = words(headers, 'from').trim()
  if (/^(?:.{0,60}<\s*@?>)?$/.test(from)) return headers.has('from')
  return ROBOT.test(from.replace(/@[^\s>]+/g, '@'))
}

/** Signs that only machines give; without one of them no words are enough. */
const marks = (headers: Headers): number => {
  let weight = 0
  if (isRobot(headers)) weight += /mailer[-_]?daemon/i.test(words(headers, 'from')) ? 3 : 2
  if (nullSender(headers)) weight += 1
  if (headers.has('x-failed-recipients')) weight += 2
  if (headers.has('x-ms-exchange-message-is-ndr') || headers.has('x-mlserver')) weight += 2
  if (/smtp32/i.test(header(headers, 'x-mailer'))) weight += 2
  return weight
}

/** A copy of our mail is enclosed, and not a bounce that a person passes on. */
const encloses = ({ headers, parts }: Mail): boolean => {
  const copy = parts.find((part) => isReturned(part, headers))
  return copy !== undefined && !isRobot(readHeaders(copy.body).headers)
}

/** How strongly header and words say that an MTA reports. */
export const isNotice = (mail: Mail, text: string): boolean => {
  const { headers } = mail
  const marked = marks(headers)
  if (isForwarded(headers) && !isRobot(headers)) return false
  const subject = BOUNCE_SUBJECT.test(words(headers, 'subject')) ? 2 : 0
  const opening = OPENING.test(text.slice(0, 4_000)) ? 2 : 0
  const returned = encloses(mail) ? 1 : 0
  return marked + subject + opening + returned >= (marked > 0 ? ENOUGH : ENOUGH + 1)
}

export const isAutoReply = (headers: Headers): boolean => {
  const submitted = header(headers, 'auto-submitted').toLowerCase()
  return (
    AUTOREPLY_SUBJECT.test(words(headers, 'subject')) ||
    submitted.startsWith('auto-replied') ||
    /auto[_-]?reply/i.test(header(headers, 'precedence')) ||
    headers.has('x-autoreply') ||
    headers.has('x-autorespond') ||
    headers.has('x-autoresponder') ||
    (submitted.startsWith('auto-generated') && /vacation|absence/i.test(words(headers, 'subject')))
  )
}

/** Whom the report was sent to: the sender of the original. Not a hint to whose mail it was. */
export const addressees = (headers: Headers): string[] =>
  ['to', 'delivered-to', 'x-original-to'].flatMap((name) =>
    findAddresses(words(headers, name)).map((found) => found.address),
  )
