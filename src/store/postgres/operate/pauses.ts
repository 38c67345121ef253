/**
 * NAME      pauses - the times in which a pool sent nothing, and must not
 * DESCRIPTION
 *   A pool is paused while it has upstreams and none is to get mail; one that follows another is paused with it. Each
 *   pause is a row, written in the transaction in which pools change.
 * NOTES
 *   Pauses that ended long ago are forgotten: a mail as old has come to its end.
 */
import type { Pause } from '../../../lifecycle/waiting/pauses.js'
import { type Asking, all, run } from '../../sql/query.js'

const KEPT_MS = 400 * 86_400_000

const PAUSED = `SELECT f.n FROM (
    SELECT p.n, CASE WHEN p.upstreams <> '[]' THEN p.upstreams ELSE (
      SELECT l.upstreams FROM workspaces w JOIN pools l ON l.id = w.pool_id
      WHERE w.account_id = p.account_id AND w.is_default = 1) END AS upstreams
    FROM pools p WHERE p.deleted_at IS NULL AND p.kind = 'relay') f
  WHERE f.upstreams <> '[]'
    AND NOT EXISTS (SELECT 1 FROM json_array_elements(CAST(f.upstreams AS JSON)) u WHERE u ->> 'state' = 'active')`

/** Pools have changed: writes down which are paused by now, and which no more. */
export function* notePauses(now: number): Asking<void> {
  yield* run(
    `UPDATE pauses SET resumed_at = greatest(CAST(? AS BIGINT), paused_at)
     WHERE resumed_at IS NULL AND pool NOT IN (${PAUSED})`,
    now,
  )
  yield* run(
    `INSERT INTO pauses SELECT n, CAST(? AS BIGINT), NULL FROM (${PAUSED}) s
     WHERE n NOT IN (SELECT pool FROM pauses WHERE resumed_at IS NULL)`,
    now,
  )
  yield* run('DELETE FROM pauses WHERE resumed_at < ?', now - KEPT_MS)
}

/** Newest first. */
export function* pausesOf(pool: number): Asking<readonly Pause[]> {
  const rows = yield* all(
    'SELECT paused_at, resumed_at FROM pauses WHERE pool = ? ORDER BY paused_at DESC',
    pool,
  )
  return rows.map((row) => [row.paused_at as number, row.resumed_at as number | null])
}
