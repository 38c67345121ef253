/**
 * NAME      known - rows by which sends are decided, without SQL
 * DESCRIPTION
 *   Good as long as the writer has told of no other rules (thread/changes.ts), which a commit of another process is
 *   not until the writer commits next. So the answers are for sends alone, which the writer compares, and for
 *   whoever looks first: one statement by itself, cheaper than a snapshot. What a turn of the event loop reads had come
 *   when it began, so one look is enough for all that asks in it; it ends with the loop's check phase.
 *   A row is read under the rules that its snapshot has. Should those be others than the ones that were told, the
 *   send is stale, and decided again.
 */
import type { Known } from '../../port/upkeep.js'
import type { Db } from '../connect.js'

/** Beyond it all is forgotten, as in memory.ts. */
const MOST = 1_000

export type Rows = Pick<Known, 'keyByLookup' | 'key' | 'credential' | 'workspace'>

export const createKnown = (db: Db, reads: Rows, told: SharedArrayBuffer): Known => {
  const read = db.prepare<[], number>('SELECT n FROM rules').pluck()
  const shared = new Int32Array(told)
  const rows = new Map<string, unknown>()
  let hint: number | null = null
  let rules = Number.NaN
  let isLooked = false
  const look = (): void => {
    hint = Atomics.load(shared, 0)
    const n = read.get() ?? 0
    if (n !== rules) rows.clear()
    rules = n
  }
  const know = <T>(place: string, row: () => T | null): T | null => {
    const known = rows.get(place) as T | undefined
    if (known !== undefined) return known
    const found = row()
    if (rows.size >= MOST) rows.clear()
    // what is not there is asked for again
    if (found !== null) rows.set(place, found)
    return found
  }
  const endTurn = (): boolean => (isLooked = false)
  return {
    rules() {
      if (hint !== Atomics.load(shared, 0)) look()
      return rules
    },
    look,
    lookOnce() {
      if (isLooked && hint === Atomics.load(shared, 0)) return
      if (!isLooked) setImmediate(endTurn)
      isLooked = true
      look()
    },
    keyByLookup: (lookup) => know(`lookup ${lookup}`, () => reads.keyByLookup(lookup)),
    key: (accountId, id) => know(`${accountId} ${id}`, () => reads.key(accountId, id)),
    credential: (id) => know(id, () => reads.credential(id)),
    workspace: (accountId, ref) => know(`${accountId} ${ref}`, () => reads.workspace(accountId, ref)),
  }
}
