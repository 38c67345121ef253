/**
 * NAME      carried - events in a file, as Postern 0.1 stored them
 * DESCRIPTION
 *   The form in which a mail's timeline travels to another store, which may be an
 *   older one: named fields, types and sources in words, first events among them.
 */
import type { EventSource, Outcome } from '../../../lifecycle/facts.js'
import { EVENT_TYPES, type EventType, isEventType } from '../../../mail/event-type.js'
import type { Fields } from '../../port/operations.js'
import { type Asking, run } from '../query.js'
import type { Places } from '../table.js'
import { flagsOf, kindOf, type More, NOTHING, type Numbers, packMore } from './codec.js'

/** Orders borrowed the status of their recipient, and named themselves in their detail. */
const ORDERS: Readonly<Record<string, EventType>> = {
  held: 'email.held',
  released: 'email.released',
  resumed: 'email.released',
  imported: 'email.released',
  taken_back: 'email.released',
  rerouted: 'email.rerouted',
  retried: 'email.retried',
}

/** The type of an event as Postern 0.1 stored it. */
export const carriedType = (type: string, detail: Outcome['detail']): EventType =>
  ORDERS[String(detail?.action)] ?? (isEventType(type) ? type : EVENT_TYPES[0])

const isOrder = (type: EventType): boolean => Object.values(ORDERS).includes(type)

/** Tells changes from notes while the events of a mail go by in their order. */
export const createChanges = () => {
  let mail = ''
  const last = new Map<string, string>()
  return (emailId: string, recipient: string, type: EventType, applied: boolean): boolean => {
    if (emailId !== mail) last.clear()
    mail = emailId
    if (!applied || isOrder(type) || type === 'email.reported') return false
    if (type === 'email.complained') return true
    const changed = last.get(recipient) !== type
    last.set(recipient, type)
    return changed
  }
}

export interface EventParts {
  readonly places: Places
  /** The numbers of the servers that these name. */
  numbers(mores: readonly More[]): Asking<Pick<Numbers, 'mta'>>
}

// two events may tell of one report
const INSERT = `INSERT INTO events (ord, email, scope, kind, flags, recipient, occurred_at, late, attempt, reason,
    dedupe, more, id)
  VALUES (?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

/** Stores the events of a carried mail as its history. */
export const eventCarrying = ({ places, numbers }: EventParts) =>
  function* (email: number, events: readonly Fields[]): Asking<void> {
    const moreOf = ({ more }: Fields): More =>
      typeof more === 'string' ? { ...NOTHING, ...(JSON.parse(more) as More) } : NOTHING
    const { mta } = yield* numbers(events.map(moreOf).map((more) => ({ ...more, detail: null })))
    const changes = createChanges()
    for (const event of events) {
      const more = moreOf(event)
      const type = carriedType(String(event.type), more.detail)
      const applied = event.applied === 1
      const change = changes(String(event.email_id), String(event.recipient_id), type, applied)
      yield* run(
        INSERT,
        ...[places.next(), email, kindOf(type), flagsOf(event.source as EventSource, applied, change)],
        ...[event.recipient_id, event.occurred_at, Number(event.created_at) - Number(event.occurred_at)],
        ...[event.attempt ?? null, event.reason ?? null, event.dedupe ?? null],
        // what others say of an attempt is as many things as they like: it is written out
        packMore(more, { mta, detail: () => 0 }),
        event.id,
      )
    }
  }
