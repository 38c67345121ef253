/**
 * NAME      verdict - what became of a mail in one sentence, and what a code or a reason means
 *   The sentence on top of its page, and a second one that says who said so and when. Of many recipients those that
 *   want a person come first. Words of others in it are isolated: a page shows it by `Said`. The words of a server are
 *   shown as they came; the meanings say what follows from them. Codes are those of RFC 3463 and of the registry that
 *   it opened; a detail that is not registered falls back on its subject, and that on its class.
 */
import { type Category, categoryTitle } from '../../mail/report/category.js'
import type { emailRecord, listedEmail } from '../../record/email.js'
import type { MailEvent } from '../../record/event.js'
import { partsOfWaiting, type WaitingRecord } from '../../record/queue.js'
import { isolate, spanWords } from '../parts/text.js'

/** After a colon: "Bounced: the mailbox does not exist." Reasons of the gateway itself are here, too. */
const REASONS: Readonly<Record<Category | 'suppressed' | 'lifetime' | 'ambiguous' | 'purged', string>> = {
  unknown_user: 'the mailbox does not exist',
  unknown_domain: 'the domain does not exist or takes no mail',
  moved: 'the mailbox has moved away',
  disabled: 'the mailbox was closed',
  suspended: 'the mailbox is locked or inactive for now',
  mailbox_full: 'the mailbox is full',
  recipient_rejected: 'the recipient does not take this mail',
  authentication: 'SPF, DKIM or DMARC did not pass',
  reputation: 'our sending address or host is blocked',
  rate_limited: 'too much mail in too short a time',
  relay_denied: 'the server does not relay for us',
  sender_rejected: 'the sender address is refused',
  policy: 'a rule of the recipient’s server refuses it',
  spam: 'it was taken for spam',
  virus: 'it was taken for a virus',
  too_big: 'the message is too big',
  content: 'its content or format is refused',
  expired: 'it was not delivered in time',
  network: 'the server could not be reached',
  loop: 'the mail went round in a loop',
  system: 'the server is busy or in trouble',
  protocol: 'the two servers did not understand each other',
  security: 'TLS or authentication is missing',
  unknown: 'no reason that we know',
  suppressed: 'the address is on the suppression list',
  lifetime: 'its time ran out',
  ambiguous: 'no clear answer came, so it may have been sent already',
  purged: 'an operator took it out of the queue',
}

export const reasonWords = (reason: string | null | undefined): string | null =>
  reason != null && Object.hasOwn(REASONS, reason) ? REASONS[reason as keyof typeof REASONS] : null

/** The same in a row of a list, where the reply follows. Null of what has no words, and of what is not known. */
export const briefReason = (reason: string | null | undefined): string | null => {
  const words = reason === 'unknown' ? null : reasonWords(reason)
  if (reason == null || words === null) return null
  if (reason === 'ambiguous') return 'May have been sent already'
  return categoryTitle(reason) ?? words.charAt(0).toUpperCase() + words.slice(1)
}

