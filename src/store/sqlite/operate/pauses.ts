/**
 * NAME      pauses - the time of a mail, in which its pool's pauses do not count
 */
import { type Pause, waitsSince } from '../../../lifecycle/holds.js'
import type { Ask } from '../../sql/query.js'
import { notePauses } from '../../sql/schedule.js'
import type { Db } from '../connect.js'

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
