/**
 * NAME      held - the row of a writer, and the connection that writes for it
 * DESCRIPTION
 *   Joining takes a free row and gives it a boot that no other ever has. When the connection is lost the writer goes on under
 *   a new epoch, and compares: where the row is behind what is known to be committed, or is as it was before the writer
 *   joined, the database was put back, to a standby that did not have all of it or to a copy. That is told, whatever was
 *   asked for is refused once (what it had looked up may be gone), and the writer goes on: its row is taken again, and
 *   no place is given twice.
 */
import { randomInt } from 'node:crypto'
import type { About, WriterRole } from '../../port/cluster.js'
import { StoreBusyError, TakenOverError } from '../../port/upkeep.js'
import { type Asking, first, type Query, run } from '../../sql/query.js'
import { endSessions, nameSession } from '../cluster/takeover.js'
import type { Connection } from '../connect/connection.js'
import { BY_KEY } from '../connect/settings.js'
import { answer, unavailable } from '../run.js'
import { WRITERS } from '../schema/cluster.js'
import { SCHEMA } from '../schema/steps.js'
import { notePutBack, type PutBack, putBackBy } from './put-back.js'

/** Who joins: the part of a daemon that has a writer of its own. */
export interface Member {
  readonly role: WriterRole
  readonly about: About
}

export const NAMELESS: Member = {
  role: 'main',
  about: { version: '', host: '', settings: null, pools: null },
}

export interface Joined {
  readonly n: number
  readonly epoch: number
  readonly boot: number
  readonly frontier: number
}

export const query = (text: string): Query => ({ text, values: [] })

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

export const hold = async (owner: string, member: Member, open: () => Promise<Connection>) => {
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
