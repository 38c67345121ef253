/**
 * NAME      timeline - the story of one mail, for people
 * DESCRIPTION
 *   Recipient by recipient, oldest first: attempts with the upstream's words and
 *   the milliseconds, reports with their diagnostic, and what was not believed.
 */
import type { EmailRecord, EventRow, RecipientRow } from '../store/port.js'
import { clean, type Paint, paintStatus } from './terminal.js'

const clock = (at: number): string => new Date(at).toISOString().slice(11, 23)
const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

const where = (row: EventRow): string => {
  const parts: string[] = []
  if (row.attempt !== null) parts.push(`attempt ${row.attempt}`)
  if (row.mta?.host) parts.push(`at ${row.mta.host}`)
  if (row.source === 'dsn' || row.source === 'arf') parts.push(`report (${row.source.toUpperCase()})`)
  if (row.source === 'operator') parts.push('operator')
  return parts.join(' ')
}

const said = (row: EventRow): string => {
  const reply = row.reply && [row.reply.code, row.reply.enhanced, row.reply.text].filter(Boolean).join(' ')
  const extras = Object.entries(row.detail ?? {}).map(([name, value]) =>
    name === 'ms' ? `${value} ms` : `${name} ${value}`,
  )
  return [reply, row.reason && `(${row.reason})`, extras.join(', ')].filter(Boolean).join('  ')
}

const eventLine = (paint: Paint, row: EventRow, lastDay: string): string => {
  const today = day(row.occurredAt)
  const at = today === lastDay ? clock(row.occurredAt) : `${today} ${clock(row.occurredAt)}`
  const name = row.type.replace(/^email\./, '')
  const applied = row.applied ? '' : paint.dim('  (noted, not applied)')
  const text = [where(row), said(row)].filter((part) => part !== '').map(clean)
  return `  ${paint.dim(at)}  ${paintStatus(paint, name)}${' '.repeat(Math.max(1, 11 - name.length))}${text.join('  ')}${applied}`
}

const recipientPart = (paint: Paint, row: RecipientRow, events: readonly EventRow[]): string => {
  const own = events.filter((event) => event.recipientId === null || event.recipientId === row.id)
  let last = ''
  const lines = [...own].reverse().map((event) => {
    const line = eventLine(paint, event, last)
    last = day(event.occurredAt)
    return line
  })
  const due = row.dueAt === null ? '' : paint.dim(`  next try ${new Date(row.dueAt).toISOString()}`)
  return [`${paint.bold(clean(row.address))}  ${paintStatus(paint, row.status)}${due}`, ...lines].join('\n')
}

/** `events` newest first, as the store gives them. */
export const timeline = (paint: Paint, email: EmailRecord, events: readonly EventRow[]): string => {
  const head = [
    `${paint.bold(email.id)}  ${paintStatus(paint, email.status)}  ${clean(email.subject)}`,
    `from ${clean(email.from)}  ${email.mode} mail by ${email.source}, ${new Date(email.createdAt).toISOString()}`,
    `${clean(email.messageId)}`,
  ]
  return [head.join('\n'), ...email.recipients.map((row) => recipientPart(paint, row, events))].join('\n\n')
}
