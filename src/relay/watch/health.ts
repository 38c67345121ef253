/**
 * NAME      health - what there is to know about an upstream now
 * DESCRIPTION
 *   For people and their tools: breaker, ramp, connections, and when it last took
 *   a message or failed. Plain values, told once a second; times are epoch ms.
 */
import type { BreakerState } from '../breaker.js'
import type { Pool } from '../pools.js'

interface LastError {
  readonly at: number
  /** connect, greeting, tls, auth, or how far a message had come. */
  readonly stage: string
  readonly message: string
}

export interface UpstreamHealth {
  readonly poolId: string
  readonly upstreamId: string
  readonly host: string
  readonly port: number
  readonly state: string
  readonly breaker: BreakerState
  readonly connections: number
  readonly idle: number
  /** Messages under way. */
  readonly underWay: number
  /** How many the breaker and its ramp allow at once, of those configured. */
  readonly limit: number
  /** Which of its limits is used up now. */
  readonly full: 'rate' | 'connections' | null
  readonly lastSuccessAt: number | null
  readonly lastError: LastError | null
}

/** `epoch` is what the tick clock's zero is on the wall clock. */
export const healthOf = (pools: Iterable<Pool>, epoch: number): UpstreamHealth[] =>
  [...pools].flatMap((pool) =>
    pool.members.map(({ row, breaker, limit, open, idle, underWay, full, succeededAt, lastError }) => ({
      poolId: pool.row.id,
      upstreamId: row.id,
      host: row.host,
      port: row.port,
      state: row.state,
      breaker: breaker.state,
      connections: open,
      idle,
      underWay,
      limit,
      full,
      lastSuccessAt: succeededAt === null ? null : Math.round(epoch + succeededAt),
      lastError: lastError === null ? null : { ...lastError, at: Math.round(epoch + lastError.at) },
    })),
  )
