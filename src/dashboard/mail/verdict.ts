/**
 * NAME      verdict - a mail as /v1 answers it, and what became of it in one sentence
 * DESCRIPTION
 *   The sentence on top of its page, and a second one that says who said so and when. Of many recipients those that want
 *   a person come first. Words of others in it are isolated: a page shows it by `Said`.
 */
import type { emailRecord, listedEmail } from '../../record/email.js'
import type { MailEvent } from '../../record/event.js'
import { partsOfWaiting, type WaitingRecord } from '../../record/queue.js'
import { isolate, spanWords } from '../parts/text.js'
import { reasonWords } from './meaning.js'

type Listed = Omit<ReturnType<typeof listedEmail>, 'object' | 'last_event' | 'counts'>

export type EmailRow = Listed & { readonly counts: Readonly<Record<string, number>> }

export type Recipient = ReturnType<typeof emailRecord>['recipients'][number]
export type Email = EmailRow & { readonly recipients: readonly Recipient[] }

/** What the reader calls a mail without a subject. */
export const subjectOf = (row: Pick<EmailRow, 'subject'>): string =>
  row.subject === null ? '(subject hidden)' : row.subject.trim() === '' ? '(no subject)' : row.subject

export interface Verdict {
  readonly icon: string
  readonly tone: '' | 'ok' | 'wait' | 'bad'
  readonly title: string
  readonly says: string | null
}

const TONES: Readonly<Record<string, Verdict['tone']>> = { delivered: 'ok', deferred: 'wait', bounced: 'bad' }

/** Those that want a person first. */
const WORST_FIRST = ['bounced', 'deferred', 'queued', 'scheduled', 'sent', 'canceled', 'delivered'] as const

export const worstFirst = (recipients: readonly Recipient[]): readonly Recipient[] => {
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

const why = (recipient: Recipient): string => {
  const words = reasonWords(recipient.reason)
  if (words !== null) return `: ${words}`
  return recipient.last_response === null ? '' : `: ${isolate(recipient.last_response.slice(0, 120))}`
}

const until = (recipient: Recipient, now: number): string => {
  const at = recipient.waiting?.until
  if (!at) return ''
  const away = Date.parse(at) - now
  return away > 0 ? `; tries again in ${spanWords(away)}` : '; tries again now'
}

const titleOfOne = (email: Email, one: Recipient, now: number): string => {
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
const saidOf = (email: Email, events: readonly MailEvent[], one: Recipient): string | null => {
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

export const verdictOf = (email: Email, events: readonly MailEvent[], now: number): Verdict => {
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
