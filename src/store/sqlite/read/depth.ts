/**
 * NAME      depth - how much waits, and until when
 * DESCRIPTION
 *   Reads the two partial indexes of the queue and nothing else. The pairs of
 *   pool and workspace are found by skipping from one to the next, so the next
 *   due time costs a seek per pair however deep the queue is; counting a deep
 *   queue goes in steps, so that it never holds up its thread.
 */
import { setImmediate } from 'node:timers/promises'
import type { QueueOwner } from '../../port/operations.js'
import type { QueueDepth } from '../../port/upkeep.js'
import type { Statements } from './statements.js'

const STEP = 20_000

export type Pair = readonly [pool: number, workspace: number]

/** Where mail waits, by skipping from one pair to the next; of one pool, when that is named; `after` a pair. */
export const createPairs = (sql: Statements) => {
  const first = (where: string, ...params: readonly unknown[]): Pair | null => {
    const row = sql(
      `SELECT pool, workspace FROM recipients WHERE ${where} AND due_at IS NOT NULL ORDER BY pool, workspace LIMIT 1`,
    ).get(...params)
    return row === undefined ? null : [row.pool as number, row.workspace as number]
  }

  /** In two steps: a comparison of row values would use the index for the pool alone. */
  return function* (only?: number, after: Pair = [only ?? 0, 0]): Generator<Pair> {
    for (let pair = after; ; ) {
      const next =
        first('pool = ? AND workspace > ?', ...pair) ??
        (only === undefined ? first('pool > ?', pair[0]) : null)
      if (next === null) return
      yield next
      pair = next
    }
  }
}

export const createDepthReads = (sql: Statements) => {
  const pairs = createPairs(sql)

  /** 0, which none has, when it is not there. */
  const numberOf = (poolId: string): number =>
    Number(sql('SELECT n FROM pools WHERE id = ?').get(poolId)?.n ?? 0)

  const workspacesOf = ({ accountId, workspaceId }: QueueOwner): number[] =>
    sql('SELECT n FROM workspaces WHERE account_id = ? AND id = coalesce(?, id)')
      .all(accountId, workspaceId)
      .map((row) => row.n as number)

  const ids = (pair: Pair): { poolId: string; workspaceId: string } => ({
    poolId: sql('SELECT id FROM pools WHERE n = ?').get(pair[0])?.id as string,
    workspaceId: sql('SELECT id FROM workspaces WHERE n = ?').get(pair[1])?.id as string,
  })

  const due = 'FROM recipients WHERE pool = ? AND workspace = ? AND due_at > ? AND due_at <= ?'

  /** Rows of a pair that fall due after `from` and by `to`, in steps that let other work in between. */
  const count = async (pair: Pair, from: number, to: number): Promise<number> => {
    let counted = 0
    let edge = from
    while (edge < to) {
      const row = sql(`SELECT due_at ${due} ORDER BY due_at LIMIT 1 OFFSET ${STEP}`).get(...pair, edge, to)
      const next = (row?.due_at as number | undefined) ?? to
      counted += Number(sql(`SELECT count(*) AS n ${due}`).get(...pair, edge, next)?.n ?? 0)
      edge = next
      if (row !== undefined) await setImmediate()
    }
    return counted
  }

  const oldest = (pair: Pair): number | null =>
    (sql(
      'SELECT due_at FROM recipients WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1',
    ).get(...pair)?.due_at as number | undefined) ?? null

  return {
    nextDue(poolIds?: readonly string[]): number | null {
      const wanted = poolIds && new Set(poolIds.map(numberOf))
      let next: number | null = null
      for (const pair of pairs(poolIds?.length === 1 ? numberOf(poolIds[0] ?? '') : undefined)) {
        if (wanted !== undefined && !wanted.has(pair[0])) continue
        const due = oldest(pair)
        if (due !== null && (next === null || due < next)) next = due
      }
      return next
    },

    duePools(now: number): readonly string[] {
      const due = new Set<number>()
      for (const pair of pairs()) if (!due.has(pair[0]) && (oldest(pair) ?? now + 1) <= now) due.add(pair[0])
      return [...due].map((n) => sql('SELECT id FROM pools WHERE n = ?').get(n)?.id as string)
    },

    async depth(now: number, of?: QueueOwner): Promise<readonly QueueDepth[]> {
      const found = new Map<string, QueueDepth>()
      const wanted = of && new Set(workspacesOf(of))
      for (const pair of [...pairs()]) {
        if (wanted?.has(pair[1]) === false) continue
        found.set(pair.join(), {
          ...ids(pair),
          due: await count(pair, -1, now),
          leased: 0,
          waiting: await count(pair, now, Number.MAX_SAFE_INTEGER),
          oldestDueAt: oldest(pair),
        })
      }
      const leased = sql(
        'SELECT pool, workspace, count(*) AS n FROM recipients WHERE boot IS NOT NULL GROUP BY pool, workspace',
      ).all()
      for (const row of leased) {
        const pair: Pair = [row.pool as number, row.workspace as number]
        if (wanted?.has(pair[1]) === false) continue
        const other = found.get(pair.join()) ?? { ...ids(pair), due: 0, waiting: 0, oldestDueAt: null }
        found.set(pair.join(), { ...other, leased: row.n as number })
      }
      return [...found.values()]
    },
  }
}
