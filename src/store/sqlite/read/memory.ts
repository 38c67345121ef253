/**
 * NAME      memory - rows that are read for every mail
 * DESCRIPTION
 *   Keys, credentials, workspaces and pools hardly change, and each mail asks
 *   for several. What was read is good until anybody commits anything:
 *   `data_version` tells, whichever thread or process it was, at the price of
 *   looking at the log's header. So a revoked key is gone from the very next
 *   read, and a crowd that arrives between two commits shares one read.
 * NOTES
 *   A row that is read just after a commit that was not seen yet is newer than
 *   what it is filed under; the next look finds the version moved, and forgets it.
 */
import type { Db } from '../connect.js'

export type Remember = <T>(place: string, read: () => T) => T

/** Beyond it all is forgotten: whoever guesses keys must not fill the memory. */
const MOST = 1_000

export const createMemory = (db: Db): Remember => {
  const version = db.prepare<[], number>('PRAGMA data_version').pluck()
  const known = new Map<string, unknown>()
  let seen: number | undefined
  return <T>(place: string, read: () => T): T => {
    const now = version.get()
    if (now !== seen || known.size >= MOST) known.clear()
    seen = now
    if (known.has(place)) return known.get(place) as T
    const found = read()
    known.set(place, found)
    return found
  }
}
