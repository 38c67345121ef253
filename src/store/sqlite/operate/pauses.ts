/**
 * NAME      pauses - the time of a mail, in which its pool's pauses do not count
 * DESCRIPTION
 *   A pool is paused while it has upstreams and none is to get mail; one that follows another
 *   is paused with it. Each pause is a row, written when pools change.
 * NOTES
 *   Pauses that ended long ago are forgotten: a mail as old has come to its end.
 */
import { type Pause, waitsSince } from '../../../lifecycle/waiting/pauses.js'
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

const KEPT_MS = 400 * 86_400_000

const PAUSED = `SELECT n FROM (
    SELECT p.n, CASE WHEN p.upstreams <> '[]' THEN p.upstreams ELSE (
      SELECT l.upstreams FROM workspaces w JOIN pools l ON l.id = w.pool_id
      WHERE w.account_id = p.account_id AND w.is_default = 1) END AS upstreams
    FROM pools p WHERE p.deleted_at IS NULL AND p.kind = 'relay')
  WHERE upstreams <> '[]'
    AND NOT EXISTS (SELECT 1 FROM json_each(upstreams) WHERE value ->> '$.state' = 'active')`

export interface Pauses {
  /** Pools have changed: writes down which are paused by now, and which no more. */
  note(now: number): void
  /** Since when a mail in this pool would wait if nothing had been paused, and when the last pause of it ended. */
  of(pool: number, now: number): (queuedAt: number) => readonly [queuedAt: number, resumedAt: number | null]
  /** Newest first. */
  list(pool: number): readonly Pause[]
}

export const createPauses = (db: Db): Pauses => {
  const close = db.prepare(
    `UPDATE pauses SET resumed_at = max(?, paused_at) WHERE resumed_at IS NULL AND pool NOT IN (${PAUSED})`,
  )
  const open = db.prepare(
    `INSERT INTO pauses SELECT n, ?, NULL FROM (${PAUSED})
     WHERE n NOT IN (SELECT pool FROM pauses WHERE resumed_at IS NULL)`,
  )
  const forget = db.prepare('DELETE FROM pauses WHERE resumed_at < ?')
  const read = db
    .prepare<[number], [...Pause]>(
      'SELECT paused_at, resumed_at FROM pauses WHERE pool = ? ORDER BY paused_at DESC',
    )
    .raw()
  return {
    note(now) {
      close.run(now)
      open.run(now)
      forget.run(now - KEPT_MS)
    },
    of(pool, now) {
      const pauses = read.all(pool)
      return (queuedAt) => waitsSince(pauses, queuedAt, now)
    },
    list: (pool) => read.all(pool),
  }
}
