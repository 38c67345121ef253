/**
 * NAME      begin - what a daemon does with a database before it serves: version, rights, pooler
 * DESCRIPTION
 *   No pooler that gives sessions away, no move that is not finished, a schema that this Postern can serve.
 *   The first session of a process brings it up to date; each writer looks again once it has joined: from
 *   then on a move back and a migration see it.
 *   A pooler names a process of its own when it takes a connection. One that gives a client a session for as
 *   long as it stays is as good as none. One that gives it for a transaction lets another client have the
 *   same session in between: prepared statements, settings and the name by which a session can be ended
 *   would be anybody's. A daemon that is told so does without them. One that gives a session for a statement
 *   is of no use to anybody who needs transactions.
 */

import { systemClock } from '../../base/clock.js'
import { causesOf, Fault } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import { type Asking, first as firstRow, run } from '../sql/query.js'
import { NOW, unconfirmed } from './cluster.js'
import type { Connection } from './connection.js'
import { DatabaseAwayError, failureOf } from './failure.js'
import { refuseHalfMoved } from './move/arrival.js'
import { endPredecessor } from './recover.js'
import { answer, persistently } from './run.js'
import { type Migrated, migrate } from './schema/migrate.js'
import { refuseUnknown, versionThere } from './schema/version.js'
import { DatabaseRefusedError } from './servers.js'
import { addDefaults } from './tenants.js'

const query = (text: string) => ({ text, values: [] })

/** The process that serves it now. */
const servedBy = async (connection: Connection): Promise<number> =>
  Number((await connection.query(query('SELECT pg_backend_pid() AS pid'))).rows[0]?.pid)

/** Of pgbouncer's `statement` mode. */
const NO_TRANSACTIONS = /transaction blocks not allowed/

const modeOf = async (one: Connection, two: Connection): Promise<Pooler> => {
  const before = await servedBy(one)
  try {
    await two.query(query('BEGIN'))
  } catch (error) {
    const { message, cause } = error as Error
    if (NO_TRANSACTIONS.test(`${message} ${String(cause)}`)) return 'statement'
    throw error
  }
  // it was free although its client is still there; or it is taken now, and its client gets another one
  const isGiven = (await servedBy(two)) === before || (await servedBy(one)) !== before
  return isGiven ? 'transaction' : 'session'
}

export type Pooler = 'none' | 'session' | 'transaction' | 'statement'

/** What mends one that will not do. */
export const remedyOf = (pooler: Pooler): string =>
  `${pooler === 'transaction' ? 'say store.pooler: transaction, ' : ''}set pool_mode = session there, or name the database itself in store.url_file`

export const poolerBefore = async (
  connection: Connection,
  open: () => Promise<Connection>,
): Promise<Pooler> => {
  if ((await servedBy(connection)) === connection.pid) return 'none'
  const other = await open()
  try {
    return await modeOf(connection, other)
  } finally {
    await other.close()
  }
}

const refusePooler = async (connection: Connection, open: () => Promise<Connection>): Promise<void> => {
  const pooler = await poolerBefore(connection, open)
  if (pooler === 'statement' || (pooler === 'transaction' && !connection.isPooled))
    throw new DatabaseRefusedError(
      `a pooler before the database gives sessions away between ${pooler}s: ${remedyOf(pooler)}`,
    )
}

/** An index on all that is kept takes its time. */
const LONG_MS = 24 * 3600_000

/** What can be done nothing about here, in one line: an outage is one wherever it met us, and no fault of ours. */
const awayError = (error: unknown): unknown => {
  const isFault = error instanceof Fault && error.cause instanceof Error
  const cause = (isFault ? error.cause : error) as Error
  const failure = failureOf(cause)
  if (failure === 'away')
    return new DatabaseAwayError(
      `the database cannot be reached: ${causesOf(cause)}; look whether it runs, then try again`,
    )
  if (failure === 'again' || failure === 'full')
    return new DatabaseAwayError(`the database cannot take it now: ${causesOf(cause)}; try again`)
  return error
}

/** Whatever begins with a database. */
export const beginning = async <T>(work: () => Promise<T>): Promise<T> =>
  work().catch((error: unknown) => {
    throw awayError(error)
  })

/** Of one that answers and stores nothing, why, where that can be seen. */
export const storesNothing = async (error: unknown, open: () => Promise<Connection>): Promise<unknown> => {
  if (!(error instanceof Fault)) return error
  const connection = await open().catch(() => null)
  if (connection === null) return error
  try {
    if ((await answer(connection, unconfirmed())) === 0) return error
    return new DatabaseAwayError(
      'commits wait for a synchronous standby that does not answer: start it, or change synchronous_standby_names, then try again',
    )
  } finally {
    await connection.close()
  }
}

/** For a writer, once it has joined. */
export function* refuseUnfit(): Asking<void> {
  yield* refuseHalfMoved()
  yield* refuseUnknown()
}

/** Its log can be followed from here on, and every writer gives places above. */
function* beginLog(place: number): Asking<void> {
  yield* run('UPDATE log_state SET since = ?, floor = ?', place, place)
  yield* run('UPDATE writers SET frontier = ? WHERE n = 0', place)
}

/** By the clock of the database, which is that of all. */
const filling = (now: number) =>
  function* (next: () => number): Asking<void> {
    yield* addDefaults({ next }, now)
    yield* beginLog(next())
  }

interface Beginning {
  readonly postern: string
  /** Its id; null: a program beside the daemons. */
  readonly daemon: string | null
  readonly isAsked?: boolean
  readonly log?: Log | undefined
}

export const bringUpToDate = async (
  open: (deadline?: number) => Promise<Connection>,
  { postern, daemon, isAsked = false, log }: Beginning,
): Promise<Migrated> => {
  const first = await persistently(() => open())
  const began = systemClock.tick()
  try {
    await refusePooler(first, () => open())
    if ((await answer(first, versionThere())) !== null) await answer(first, refuseHalfMoved())
    const patient = () => open(LONG_MS)
    const now = Number((await answer(first, firstRow(`SELECT ${NOW} AS now`)))?.now)
    const done = await migrate(first, { postern, now, fill: filling(now), daemon, isAsked, patient })
    if (done.from !== 0 && done.from < done.to)
      log?.info({ event: 'migrated', from: done.from, ms: systemClock.tick() - began }, 'migrated')
    if (daemon !== null) await persistently(() => answer(first, endPredecessor(daemon)))
    return done
  } finally {
    await first.close()
  }
}

/** By its operator, beside daemons that serve. */
export const migrateServer = async (urls: string, postern: string): Promise<Migrated> => {
  const { connect } = await import('./connection.js')
  const { serversOf } = await import('./servers.js')
  const servers = serversOf(urls)
  const open = (deadline?: number) => connect(servers, 'postern/migrate', deadline)
  return beginning(() => bringUpToDate(open, { postern, daemon: null, isAsked: true }))
}
