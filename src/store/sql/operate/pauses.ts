/**
 * NAME      pauses - when the pools were paused
 * DESCRIPTION
 *   A pool is paused while it has upstreams and none is to get mail; one that follows another
 *   is paused with it. Each pause is a row, written when pools change.
 * NOTES
 *   Pauses that ended long ago are forgotten: a mail as old has come to its end.
 */
import { isPaused, type Pause } from '../../../lifecycle/holds.js'
import { type Asking, all, run } from '../query.js'

const KEPT_MS = 400 * 86_400_000

/** Pools without upstreams use those of the pool of the default workspace. */
const POOLS = `SELECT p.n, p.upstreams, l.upstreams AS leading FROM pools p
  LEFT JOIN workspaces w ON w.account_id = p.account_id AND w.is_default = 1 LEFT JOIN pools l ON l.id = w.pool_id
  WHERE p.deleted_at IS NULL AND p.kind = 'relay'`

const CLOSE = `UPDATE pauses SET resumed_at = CASE WHEN paused_at > ? THEN paused_at ELSE ? END
  WHERE pool = ? AND resumed_at IS NULL`

/** Pools have changed: writes down which are paused by now, and which no more. */
export function* notePauses(now: number): Asking<void> {
  const paused = new Set<number>()
  for (const { n, upstreams, leading } of yield* all(POOLS)) {
    const used = upstreams === '[]' ? (leading ?? '[]') : upstreams
    if (isPaused(JSON.parse(used as string))) paused.add(n as number)
  }
  const open = (yield* all('SELECT pool FROM pauses WHERE resumed_at IS NULL')).map(
    (row) => row.pool as number,
  )
  for (const pool of open) if (!paused.has(pool)) yield* run(CLOSE, now, now, pool)
  for (const pool of paused)
    if (!open.includes(pool)) yield* run('INSERT INTO pauses (pool, paused_at) VALUES (?, ?)', pool, now)
  yield* run('DELETE FROM pauses WHERE resumed_at < ?', now - KEPT_MS)
}

/** Newest first. */
export function* pausesOf(pool: number): Asking<readonly Pause[]> {
  const text = 'SELECT paused_at, resumed_at FROM pauses WHERE pool = ? ORDER BY paused_at DESC'
  return (yield* all(text, pool)).map((row) => [row.paused_at as number, row.resumed_at as number | null])
}
