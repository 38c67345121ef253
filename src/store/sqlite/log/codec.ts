/**
 * NAME      codec - an event as it is stored
 * DESCRIPTION
 *   An event costs a few octets: its type and source are numbers, and when it was
 *   written is a difference. What is the same in nearly every event is stored once: a
 *   server that was tried is a row of `mtas`, the detail of an attempt but for how long it
 *   took one of `attempt_details`. What nothing searches by is one JSON array: reply,
 *   server, detail. Of an event without a mail it is an object: account, data.
 */

import type { RunResult } from 'better-sqlite3'
import type { EventSource, MtaRef } from '../../../lifecycle/event.js'
import type { Outcome } from '../../../lifecycle/facts.js'
import { EVENT_TYPES, type EventType } from '../../../mail/event-type.js'
import type { Reply } from '../../../mail/reply.js'
import type { Row } from '../connect.js'
import type { Statements } from '../read/statements.js'
import type { WriteContext } from '../write/context.js'

/** Numbers are stored: new ones go to the end. */
const SOURCES: readonly EventSource[] = ['api', 'smtp', 'dsn', 'arf', 'operator', 'system']

const APPLIED = 1
const CHANGE = 2
const SOURCE = 4

export const kindOf = (type: EventType): number => EVENT_TYPES.indexOf(type)

export const typeOf = (kind: unknown): EventType => {
  const type = EVENT_TYPES[kind as number]
  if (type === undefined) throw new Error(`no event type has the number ${kind}`)
  return type
}

export const flagsOf = (source: EventSource, applied: boolean, change: boolean): number =>
  SOURCES.indexOf(source) * SOURCE + (applied ? APPLIED : 0) + (change ? CHANGE : 0)

export const readFlags = (flags: number) => ({
  source: SOURCES[Math.floor(flags / SOURCE)] as EventSource,
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

export const createNumbers = ({ db, onRollback }: Pick<WriteContext, 'db' | 'onRollback'>): Numbers => {
  const sql = {
    mta: db
      .prepare<[string, string, string | null], number>(
        'SELECT n FROM mtas WHERE pool_id = ? AND upstream_id = ? AND host IS ?',
      )
      .pluck(),
    addMta: db.prepare('INSERT INTO mtas (pool_id, upstream_id, host) VALUES (?, ?, ?)'),
    detail: db.prepare<[string], number>('SELECT n FROM attempt_details WHERE detail = ?').pluck(),
    addDetail: db.prepare('INSERT INTO attempt_details (detail) VALUES (?)'),
  }
  const known = new Map<string, number>()
  onRollback(() => known.clear())
  const numberOf = (key: string, find: () => number | undefined, add: () => RunResult): number => {
    const n = known.get(key) ?? find() ?? Number(add().lastInsertRowid)
    known.set(key, n)
    return n
  }
  return {
    // servers that others name are as many as they like
    mta: ({ poolId, upstreamId, host }) =>
      upstreamId === null
        ? 0
        : numberOf(
            `${poolId} ${upstreamId} ${host}`,
            () => sql.mta.get(poolId, upstreamId, host),
            () => sql.addMta.run(poolId, upstreamId, host),
          ),
    detail: (shape) =>
      numberOf(
        shape,
        () => sql.detail.get(shape),
        () => sql.addDetail.run(shape),
      ),
  }
}

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

const readMta = (sql: Statements, n: number): MtaRef => {
  const row = sql('SELECT pool_id, upstream_id, host FROM mtas WHERE n = ?').get(n) as Row
  return {
    poolId: row.pool_id as string,
    upstreamId: row.upstream_id as string,
    host: row.host as string | null,
  }
}

const readDetail = (sql: Statements, n: number): NonNullable<Outcome['detail']> =>
  JSON.parse(sql('SELECT detail FROM attempt_details WHERE n = ?').get(n)?.detail as string)

const memory = <T>(read: (n: number) => T): ((n: number) => T) => {
  const known = new Map<number, T>()
  return (n) => {
    const value = known.get(n) ?? read(n)
    known.set(n, value)
    return value
  }
}

/** Reads what is stored once only once. */
export const createUnpackMore = (sql: Statements): ((text: string | null) => More) => {
  const server = memory((n) => readMta(sql, n))
  const shape = memory((n) => readDetail(sql, n))
  const toMta = (packed: Packed[1]): MtaRef | null => {
    if (packed === 0) return null
    if (typeof packed === 'number') return server(packed)
    return { poolId: packed[0], upstreamId: packed[1], host: packed[2] }
  }
  const toDetail = (packed: Packed[2]): Outcome['detail'] => {
    if (packed === 0) return null
    return Array.isArray(packed) ? { ...shape(packed[0]), ms: packed[1] } : packed
  }
  return (text) => {
    if (text === null) return NOTHING
    const [reply, mta, detail] = JSON.parse(text) as Packed
    return { reply: toReply(reply), mta: toMta(mta), detail: toDetail(detail) }
  }
}
