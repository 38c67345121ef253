/**
 * NAME      depth - how much waits, and until when
 * DESCRIPTION
 *   Reads the two partial indexes of the queue and nothing else. The next due time costs a
 *   seek for each pair of pool and workspace; counting a deep queue goes in steps, so that it
 *   never holds up its thread.
 */
import type { QueueOwner } from '../../port/operations.js'
import type { QueueDepth } from '../../port/upkeep.js'
import { type Asking, all, first, pause } from '../query.js'
import { type Pair, pairsOf } from './pairs.js'

const STEP = 20_000

/** 0, which none has, when it is not there. */
function* numberOf(poolId: string): Asking<number> {
  return Number((yield* first('SELECT n FROM pools WHERE id = ?', poolId))?.n ?? 0)
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

function* ids([pool, workspace]: Pair): Asking<{ poolId: string; workspaceId: string }> {
  return { poolId: yield* idOf('pools', pool), workspaceId: yield* idOf('workspaces', workspace) }
}

/** Rows of a pair that fall due after `from` and by `to`, in steps that let other work in between. */
function* count(waiting: string, pair: Pair, from: number, to: number): Asking<number> {
  const due = `FROM ${waiting} WHERE pool = ? AND workspace = ? AND due_at > ? AND due_at <= ?`
  let counted = 0
  let edge = from
  while (edge < to) {
    const row = yield* first(`SELECT due_at ${due} ORDER BY due_at LIMIT 1 OFFSET ${STEP}`, ...pair, edge, to)
    const next = (row?.due_at as number | undefined) ?? to
    counted += Number((yield* first(`SELECT count(*) AS n ${due}`, ...pair, edge, next))?.n ?? 0)
    edge = next
    if (row !== null) yield* pause()
  }
  return counted
}

function* oldest(waiting: string, pair: Pair): Asking<number | null> {
  const row = yield* first(
    `SELECT due_at FROM ${waiting} WHERE pool = ? AND workspace = ? AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`,
    ...pair,
  )
  return (row?.due_at ?? null) as number | null
}

function* depthOf(waiting: string, now: number, of?: QueueOwner): Asking<readonly QueueDepth[]> {
  const found = new Map<string, QueueDepth>()
  const wanted = of && (yield* workspacesOf(of))
  for (const pair of yield* pairsOf(waiting)) {
    if (wanted?.has(pair[1]) === false) continue
    found.set(pair.join(), {
      ...(yield* ids(pair)),
      due: yield* count(waiting, pair, -1, now),
      leased: 0,
      waiting: yield* count(waiting, pair, now, Number.MAX_SAFE_INTEGER),
      oldestDueAt: yield* oldest(waiting, pair),
    })
  }
  const leased = yield* all(
    `SELECT pool, workspace, count(*) AS n FROM ${waiting} WHERE boot IS NOT NULL GROUP BY pool, workspace`,
  )
  for (const row of leased) {
    const pair: Pair = [row.pool as number, row.workspace as number]
    if (wanted?.has(pair[1]) === false) continue
    const other = found.get(pair.join()) ?? { ...(yield* ids(pair)), due: 0, waiting: 0, oldestDueAt: null }
    found.set(pair.join(), { ...other, leased: row.n as number })
  }
  return [...found.values()]
}

/** When mail falls due. */
export const dueReads = (waiting: string) => ({
  *nextDue(poolIds?: readonly string[]): Asking<number | null> {
    const pools: number[] = []
    for (const id of poolIds ?? []) pools.push(yield* numberOf(id))
    let next: number | null = null
    for (const pair of yield* pairsOf(waiting, pools.length === 1 ? pools[0] : null)) {
      if (poolIds !== undefined && !pools.includes(pair[0])) continue
      const due = yield* oldest(waiting, pair)
      if (due !== null && (next === null || due < next)) next = due
    }
    return next
  },

  *duePools(now: number): Asking<readonly string[]> {
    const due = new Set<number>()
    for (const pair of yield* pairsOf(waiting)) {
      if (!due.has(pair[0]) && ((yield* oldest(waiting, pair)) ?? now + 1) <= now) due.add(pair[0])
    }
    const poolIds: string[] = []
    for (const n of due) poolIds.push(yield* idOf('pools', n))
    return poolIds
  },
})

export const depthReads = (waiting: string) => ({
  depth: (now: number, of?: QueueOwner): Asking<readonly QueueDepth[]> => depthOf(waiting, now, of),
})
