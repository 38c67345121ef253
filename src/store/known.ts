/**
 * NAME      known - rows that sends are decided by, kept until the rules move
 *   Keys, credentials and workspaces hardly change, and each mail asks for several. What the database calls `rules` moves
 *   with each commit that changes what a send is decided by (sql/schema.ts), whichever process commits it. So what
 *   was read stays good as long as that stands where it was before. Accept compares; whoever answers without it looks first.
 *   What is not there is not kept, nor what was asked for under other rules than those of the moment it came.
 */
import { andThen } from '../base/and-then.js'
import type { Known } from './port/upkeep.js'

/** Beyond it the row goes that nobody asked for the longest. */
const MOST = 1_000

export type KnownReads = Pick<Known, 'keyByLookup' | 'key' | 'credential' | 'workspace'>

/** `read` looks at the rules; `hint` moves when it was heard here that they have. */
export const createKnown = (
  reads: KnownReads,
  read: () => number | Promise<number>,
  hint: () => number = () => 0,
): Omit<Known, 'lookOnce'> => {
  const rows = new Map<string, unknown>()
  let rules: number | null = null
  let heard = Number.NaN
  const moveTo = (n: number): number => {
    if (n !== rules) rows.clear()
    rules = n
    return n
  }
  const look = (): number | Promise<number> => {
    heard = hint()
    return andThen(read(), moveTo)
  }
  const keep = (place: string, row: unknown): void => {
    rows.delete(place)
    rows.set(place, row)
    if (rows.size > MOST) rows.delete(rows.keys().next().value as string)
  }
  const know = <Row>(place: string, find: () => Row | null | Promise<Row | null>) => {
    const known = rows.get(place) as Row | undefined
    if (known !== undefined) {
      keep(place, known)
      return known
    }
    const under = rules
    return andThen(find(), (row) => {
      if (row !== null && rules !== null && rules === under) keep(place, row)
      return row
    })
  }
  return {
    rules: () => (rules === null || heard !== hint() ? look() : rules),
    look,
    keyByLookup: (lookup) => know(`lookup ${lookup}`, () => reads.keyByLookup(lookup)),
    key: (accountId, id) => know(`${accountId} ${id}`, () => reads.key(accountId, id)),
    credential: (id) => know(id, () => reads.credential(id)),
    workspace: (accountId, ref) => know(`${accountId} ${ref}`, () => reads.workspace(accountId, ref)),
  }
}

/** Of the store that is open. */
export const knownOf = (current: () => Known): Known => ({
  rules: () => current().rules(),
  look: () => current().look(),
  lookOnce: () => current().lookOnce(),
  keyByLookup: (lookup) => current().keyByLookup(lookup),
  key: (...args) => current().key(...args),
  credential: (...args) => current().credential(...args),
  workspace: (...args) => current().workspace(...args),
})
