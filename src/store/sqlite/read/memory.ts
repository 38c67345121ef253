/**
 * NAME      memory - rows that are read for every mail
 * DESCRIPTION
 *   Keys, credentials, workspaces and pools hardly change, and each mail asks
 *   for several. What was read is good until somebody changes such a row:
 *   `data_version` tells that anybody has committed, whichever thread or process
 *   it was, at the price of looking at the log's header; then one row
 *   (thread/changes.ts) tells whether it was more than mail on its way. So a
 *   revoked key is gone from the very next read.
 * NOTES
 *   A row that is read just after a commit that was not seen yet is newer than
 *   what it is filed under; the next look finds the count moved, and forgets it.
 */
import type { Db } from '../connect.js'

export type Remember = <T>(place: string, read: () => T) => T

/** Beyond it all is forgotten: whoever guesses keys must not fill the memory. */
const MOST = 1_000

export const createMemory = (db: Db): Remember => {
  const version = db.prepare<[], number>('PRAGMA data_version').pluck()
  const changes = db.prepare<[], number>('SELECT n FROM changes').pluck()
  const known = new Map<string, unknown>()
  let seen: number | undefined
  let changed: number | undefined
  const isOld = (): boolean => {
    const now = version.get()
    if (now === seen) return false
    seen = now
    const before = changed
    changed = changes.get()
    return changed !== before
  }
  return <T>(place: string, read: () => T): T => {
    if (isOld() || known.size >= MOST) known.clear()
    if (known.has(place)) return known.get(place) as T
    const found = read()
    known.set(place, found)
    return found
  }
}
