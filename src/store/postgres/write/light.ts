/**
 * NAME      light - locks and counters that a crash may lose
 * DESCRIPTION
 *   One statement each, on any connection and without a fence: they are exact among all daemons by the lock of their row.
 *   They do not wait for the disk. An idempotency key whose claim was lost is found gone by accept, which then stores
 *   nothing. A claim whose answer was lost is made again by the same token, and is the same. A count that was lost lets a
 *   few more through in the minute of a crash.
 */
import { systemClock } from '../../../base/clock.js'
import type { IdempotencyClaim, IdempotencyState } from '../../../lifecycle/facts.js'
import { ANSWER_KEPT_MS, type KeyRow, keyState } from '../../../lifecycle/idempotency.js'
import type { WindowCount } from '../../../lifecycle/rate.js'
import { type Asking, first, run } from '../../sql/query.js'

/** Its value must be used, or it is not evaluated; it is over with the statement. */
export const LIGHT = "WITH light AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS s)"

const CLAIM = `${LIGHT} INSERT INTO idempotency AS d (workspace, test, key, fingerprint, token, locked_until)
  SELECT w.n, CAST(? AS SMALLINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
  FROM workspaces w, light WHERE w.id = ? AND light.s IS NOT NULL
  ON CONFLICT (workspace, test, key) DO UPDATE SET fingerprint = excluded.fingerprint, token = excluded.token,
    locked_until = excluded.locked_until, completed_at = NULL, status = NULL, body = NULL
  WHERE CASE WHEN d.completed_at IS NULL THEN d.token = excluded.token OR d.locked_until <= ? ELSE d.completed_at < ? END`

const FIND = `SELECT d.fingerprint, d.locked_until AS "lockedUntil", d.completed_at AS "completedAt", d.status, d.body
  FROM idempotency d JOIN workspaces w ON w.n = d.workspace WHERE w.id = ? AND d.test = ? AND d.key = ?`

const RELEASE = `${LIGHT} DELETE FROM idempotency d USING workspaces w, light
  WHERE w.id = ? AND d.workspace = w.n AND d.test = ? AND d.key = ? AND d.token = ? AND d.completed_at IS NULL
    AND light.s IS NOT NULL`

const CONSUME = `${LIGHT} INSERT INTO rate_windows AS d (bucket, span, used, at)
  SELECT CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT) FROM light
  WHERE light.s IS NOT NULL AND CAST(? AS BIGINT) <= CAST(? AS BIGINT)
  ON CONFLICT (bucket, span) DO UPDATE SET used = d.used + excluded.used WHERE d.used + excluded.used <= ?
  RETURNING used`

const testOf = ({ mode }: Pick<IdempotencyClaim, 'mode'>): number => (mode === 'test' ? 1 : 0)

const MOST_TRIES = 5

export const lightVerbs = {
  *claimKey(claim: IdempotencyClaim): Asking<IdempotencyState> {
    const { workspaceId, key, fingerprint, token, lockedUntil, now } = claim
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const values = [testOf(claim), key, fingerprint, token, lockedUntil, workspaceId]
      if ((yield* run(CLAIM, ...values, now, now - ANSWER_KEPT_MS)) > 0) return { state: 'claimed' }
      const row = (yield* first(FIND, workspaceId, testOf(claim), key)) as Omit<KeyRow, 'token'> | null
      const found = keyState(row, claim)
      // it was freed between the two looks
      if (found.state !== 'claimed') return found
    }
    return { state: 'in_progress' }
  },
  *releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): Asking<void> {
    yield* run(RELEASE, claim.workspaceId, testOf(claim), claim.key, claim.token)
  },
  *consume(bucket: string, window: number, n: number, limit: number): Asking<WindowCount> {
    const now = systemClock.now()
    const counted = n > 0 ? yield* first(CONSUME, bucket, window, n, now, n, limit, limit) : null
    if (counted !== null) return { allowed: true, used: Number(counted.used) }
    const row = yield* first('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?', bucket, window)
    const used = Number(row?.used ?? 0)
    return { allowed: n === 0 && used <= limit, used }
  },
}
