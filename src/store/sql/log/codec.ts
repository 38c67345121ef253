/**
 * NAME      codec - an event as it is stored
 * DESCRIPTION
 *   An event costs a few octets: its type and source are numbers, and when it was
 *   written is a difference. What is the same in nearly every event is stored once: a
 *   server that was tried is a row of `mtas`, the detail of an attempt but for how long it
 *   took one of `attempt_details`. What nothing searches by is one JSON array: reply,
 *   server, detail. Of an event without a mail it is an object: account, data.
 */

import { EVENT_SOURCES, type EventSource, type MtaRef, type Outcome } from '../../../lifecycle/facts.js'
import { EVENT_TYPES, type EventType } from '../../../mail/event-type.js'
import type { Reply } from '../../../mail/reply.js'
import { type Asking, first, Memory, type Row } from '../query.js'

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
