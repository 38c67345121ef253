/**
 * NAME      writer - the connection that writes mail, and its row in `writers`
 *   A writer is a row of `writers`, held from joining to leaving. Its transactions run one after another, and each
 *   first locks that row at its epoch: a daemon that ends the epoch waits for the transaction that runs, and none
 *   follows it. At its end the last place that it gave is written there as its frontier: in any snapshot all its rows
 *   up to the frontier are seen, and none will follow below it. A place is as sql/pages.ts has it, with the
 *   writer's number in the upper 8 bits of the counter.
 *   A reader of the log waits for the least frontier. So a writer that stored records says so (notify.ts), and other
 *   writers of the process that have stored nothing since move theirs above it, without waiting for the disk: what is
 *   stored after that frontier was seen lies behind it in the database's own log, and is lost with it or not at all.
 *   When a connection is lost, nobody knows whether its transaction was committed. The writer ends its own epoch,
 *   which waits for that transaction, and looks at the frontier: it has moved, or the transaction is repeated under
 *   the new epoch. Verbs that are not about mail lock `order_state` too, across all writers.
 *   When the row is behind what was committed, the database was put back (to a standby without all of it, or to a
 *   copy). Acknowledged mail may be missing then and sent mail may be sent again, and nothing here can mend that: the
 *   time is kept in the database, what was asked for is refused once, and the writer goes on. No place is given twice.
 */

import { randomInt } from 'node:crypto'
import { systemClock } from '../../base/clock.js'
import type { Pass } from '../../base/crash.js'
import type { Log } from '../../base/log.js'
import type { About, NotedPutBack, WriterRole } from '../port/cluster.js'
import { StoreBusyError, TakenOverError } from '../port/upkeep.js'
import { ordAt, timeOf } from '../sql/pages.js'
import {
  type Asking,
  all,
  BEGIN_SNAPSHOT,
  END_SNAPSHOT,
  first,
  type Row,
  run,
  type SqlQuery,
} from '../sql/query.js'
import type { Places } from '../sql/table.js'
import { BY_KEY, type Connection, ConnectionLostError, failureOf } from './connection.js'
import { LIGHT } from './light.js'
import { createHints, type Effects, type Hints, spaced } from './notify.js'
import { answer, patience, persistently, unavailable } from './run.js'
import { WRITERS } from './schema/schema.js'
import { SCHEMA } from './schema/steps.js'

/** By which the sessions of a daemon are known. */
export const sessionName = (owner: string, part: string | number): string =>
  `postern/${owner.slice(0, 8)}/${part}`

/** This session is that of a writer. */
const nameSession = (owner: string, boot: number): Asking<unknown> =>
  first("SELECT set_config('application_name', ?, false)", sessionName(owner, boot))