const DETAILS: Readonly<Record<string, string>> = {
  '1.0': 'Something is wrong with an address.',
  '1.1': 'The domain exists, this address at it does not.',
  '1.2': 'The domain of the address does not exist or takes no mail.',
  '1.3': 'The address is not written as that server wants it.',
  '1.4': 'The address fits more than one recipient there.',
  '1.5': 'The address is valid.',
  '1.6': 'The mailbox has moved, and nobody told where to.',
  '1.7': 'The sender address is not written as that server wants it.',
  '1.8': 'The domain of the sender address cannot be found.',
  '1.9': 'It was handed to a server that tells no more.',
  '1.10': 'The domain says that it takes no mail (a null MX).',
  '2.0': 'Something is wrong with the mailbox.',
  '2.1': 'The mailbox exists, and is switched off or takes nothing.',
  '2.2': 'The mailbox is full.',
  '2.3': 'The message is longer than this mailbox takes.',
  '2.4': 'A mailing list behind the address could not be expanded.',
  '3.0': 'Something is wrong with the mail system there.',
  '3.1': 'The disk of that mail system is full.',
  '3.2': 'That system takes no mail at the moment.',
  '3.3': 'That system cannot do what this mail needs.',
  '3.4': 'The message is too big for that system.',
  '3.5': 'That system is not set up rightly.',
  '3.6': 'Another priority of the mail was asked for.',
  '4.0': 'Something is wrong on the way there.',
  '4.1': 'The host did not answer.',
  '4.2': 'The connection broke.',
  '4.3': 'A directory that tells the way could not be asked.',
  '4.4': 'No way to that domain could be found.',
  '4.5': 'That mail system has too much to do.',
  '4.6': 'The mail goes round in a loop.',
  '4.7': 'It was tried for as long as it may be, and given up.',
  '5.0': 'The two servers did not understand each other.',
  '5.1': 'A command came at the wrong time.',
  '5.2': 'A command was not understood.',
  '5.3': 'That server takes fewer recipients at once.',
  '5.4': 'An argument of a command was wrong.',
  '5.5': 'The two speak different versions of the protocol.',
  '5.6': 'The login had to be too long.',
  '6.0': 'Something is wrong with the content.',
  '6.1': 'That system does not take this kind of content.',
  '6.2': 'The content would have to be converted, which is not allowed.',
  '6.3': 'The content would have to be converted, which nobody can.',
  '6.4': 'The content was converted, and lost something.',
  '6.5': 'Converting the content failed.',
  '6.6': 'The content of the message could not be had.',
  '6.7': 'The address has letters that a server on the way does not take (SMTPUTF8).',
  '6.8': 'A reply in letters beyond ASCII could not be given.',
  '6.9': 'The header has letters that a server on the way does not take (SMTPUTF8).',
  '7.0': 'Refused for a reason of security or of policy.',
  '7.1': 'A rule of that server does not let this mail through.',
  '7.2': 'The sender may not write to this mailing list.',
  '7.3': 'It would have to be converted for security, which nobody can.',
  '7.4': 'That server cannot do the security that was asked for.',
  '7.5': 'Something is wrong with the encryption.',
  '7.6': 'The encryption is of a kind that the server does not know.',
  '7.7': 'The message was changed on its way.',
  '7.8': 'Login name or password is wrong.',
  '7.9': 'The way to log in is too weak for that server.',
  '7.10': 'The server wants TLS.',
  '7.11': 'The server wants TLS for this way to log in.',
  '7.12': 'The password has to be changed first.',
  '7.13': 'The account is switched off.',
  '7.14': 'Another trust between the systems is needed.',
  '7.15': 'The priority of the mail is too low at the moment.',
  '7.16': 'The message is too big for its priority.',
  '7.17': 'The mailbox belongs to somebody else since this address was known.',
  '7.18': 'The domain belongs to somebody else since this address was known.',
  '7.19': 'The server cannot tell since when the mailbox has its owner.',
  '7.20': 'No DKIM signature of the mail passed.',
  '7.21': 'No DKIM signature that the server accepts passed.',
  '7.22': 'No DKIM signature is of the author’s domain.',
  '7.23': 'The SPF record of the sender’s domain does not name the sending host.',
  '7.24': 'The SPF record of the sender’s domain could not be read.',
  '7.25': 'The name of the sending host does not resolve both ways.',
  '7.26': 'Neither SPF nor DKIM passed.',
  '7.27': 'The sender’s domain says that it takes no mail (a null MX).',
  '7.28': 'Too much mail came from there.',
  '7.29': 'The chain of ARC seals does not hold.',
  '7.30': 'The server wants TLS all the way (REQUIRETLS), and the next does not offer it.',
}

const AFTER: Readonly<Record<string, string>> = {
  '2': '',
  '4': 'It is tried again by itself.',
  '5': 'Sending again will not help while this stays so.',
}

const CODE = /^([245])\.(\d{1,3})\.(\d{1,3})$/

/**
 * One or two sentences about an enhanced code; null for what is none, or a plain success. What has `ended` is not
 * tried again, whatever its code would say.
 */
