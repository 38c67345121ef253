/**
 * NAME      log/events - an event as it is stored, as it is to be written, and as a file carries it
 *   An event costs a few octets: its type and source are numbers, and when it was
 *   written is a difference. What is the same in nearly every event is stored once: a server that was tried is a row
 *   of `mtas`, the detail of an attempt but for how long it took one of `attempt_details`. What nothing searches by is
 *   one JSON array: reply, server, detail. Of an event without a mail it is an object: account, data.
 */
import { EVENT_SOURCES, type EventSource, type MtaRef, type Outcome } from '../../../lifecycle/facts.js'
import type { OnAmbiguous } from '../../../lifecycle/lease.js'
import type { OrderNote } from '../../../lifecycle/orders.js'
import type { SettleEvent } from '../../../lifecycle/settle.js'
import { EVENT_TYPES, type EventType, isEventType } from '../../../mail/event-type.js'
import type { Reply } from '../../../mail/reply.js'
import type { EventKind } from '../../../mail/status.js'
import type { CarriedFields } from '../../port/operations.js'
import { type Asking, first, Memory, type Row, run } from '../query.js'
import type { Places } from '../table.js'

const APPLIED = 1
/** The flag of an event that changed a status. */
export const CHANGE = 2
const SOURCE = 4

export const kindOf = (type: EventType): number => EVENT_TYPES.indexOf(type)

export const COMPLAINED = kindOf('email.complained')

export const typeOf = (kind: unknown): EventType => {
  const type = EVENT_TYPES[kind as number]
  if (type === undefined) throw new Error(`no event type has the number ${kind}`)
  return type
}

export const flagsOf = (source: EventSource, applied: boolean, change: boolean): number =>
  EVENT_SOURCES.indexOf(source) * SOURCE + (applied ? APPLIED : 0) + (change ? CHANGE : 0)

export const readFlags = (flags: number) => ({
  source: EVENT_SOURCES[Math.floor(flags / SOURCE)] as EventSource,
  applied: (flags & APPLIED) !== 0,
  change: (flags & CHANGE) !== 0,
})

/** Whose an event is: the number of its workspace (0: of the whole account) and its mode. */
export const scopeOf = (workspace: number, test: boolean): number => workspace * 2 + (test ? 1 : 0)

export type More = Pick<Outcome, 'reply' | 'mta' | 'detail'>
export const NOTHING: More = { reply: null, mta: null, detail: null }

type Packed = [
  reply: [code: number, enhanced: string | null, text: string] | 0,
  mta: [poolId: string, upstreamId: string | null, host: string | null] | number,
  detail: Outcome['detail'] | [shape: number, ms: number] | 0,
]

/** The numbers of what is stored once; 0 for what is written out. */
export interface Numbers {
  /** Of a server that was tried. */
  mta(mta: MtaRef): number
  /** Of the detail of an attempt that took no time. */
  detail(shape: string): number
}

/** All is written out. */
export const NO_NUMBERS: Numbers = { mta: () => 0, detail: () => 0 }

/** Their values are few. */
const REPEATED = new Set(['stage', 'port', 'tls', 'class', 'fault', 'reports', 'ambiguous', 'ms'])

const packDetail = (detail: Outcome['detail'], numbers: Numbers): Packed[2] => {
  if (detail === null) return 0
  const { ms } = detail
  if (typeof ms !== 'number' || !Object.keys(detail).every((name) => REPEATED.has(name))) return detail
  const n = numbers.detail(JSON.stringify({ ...detail, ms: 0 }))
  return n === 0 ? detail : [n, ms]
}

export const packMore = ({ reply, mta, detail }: More, numbers: Numbers): string | null => {
  if (reply === null && mta === null && detail === null) return null
  const packed: Packed = [
    reply === null ? 0 : [reply.code, reply.enhanced, reply.text],
    mta === null ? 0 : numbers.mta(mta) || [mta.poolId, mta.upstreamId, mta.host],
    packDetail(detail, numbers),
  ]
  return JSON.stringify(packed)
}

const toReply = (packed: Packed[0]): Reply | null =>
  packed === 0 ? null : { code: packed[0], enhanced: packed[1], text: packed[2] }

const toMta = (packed: Packed[1]): MtaRef | null =>
  typeof packed === 'number' ? null : { poolId: packed[0], upstreamId: packed[1], host: packed[2] }

function* readMta(n: number): Asking<MtaRef> {
  const row = (yield* first('SELECT pool_id, upstream_id, host FROM mtas WHERE n = ?', n)) as Row
  return {
    poolId: row.pool_id as string,
    upstreamId: row.upstream_id as string,
    host: row.host as string | null,
  }
}

