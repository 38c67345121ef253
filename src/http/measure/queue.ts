/**
 * NAME      queue - how much waits in each pool, and for how long
 * DESCRIPTION
 *   Summed over workspaces, so the number of series is that of the pools.
 */

import type { HeldDepth } from '../../store/port/operations.js'
import type { QueueDepth } from '../../store/port/upkeep.js'
import type { Metric } from '../metrics.js'

const STATES = ['due', 'leased', 'waiting'] as const

export const queueMetrics = (
  depth: readonly QueueDepth[],
  held: readonly HeldDepth[],
  now: number,
): readonly Metric[] => {
  const heldIn = new Map<string, number>()
  for (const { poolId, held: count } of held) heldIn.set(poolId, (heldIn.get(poolId) ?? 0) + count)
  const pools = [...new Set(depth.map(({ poolId }) => poolId))].map((pool) => {
    const rows = depth.filter(({ poolId }) => poolId === pool)
    const oldest = Math.min(...rows.map(({ oldestDueAt }) => oldestDueAt ?? now))
    return { pool, rows, age: Math.max(0, now - oldest) / 1_000 }
  })
  return [
    {
      name: 'postern_queue_recipients',
      help: 'Recipients in the queue: due now, leased to relay, or waiting for their time',
      type: 'gauge',
      samples: pools.flatMap(({ pool, rows }) =>
        STATES.map((state) => ({
          labels: { pool, state },
          value: rows.reduce((sum, row) => sum + row[state], 0),
        })),
      ),
    },
    {
      name: 'postern_queue_oldest_due_seconds',
      help: 'How long the recipient of a pool that waits longest has been due',
      type: 'gauge',
      samples: pools.map(({ pool, age }) => ({ labels: { pool }, value: age })),
    },
    {
      name: 'postern_queue_held_recipients',
      help: 'Recipients at rest: somebody holds them, or their fate is unknown',
      type: 'gauge',
      samples: [...heldIn].map(([pool, value]) => ({ labels: { pool }, value })),
    },
  ]
}
