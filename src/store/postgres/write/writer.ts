/**
 * NAME      writer - the only way into the database
 * DESCRIPTION
 *   A writer is a row of `writers`, held from joining to leaving. All that it writes goes one transaction after
 *   another, and each first locks that row at its epoch: whoever ends the epoch waits for the transaction that runs, and
 *   none follows it. At its end the last place that it gave is written there as its frontier, so in any snapshot
 *   all its rows up to the frontier are seen, and none will follow below it.
 *   Who reads the log waits for the least frontier. So a writer that stored records says so, and others of the process that
 *   have stored nothing since move theirs above it, without waiting for the disk: whatever is stored by one who has seen
 *   that frontier lies behind it in the log of the database, and is lost with it or not at all.
 *   When a connection is lost nobody knows whether its transaction is in. The writer ends its own epoch, which waits
 *   for that transaction, and looks at the frontier: it has moved, or it is repeated under the new epoch.
 *   Verbs that are not about mail under way lock `order_state` too, across all writers: they follow one another, so
 *   what one of them looks at stays while it runs, and their places rise as they are committed.
 */

import { systemClock } from '../../../base/clock.js'
import type { Pass } from '../../../base/crash.js'
import { TakenOverError } from '../../port/upkeep.js'
import {
  type Asking,
  BEGIN_SNAPSHOT,
  END_SNAPSHOT,
  first,
  type Query,
  type Row,
  run,
} from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import type { Connection } from '../connect/connection.js'
import { ConnectionLostError, failureOf } from '../connect/failure.js'
import { createHints, type Effects, type Hints } from '../hints.js'
import { answer, patience, persistently } from '../run.js'
import { hold, type Joined, type Member, NAMELESS, query } from './held.js'
import { LIGHT } from './light.js'
import { spaced } from './notify.js'
import { placeAfter } from './places.js'
import type { PutBack } from './put-back.js'

export interface Writer {
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
  statement(name: string, make: () => Query, until?: number, calls?: number): Promise<readonly Row[] | null>
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
  make: () => Query,
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
/** So often others are told that there are records. */
const STORED_MS = 250

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
type Turns = Pick<Writer, 'inTurn' | 'beforeOthers'>

/** One after another; each call is a turn, and takes what is first by then. */
const createTurns = (): Turns => {
  const urgent: Turn[] = []
  const waiting: Turn[] = []
  let last: Promise<void> = Promise.resolve()
  const into =
    (line: Turn[]): Writer['inTurn'] =>
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
): Promise<Writer> => {
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
