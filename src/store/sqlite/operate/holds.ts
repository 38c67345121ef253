/**
 * NAME      holds - the holds that stand
 * DESCRIPTION
 *   Holds, and the workspaces that are suspended, in the writer's memory. Other processes
 *   write holds too, so they are read again in each transaction: a few microseconds for a
 *   table that is nearly always empty. They are asked wherever mail could leave: when it
 *   is accepted hot, when it is claimed, and before its MAIL.
 */
import { covers, type Scope } from '../../../lifecycle/waiting/holds.js'
import type { Db } from '../connect.js'

/** By the numbers of this database. */
export interface Hold extends Scope<number> {
  readonly id: string
  readonly reason: string
}

/** Where a recipient stands, as far as holds care. */
export interface Standing {
  readonly workspace: number
  readonly pool: number
  readonly email_id: string
  /** Lower case. */
  readonly address_lc: string
}

export interface Holds {
  /** Reads them anew: at the start of a transaction, and after writing one. */
  look(): void
  readonly any: boolean
  /** The hold that keeps this recipient, or null. */
  over(recipient: Standing): Hold | null
  /** True while a hold of this id stands, or a workspace of this id is suspended. */
  has(id: string | null): boolean
}

export const createHolds = (db: Db): Holds => {
  const read = db.prepare<[], Hold>(
    `SELECT id, account_id AS accountId, n AS workspaceId, NULL AS poolId, NULL AS domain, NULL AS emailId,
       coalesce(suspended_reason, 'the workspace is suspended') AS reason
     FROM workspaces WHERE suspended_at IS NOT NULL
     UNION ALL SELECT * FROM (SELECT h.id, h.account_id, w.n AS workspace, p.n AS pool, h.domain, h.email_id, h.reason FROM holds h
       LEFT JOIN workspaces w ON w.id = h.workspace_id LEFT JOIN pools p ON p.id = h.pool_id ORDER BY h.ord)`,
  )
  const accountOf = db.prepare<[number], string>('SELECT account_id FROM workspaces WHERE n = ?').pluck()
  let standing: readonly Hold[] = []

  let accounts = new Map<number, string>()
  const accountIdOf = (workspace: number): string => {
    const known = accounts.get(workspace) ?? accountOf.get(workspace) ?? ''
    accounts.set(workspace, known)
    return known
  }

  return {
    look: () => {
      standing = read.all()
      accounts = new Map()
    },
    get any() {
      return standing.length > 0
    },
    over({ workspace, pool, email_id, address_lc }) {
      const accountId = accountIdOf(workspace)
      const one = { accountId, workspaceId: workspace, poolId: pool, emailId: email_id, address: address_lc }
      return standing.find((hold) => covers(hold, one)) ?? null
    },
    has: (id) => standing.some((hold) => hold.id === id),
  }
}
