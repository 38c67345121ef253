/**
 * NAME      recipients - each recipient of a mail with its timeline
 * DESCRIPTION
 *   Those that want a person come first and open; of many, the delivered are a plain table behind them.
 */

import type { MailEvent } from '../../../record/event.js'
import { partsOfWaiting } from '../../../record/waiting.js'
import type { Email, Recipient } from '../../mail/record.js'
import { sinceAccepted, worstFirst } from '../../mail/verdict.js'
import { Section, Tabs } from '../../parts/page-parts.js'
import { Status, word } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { MailTimeline } from './timeline.js'

/** Of more, those that have it are a table. */
const FEW = 8
const OPEN = 2

interface Props {
  readonly visit: Visit
  readonly email: Email
  readonly events: readonly MailEvent[]
}

const whyOf = (one: Recipient): string => {
  if (one.waiting !== null) return partsOfWaiting(one.waiting.detail).why
  const tries = one.attempts > 1 ? `, after ${one.attempts} attempts` : ''
  return one.last_response === null ? '' : `${one.last_response.slice(0, 300)}${tries}`
}

const One = ({
  visit,
  email,
  events,
  one,
  open,
}: Props & { readonly one: Recipient; readonly open: boolean }) => {
  const own = events.filter(({ recipient }) => recipient === one.address || recipient === null)
  return (
    <details class="rcpt" open={open}>
      <summary>
        <h3>
          <bdi>{one.address}</bdi> <small>{one.kind}</small>
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
  const isOpen = (one: Recipient, at: number): boolean =>
    email.recipients.length === 1 || (at < OPEN && (one.status === 'bounced' || one.status === 'deferred'))
  return (
    <Section title="Recipients" says={sumOf(email)}>
      {isMany ? <StatusTabs {...{ visit, email, chosen }} /> : null}
      {others.map((one, at) => (
        <One {...{ visit, email, events, one }} open={isOpen(one, at)} />
      ))}
      {have.length === 0 ? null : (
        <Table
          caption="Delivered recipients"
          rows={have}
          columns={[
            { head: 'Delivered to', kind: 'grow', cell: (one) => <bdi>{one.address}</bdi> },
            { head: 'Kind', kind: 'opt', cell: (one) => one.kind },
            { head: 'Attempts', kind: 'num', cell: (one) => one.attempts },
            { head: 'After', kind: 'num', cell: (one) => sinceAccepted(email, one.updated_at) },
            { head: 'At', kind: 'opt', cell: (one) => Time({ at: one.updated_at }) },
          ]}
        />
      )}
    </Section>
  )
}
