/**
 * NAME      suppressions - writing lists of addresses, and rate windows
 * DESCRIPTION
 *   A suppression is one row per list and address; adding it again gives
 *   back the row that is there, except that an expired one is replaced. What is
 *   added or removed is an event in the same commit; what changes nothing is none. To add or to
 *   remove an address that is pending decides about it. A rate
 *   window is a sum per bucket and minute; a daemon that grants from memory
 *   adds here what it granted, a process without a daemon counts here directly.
 */
import { countSends } from '../../../lifecycle/rate.js'
import { isSuppressing } from '../../../lifecycle/suppress.js'
import type { Rates, SuppressionRow, Suppressions } from '../../port/tenants/tenants.js'
import type { SuppressionEvents } from '../../suppression-events.js'
import { insertInto, type Places } from '../insert.js'
import { type AskedWrites, type Asking, first, run } from '../query.js'
import { allOf, oneOf } from '../rows.js'
import { PENDING, SUPPRESSIONS } from './tables.js'

interface SuppressionParts {
  readonly places: Places
  /** Writes in the commit that runs. */
  readonly tell: SuppressionEvents<Asking<unknown>>
  now(): number
}

const found = oneOf(SUPPRESSIONS, 'workspace_id = ? AND (id = ? OR email = ?)')
const waiting = oneOf(PENDING, 'workspace_id = ? AND (id = ? OR email = ?)')
const lapsed = allOf(SUPPRESSIONS, 'expires_at < ? LIMIT 200')

const remove = (id: string): Asking<number> => run('DELETE FROM suppressions WHERE id = ?', id)

/** What waits for a decision waits no more; the row as it was. */
function* forgive(list: string, ref: string): Asking<SuppressionRow | null> {
  const row = yield* waiting(list, ref, ref)
  if (row === null) return null
  yield* run('DELETE FROM pending_suppressions WHERE id = ?', row.id)
  const { incidentId: _, ...rest } = row
  return rest
}

export const suppressionWrites = ({ places, tell, now }: SuppressionParts): AskedWrites<Suppressions> => {
  const add = insertInto(SUPPRESSIONS, places)
  return {
    *addSuppression(row) {
      const held = yield* found(row.list, row.email, row.email)
      if (held !== null && isSuppressing(held.expiresAt, row.createdAt)) return held
      if (held !== null) {
        yield* remove(held.id)
        yield* tell.removed(held, 'expired', row.createdAt)
      }
      yield* forgive(row.list, row.email)
      yield* add(row)
      yield* tell.added(row, row.createdAt)
      return row
    },
    *removeSuppression(list, ref) {
      const held = yield* found(list, ref, ref)
      if (held === null) return yield* forgive(list, ref)
      yield* remove(held.id)
      yield* tell.removed(held, 'removed', now())
      return held
    },
  }
}

/** A step over those that have lapsed; how many there were. */
export function* sweepSuppressions(tell: SuppressionParts['tell'], now: number): Asking<number> {
  const rows = yield* lapsed(now)
  for (const row of rows) {
    yield* remove(row.id)
    yield* tell.removed(row, 'expired', now)
  }
  return rows.length
}

export type Used = readonly [bucket: string, window: number, n: number]

function* add(bucket: string, window: number, n: number, at: number): Asking<void> {
  const text = `INSERT INTO rate_windows (bucket, span, used, at) VALUES (?, ?, ?, ?)
    ON CONFLICT (bucket, span) DO UPDATE SET used = rate_windows.used + excluded.used`
  yield* run(text, bucket, window, n, at)
}

export const windowWrites = (now: () => number) => ({
  *consume(...[bucket, window, n, limit]: Parameters<Rates['consume']>) {
    const row = yield* first('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?', bucket, window)
    const count = countSends(Number(row?.used ?? 0), n, limit)
    if (count.allowed && n > 0) yield* add(bucket, window, n, now())
    return count
  },
  *addUsed(granted: readonly Used[]): Asking<void> {
    for (const [bucket, window, n] of granted) yield* add(bucket, window, n, now())
  },
})
