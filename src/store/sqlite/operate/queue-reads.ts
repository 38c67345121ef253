/**
 * NAME      queue-reads - looking at the queue before touching it
 * DESCRIPTION
 *   The same walk as the orders take, on a reader, with pauses for other work:
 *   what is shown is what would be changed.
 */
import { setImmediate } from 'node:timers/promises'
import type { HeldDepth, HoldRow, QueueCount, QueueEntry, QueueScope } from '../../port-operations.js'
import type { Statements } from '../read/statements.js'
import { HOLDS } from '../schema/operations.js'
import { type Cursor, createWalk, type Found, type Strand, waitingOf } from './walk.js'

const STEP = 2_000
const ALL: readonly Strand[] = ['waiting', 'leased', 'held']

export const createQueueReads = (sql: Statements) => {
  const walk = createWalk(sql)
  const idOf = (table: 'pools' | 'workspaces', n: number): string =>
    sql(`SELECT id FROM ${table} WHERE n = ?`).get(n)?.id as string

  const each = async (
    scope: QueueScope,
    strands: readonly Strand[],
    see: (rows: readonly Found[], cursor: Cursor | null) => boolean,
  ): Promise<void> => {
    let cursor: Cursor | null = null
    do {
      const { rows, next } = walk(scope, strands, cursor, STEP)
      if (!see(rows, next)) return
      cursor = next
      if (next !== null) await setImmediate()
    } while (cursor !== null)
  }

  const entry = (row: Found): QueueEntry => ({
    recipientId: row.id,
    emailId: row.email_id,
    workspaceId: idOf('workspaces', row.workspace),
    poolId: idOf('pools', row.pool),
    address: row.address,
    status: row.status,
    attempts: row.attempts,
    dueAt: row.due_at,
    held: row.held,
    underWay: row.boot !== null,
    attempting: row.boot !== null && row.attempting !== null,
    lastResponse: row.last_response,
  })

  return {
    holds: (accountId: string): readonly HoldRow[] =>
      sql(`SELECT ${HOLDS.columns} FROM holds WHERE account_id = ? ORDER BY ord`)
        .all(accountId)
        .map(HOLDS.decode),

    async queueCount(scope: QueueScope): Promise<QueueCount> {
      const count = { waiting: 0, held: 0, underWay: 0 }
      await each(scope, ALL, (rows) => {
        for (const row of rows) {
          if (row.boot !== null) count.underWay++
          else if (row.due_at !== null) count.waiting++
          else count.held++
        }
        return true
      })
      return count
    },

    async queueEntries(scope: QueueScope, limit: number): Promise<readonly QueueEntry[]> {
      const found: Found[] = []
      for (const strand of ALL) {
        // the soonest of each pool and workspace; of these, the soonest of all
        let mine: Found[] = []
        await each(scope, [strand], (rows) => {
          mine = [...mine, ...rows].sort((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0)).slice(0, limit)
          return strand === 'waiting' || mine.length < limit
        })
        found.push(...mine.slice(0, limit - found.length))
        if (found.length >= limit) break
      }
      return found.map(entry)
    },

    entriesOf: (emailIds: readonly string[]): readonly QueueEntry[] =>
      emailIds.flatMap((id) => waitingOf(sql, id).map(entry)),

    heldDepth: (): readonly HeldDepth[] =>
      sql(
        'SELECT pool, workspace, count(*) AS n FROM recipients WHERE held IS NOT NULL GROUP BY pool, workspace',
      )
        .all()
        .map((row) => ({
          poolId: idOf('pools', row.pool as number),
          workspaceId: idOf('workspaces', row.workspace as number),
          held: row.n as number,
        })),
  }
}
