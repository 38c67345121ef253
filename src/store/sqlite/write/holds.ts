/**
 * NAME      holds - what must not leave now, and the pauses of each workspace
 * DESCRIPTION
 *   Holds, and the workspaces that are suspended, in the writer's memory. Other processes write holds too,
 *   so they are read again in each transaction: a few microseconds for a table that is nearly always empty.
 *   They are asked wherever mail could leave: when it is accepted hot, when it is claimed, and before its
 *   MAIL.
 */

import { type Pause, waitsSince } from '../../../lifecycle/orders.js'
import { holdOver, STANDING_HOLDS, type Standing, type StandingHold } from '../../sql/orders.js'
import type { Ask } from '../../sql/query.js'
import { notePauses } from '../../sql/schedule.js'
import type { Db } from '../connect.js'

export interface Holds {
  /** Reads them anew: at the start of a transaction, and after writing one. */
  look(): void
  readonly any: boolean
  /** The hold that keeps this recipient, or null. */
  over(recipient: Standing): StandingHold | null
  /** True while a hold of this id stands, or a workspace of this id is suspended. */
  has(id: string | null): boolean
}

export const createHolds = (db: Db): Holds => {
  const read = db.prepare<[], StandingHold>(STANDING_HOLDS)
  const accountOf = db.prepare<[number], string>('SELECT account_id FROM workspaces WHERE n = ?').pluck()
  let standing: readonly StandingHold[] = []

  let accounts = new Map<number, string>()
  const accountIdOf = (workspace: number): string => {
    const known = accounts.get(workspace) ?? accountOf.get(workspace) ?? ''
    accounts.set(workspace, known)
    return known
  }

  return {
    look: () => {
      standing = read.all()
      accounts = new Map()
    },
    get any() {
      return standing.length > 0
    },
    over: (one) => holdOver(standing, accountIdOf(one.workspace), one),
    has: (id) => standing.some((hold) => hold.id === id),
  }
}

/**
 * `held_at` is when a recipient was put to rest; once it is free again, when that was.
 * Of those at rest already the last that is known is when their row was written.
 */
export const REST_STEP = `
ALTER TABLE recipients ADD COLUMN held_at INTEGER;
UPDATE recipients SET held_at = max(queued_at, updated_at) WHERE held IS NOT NULL;
CREATE TABLE pauses (
  pool INTEGER NOT NULL,
  paused_at INTEGER NOT NULL,
  resumed_at INTEGER
);
CREATE INDEX pauses_pool ON pauses (pool, paused_at);
`

export interface Pauses {
  /** Pools have changed: writes down which are paused by now, and which no more. */
  note(now: number): void
  /** Since when a mail in this pool would wait if nothing had been paused, and when the last pause of it ended. */
  of(pool: number, now: number): (queuedAt: number) => readonly [queuedAt: number, resumedAt: number | null]
  /** Newest first. */
  list(pool: number): readonly Pause[]
}

export const createPauses = (db: Db, ask: Ask): Pauses => {
  const read = db
    .prepare<[number], [...Pause]>(
      'SELECT paused_at, resumed_at FROM pauses WHERE pool = ? ORDER BY paused_at DESC',
    )
    .raw()
  return {
    note: (now) => ask(notePauses(now)),
    of(pool, now) {
      const pauses = read.all(pool)
      return (queuedAt) => waitsSince(pauses, queuedAt, now)
    },
    list: (pool) => read.all(pool),
  }
}
