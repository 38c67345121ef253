/**
 * NAME      carried - events in a file, as Postern 0.1 stored them
 * DESCRIPTION
 *   The form in which a mail's timeline travels to another store, which may be an
 *   older one: named fields, types and sources in words, first events among them.
 */
import type { EventSource } from '../../../lifecycle/event.js'
import type { Fields } from '../../port/carry.js'
import { flagsOf, kindOf, type More, NOTHING, packMore } from '../../sql/log/codec.js'
import type { WriteContext } from '../write/context.js'
import { createNumbers } from './numbers.js'
import { carriedType, createChanges } from './step.js'

/** Stores the events of a carried mail as its history. */
export const createAddCarried = (context: WriteContext) => {
  // two events may tell of one report
  const insert = context.db.prepare(
    `INSERT OR IGNORE INTO events (ord, email, scope, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more, id)
     VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  // what others say of an attempt is as many things as they like: it is written out
  const numbers = { ...createNumbers(context), detail: () => 0 }
  return (ord: number, events: readonly Fields[]): void => {
    const changes = createChanges()
    for (const event of events) {
      const more: More =
        typeof event.more === 'string' ? { ...NOTHING, ...(JSON.parse(event.more) as More) } : NOTHING
      const type = carriedType(String(event.type), more.detail)
      const applied = event.applied === 1
      const change = changes(String(event.email_id), String(event.recipient_id), type, applied)
      insert.run(
        context.order.next(),
        ord,
        kindOf(type),
        flagsOf(event.source as EventSource, applied, change),
        event.recipient_id,
        event.occurred_at,
        Number(event.created_at) - Number(event.occurred_at),
        event.attempt ?? null,
        event.reason ?? null,
        event.dedupe ?? null,
        packMore(more, numbers),
        event.id,
      )
    }
  }
}