export const codeWords = (enhanced: string | null | undefined, ended = false): string | null => {
  const [, kind = '', subject = '', detail = ''] = CODE.exec(enhanced ?? '') ?? []
  if (kind === '') return null
  const said = DETAILS[`${subject}.${detail}`] ?? DETAILS[`${subject}.0`]
  const after = ended && kind === '4' ? '' : AFTER[kind]
  if (said === undefined) return kind === '2' ? null : after || null
  if (kind === '2') return subject === '0' ? null : said
  return `${said} ${after}`.trim()
}

/** Servers say it of whatever they have against a mail: of its pace, its sender, its content. */
export const isVague = (enhanced: string | null | undefined): boolean =>
  /^[45]\.7\.[01]$/.test(enhanced ?? '')

const UNAPPLIED: Readonly<Record<string, string>> = {
  other_recipient: 'it names none of the recipients that it may be about',
  groups_disagree: 'it contradicts itself',
  unclear: 'it does not say clearly what happened',
  never_sent: 'the mail had not been sent yet',
  unverified: 'nothing proves that it comes from a server that had the mail',
  relayed_means_sent: 'it only says that the mail was handed on',
  unknown_action: 'its action is none that there is',
  not_a_complaint: 'it is feedback, and no complaint',
  unread: 'nobody can read what it says',
  auto_reply: 'it is an automatic answer',
  stale_attempt: 'it is about an attempt that a newer one replaced',
}

export const unappliedWords = (why: unknown): string => {
  const reason = String(why ?? '')
  if (reason.startsWith('already_')) return `the recipient was ${reason.slice(8)} already`
  return UNAPPLIED[reason] ?? 'it tells nothing new'
}

type Listed = Omit<ReturnType<typeof listedEmail>, 'object' | 'last_event' | 'counts'>

export type ListedEmail = Listed & { readonly counts: Readonly<Record<string, number>> }

export type ShownRecipient = ReturnType<typeof emailRecord>['recipients'][number]
export type Email = ListedEmail & { readonly recipients: readonly ShownRecipient[] }

export const subjectOf = (row: Pick<ListedEmail, 'subject'>): string =>
  row.subject === null ? '(subject hidden)' : row.subject.trim() === '' ? '(no subject)' : row.subject

export interface MailVerdict {
  readonly icon: string
  readonly tone: '' | 'ok' | 'wait' | 'bad'
  readonly title: string
  readonly says: string | null
}

const TONES: Readonly<Record<string, MailVerdict['tone']>> = {
  delivered: 'ok',
  deferred: 'wait',
  bounced: 'bad',
}

const WORST_FIRST = ['bounced', 'deferred', 'queued', 'scheduled', 'sent', 'canceled', 'delivered'] as const

export const worstFirst = (recipients: readonly ShownRecipient[]): readonly ShownRecipient[] => {
  const rank = (status: string): number => (WORST_FIRST as readonly string[]).indexOf(status)
  return [...recipients].sort((a, b) => rank(a.status) - rank(b.status))
}

/** `0.4 s`, `14 s`, `3 min`. */
const after = (ms: number): string =>
  ms < 10_000 ? `${(Math.max(100, ms) / 1_000).toFixed(1)} s` : spanWords(ms)

export const sinceAccepted = (email: Pick<Email, 'created_at'>, at: string): string =>
  after(Date.parse(at) - Date.parse(email.created_at))

/** For titles and rows: what a server said when it failed is told once, beside its attempt. */
export const briefWaiting = ({ reason, detail }: Pick<WaitingRecord, 'reason' | 'detail'>): string =>
  reason === 'upstreams_down' || reason === 'login'
    ? (detail.split('; ')[0] ?? detail)
    : partsOfWaiting(detail).why

const ended = (text: string): string => (/[.!?]\u2069?$/.test(text) ? text : `${text}.`)

const why = (recipient: ShownRecipient): string => {
  const words = reasonWords(recipient.reason)
  if (words !== null) return `: ${words}`
  return recipient.last_response === null ? '' : `: ${isolate(recipient.last_response.slice(0, 120))}`
}

const until = (recipient: ShownRecipient, now: number): string => {
  const at = recipient.waiting?.until
  if (!at) return ''
  const away = Date.parse(at) - now
  return away > 0 ? `; tries again in ${spanWords(away)}` : '; tries again now'
}

