/**
 * NAME      writer - the only way into the database
 * DESCRIPTION
 *   A writer is a row of `writers`, held from joining to leaving. All that it writes goes one transaction after
 *   another, and each first locks that row at its epoch: whoever ends the epoch waits for the transaction that runs, and
 *   none follows it. At its end the last place that it gave is written there as its frontier, so in any snapshot
 *   all its rows up to the frontier are seen, and none will follow below it.
 *   When a connection is lost nobody knows whether its transaction is in. The writer ends its own epoch, which waits
 *   for that transaction, and looks at the frontier: it has moved, or it is repeated under the new epoch.
 *   Verbs that are not about mail under way lock `order_state` too, across all writers: they follow one another, so
 *   what one of them looks at stays while it runs, and their places rise as they are committed.
 */
import { systemClock } from '../../../base/clock.js'
import { OutageError } from '../../../base/fault.js'
import type { About, WriterRole } from '../../port/cluster/cluster.js'
import { TakenOverError } from '../../port/upkeep.js'
import type { Places } from '../../sql/insert.js'
import {
  type Asking,
  BEGIN_SNAPSHOT,
  END_SNAPSHOT,
  first,
  type Query,
  type Row,
  run,
} from '../../sql/query.js'
import { endSessions, nameSession } from '../cluster/takeover.js'
import type { Connection } from '../connect/connection.js'
import { failureOf } from '../connect/failure.js'
import { resting } from '../connect/resting.js'
import { createHints, type Effects, type Hints } from '../hints.js'
import { answer, patience, persistently } from '../run.js'
import { WRITERS } from '../schema/cluster.js'
import { placeAfter } from './places.js'

/** Who joins: the part of a daemon that has a writer of its own. */
export interface Member {
  readonly role: WriterRole
  readonly about: About
}

export const NAMELESS: Member = {
  role: 'main',
  about: { version: '', host: '', settings: null, pools: null },
}

export interface Writer {
  readonly n: number
  /** By which its leases are known. */
  readonly boot: number
  /** What its verbs store gets these places. */
  readonly places: Places
  readonly hints: Hints
  /** What the transaction that runs leaves to tell; told when it is committed. */
  readonly effects: Effects
  /** One transaction. It may be run again, and then nothing of it had happened. */
  write<T>(verb: () => Asking<T>): Promise<T>
  /** The same for mail under way, side by side with other writers: the verb locks the rows that it decides about. */
  mail<T>(verb: () => Asking<T>): Promise<T>
  /** What follows the fence in one statement that answers with a row at least; null: it is in, and its answer was lost. */
  statement(make: () => Query, until?: number, calls?: number): Promise<readonly Row[] | null>
  /** Looks at what is stored, as part of the work in turn. */
  look<T>(asking: Asking<T>): Promise<T>
  /** After all that was asked before. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  /** Gives the row back. */
  leave(): Promise<void>
}

interface Joined {
  readonly n: number
  readonly epoch: number
  readonly boot: number
  readonly frontier: number
}

const query = (text: string): Query => ({ text, values: [] })

/**
 * A free row, and places above all that anybody has given. All others wait meanwhile: what they commit after somebody has
 * read the log up to it would stand above the places of this one.
 */
function* join(owner: string, { role, about }: Member): Asking<Joined> {
  yield query('BEGIN')
  const highest = yield* first(
    'SELECT max(frontier) AS frontier FROM (SELECT frontier FROM writers ORDER BY n FOR UPDATE) AS every',
  )
  const found = yield* first(
    `UPDATE writers SET epoch = epoch + 1, owner = ?, role = ?, about = ?, boot = (epoch + 1)::bigint * ${WRITERS} + n, heartbeat = heartbeat + 1,
       frontier = ?
     WHERE n = (SELECT n FROM writers WHERE owner IS NULL ORDER BY n LIMIT 1) RETURNING n, epoch, boot, frontier`,
    ...[owner, role, JSON.stringify(about), highest?.frontier],
  )
  yield query('COMMIT')
  if (found === null)
    throw new OutageError(
      `all ${WRITERS} places for writers are taken; a daemon that was killed frees its own in 30 s`,
    )
  return found as unknown as Joined
}

/** By the boot: nobody knows whether an earlier one that was cut off is in. */
function* endEpoch({ n, boot }: Joined): Asking<Joined> {
  const found = yield* first(
    'UPDATE writers SET epoch = epoch + 1 WHERE n = ? AND boot = ? RETURNING n, epoch, boot, frontier',
    n,
    boot,
  )
  if (found === null) throw new TakenOverError('another daemon has ended the epoch of this one')
  return found as unknown as Joined
}

const LOCK_ORDER = 'SELECT last FROM order_state FOR UPDATE'

const ROSE = 'UPDATE writers SET frontier = ? WHERE n = ?'
/** The order of what is not mail has come as far as the writer. */
const ROSE_BOTH = `WITH moved AS (UPDATE order_state SET last = CAST(? AS BIGINT)) ${ROSE}`

/** A transaction of the writer, whose verb may ask for snapshots: it has its locks, which are as good. */
function* fenced<T>(
  { n, epoch }: Joined,
  { rise, next }: Given,
  inOrder: boolean,
  verb: () => Asking<T>,
): Asking<T> {
  const mine = yield* run('UPDATE writers SET heartbeat = heartbeat + 1 WHERE n = ? AND epoch = ?', n, epoch)
  if (mine === 0) throw new TakenOverError('another daemon has ended the epoch of this one')
  if (inOrder) rise(Number((yield* first(LOCK_ORDER))?.last ?? 0))
  const result = yield* verb()
  const end = next()
  if (inOrder) yield* run(ROSE_BOTH, end, end, n)
  else yield* run(ROSE, end, n)
  return result
}

