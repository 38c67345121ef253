/**
 * NAME      codec - an event as it is stored
 * DESCRIPTION
 *   An event costs a few octets: its type and source are numbers, when it was
 *   written is a difference, and a server that was tried, which stands in nearly
 *   every event, is a row of `mtas`. What nothing searches by is one JSON array:
 *   reply, server, detail. Of an event without a mail it is an object: account, data.
 */

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
  detail: Outcome['detail'] | 0,
]

/** The number of a server that was tried; 0 for one that is written out. */
export type MtaNumber = (mta: MtaRef) => number

export const createMtaNumber = ({ db, onRollback }: Pick<WriteContext, 'db' | 'onRollback'>): MtaNumber => {
  const find = db
    .prepare<[string, string, string | null], number>(
      'SELECT n FROM mtas WHERE pool_id = ? AND upstream_id = ? AND host IS ?',
    )
    .pluck()
  const add = db.prepare('INSERT INTO mtas (pool_id, upstream_id, host) VALUES (?, ?, ?)')
  const known = new Map<string, number>()
  onRollback(() => known.clear())
  return ({ poolId, upstreamId, host }) => {
    // servers that others name are as many as they like
    if (upstreamId === null) return 0
    const key = `${poolId} ${upstreamId} ${host}`
    let n = known.get(key) ?? find.get(poolId, upstreamId, host)
    if (n === undefined) n = Number(add.run(poolId, upstreamId, host).lastInsertRowid)
    known.set(key, n)
    return n
  }
}

export const packMore = ({ reply, mta, detail }: More, mtaNumber: MtaNumber): string | null => {
  if (reply === null && mta === null && detail === null) return null
  const packed: Packed = [
    reply === null ? 0 : [reply.code, reply.enhanced, reply.text],
    mta === null ? 0 : mtaNumber(mta) || [mta.poolId, mta.upstreamId, mta.host],
    detail ?? 0,
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

/** Reads each server once. */
export const createUnpackMore = (sql: Statements): ((text: string | null) => More) => {
  const servers = new Map<number, MtaRef>()
  const toMta = (packed: Packed[1]): MtaRef | null => {
    if (packed === 0) return null
    if (typeof packed !== 'number') return { poolId: packed[0], upstreamId: packed[1], host: packed[2] }
    const mta = servers.get(packed) ?? readMta(sql, packed)
    servers.set(packed, mta)
    return mta
  }
  return (text) => {
    if (text === null) return NOTHING
    const [reply, mta, detail] = JSON.parse(text) as Packed
    return { reply: toReply(reply), mta: toMta(mta), detail: detail === 0 ? null : detail }
  }
}
