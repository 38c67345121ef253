/**
 * NAME      timeline - the story of one mail, for people
 * DESCRIPTION
 *   Recipient by recipient, oldest first: attempts with the upstream's words and
 *   the milliseconds, reports with their diagnostic, and what was not believed.
 */

import { type EventRow, extrasOf } from '../lifecycle/facts.js'
import type { MailWaiting, Waiting } from '../record/queue.js'
import type { EmailRecord, RecipientRow } from '../store/port/mail.js'
import { clean, type Paint, paintStatus } from './table.js'

const clock = (at: number): string => new Date(at).toISOString().slice(11, 23)
const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

type Detail = NonNullable<EventRow['detail']>

/** `attempt 2 at mta1:587 TLSv1.3`, or `report from mx.example.com`. */
const where = (row: EventRow, detail: Detail): string => {
  const host = row.mta?.host ?? null
  if (row.source === 'arf') return `complaint${host === null ? '' : ` by way of ${host}`}`
  if (row.source === 'dsn') return `report from ${detail.remote_mta ?? host ?? 'an unnamed server'}`
  if (row.attempt === null) return row.source === 'operator' ? 'by an operator' : ''
  const at = host === null ? '' : ` at ${host}${detail.port == null ? '' : `:${detail.port}`}`
  return `attempt ${row.attempt}${at}${detail.tls == null ? '' : ` ${detail.tls}`}`
}

/** Details that stand elsewhere in the line. */
const TOLD = [
  'port',
  'tls',
  'stage',
  'ms',
  'remote_mta',
  'diagnostic',
  'status',
  'action',
  'class',
  'category',
  'fault',
  'tier',
  'unapplied',
  'report',
]

/** Why an event changed nothing, in words. */
const UNAPPLIED: Readonly<Record<string, string>> = {
  other_recipient: 'it is about somebody else',
  groups_disagree: 'it names none of ours, and tells of several fates',
  unclear: 'it does not say what happened, or to whom',
  never_sent: 'nothing had left yet',
  unverified: 'nobody signed for it',
  relayed_means_sent: 'in this pool relayed means sent',
  unknown_action: 'nobody knows such an action',
  not_a_complaint: 'this kind of feedback is no complaint',
  unread: 'nobody can read what it says',
  auto_reply: 'it is an automatic answer',
  stale_attempt: 'the attempt had been given up',
}

const whyNot = (unapplied: unknown): string => {
  if (typeof unapplied !== 'string') return ''
  return `: ${UNAPPLIED[unapplied] ?? unapplied.replace(/^already_/, 'already ').replaceAll('_', ' ')}`
}

const replyText = ({ code, enhanced, text }: NonNullable<EventRow['reply']>): string => {
  const start = [code, enhanced].filter((part) => part !== null).join(' ')
  return text.startsWith(start) ? text : `${start} ${text}`
}

/** What the other side said, and what we made of it. */
const said = (row: EventRow, detail: Detail): string => {
  const asides = [
    detail.class ? null : row.reason,
    row.attempt === null || detail.stage === 'dot' ? null : detail.stage && `at ${detail.stage}`,
    detail.class && [detail.class, detail.category ?? row.reason].filter(Boolean).join(' '),
    detail.tier == null || detail.tier === 'T1' ? null : `trust ${detail.tier}`,
    detail.ms == null ? null : `${detail.ms} ms`,
    ...Object.entries(detail).map(([name, value]) =>
      value === null || TOLD.includes(name) ? null : `${name.replaceAll('_', ' ')} ${value}`,
    ),
  ].filter((aside) => aside)
  const words = row.reply === null ? String(detail.diagnostic ?? '') : replyText(row.reply)
  return [words, asides.length === 0 ? '' : `(${asides.join('; ')})`].filter((part) => part !== '').join('  ')
}

const nameOf = (row: EventRow): string => row.type.replace(/^email\./, '')

const eventLine = (paint: Paint, row: EventRow, lastDay: string): string => {
  const today = day(row.occurredAt)
  const at = today === lastDay ? clock(row.occurredAt) : `${today} ${clock(row.occurredAt)}`
  const name = nameOf(row)
  const applied = row.applied ? '' : paint.dim(`  (noted, not applied${whyNot(row.detail?.unapplied)})`)
  const text = [where(row, row.detail ?? {}), said(row, row.detail ?? {})]
    .filter((part) => part !== '')
    .map(clean)
  return `  ${paint.dim(at.padStart(23))}  ${paintStatus(paint, name)}${' '.repeat(Math.max(1, 11 - name.length))}${text.join('  ')}${applied}`.trimEnd()
}

/** `waits: pool shop has no upstream`, and under it what mends it. */
const waitingLines = (paint: Paint, { plain, more, remedy, until }: Waiting): readonly string[] => {
  const end = until === null ? '' : `, until ${new Date(until).toISOString()}`
  const why = clean(`${plain}${more === null ? '' : `: ${more}`}${end}`)
  return [`waits: ${why}`, ...(remedy === null ? [] : [`${paint.dim('→')} ${clean(remedy)}`])]
}

const recipientPart = (
  paint: Paint,
  row: RecipientRow,
  events: readonly EventRow[],
  waiting: Waiting | undefined,
): string => {
  const own = events.filter((event) => event.recipientId === null || event.recipientId === row.id)
  let last = ''
  const lines = [...own].reverse().map((event) => {
    const line = eventLine(paint, event, last)
    last = day(event.occurredAt)
    return line
  })
  const late = row.dueAt === null || row.dueAt <= Date.now()
  const due = late ? '' : paint.dim(`  next try ${new Date(row.dueAt ?? 0).toISOString()}`)
  const why = waiting === undefined ? [] : waitingLines(paint, waiting).map((line) => `  ${line}`)
  return [
    `${paint.bold(clean(row.address))}  ${paintStatus(paint, row.status)}${due}`,
    ...why,
    ...lines,
  ].join('\n')
}

/** `events` newest first, as the store gives them. */
export const timeline = (
  paint: Paint,
  email: EmailRecord,
  events: readonly EventRow[],
  waiting: MailWaiting,
): string => {
  const head = [
    `${paint.bold(email.id)}  ${paintStatus(paint, email.status)}  ${clean(email.subject)}`,
    `from ${clean(email.from)}  ${email.mode} mail by ${email.source}, ${new Date(email.createdAt).toISOString()}`,
    ...extrasOf(email.extras).map(({ label, value }) => `${label.toLowerCase()} ${clean(value)}`),
    `${clean(email.messageId)}`,
  ]
  const parts = email.recipients.map((row) =>
    recipientPart(paint, row, events, waiting.recipients.get(row.id)),
  )
  return [head.join('\n'), ...parts].join('\n\n')
}

/** The way of each recipient so far: its statuses in order, and when the last one came. */
export interface Way {
  readonly address: string
  readonly steps: readonly string[]
  readonly at: number
}

/** `events` newest first, as the store gives them. */
export const waysOf = (email: EmailRecord, events: readonly EventRow[]): readonly Way[] =>
  email.recipients.map((recipient) => {
    const own = events.filter(
      (row) => row.change && (row.recipientId === null || row.recipientId === recipient.id),
    )
    const names = own.map((row) => row.type.replace(/^email\./, '')).reverse()
    return {
      address: recipient.address,
      steps: names.filter((name, i) => name !== names[i - 1]),
      at: own[0]?.occurredAt ?? email.createdAt,
    }
  })
