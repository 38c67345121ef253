/**
 * NAME      recipients - each recipient of a mail with its timeline
 *   Those that want a person come first and open; of many, the delivered are a plain table behind them. A timeline has
 *   the oldest first: each attempt with its upstream, TLS and milliseconds, each report with who sent it. What a server
 *   said stands verbatim in mono, and what it means below in our own words.
 */
import type { MailEvent } from '../../../record/event.js'
import { partsOfWaiting } from '../../../record/queue.js'
import {
  codeWords,
  type Email,
  isVague,
  reasonWords,
  type ShownRecipient,
  sinceAccepted,
  unappliedWords,
  worstFirst,
} from '../../mail/verdict.js'
import { Section, Tabs } from '../../parts/page-parts.js'
import { Icon, Status, toneOf, word } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Address, clockTime, exactTime, figure, isolate, Said, Time } from '../../parts/text.js'
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

const saidIn = ({ smtp, detail }: MailEvent): string | null => {
  const diagnostic = textOf(detail?.diagnostic)
  if (diagnostic !== null) return diagnostic
  if (smtp !== null) return `${smtp.code}${smtp.enhanced === null ? '' : ` ${smtp.enhanced}`} ${smtp.text}`
  return textOf(detail?.error) ?? textOf(detail?.reason)
}

interface MomentProps {
  readonly visit: Visit
  readonly email: Email
  readonly event: MailEvent
  readonly before: MailEvent | undefined
}

/** What lists of suppressions have to do with it. */
const Listed = ({ visit, event }: Pick<MomentProps, 'visit' | 'event'>) => (
  <>
    {typeof event.detail?.entry === 'string' && (
      <p>
        The whole domain is on a list:{' '}
        <a href={visit.link('/suppressions', { address: event.detail.entry })}>{event.detail.entry}</a>
      </p>
    )}
    {typeof event.detail?.list === 'string' && (
      <p>
        Unsubscribed from the list{' '}
        <a href={visit.link('/suppressions', { list: event.detail.list })}>{event.detail.list}</a>
      </p>
    )}
    {event.detail?.suppression === 'added' && <p>The address is on the suppression list since then.</p>}
    {event.detail?.suppression === 'pending' && (
      <p>
        Too many addresses bounced at the same time: you decide whether this one goes on the suppression list.
      </p>
    )}
  </>
)

const Moment = ({ visit, email, event, before }: MomentProps) => {
  const kind = kindOf(event)
  const at = Date.parse(event.occurred_at)
  const hops = hopsOf(event, email)
  const [verbatim, says] = [saidIn(event), becauseOf(event)]
  return (
    <li>
      <time datetime={event.occurred_at} title={exactTime(at, visit.zone)}>
        {clockTime(at, visit.zone)}
        {before === undefined ? null : <small>{`+${sinceAccepted(email, event.occurred_at)}`}</small>}
      </time>
      <Icon name={SHAPES[kind] ?? kind} tone={event.applied ? toneOf(kind) : ''} />
      <div>
        <h4>
          <Said text={titleOf(event, before)} />
        </h4>
        {hops.length === 0 ? null : (
          <p class="hop">
            {hops.map((one) => (
              <bdi>{one}</bdi>
            ))}
          </p>
        )}
        {verbatim ? (
          <div class="pre" dir="auto">
            {verbatim}
          </div>
        ) : null}
        {says === null ? null : <p>{says}</p>}
        <Listed {...{ visit, event }} />
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
      </div>
    </li>
  )
}

const MailTimeline = ({ visit, email, events }: Props) => {
  const order = [...events].reverse()
  return (
    <ol class="tl">
      {order.map((event, at) => (
        <Moment {...{ visit, email, event }} before={order[at - 1]} />
      ))}
    </ol>
  )
}

/** Of more, those that have it are a table. */
const FEW = 8
const OPEN = 2

interface Props {
  readonly visit: Visit
  readonly email: Email
  readonly events: readonly MailEvent[]
}

const whyOf = (one: ShownRecipient): string => {
  if (one.waiting !== null) return partsOfWaiting(one.waiting.detail).why
  const tries = one.attempts > 1 ? `, after ${one.attempts} attempts` : ''
  return one.last_response === null ? '' : `${one.last_response.slice(0, 300)}${tries}`
}

const One = ({ visit, email, events, one, open }: Props & { one: ShownRecipient; open: boolean }) => {
  const own = events.filter(({ recipient }) => recipient === one.address || recipient === null)
  return (
    <details class="rcpt" open={open}>
      <summary>
        <h3>
          <Address text={one.address} /> <small>{one.kind}</small>
        </h3>
        <Status status={one.status} />
        <span class={one.waiting === null ? 'why reply' : 'why'} dir="auto">
          {whyOf(one)}
        </span>
      </summary>
      <MailTimeline {...{ visit, email }} events={own} />
    </details>
  )
}

const sumOf = (email: Email): string => {
  const said = Object.entries(email.counts)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} ${status}`)
  return `${email.recipients.length}: ${said.join(', ')}`
}

const StatusTabs = ({ visit, email, chosen }: Omit<Props, 'events'> & { readonly chosen: string | null }) => {
  const present = Object.entries(email.counts).filter(([, n]) => n > 0)
  if (present.length < 2) return null
  return (
    <Tabs
      label="Recipients by status"
      tabs={[
        {
          href: visit.here({ recipients: null }),
          text: 'All',
          on: chosen === null,
          n: email.recipients.length,
        },
        ...present.map(([status, n]) => ({
          ...{ href: visit.here({ recipients: status }), text: word(status), on: chosen === status, n },
        })),
      ]}
    />
  )
}

export const Recipients = ({ visit, email, events }: Props) => {
  const chosen = visit.query('recipients')
  const isMany = email.recipients.length > FEW
  const shown = worstFirst(email.recipients).filter(({ status }) => chosen === null || status === chosen)
  const have = isMany ? shown.filter(({ status }) => status === 'delivered') : []
  const others = isMany ? shown.filter(({ status }) => status !== 'delivered') : shown
  const isOpen = (one: ShownRecipient, at: number): boolean =>
    email.recipients.length === 1 || (at < OPEN && (one.status === 'bounced' || one.status === 'deferred'))
  return (
    <Section title="Recipients" says={sumOf(email)}>
      {isMany ? <StatusTabs {...{ visit, email, chosen }} /> : null}
      {others.map((one, at) => (
        <One {...{ visit, email, events, one }} open={isOpen(one, at)} />
      ))}
      <Table
        caption="Delivered recipients"
        rows={have}
        columns={[
          { head: 'Delivered to', kind: 'grow', cell: (one) => <Address text={one.address} /> },
          { head: 'Kind', kind: 'opt', cell: (one) => one.kind },
          { head: 'Attempts', kind: 'num', cell: (one) => one.attempts },
          { head: 'After', kind: 'num', cell: (one) => sinceAccepted(email, one.updated_at) },
          { head: 'At', kind: 'opt', cell: (one) => Time({ at: one.updated_at }) },
        ]}
        none={null}
      />
    </Section>
  )
}
