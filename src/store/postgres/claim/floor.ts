/**
 * NAME      floor - from which due time on a claim looks
 * DESCRIPTION
 *   While somebody holds an old snapshot (a dump, a report, a replication slot), rows that left the queue stay in its
 *   index, and each look walks over all that were due before. When a look takes long, the least due time of what waits is
 *   read, and for a second looks begin there. What falls due earlier than that meanwhile (the clock of another daemon, a
 *   hold that ends) is found by the first look after that second: by a hint, or when the relay next polls. As long as looks
 *   are quick there is no floor.
 */
import { systemClock } from '../../../base/clock.js'
import { type Asking, first } from '../../sql/query.js'

/** A look that takes so long walks over much, or the machine is busy: then a floor does no harm. */
const SLOW_MS = 5
/** So long it is good for. */
const KEPT_MS = 1000
/** Clocks differ, and what was accepted a moment ago may not be committed. */
const BEFORE_MS = 5000

const LEAST = `WITH RECURSIVE least AS (
  (SELECT workspace, due_at FROM queue WHERE pool = ? AND due_at IS NOT NULL ORDER BY workspace, due_at LIMIT 1)
  UNION ALL
  SELECT n.workspace, n.due_at FROM least l CROSS JOIN LATERAL (
    SELECT q.workspace, q.due_at FROM queue q WHERE q.pool = ? AND q.due_at IS NOT NULL AND q.workspace > l.workspace
    ORDER BY q.workspace, q.due_at LIMIT 1) n)
SELECT min(due_at) AS due_at FROM least`

/** When the first of a pool is due. */
export function* leastDue(pool: number): Asking<number | null> {
  return ((yield* first(LEAST, pool, pool))?.due_at ?? null) as number | null
}

interface Floor {
  readonly from: number
  /** By the tick clock. */
  readonly until: number
}

interface FloorParts {
  least(pool: number): Promise<number | null>
  readonly tick?: () => number
}

export const createFloors = ({ least, tick = systemClock.tick }: FloorParts) => {
  const floors = new Map<number, Floor>()

  const raise = async (pool: number, now: number): Promise<number> => {
    const began = tick()
    const from = Math.min((await least(pool)) ?? now, now - BEFORE_MS)
    const ended = tick()
    // it is quick again: the next look does without
    if (ended - began < SLOW_MS) floors.delete(pool)
    else floors.set(pool, { from, until: ended + KEPT_MS })
    return from
  }

  return {
    /** 0: from the first on. */
    async of(pool: number, now: number): Promise<number> {
      const known = floors.get(pool)
      if (known === undefined) return 0
      return tick() < known.until && known.from <= now ? known.from : raise(pool, now)
    },
    /** How long a look from there took. */
    note(pool: number, floor: number, ms: number): void {
      if (floor === 0 && ms >= SLOW_MS) floors.set(pool, { from: 0, until: 0 })
    },
    /** Due times have moved. */
    forget(): void {
      floors.clear()
    },
  }
}