/** All others of these writers. */
export const endSessions = (owner: string, boots: readonly number[]): Asking<unknown> =>
  all(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = ANY(CAST(? AS TEXT[])) AND pid <> pg_backend_pid() AND datname = current_database()
       AND wait_event IS DISTINCT FROM 'SyncRep'`,
    boots.map((boot) => sessionName(owner, boot)),
  )

interface PutBack {
  readonly writer: number
  /** The last place that was committed. */
  readonly from: number
  /** The last one that is there. */
  readonly to: number
}

const ROW = 'SELECT epoch, frontier FROM writers WHERE n = ?'

/** Of a row that is not this writer's any more. Whoever takes one over makes its epoch greater. */
function* putBackBy(own: { readonly n: number; readonly epoch: number; readonly frontier: number }) {
  const row = yield* first(ROW, own.n)
  if (row === null || Number(row.epoch) > own.epoch) return null
  return { writer: own.n, from: own.frontier, to: Number(row.frontier) } satisfies PutBack
}

const lostMs = ({ from, to }: PutBack): number => Math.max(0, timeOf(from) - timeOf(to))

/** All writers see it; the one that misses most is kept. */
function* notePutBack(found: PutBack): Asking<void> {
  const at = systemClock.now()
  const noted: NotedPutBack = { at, lostMs: lostMs(found) }
  yield* run(
    `INSERT INTO settings AS s (name, value) VALUES ('put_back', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value
       WHERE CAST(CAST(s.value AS JSON) ->> 'at' AS BIGINT) < CAST(? AS BIGINT)
         OR CAST(CAST(s.value AS JSON) ->> 'lostMs' AS BIGINT) <= CAST(? AS BIGINT)`,
    ...[JSON.stringify(noted), at - TOGETHER_MS, noted.lostMs],
  )
}

/** Within it they tell of the same. */
const TOGETHER_MS = 60_000

export const logPutBack =
  (log: Log | undefined) =>
  (found: PutBack): void =>
    log?.fatal({ writer: found.writer, lost_ms: lostMs(found) }, 'the database was put back')

/** Who joins: the part of a daemon that has a writer of its own. */
interface Member {
  readonly role: WriterRole
  readonly about: About
}

const NAMELESS: Member = {
  role: 'main',
  about: { version: '', host: '', settings: null, pools: null },
}

interface Joined {
  readonly n: number
  readonly epoch: number
  readonly boot: number
  readonly frontier: number
}

const query = (text: string): SqlQuery => ({ text, values: [] })

/**
 * All others wait for it: what they commit after somebody has read the log up to the highest place would stand above the
 * places of this one. So it is one statement, which waits for no answer from here while it has their rows.
 */
const EVERY =
  'WITH every AS MATERIALIZED (SELECT n, owner, frontier FROM writers ORDER BY n FOR UPDATE) UPDATE writers AS w SET'
const HIGHEST = '(SELECT max(frontier) FROM every)'

/** Whatever the rows of a database that was put back say, a boot is never given again. With the number of its writer it has 53 bits. */
const newBoots = (): number => randomInt(2 ** 53 / WRITERS)

/** A free row, and places above all that anybody has given. */
function* join(owner: string, { role, about }: Member): Asking<Joined> {
  const found = yield* first(
    `${EVERY} epoch = w.epoch + 1, owner = ?, role = ?, about = ?, schema = ${SCHEMA},
       boot = CAST(? AS BIGINT) * ${WRITERS} + w.n, heartbeat = w.heartbeat + 1, frontier = ${HIGHEST}
     WHERE w.n = (SELECT n FROM every WHERE owner IS NULL ORDER BY n LIMIT 1) RETURNING w.n, w.epoch, w.boot, w.frontier`,
    ...[owner, role, JSON.stringify(about), newBoots()],
  )
  if (found === null)
    throw new StoreBusyError(
      `all ${WRITERS} places for writers are taken, three by each daemon: stop one, or wait 30 s for one that was killed`,
    )
  return found as unknown as Joined
}

/** By the boot: nobody knows whether an earlier one that was cut off is in. */
function* endEpoch({ n, boot, epoch }: Joined): Asking<Joined | null> {
  const found = yield* first(
    'UPDATE writers SET epoch = greatest(epoch, ?) + 1 WHERE n = ? AND boot = ? RETURNING n, epoch, boot, frontier',
    ...[epoch, n, boot],
  )
  return found as unknown as Joined | null
}

/** In a database that was put back: the row as it would be, unless somebody else has it. */
function* takeAgain({ n, boot, epoch }: Joined, owner: string, { role, about }: Member): Asking<Joined> {
  const found = yield* first(
    `${EVERY} epoch = greatest(w.epoch, ?) + 1, owner = ?, role = ?, about = ?, schema = ${SCHEMA}, boot = ?,
       heartbeat = w.heartbeat + 1, frontier = ${HIGHEST}
     WHERE w.n = ? AND (w.owner IS NULL OR w.owner = ?) RETURNING w.n, w.epoch, w.boot, w.frontier`,
    ...[epoch, owner, role, JSON.stringify(about), boot, n, owner],
  )
  if (found === null)
    throw new TakenOverError('the database was put back, and another daemon has the place of this one')
  return found as unknown as Joined
}

/** Who writes mail; the doors join what came with a batch. */
const settingsOf = (role: WriterRole): readonly string[] => {
  if (role === 'relay') return [...BY_KEY, 'enable_hashjoin = off', 'enable_mergejoin = off']
  return role === 'main' ? BY_KEY : []
}

const preparing =
  (owner: string, { role }: Member) =>
  async (fresh: Connection, boot: number): Promise<void> => {
    // a name would stay with a session that is somebody else's next
    if (!fresh.isPooled) await answer(fresh, nameSession(owner, boot))
    const settings = settingsOf(role)
    if (settings.length > 0) await fresh.set(settings)
  }

const behind = ({ n, frontier }: Joined, stored: number): PutBack | null =>
  frontier < stored ? { writer: n, from: stored, to: frontier } : null

const createListeners = () => {
  const listeners: ((found: PutBack) => void)[] = []
  return {
    onPutBack: (listener: (found: PutBack) => void): void => {
      listeners.push(listener)
    },
    tell: (found: PutBack): void => {
      for (const listener of listeners) listener(found)
    },
  }
}

const freeing = ({ n, boot }: Joined): Asking<number> =>
  run('UPDATE writers SET owner = NULL, boot = NULL WHERE n = ? AND boot = ?', n, boot)

interface State {
  joined: Joined
  /** The last place that is known to be committed. */
  stored: number
  /** Not yet told: an answer on the way may be lost, too. */
  found: PutBack | null
}

/** What it had leased as the database has it now, of which it may know nothing any more: it is recovered as what nobody has. */
const forsake = ({ n, boot }: Joined): Asking<number> =>
  run('UPDATE queue SET boot = ? WHERE boot = ?', newBoots() * WRITERS + n, boot)

/** Under a new epoch, on a fresh connection. */
const goOn = async (fresh: Connection, state: State, owner: string, member: Member): Promise<void> => {
  const { joined, stored } = state
  await answer(fresh, endSessions(owner, [joined.boot]))
  const mine = await answer(fresh, endEpoch(joined))
  state.found ??=
    mine === null ? await answer(fresh, putBackBy({ ...joined, frontier: stored })) : behind(mine, stored)
  if (mine === null && state.found === null)
    throw new TakenOverError('another daemon has ended the epoch of this one')
  state.joined = mine ?? (await answer(fresh, takeAgain(joined, owner, member)))
  if (state.found === null) return
  await answer(fresh, forsake(state.joined))
  await answer(fresh, notePutBack(state.found))
}

const hold = async (owner: string, member: Member, open: () => Promise<Connection>) => {
  const { onPutBack, tell } = createListeners()
  const prepare = preparing(owner, member)
  let connection = await open()
  const begin = async (): Promise<State> => {
    const joined = await answer(connection, join(owner, member))
    await prepare(connection, joined.boot)
    return { joined, stored: joined.frontier, found: null }
  }
  const state = await begin().catch(async (error: unknown) => {
    await connection.close()
    throw error
  })
  const told = (): boolean => {
    if (state.found === null) return false
    tell(state.found)
    state.found = null
    state.stored = state.joined.frontier
    return true
  }
  return {
    ...{ row: () => state.joined, stored: () => state.stored },
    onPutBack,
    isLost: () => connection.isLost,
    rose(frontier: number): void {
      state.stored = frontier
    },
    /** A connection, on which nothing of an earlier one can still happen. */
    async ready(): Promise<Connection> {
      if (!connection.isLost) return connection
      const fresh = await open()
      try {
        await goOn(fresh, state, owner, member)
        await prepare(fresh, state.joined.boot)
      } catch (error) {
        await fresh.close()
        if (error instanceof TakenOverError) told()
        throw error
      }
      await connection.close()
      connection = fresh
      if (told()) throw unavailable(new Error('the database was put back'))
      return connection
    },
    async leave(): Promise<void> {
      if (!connection.isLost) await answer(connection, freeing(state.joined)).catch(() => {})
      await connection.close()
    },
  }
}

const COUNT = 16
const MS = 4096

/** The first place of this writer that is above `last` and not before `now`. */
export const placeAfter = (last: number, now: number, writer: number): number => {
  const own = writer * COUNT
  const current = ordAt(now) + own
  if (current > last) return current
  const ms = Math.floor(last / MS) * MS
  const bits = last - ms
  if (bits < own) return ms + own
  return bits < own + COUNT - 1 ? last + 1 : ms + MS + own
}

export const writerOf = (ord: number): number => Math.floor((ord % MS) / COUNT)

export interface PostgresWriter {
  readonly n: number
  /** By which its leases are known. */
  readonly boot: number
  /** What its verbs store gets these places. */
  readonly places: Places
  /** The next ones are above this one. */
  rise(to: number): void
  readonly hints: Hints
  /** What the transaction that runs leaves to tell; told when it is committed. */
  readonly effects: Effects
  /** One transaction. It may be run again, and then nothing of it had happened. */
  write<T>(verb: () => Asking<T>): Promise<T>
  /** The same for mail under way, side by side with other writers: the verb locks the rows that it decides about. */
  mail<T>(verb: () => Asking<T>): Promise<T>
  /** A transaction like that, as part of the work in turn. */
  step<T>(verb: () => Asking<T>): Promise<T>
  /**
   * What follows the fence in one statement that answers with a row at least; null: it is in, and its answer was lost.
   * Crash tests know it by its name.
   */
  statement(
    name: string,
    make: () => SqlQuery,
    until?: number,
    calls?: number,
  ): Promise<readonly Row[] | null>
  /** A point where a crash test may end the process. */
  readonly pass: Pass
  /** Looks at what is stored, as part of the work in turn. */
  look<T>(asking: Asking<T>): Promise<T>
  /** After all that was asked before. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
  /** After what runs, and before all that waits: for a sign of life, and to follow others. */
  beforeOthers<T>(work: () => Promise<T>): Promise<T>
  /** The database is as it was earlier: what was looked up in it may be so no more. */
  onPutBack(listener: (found: PutBack) => void): void
  /** Gives the row back. */
  leave(): Promise<void>
}

const LOCK_ORDER = 'SELECT last FROM order_state FOR UPDATE'

const ROSE = 'UPDATE writers SET frontier = ? WHERE n = ?'
/** The order of what is not mail has come as far as the writer. */
const ROSE_BOTH = `WITH moved AS (UPDATE order_state SET last = CAST(? AS BIGINT)) ${ROSE}`

/** A frontier that is behind is that of a database that was put back. */
const MINE = 'n = ? AND epoch = ? AND frontier >= ?'
const LOCK = `UPDATE writers SET heartbeat = heartbeat + 1 WHERE ${MINE}`

interface Fence {
  row(): Joined
  stored(): number
  /** There is no such row. */
  gone(): Error
}

/** A transaction of the writer, whose verb may ask for snapshots: it has its locks, which are as good. */
function* fenced<T>(
  { row, stored, gone }: Fence,
  { rise, end }: Given,
  inOrder: boolean,
  verb: () => Asking<T>,
): Asking<T> {
  const { n, epoch } = row()
  if ((yield* run(LOCK, n, epoch, stored())) === 0) throw gone()
  if (inOrder) rise(Number((yield* first(LOCK_ORDER))?.last ?? 0))
  const result = yield* verb()
  const last = end()
  if (inOrder) yield* run(ROSE_BOTH, last, last, n)
  else yield* run(ROSE, last, n)
  return result
}

const withoutSnapshots = (connection: Connection): Pick<Connection, 'query'> => ({
  query: async (asked) =>
    asked === BEGIN_SNAPSHOT || asked === END_SNAPSHOT ? { rows: [], changes: 0 } : connection.query(asked),
})

/** Is told of each commit: how many calls shared it, and for how long it took. */
export type Observe = (calls: number, ms: number) => void

type Held = Awaited<ReturnType<typeof hold>> & { readonly observe: Observe; readonly pass: Pass }

/** The places that the writer has given. */
interface Given extends Places {
  last(): number
  /** That of the last record. */
  record(): number
  /** What a transaction or a statement ends with. */
  end(): number
  rise(to: number): void
}

const createPlaces = ({ row, onPutBack }: Held, now: () => number): Given => {
  let last = row().frontier
  let record = last
  const rise = (to: number): void => {
    last = Math.max(last, to)
  }
  onPutBack(() => rise(row().frontier))
  const end = (): number => {
    last = placeAfter(last, now(), row().n)
    return last
  }
  return {
    last: () => last,
    record: () => record,
    ...{ rise, end },
    next: (): number => {
      record = end()
      return record
    },
  }
}

/** Behind a pooler the server may be another one than before: whoever connects again looks. */
const fenceOf = ({ row, stored }: Held, at: Connection): Fence => ({
  row,
  stored,
  gone() {
    if (!at.isPooled) return new TakenOverError('another daemon has ended the epoch of this one')
    const lost = new ConnectionLostError('the row of this writer is not as it left it')
    at.lose(lost)
    return lost
  },
})

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
    const result = await answer(withoutSnapshots(at), fenced(fenceOf(held, at), places, inOrder, verb))
    kept = { result, frontier: places.last() }
    const began = systemClock.tick()
    await at.query(query('COMMIT'))
    held.rose(kept.frontier)
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
  UPDATE writers SET frontier = ?, heartbeat = heartbeat + 1 WHERE ${MINE} RETURNING n),`

const statement = async (
  held: Held,
  { end }: Given,
  name: string,
  make: () => SqlQuery,
  calls: number,
): Promise<readonly Row[] | null> => {
  const at = await held.ready()
  const { n, epoch } = held.row()
  const { text, values } = make()
  const frontier = end()
  const began = systemClock.tick()
  try {
    held.pass(`${name}.before-commit`)
    const sent = at.query({ text: FENCE + text, values: [frontier, n, epoch, held.stored(), ...values] })
    held.pass(`${name}.sent`)
    const { rows } = await sent
    held.pass(`${name}.after-commit`)
    if (rows.length === 0) throw fenceOf(held, at).gone()
    held.rose(frontier)
    held.observe(calls, systemClock.tick() - began)
    return rows
  } catch (error) {
    if (failureOf(error) !== 'away') throw error
    await persistently(held.ready)
    if (held.row().frontier >= frontier) return null
    throw error
  }
}

const RISE = `${LIGHT} UPDATE writers SET frontier = ? FROM light WHERE light.s IS NOT NULL AND ${MINE}`
/** So often others are told that there are records: what was stored is read half of it later on average. */
const STORED_MS = 100

/** Who has stored records tells the others; who has not follows those that have. */
const createFollowing = (held: Held, places: Given, hints: Hints, { beforeOthers }: Turns) => {
  let told = places.record()
  let risen = 0
  let isRising = false
  const tell = spaced(STORED_MS, () => {
    told = places.record()
    hints.stored(told)
    hints.elsewhere({ topic: 'stored' })
  })
  const isAbove = (place: number): boolean => Math.max(held.stored(), risen) >= place
  const follow = async (place: number): Promise<void> => {
    // who connects again may find the database put back, and says so to somebody who asked for something
    if (held.isLost() || isAbove(place)) return
    places.rise(place)
    const frontier = places.end()
    const { n, epoch } = held.row()
    const at = await held.ready()
    await at.query({ text: RISE, values: [frontier, n, epoch, held.stored()] })
    risen = frontier
  }
  const off = hints.onStored((place) => {
    if (isRising || isAbove(place)) return
    isRising = true
    // a heartbeat does it where this fails, and finds out why
    void beforeOthers(() => follow(place))
      .catch(() => {})
      .finally(() => {
        isRising = false
      })
  })
  return {
    committed<T>(answer: T): T {
      if (places.record() > told) tell.ask()
      return answer
    },
    end(): void {
      off()
      tell.end()
    },
  }
}

type Turn = () => Promise<void>
type Turns = Pick<PostgresWriter, 'inTurn' | 'beforeOthers'>

/** One after another; each call is a turn, and takes what is first by then. */
const createTurns = (): Turns => {
  const urgent: Turn[] = []
  const waiting: Turn[] = []
  let last: Promise<void> = Promise.resolve()
  const into =
    (line: Turn[]): PostgresWriter['inTurn'] =>
    (work) =>
      new Promise((resolve, reject) => {
        line.push(async () => {
          try {
            resolve(await work())
          } catch (error) {
            reject(error)
          }
        })
        last = last.then(() => (urgent.shift() ?? waiting.shift())?.())
      })
  return { inTurn: into(waiting), beforeOthers: into(urgent) }
}

export const joinAsWriter = async (
  owner: string,
  open: () => Promise<Connection>,
  now: () => number = systemClock.now,
  hints: Hints = createHints(),
  member: Member = NAMELESS,
  observe: Observe = () => {},
  pass: Pass = () => {},
): Promise<PostgresWriter> => {
  const held = { ...(await hold(owner, member, open)), observe, pass }
  const places = createPlaces(held, now)
  const turns = createTurns()
  const following = createFollowing(held, places, hints, turns)
  const { n, boot } = held.row()
  const effects: Effects = { due: false, settled: [] }
  const perform = async <T>(inOrder: boolean, verb: () => Asking<T>, until: number): Promise<T> => {
    const result = await persistently(() => {
      effects.due = false
      effects.settled.length = 0
      return transaction(held, places, inOrder, verb)
    }, until)
    hints.tell({ due: effects.due, settled: [...effects.settled] })
    return following.committed(result)
  }
  const called = <T>(inOrder: boolean, verb: () => Asking<T>): Promise<T> => {
    const until = patience()
    return turns.inTurn(() => perform(inOrder, verb, until))
  }
  return {
    n,
    boot,
    places,
    rise: places.rise,
    hints,
    effects,
    write: (verb) => called(true, verb),
    mail: (verb) => called(false, verb),
    step: (verb) => perform(false, verb, patience()),
    statement: (name, make, until, calls = 1) =>
      persistently(() => statement(held, places, name, make, calls), until).then(following.committed),
    pass,
    look: async (asking) => answer(await held.ready(), asking),
    ...turns,
    onPutBack: held.onPutBack,
    leave() {
      following.end()
      return turns.inTurn(held.leave)
    },
  }
}
