/**
 * NAME      depth - how much waits, and until when
 * DESCRIPTION
 *   Reads the two partial indexes of the queue and nothing else. The pairs of
 *   pool and workspace are found by skipping from one to the next, so the next
 *   due time costs a seek per pair however deep the queue is; counting a deep
 *   queue goes in steps, so that it never holds up its thread.
 */
import { setImmediate } from 'node:timers/promises'
import type { QueueDepth } from '../../port.js'
import type { Statements } from './statements.js'

const STEP = 5000

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

  /** Rows of a pair in a range of due times, in steps that let other work in between. */
  const count = async (pair: Pair, range: 'due_at <= ?' | 'due_at > ?', now: number): Promise<number> => {
    const from = `FROM recipients WHERE pool = ? AND workspace = ? AND ${range} AND (due_at, id) > (?, ?)`
    let counted = 0
    let edge: readonly [number, string] = [-1, '']
    for (;;) {
      const row = sql(`SELECT due_at, id ${from} ORDER BY due_at, id LIMIT 1 OFFSET ${STEP - 1}`).get(
        ...pair,
        now,
        ...edge,
      )
      if (row === undefined) {
        return counted + Number(sql(`SELECT count(*) AS n ${from}`).get(...pair, now, ...edge)?.n ?? 0)
      }
      counted += STEP
      edge = [row.due_at as number, row.id as string]
      await setImmediate()
    }
  }

  const oldest = (pair: Pair): number | null =>
    (sql(
      'SELECT due_at FROM recipients WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1',
    ).get(...pair)?.due_at as number | undefined) ?? null

  return {
    nextDue(): number | null {
      let next: number | null = null
      for (const pair of pairs()) {
        const due = oldest(pair)
        if (due !== null && (next === null || due < next)) next = due
      }
      return next
    },

    async depth(now: number): Promise<readonly QueueDepth[]> {
      const found = new Map<string, QueueDepth>()
      for (const pair of [...pairs()]) {
        found.set(pair.join(), {
          ...ids(pair),
          due: await count(pair, 'due_at <= ?', now),
          leased: 0,
          waiting: await count(pair, 'due_at > ?', now),
          oldestDueAt: oldest(pair),
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
