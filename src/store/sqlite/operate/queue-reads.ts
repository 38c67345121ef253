/**
 * NAME      queue-reads - looking at the queue before touching it
 * DESCRIPTION
 *   The same walk as the orders take, on a reader, with pauses for other work:
 *   what is shown is what would be changed.
 */
import { setImmediate } from 'node:timers/promises'
import type { Page, Rows } from '../../../lifecycle/page.js'
import type { QueuePart } from '../../../lifecycle/waiting/orders.js'
import type {
  HeldDepth,
  HoldRow,
  QueueCount,
  QueueEntry,
  QueueFilter,
  QueueOrder,
  QueueOwner,
  QueueScope,
} from '../../port/operations.js'
import { listOf } from '../../sql/pages/pages.js'
import { pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { HOLDS } from '../schema/operations.js'
import { createAges } from './ages.js'
import { createQueuePages, sandboxes } from './queue-pages.js'
import { type Cursor, createWalk, type Found, placeOf, waitingOf } from './walk.js'

const STEP = 500
const ALL: readonly QueuePart[] = ['waiting', 'leased', 'held']

export const createQueueReads = (sql: Statements) => {
  const walk = createWalk(sql)
  const pages = createQueuePages(sql)
  const idOf = (table: 'pools' | 'workspaces', n: number): string =>
    sql(`SELECT id FROM ${table} WHERE n = ?`).get(n)?.id as string

  const each = async (scope: QueueScope, see: (row: Found) => void): Promise<void> => {
    let cursor: Cursor | null = null
    do {
      const { rows, next } = walk(scope, ALL, cursor, STEP)
      for (const row of rows) see(row)
      cursor = next
      if (next !== null) await setImmediate()
    } while (cursor !== null)
  }

  /** Numbers as ids; rows next to each other are mostly of one place. */
  const placesOf = () => {
    const known = new Map<string, string>()
    return (table: 'pools' | 'workspaces', n: number): string => {
      const id = known.get(table + n) ?? idOf(table, n)
      known.set(table + n, id)
      return id
    }
  }

  const entry = (row: Found, id: typeof idOf): QueueEntry => ({
    recipientId: row.id,
    emailId: row.email_id,
    workspaceId: id('workspaces', row.workspace),
    poolId: id('pools', row.pool),
    address: row.address,
    status: row.status,
    attempts: row.attempts,
    dueAt: row.due_at,
    held: row.held,
    underWay: row.boot !== null,
    attempting: row.boot !== null && row.attempting !== null,
    lastResponse: row.last_response,
  })

  const entries = (rows: readonly Found[]): readonly QueueEntry[] => {
    const id = placesOf()
    return rows.map((row) => entry(row, id))
  }

  return {
    holds: (accountId: string): readonly HoldRow[] =>
      sql(`SELECT ${HOLDS.columns} FROM holds WHERE account_id = ? ORDER BY ord`)
        .all(accountId)
        .map(HOLDS.decode),

    listHolds(accountId: string, page: Page, workspaceId: string | null = null): Rows<HoldRow> {
      const list =
        workspaceId === null
          ? listOf('holds', 'account_id = ?', [accountId])
          : listOf('holds', 'account_id = ? AND workspace_id = ?', [accountId, workspaceId])
      const one = sql(`SELECT ${HOLDS.columns} FROM holds WHERE id = ?`)
      return pageOf(sql, list, page, (id) => one.all(id).map(HOLDS.decode)[0] ?? null)
    },

    async queueCount(scope: QueueScope & Pick<QueueOrder, 'liveOnly'>): Promise<QueueCount> {
      const count = { waiting: 0, held: 0, underWay: 0 }
      const hidden = scope.liveOnly ? sandboxes(sql, scope.accountId) : null
      await each(scope, (row) => {
        if (hidden?.has(row.pool)) return
        if (row.boot !== null) count.underWay++
        else if (row.due_at !== null) count.waiting++
        else count.held++
      })
      return count
    },

    async queueEntries(filter: QueueFilter, page: Page): Promise<Rows<QueueEntry>> {
      const found = await pages(filter, page)
      return { ...found, rows: entries(found.rows) }
    },

    queueAges: createAges(sql),

    entriesOf: (emailIds: readonly string[]): readonly QueueEntry[] =>
      entries(emailIds.flatMap((id) => waitingOf(sql, id))),

    heldDepth(of?: QueueOwner): readonly HeldDepth[] {
      const place = of && placeOf(sql, { ...of, poolId: null, domain: null, emailId: null })
      return sql(
        'SELECT pool, workspace, count(*) AS n FROM recipients WHERE held IS NOT NULL GROUP BY pool, workspace',
      )
        .all()
        .filter((row) => place === undefined || place?.workspaces.has(row.workspace as number))
        .map((row) => ({
          poolId: idOf('pools', row.pool as number),
          workspaceId: idOf('workspaces', row.workspace as number),
          held: row.n as number,
        }))
    },
  }
}
