/**
 * NAME      queue-reads - looking at the queue before touching it
 * DESCRIPTION
 *   The same walk as the orders take, with pauses for other work: what is shown is what
 *   would be changed.
 */

import type { QueuePart } from '../../../lifecycle/orders.js'
import type { Page, Rows } from '../../../lifecycle/page.js'
import type {
  HeldDepth,
  QueueAges,
  QueueCount,
  QueueEntry,
  QueueFilter,
  QueueGroup,
  QueueOrder,
  QueueOwner,
  QueueScope,
} from '../../port/operations.js'
import { type Asking, all, pause } from '../query.js'
import { type AgesOf, queueAges } from './ages.js'
import { idOf, workspacesOf } from './depth.js'
import { queuePage, sandboxes } from './queue-pages.js'
import { type Cursor, type Found, waitingOf, walk } from './walk.js'

const STEP = 500
const ALL: readonly QueuePart[] = ['waiting', 'leased', 'held']

/** Numbers as ids; rows next to each other are mostly of one place. */
const idsOf = () => {
  const known = new Map<string, string>()
  return function* (table: 'pools' | 'workspaces', n: number): Asking<string> {
    const id = known.get(table + n) ?? (yield* idOf(table, n))
    known.set(table + n, id)
    return id
  }
}

function* entries(rows: readonly Found[]): Asking<readonly QueueEntry[]> {
  const id = idsOf()
  const found: QueueEntry[] = []
  for (const row of rows) {
    found.push({
      recipientId: row.id,
      emailId: row.email_id,
      workspaceId: yield* id('workspaces', row.workspace),
      poolId: yield* id('pools', row.pool),
      address: row.address,
      status: row.status,
      attempts: row.attempts,
      dueAt: row.due_at,
      held: row.held,
      underWay: row.boot !== null,
      attempting: row.boot !== null && row.attempting !== null,
      lastResponse: row.last_response,
    })
  }
  return found
}

function* countOf(waiting: string, scope: QueueScope & Pick<QueueOrder, 'liveOnly'>): Asking<QueueCount> {
  const count = { waiting: 0, held: 0, underWay: 0 }
  const hidden = scope.liveOnly ? yield* sandboxes(scope.accountId) : null
  for (let cursor: Cursor | null = null; ; ) {
    const { rows, next }: { rows: readonly Found[]; next: Cursor | null } = yield* walk(
      waiting,
      scope,
      ALL,
      cursor,
      STEP,
    )
    for (const row of rows) {
      if (hidden?.has(row.pool)) continue
      if (row.boot !== null) count.underWay++
      else if (row.due_at !== null) count.waiting++
      else count.held++
    }
    if (next === null) return count
    cursor = next
    yield* pause()
  }
}

/** Those that answer at once. */
export const heldReads = (waiting: string) => ({
  *entriesOf(emailIds: readonly string[]): Asking<readonly QueueEntry[]> {
    const rows: Found[] = []
    for (const id of emailIds) rows.push(...(yield* waitingOf(waiting, id)))
    return yield* entries(rows)
  },

  *heldDepth(of?: QueueOwner): Asking<readonly HeldDepth[]> {
    const wanted = of && (yield* workspacesOf(of))
    const depths: HeldDepth[] = []
    const rows = yield* all(
      `SELECT pool, workspace, held, count(*) AS n FROM ${waiting} WHERE held IS NOT NULL GROUP BY pool, workspace, held`,
    )
    for (const row of rows) {
      if (wanted?.has(row.workspace as number) === false) continue
      depths.push({
        poolId: yield* idOf('pools', row.pool as number),
        workspaceId: yield* idOf('workspaces', row.workspace as number),
        heldBy: row.held as string,
        held: row.n as number,
      })
    }
    return depths
  },
})

/** Those that look at much. */
export const queueReads = (waiting: string) => ({
  queueCount: (scope: QueueScope & Pick<QueueOrder, 'liveOnly'>): Asking<QueueCount> =>
    countOf(waiting, scope),

  *queueEntries(filter: QueueFilter, page: Page): Asking<Rows<QueueEntry>> {
    const found = yield* queuePage(waiting, filter, page)
    return { ...found, rows: yield* entries(found.rows) }
  },

  queueAges: (of: AgesOf, by: QueueGroup, most: number, now: number): Asking<QueueAges> =>
    queueAges(waiting, of, by, most, now),
})
