/**
 * NAME      memory - rows that are read for every mail
 * DESCRIPTION
 *   Keys, credentials, workspaces and pools hardly change, and each mail asks
 *   for several. What was read is good until somebody changes such a row: one row
 *   (thread/changes.ts) tells of it, whichever thread or process it was, and is looked
 *   at once in each snapshot. So a revoked key is gone for every request that comes after.
 */
import type { Db } from '../connect.js'
import type { Enter } from './snapshot.js'

export type Remember = <T>(place: string, read: () => T) => T

/** Beyond it all is forgotten: whoever guesses keys must not fill the memory. */
const MOST = 1_000

export const createMemory = (db: Db, enter: Enter): Remember => {
  const changes = db.prepare<[], number>('SELECT n FROM changes').pluck()
  const known = new Map<string, unknown>()
  let lookedIn = 0
  let changed: number | undefined
  const look = (): void => {
    const snapshot = enter()
    if (snapshot === lookedIn) return
    const before = changed
    changed = changes.get()
    lookedIn = snapshot
    if (changed !== before) known.clear()
  }
  return <T>(place: string, read: () => T): T => {
    look()
    if (known.has(place)) return known.get(place) as T
    if (known.size >= MOST) known.clear()
    const found = read()
    known.set(place, found)
    return found
  }
}