const withoutSnapshots = (connection: Connection): Pick<Connection, 'query'> => ({
  query: async (asked) =>
    asked === BEGIN_SNAPSHOT || asked === END_SNAPSHOT ? { rows: [], changes: 0 } : connection.query(asked),
})

/**
 * What a relay asks goes by keys. A plan is kept from when a table was small, and one that reads all of it would cost
 * hundreds of milliseconds a settle until the database counts its rows anew.
 */
const BY_KEY =
  'SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off'

/** The row of a writer, and the connection that writes for it. */
const hold = async (owner: string, member: Member, openAnew: () => Promise<Connection>) => {
  const open = resting(openAnew)
  let connection = await open()
  const prepare = async (fresh: Connection, boot: number): Promise<void> => {
    await answer(fresh, nameSession(owner, boot))
    if (member.role === 'relay') await fresh.query(query(BY_KEY))
  }
  const begin = async (): Promise<Joined> => {
    const row = await answer(connection, join(owner, member))
    await prepare(connection, row.boot)
    return row
  }
  let joined = await begin().catch(async (error: unknown) => {
    await connection.close()
    throw error
  })
  return {
    row: () => joined,
    /** A connection, on which nothing of an earlier one can still happen. */
    async ready(): Promise<Connection> {
      if (!connection.isLost) return connection
      const fresh = await open()
      try {
        await answer(fresh, endSessions(owner, [joined.boot]))
        joined = await answer(fresh, endEpoch(joined))
        await prepare(fresh, joined.boot)
      } catch (error) {
        await fresh.close()
        throw error
      }
      await connection.close()
      connection = fresh
      return connection
    },
    async leave(): Promise<void> {
      const free = 'UPDATE writers SET owner = NULL, boot = NULL WHERE n = ? AND boot = ?'
      if (!connection.isLost) await answer(connection, run(free, joined.n, joined.boot)).catch(() => {})
      await connection.close()
    },
  }
}

/** Is told of each commit: how many calls shared it, and for how long it took. */
export type Observe = (calls: number, ms: number) => void

type Held = Awaited<ReturnType<typeof hold>> & { readonly observe: Observe }

/** The places that the writer has given. */
interface Given extends Places {
  last(): number
  rise(to: number): void
}

const createPlaces = ({ row }: Held, now: () => number): Given => {
  let last = row().frontier
  return {
    last: () => last,
    rise: (to: number): void => {
      last = Math.max(last, to)
    },
    next: (): number => {
      last = placeAfter(last, now(), row().n)
      return last
    },
  }
}

const transaction = async <T>(
  held: Held,
  places: Given,
  inOrder: boolean,
  verb: () => Asking<T>,
): Promise<T> => {
  const at = await held.ready()
  let kept: { readonly result: T; readonly frontier: number } | null = null
  try {
    await at.query(query('BEGIN'))
    const result = await answer(withoutSnapshots(at), fenced(held.row(), places, inOrder, verb))
    kept = { result, frontier: places.last() }
    const began = systemClock.tick()
    await at.query(query('COMMIT'))
    held.observe(1, systemClock.tick() - began)
    return result
  } catch (error) {
    if (!at.isLost) await at.query(query('ROLLBACK')).catch(() => {})
    if (kept === null || failureOf(error) !== 'away') throw error
    await persistently(held.ready)
    if (held.row().frontier >= kept.frontier) return kept.result
    throw error
  }
}

/** What follows sees the rows of `fence`, of which there are none when the epoch has ended. */
const FENCE = `WITH fence AS (
  UPDATE writers SET frontier = ?, heartbeat = heartbeat + 1 WHERE n = ? AND epoch = ? RETURNING n),`

const statement = async (
  held: Held,
  { next }: Given,
  make: () => Query,
  calls: number,
): Promise<readonly Row[] | null> => {
  const at = await held.ready()
  const { n, epoch } = held.row()
  const { text, values } = make()
  const frontier = next()
  const began = systemClock.tick()
  try {
    const { rows } = await at.query({ text: FENCE + text, values: [frontier, n, epoch, ...values] })
    if (rows.length === 0) throw new TakenOverError('another daemon has ended the epoch of this one')
    held.observe(calls, systemClock.tick() - began)
    return rows
  } catch (error) {
    if (failureOf(error) !== 'away') throw error
    await persistently(held.ready)
    if (held.row().frontier >= frontier) return null
    throw error
  }
}

export const joinAsWriter = async (
  owner: string,
  open: () => Promise<Connection>,
  now: () => number = systemClock.now,
  hints: Hints = createHints(),
  member: Member = NAMELESS,
  observe: Observe = () => {},
): Promise<Writer> => {
  const held = { ...(await hold(owner, member, open)), observe }
  const places = createPlaces(held, now)
  let before: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = before.then(work)
    before = done.catch(() => {})
    return done
  }
  const { n, boot } = held.row()
  const effects: Effects = { due: false, settled: [] }
  const perform = <T>(inOrder: boolean, verb: () => Asking<T>, until = patience()): Promise<T> =>
    inTurn(async () => {
      const result = await persistently(() => {
        effects.due = false
        effects.settled.length = 0
        return transaction(held, places, inOrder, verb)
      }, until)
      hints.tell({ due: effects.due, settled: [...effects.settled] })
      return result
    })
  return {
    n,
    boot,
    places,
    hints,
    effects,
    write: (verb) => perform(true, verb),
    mail: (verb) => perform(false, verb),
    statement: (make, until, calls = 1) => persistently(() => statement(held, places, make, calls), until),
    look: async (asking) => answer(await held.ready(), asking),
    inTurn,
    leave: () => inTurn(held.leave),
  }
}
