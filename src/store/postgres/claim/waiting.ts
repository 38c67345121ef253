/**
 * NAME      waiting - who has mail that is due, and how many each may give
 * DESCRIPTION
 *   The workspaces of a pool are found by skipping from one to the next in the index of what is due, in a circle from
 *   the one that was served last. From a floor on (floor.ts) each workspace is asked: to skip is to walk over what is dead.
 *   lifecycle/lease.ts deals: here with as many as each has, and not with rows.
 */
import { deal } from '../../../lifecycle/lease.js'
import { type Asking, all, first } from '../../sql/query.js'

export interface Waiting {
  readonly workspace: number
  /** How many are due, as far as anybody wants to know. */
  readonly due: number
}

const DUE = `SELECT count(*) AS due FROM (
    SELECT 1 FROM queue q WHERE q.pool = ? AND q.workspace = c.workspace AND q.due_at <= ? AND q.due_at >= ? ORDER BY q.due_at LIMIT ?) f`

const CIRCLE = `WITH RECURSIVE circle (workspace, lap, is_here) AS (
  SELECT CAST(? AS BIGINT), 0, false
  UNION ALL
  SELECT coalesce(n.workspace, 0), CASE WHEN n.workspace IS NULL THEN c.lap + 1 ELSE c.lap END, n.workspace IS NOT NULL
  FROM circle c LEFT JOIN LATERAL (
    SELECT q.workspace FROM queue q WHERE q.pool = ? AND q.due_at IS NOT NULL AND q.workspace > c.workspace
    ORDER BY q.workspace LIMIT 1) n ON c.lap = 0 OR n.workspace <= ?
  WHERE c.lap < 2)
SELECT c.workspace, d.due FROM circle c CROSS JOIN LATERAL (${DUE}) d WHERE c.is_here AND d.due > 0 LIMIT ?`

const EACH = `SELECT c.workspace, d.due FROM (
  (SELECT n AS workspace FROM workspaces WHERE n > ? ORDER BY n) UNION ALL
  (SELECT n AS workspace FROM workspaces WHERE n <= ? ORDER BY n)) c
CROSS JOIN LATERAL (${DUE}) d WHERE d.due > 0 LIMIT ?`

/** Its number, or null when it is not there. */
export function* poolNumber(poolId: string): Asking<number | null> {
  return ((yield* first('SELECT n FROM pools WHERE id = ?', poolId))?.n ?? null) as number | null
}

/** At most `limit` workspaces, in the order of the circle; what was due before `floor` is passed over. */
export function* waitingIn(
  pool: number,
  served: number,
  limit: number,
  now: number,
  floor: number,
): Asking<readonly Waiting[]> {
  const circle = floor === 0 ? [CIRCLE, served, pool, served] : [EACH, served, served]
  const rows = yield* all(...(circle as [string]), pool, now, floor, limit, limit)
  return rows as unknown as readonly Waiting[]
}

export interface Plan {
  readonly workspaces: readonly number[]
  /** How many of each. */
  readonly shares: readonly number[]
  readonly sum: number
  /** The workspaces of those that are to be leased, one after another. */
  readonly order: readonly number[]
  readonly servedLast: number
}

export const planOf = (waiting: readonly Waiting[], limit: number): Plan => {
  const left = new Map(waiting.map(({ workspace, due }) => [workspace, due]))
  const shares = new Map<number, number>()
  const order: number[] = []
  let servedLast = 0
  deal<number>(
    waiting.map(({ workspace }) => workspace),
    limit,
    {
      draw: (workspace, wanted) => {
        const has = left.get(workspace) ?? 0
        const found = Math.min(wanted, has)
        left.set(workspace, has - found)
        shares.set(workspace, (shares.get(workspace) ?? 0) + found)
        servedLast = workspace
        return { found, free: Array.from({ length: found }, () => workspace) }
      },
      take: (workspace) => order.push(workspace),
    },
  )
  return {
    workspaces: [...shares.keys()],
    shares: [...shares.values()],
    sum: order.length,
    order,
    servedLast,
  }
}
