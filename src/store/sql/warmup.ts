/**
 * NAME      warmup - what upstreams that warm up were given, day by day
 * DESCRIPTION
 *   A row for each day of a warm-up on which its upstream took mail. Who takes of a day locks its row, so what all daemons
 *   take together is never more than the day allows; what one that died had taken and not given stays counted.
 */
import { limitOf, type WarmupDay } from '../../lifecycle/warmup.js'
import type { UpstreamRow } from '../port/tenants.js'
import type { Warmups } from '../port/watch.js'
import { type AskedReads, type AskedWrites, type Asking, all, first, run } from './query.js'

export const WARMUP_STEP = `
CREATE TABLE warmup_days (
  id TEXT NOT NULL,
  day INTEGER NOT NULL, -- since the epoch, in UTC
  used INTEGER NOT NULL,
  began_at INTEGER NOT NULL,
  PRIMARY KEY (id, day)
) WITHOUT ROWID;
`

const DAYS = 'SELECT id, day, used, began_at AS "beganAt" FROM warmup_days ORDER BY id, day'
const EARLIER = 'SELECT count(*) AS n FROM warmup_days WHERE id = ? AND day < ? AND used > 0'
/** Whoever asks at the same moment waits here. */
const LOCK = `INSERT INTO warmup_days (id, day, used, began_at) VALUES (?, ?, 0, ?)
  ON CONFLICT (id, day) DO UPDATE SET used = warmup_days.used RETURNING used`
const TAKE = `UPDATE warmup_days SET used = used + ?, began_at = CASE WHEN used = 0 THEN ? ELSE began_at END
  WHERE id = ? AND day = ?`
const RETURN = `UPDATE warmup_days SET used = CASE WHEN used > ? THEN used - ? ELSE 0 END WHERE id = ? AND day = ?`

export const warmupReads: AskedReads<Warmups> = {
  *warmupDays() {
    return (yield* all(DAYS)) as unknown as readonly WarmupDay[]
  },
}

export const warmupWrites: AskedWrites<Warmups> = {
  *takeWarmup({ id, day, count, now, ...plan }) {
    const earlier = Number((yield* first(EARLIER, id, day))?.n)
    const limit = limitOf(plan, earlier + 1)
    if (limit === null) return { granted: count, left: null }
    const used = Number((yield* first(LOCK, id, day, now))?.used)
    const granted = Math.max(0, Math.min(count, limit - used))
    if (granted > 0) yield* run(TAKE, granted, now, id, day)
    return { granted, left: Math.max(0, limit - used - granted) }
  },
  *returnWarmup(id, day, count) {
    yield* run(RETURN, count, count, id, day)
  },
}

/** Warm-ups of `before` that are none of `after` are counted no more. */
export function* forgetWarmups(before: readonly UpstreamRow[], after: readonly UpstreamRow[]): Asking<void> {
  for (const { warmup } of before) {
    if (warmup == null || after.some((one) => one.warmup?.id === warmup.id)) continue
    yield* run('DELETE FROM warmup_days WHERE id = ?', warmup.id)
  }
}