const titleOfOne = (email: Email, one: ShownRecipient, now: number): string => {
  if (one.status === 'bounced') return ended(`Bounced${why(one)}`)
  if (one.status === 'deferred')
    return one.waiting === null || one.waiting.reason === 'backoff'
      ? ended(`Deferred${why(one)}${until(one, now)}`)
      : ended(`Waits: ${isolate(briefWaiting(one.waiting))}`)
  if (one.status === 'sent') return 'Sent; no report has come yet.'
  if (one.status === 'canceled') return 'Canceled: it was never sent.'
  if (one.status === 'scheduled') {
    const away = Date.parse(email.scheduled_at ?? email.created_at) - now
    return `Scheduled: it leaves ${away > 0 ? `in ${spanWords(away)}` : 'now'}.`
  }
  if (one.status === 'queued')
    return one.waiting === null ? 'On its way.' : ended(`Waits: ${isolate(briefWaiting(one.waiting))}`)
  return 'Delivered.'
}

const lastOf = (events: readonly MailEvent[], address: string, type: string): MailEvent | undefined =>
  events.find((event) => event.type === type && event.recipient === address && event.applied)

/** Who said what, how long after we took it and after it was handed on. */
const saidOf = (email: Email, events: readonly MailEvent[], one: ShownRecipient): string | null => {
  const event = lastOf(events, one.address, `email.${one.status}`)
  if (one.status === 'delivered')
    return `${isolate(one.address)} has it, ${sinceAccepted(email, event?.occurred_at ?? one.updated_at)} after we took it.`
  if (event === undefined || one.last_response === null) return null
  const host = isolate(String(event.detail?.remote_mta ?? event.mta?.host ?? 'The server'))
  const sent = lastOf(events, one.address, 'email.sent')
  const handed =
    sent === undefined || event.source === 'smtp'
      ? ''
      : ` and ${after(Date.parse(event.occurred_at) - Date.parse(sent.occurred_at))} after ${isolate(sent.mta?.host ?? 'the upstream')} had it`
  return `${host} said “${isolate(one.last_response.slice(0, 200))}”, ${sinceAccepted(email, event.occurred_at)} after we took the mail${handed}.`
}

const HAVE: Readonly<Record<string, string>> = {
  delivered: 'have it',
  deferred: 'deferred',
  queued: 'on the way',
  sent: 'sent',
  scheduled: 'scheduled',
  canceled: 'canceled',
  bounced: 'bounced',
}

const titleOfMany = (email: Email): string => {
  const { counts, recipients } = email
  const all = recipients.length
  const present = WORST_FIRST.filter((status) => (counts[status] ?? 0) > 0)
  const [first = 'queued', ...others] = present
  const word = first === 'queued' ? 'On its way' : first.charAt(0).toUpperCase() + first.slice(1)
  if (others.length === 0) return `${word} ${first === 'delivered' ? 'to' : 'for'} all ${all}.`
  const rest = others.reverse().map((status) => `${counts[status]} ${HAVE[status]}`)
  return `${word} for ${counts[first]} of ${all} recipients; ${rest.join(', ')}.`
}

export const verdictOf = (email: Email, events: readonly MailEvent[], now: number): MailVerdict => {
  const [worst] = worstFirst(email.recipients)
  const complained = events.some(({ type, applied }) => type === 'email.complained' && applied)
  const icon = email.status
  const tone = TONES[email.status] ?? (email.waiting === null ? '' : 'wait')
  if (worst === undefined) return { icon, tone, title: 'Nobody is to get it.', says: null }
  if (complained && email.status === 'delivered') {
    const title = 'Delivered, and marked as spam by the reader.'
    return { icon: 'complained', tone: 'bad', title, says: saidOf(email, events, worst) }
  }
  const title = email.recipients.length === 1 ? titleOfOne(email, worst, now) : titleOfMany(email)
  const first = email.recipients.length === 1 ? '' : `${isolate(worst.address)}${why(worst)}. `
  const said = saidOf(email, events, worst)
  const says = email.recipients.length === 1 || worst.status !== 'bounced' ? said : `${first}${said ?? ''}`
  return {
    icon,
    tone,
    title,
    says: email.recipients.length > 1 && worst.status === 'delivered' ? null : says,
  }
}
