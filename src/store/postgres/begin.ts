/**
 * NAME      begin - what a daemon does with a database before it serves: version, rights, pooler
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
import type { Arrival } from '../move.js'
import type { ServerState, WriterRow } from '../port/cluster.js'
import { type Asking, first, first as firstRow, run } from '../sql/query.js'
import { type Follower, lastFollower, NOW, serverState, unconfirmed, writers } from './cluster.js'
import { type Connection, DatabaseAwayError, failureOf } from './connection.js'
import { endPredecessor } from './heartbeat.js'
import { answer, persistently } from './run.js'
import { type Migrated, migrate } from './schema/migrate.js'
import { OLDEST, SCHEMA } from './schema/steps.js'
import { refuseUnknown, versionThere } from './schema/version.js'
import { DatabaseRefusedError, type Pooling, serversOf } from './servers.js'
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

type Pooler = 'none' | 'session' | 'transaction' | 'statement'

/** What mends one that will not do. */
export const remedyOf = (pooler: Pooler): string =>
  `${pooler === 'transaction' ? 'say store.pooler: transaction, ' : ''}set pool_mode = session there, or name the database itself in store.url_file`

const poolerBefore = async (connection: Connection, open: () => Promise<Connection>): Promise<Pooler> => {
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

// A database on a server, looked at without a change. What `postern doctor` asks of it.

export interface ExaminedServer extends ServerState {
  /** `host:port`, and the database there. */
  readonly place: string
  /** Of PostgreSQL, in words. */
  readonly release: string
  /** The schema; 0 when there is none yet. */
  readonly version: number
  /** Whose Postern can serve it. */
  readonly compatibleFrom: number
  /** The oldest schema that this Postern opens, and the one that it makes. */
  readonly opensFrom: number
  readonly current: number
  /** Which Postern made the schema. */
  readonly madeBy: string
  /** The mark of the pepper that it belongs to. */
  readonly pepperMark: string | null
  /** By how many ms its clock is ahead of ours. */
  readonly ahead: number
  readonly pooler: Pooler
  /** What mends a pooler that will not do. */
  readonly remedy: string
  /** A slot or a standby for which rows are kept, the one that is furthest behind. */
  readonly follower: Follower | null
  /** Commits that wait in vain for a synchronous standby. */
  readonly unconfirmed: number
  /** Whether its role may make tables, and how it is called. */
  readonly mayCreate: boolean
  readonly role: string
  /** The daemons that live, and what they are set to. */
  readonly daemons: readonly Pick<WriterRow, 'daemonId' | 'host' | 'settings'>[]
}

const ASK = `SELECT current_setting('server_version') AS release,
  CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now, current_user AS role,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create`

const PEPPER = 'SELECT mark FROM pepper'

type Looked = Omit<ExaminedServer, 'place' | 'pooler' | 'remedy' | 'ahead'> & {
  readonly now: number
}

function* look(): Asking<Looked> {
  const server = yield* first(ASK)
  const made = yield* versionThere()
  const state = yield* serverState()
  const follower = yield* lastFollower()
  const all = made === null ? [] : yield* writers()
  return {
    release: String(server?.release),
    now: Number(server?.now),
    ...(made ?? { version: 0, compatibleFrom: 0, madeBy: '' }),
    opensFrom: OLDEST,
    current: SCHEMA,
    pepperMark: made === null ? null : (((yield* first(PEPPER))?.mark ?? null) as string | null),
    ...state,
    follower,
    unconfirmed: yield* unconfirmed(),
    mayCreate: server?.may_create === true,
    role: String(server?.role),
    daemons: all.filter(({ role }) => role === 'main'),
  }
}

/** Throws DatabaseRefusedError when it would lose mail, or when it lets us not in. */
export const examineServer = async (urls: string, pooling: Pooling = 'none'): Promise<ExaminedServer> => {
  const { connect } = await import('./connection.js')
  const servers = serversOf(urls, pooling)
  const open = () => connect(servers, 'postern/doctor')
  const connection = await open()
  try {
    const asked = systemClock.now()
    const { now, ...looked } = await answer(connection, look())
    const [{ host, port, database } = { host: '', port: 0, database: '' }] = servers
    const pooler = await poolerBefore(connection, open)
    return {
      ...looked,
      ...{ pooler, remedy: remedyOf(pooler) },
      place: `${host}:${port}, ${database}`,
      ahead: now - (asked + systemClock.now()) / 2,
    }
  } finally {
    await connection.close()
  }
}

// A database that a store has moved into, or is moving into. A row of `settings`. Where it is, and the move is not at
// its end, nobody may serve.

export function* arrival(): Asking<Arrival | null> {
  const found = yield* first("SELECT value FROM settings WHERE name = 'moved_in'")
  return found === null ? null : (JSON.parse(String(found.value)) as Arrival)
}

export function* setArrival(to: Arrival): Asking<void> {
  yield* run(
    `INSERT INTO settings (name, value) VALUES ('moved_in', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    JSON.stringify(to),
  )
}

/** For whoever wants to serve, once it is a writer: from then on a move back sees it. */
function* refuseHalfMoved(): Asking<void> {
  const found = yield* arrival()
  if (found === null || found.state === 'in') return
  throw new DatabaseRefusedError(
    found.state === 'undone'
      ? `the mail of this database went back to ${found.from}: serve it there, after postern store move --to FILE --undo there if that was cut off; or name another database`
      : `the move from ${found.from} into this database is not finished: run postern store move there again`,
  )
}
