/**
 * NAME      pairs - where mail waits, and the numbers that stand for pools and workspaces
 * DESCRIPTION
 *   The pairs of pool and workspace with mail that is due some time, by skipping from one to
 *   the next: a seek for each, however deep the queue is.
 */
import type { QueueOwner } from '../port/operations.js'
import { type Asking, all, first } from './query.js'

export type Pair = readonly [pool: number, workspace: number]

/** Of recipients that are due, under way or held. */
type Column = 'due_at' | 'boot' | 'held'

/** In two steps: a comparison of row values would use the index for the pool alone. */
export function* nextPair(
  waiting: string,
  pair: Pair,
  only: number | null,
  column: Column = 'due_at',
): Asking<Pair | null> {
  const some = `SELECT pool, workspace FROM ${waiting} WHERE ${column} IS NOT NULL AND`
  const row =
    (yield* first(`${some} pool = ? AND workspace > ? ORDER BY pool, workspace LIMIT 1`, ...pair)) ??
    (only === null ? yield* first(`${some} pool > ? ORDER BY pool, workspace LIMIT 1`, pair[0]) : null)
  return row === null ? null : [row.pool as number, row.workspace as number]
}

/** Of one pool, when that is named. */
export function* pairsOf(
  waiting: string,
  only: number | null = null,
  column: Column = 'due_at',
): Asking<readonly Pair[]> {
  const pairs: Pair[] = []
  let pair: Pair | null = [only ?? 0, 0]
  for (;;) {
    pair = yield* nextPair(waiting, pair, only, column)
    if (pair === null) return pairs
    pairs.push(pair)
  }
}

export function* idOf(table: 'pools' | 'workspaces', n: number): Asking<string> {
  return (yield* first(`SELECT id FROM ${table} WHERE n = ?`, n))?.id as string
}

/** The numbers of the workspaces of an owner. */
export function* workspacesOf({ accountId, workspaceId }: QueueOwner): Asking<ReadonlySet<number>> {
  const rows = yield* all(
    'SELECT n FROM workspaces WHERE account_id = ? AND id = coalesce(?, id)',
    accountId,
    workspaceId,
  )
  return new Set(rows.map((row) => row.n as number))
}

/** The pools of an account whose mail API keys do not see. */
export function* sandboxes(accountId: string): Asking<ReadonlySet<number>> {
  const rows = yield* all("SELECT n FROM pools WHERE account_id = ? AND kind = 'sandbox'", accountId)
  return new Set(rows.map((row) => row.n as number))
}
