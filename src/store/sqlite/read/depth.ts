/**
 * NAME      depth - how much waits, and until when
 * DESCRIPTION
 *   Reads the two partial indexes of the queue and nothing else. The pairs of
 *   pool and workspace are found by skipping from one to the next, so the next
 *   due time costs a seek per pair however deep the queue is.
 */
import type { QueueDepth } from '../../port.js'
import type { Statements } from './statements.js'

type Pair = readonly [pool: number, workspace: number]

export const createDepthReads = (sql: Statements) => {
  const pairs = function* (): Generator<Pair> {
    let row = sql(
      'SELECT pool, workspace FROM recipients WHERE due_at IS NOT NULL ORDER BY pool, workspace LIMIT 1',
    ).get()
    while (row !== undefined) {
      const pair: Pair = [row.pool as number, row.workspace as number]
      yield pair
      row = sql(
        `SELECT pool, workspace FROM recipients WHERE (pool, workspace) > (?, ?) AND due_at IS NOT NULL
         ORDER BY pool, workspace LIMIT 1`,
      ).get(...pair)
    }
  }

  const ids = (pair: Pair): { poolId: string; workspaceId: string } => ({
    poolId: sql('SELECT id FROM pools WHERE n = ?').get(pair[0])?.id as string,
    workspaceId: sql('SELECT id FROM workspaces WHERE n = ?').get(pair[1])?.id as string,
  })

  return {
    nextDue(): number | null {
      let next: number | null = null
      for (const pair of pairs()) {
        const row = sql(
          'SELECT due_at FROM recipients WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1',
        ).get(...pair)
        const due = row?.due_at as number
        if (next === null || due < next) next = due
      }
      return next
    },

    depth(now: number): readonly QueueDepth[] {
      const found = new Map<string, QueueDepth>()
      for (const pair of pairs()) {
        const row = sql(
          `SELECT count(*) AS n, sum(due_at <= ?) AS due, min(due_at) AS oldest FROM recipients
           WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL`,
        ).get(now, ...pair)
        const due = Number(row?.due ?? 0)
        found.set(pair.join(), {
          ...ids(pair),
          due,
          leased: 0,
          waiting: Number(row?.n ?? 0) - due,
          oldestDueAt: row?.oldest as number,
        })
      }
      const leased = sql(
        'SELECT pool, workspace, count(*) AS n FROM recipients WHERE boot IS NOT NULL GROUP BY pool, workspace',
      ).all()
      for (const row of leased) {
        const pair: Pair = [row.pool as number, row.workspace as number]
        const other = found.get(pair.join()) ?? { ...ids(pair), due: 0, waiting: 0, oldestDueAt: null }
        found.set(pair.join(), { ...other, leased: row.n as number })
      }
      return [...found.values()]
    },
  }
}
