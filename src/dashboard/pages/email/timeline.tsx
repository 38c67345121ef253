/**
 * NAME      timeline - what happened to one recipient
 * DESCRIPTION
 *   Oldest first: each attempt with its upstream, TLS and milliseconds, each report with who sent it. What a server said
 *   stands verbatim in mono, and what it means below in our own words.
 */

import type { MailEvent } from '../../../record/event.js'
import { codeWords, isVague, reasonWords, unappliedWords } from '../../mail/meaning.js'
import type { Email } from '../../mail/record.js'
import { sinceAccepted } from '../../mail/verdict.js'
import { figure } from '../../parts/figure.js'
import { isolate, Said } from '../../parts/isolate.js'
import { toneOf, word } from '../../parts/status.js'
import { type Moment, Timeline } from '../../parts/timeline.js'
import type { Visit } from '../../visit.js'

const SHAPES: Readonly<Record<string, string>> = {
  reported: 'alarm',
  released: 'queued',
  rerouted: 'queued',
  retried: 'queued',
  sender_notified: 'sent',
}

const kindOf = (event: MailEvent): string => event.type.replace(/^email\./, '')

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : null

const because = (event: MailEvent): string => {
  const words = reasonWords(event.reason ?? textOf(event.detail?.category))
  return words === null ? '' : `: ${words}`
}

/** What its code means, unless the title knows better than a code that stands for any rule. */
const becauseOf = (event: MailEvent): string | null => {
  const code = textOf(event.detail?.status) ?? event.smtp?.enhanced
  return because(event) !== '' && isVague(code) ? null : codeWords(code, kindOf(event) === 'bounced')
}

const ORDERS: Readonly<Record<string, string>> = {
  held: 'Held by an operator',
  released: 'Released',
  rerouted: 'Moved to another pool',
  retried: 'To be tried at once',
}

const titleOf = (event: MailEvent, before: MailEvent | undefined): string => {
  const kind = kindOf(event)
  const host = isolate(event.mta?.host ?? 'the upstream')
  if (!event.applied) {
    const what = kind === 'reported' ? 'a mail came back' : `${kind} by a report`
    return `Noted only: ${what}, but ${unappliedWords(event.detail?.unapplied)}`
  }
  if (kind === 'scheduled') return 'Accepted, to leave later'
  if (kind === 'queued') return before === undefined ? 'Accepted' : 'Its time has come'
  if (kind === 'sender_notified') return 'Told to the sender'
  if (kind === 'complained') return 'Marked as spam by the reader'
  if (kind === 'reported') return 'A report that changes nothing'
  if (kind in ORDERS) return ORDERS[kind] ?? kind
  if (event.attempt === null) return `${word(kind)}${because(event)}`
  if (kind === 'sent') return `Attempt ${event.attempt}: sent to ${host}`
  return `Attempt ${event.attempt}: ${kind}${because(event)}`
}

const doorOf = (event: MailEvent, email: Email): string =>
  event.source === 'smtp' || email.source === 'smtp'
    ? 'by SMTP'
    : email.source === 'system'
      ? 'by the gateway itself'
      : 'by the API'

/** Facts of the way, in one line. */
const hopsOf = (event: MailEvent, email: Email): readonly string[] => {
  const { detail = {}, mta } = event
  const kind = kindOf(event)
  if (mta === null) return kind === 'queued' || kind === 'scheduled' ? [doorOf(event, email)] : []
  if (event.attempt === null) {
    const who = textOf(detail.remote_mta)
    return [
      `reported by ${mta.host ?? 'an unknown host'}${who === null || who === mta.host ? '' : ` for ${who}`}`,
      event.source === 'arf' ? 'feedback report' : 'DSN',
      detail.tier === 'T1' ? 'its signed reference holds' : '',
    ].filter((one) => one !== '')
  }
  const port = textOf(detail.port)
  return [
    `${mta.host ?? ''}${port === null ? '' : `:${port}`}`,
    textOf(detail.tls) ?? 'no TLS',
    ...(textOf(detail.ms) === null ? [] : [`${figure(Number(detail.ms))} ms`]),
    ...(textOf(detail.stage) === null ? [] : [`at ${detail.stage}`]),
  ]
}

/** Verbatim. */
const saidIn = ({ smtp, detail }: MailEvent): string | null => {
  const diagnostic = textOf(detail?.diagnostic)
  if (diagnostic !== null) return diagnostic
  if (smtp !== null) return `${smtp.code}${smtp.enhanced === null ? '' : ` ${smtp.enhanced}`} ${smtp.text}`
  return textOf(detail?.error) ?? textOf(detail?.reason)
}

const momentOf = (visit: Visit, email: Email, event: MailEvent, before: MailEvent | undefined): Moment => {
  const kind = kindOf(event)
  return {
    at: event.occurred_at,
    since: before === undefined ? undefined : `+${sinceAccepted(email, event.occurred_at)}`,
    icon: SHAPES[kind] ?? kind,
    tone: event.applied ? toneOf(kind) : '',
    title: <Said text={titleOf(event, before)} />,
    hop: hopsOf(event, email),
    verbatim: saidIn(event),
    says: becauseOf(event),
    more: (
      <>
        {event.detail?.suppression === 'added' && <p>The address is on the suppression list since then.</p>}
        {event.detail?.suppression === 'pending' && (
          <p>
            Too many addresses bounced at the same time: you decide whether this one goes on the suppression
            list.
          </p>
        )}
        {kind === 'sender_notified' && typeof event.detail?.dsn === 'string' && (
          <p>
            <a href={visit.link(`/emails/${event.detail.dsn}`)}>The notice</a>
          </p>
        )}
        {typeof event.detail?.report === 'string' && visit.can('bodies') && (
          <p>
            <a href={visit.link(`/emails/${email.id}/events/${event.id}`)}>The report</a>
          </p>
        )}
      </>
    ),
  }
}

interface Props {
  readonly visit: Visit
  readonly email: Email
  /** Newest first, as the API lists them. */
  readonly events: readonly MailEvent[]
}

export const MailTimeline = ({ visit, email, events }: Props) => {
  const order = [...events].reverse()
  return <Timeline moments={order.map((event, at) => momentOf(visit, email, event, order[at - 1]))} />
}