function* readDetail(n: number): Asking<NonNullable<Outcome['detail']>> {
  const row = yield* first('SELECT detail FROM attempt_details WHERE n = ?', n)
  return JSON.parse(row?.detail as string)
}

/** Reads what is stored once only once. */
export class UnpackMore {
  readonly #server = new Memory(readMta)
  readonly #shape = new Memory(readDetail);

  *more(text: string | null): Asking<More> {
    if (text === null) return NOTHING
    const [reply, mta, detail] = JSON.parse(text) as Packed
    return {
      reply: toReply(reply),
      mta: typeof mta === 'number' && mta > 0 ? yield* this.#server.of(mta) : toMta(mta),
      detail: Array.isArray(detail)
        ? { ...(yield* this.#shape.of(detail[0])), ms: detail[1] }
        : detail || null,
    }
  }
}

// An event that is to be written.

/** A mail as the log knows it. */
export interface MailPlace {
  readonly ord: number
  readonly scope: number
}

export interface EventDraft {
  /** Its id, where nobody has its place at hand. */
  readonly mail: MailPlace | string
  readonly recipientId: string | null
  readonly status: EventKind
  /** Whether it changes what is told of the recipient, or only notes something. */
  readonly change: boolean
  readonly source: EventSource
  readonly occurredAt: number
  readonly now: number
  readonly attempt: number | null
  readonly applied: boolean
  readonly reason: string | null
  readonly dedupe: string | null
  readonly more: More
}

/** A change that nobody said anything about. */
export const plainEvent = (
  mail: MailPlace | string,
  recipientId: string | null,
  status: EventKind,
  source: EventSource,
  now: number,
  reason: string | null = null,
): EventDraft => ({
  mail,
  recipientId,
  status,
  change: true,
  source,
  occurredAt: now,
  now,
  attempt: null,
  applied: true,
  reason,
  dedupe: null,
  more: NOTHING,
})

/** What an order did to a recipient; it changes no status. */
export const noteEvent = (mail: MailPlace | string, recipientId: string, note: OrderNote): EventDraft => ({
  ...plainEvent(mail, recipientId, note.did, 'operator', note.now, note.reason),
  change: false,
  more: { ...NOTHING, detail: { action: note.action, ...note.more } },
})

/** What was seen of a recipient. It runs for every mail. */
export const outcomeEvent = (
  mail: MailPlace,
  outcome: Outcome,
  { kind, change, applied, dedupe, detail }: SettleEvent,
  now: number,
): EventDraft & { readonly mail: MailPlace } => ({
  mail,
  recipientId: outcome.recipientId,
  status: kind,
  change,
  source: outcome.source,
  occurredAt: outcome.at,
  now,
  attempt: outcome.attempt,
  applied,
  reason: outcome.reason,
  dedupe,
  more: { reply: outcome.reply, mta: outcome.mta, detail },
})

/** An attempt that nobody knows the end of. */
export interface Begun {
  readonly attempt: number
  readonly at: number | null
  readonly poolId: string
  readonly upstreamId: string | null
  readonly on: OnAmbiguous
}

export const ambiguousEvent = <M extends MailPlace | string>(
  mail: M,
  recipientId: string,
  { attempt, at, poolId, upstreamId, on }: Begun,
  now: number,
): EventDraft & { readonly mail: M } => ({
  ...plainEvent(mail, recipientId, 'sent', 'system', now, 'ambiguous'),
  ...{ mail, change: false, applied: false, attempt, occurredAt: at ?? now },
  more: {
    reply: null,
    mta: { poolId, upstreamId, host: null },
    detail: { ambiguous: true, held: on === 'hold' },
  },
})

// Events in a file, as Postern 0.1 stored them. The form in which a mail's timeline travels to another store, which
// may be an older one: named fields, types and sources in words, first events among them.

const ORDERS: readonly EventType[] = ['email.held', 'email.released', 'email.rerouted', 'email.retried']

/** Tells changes from notes while the events of a mail go by in their order. */
const createChanges = () => {
  let mail = ''
  const last = new Map<string, string>()
  return (emailId: string, recipient: string, type: EventType, applied: boolean): boolean => {
    if (emailId !== mail) last.clear()
    mail = emailId
    if (!applied || ORDERS.includes(type) || type === 'email.reported') return false
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
  function* (email: number, events: readonly CarriedFields[]): Asking<void> {
    const moreOf = ({ more }: CarriedFields): More =>
      typeof more === 'string' ? { ...NOTHING, ...(JSON.parse(more) as More) } : NOTHING
    const { mta } = yield* numbers(events.map(moreOf).map((more) => ({ ...more, detail: null })))
    const changes = createChanges()
    for (const event of events) {
      const more = moreOf(event)
      // of a newer Postern, which may know more
      const type = isEventType(String(event.type)) ? (event.type as EventType) : EVENT_TYPES[0]
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
