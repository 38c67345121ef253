/**
 * NAME      holds - what must not leave now
 * DESCRIPTION
 *   The standing holds, and the workspaces that are suspended, in the writer's memory. Other processes write holds too,
 *   so they are read again in each transaction: a few microseconds for a table
 *   that is nearly always empty. They are asked wherever mail could leave: when
 *   it is accepted hot, when it is claimed, and before its DATA.
 */
import type { Db } from '../connect.js'

export interface Hold {
  readonly id: string
  readonly account_id: string
  readonly workspace: number | null
  readonly pool: number | null
  readonly domain: string | null
  readonly email_id: string | null
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
}

export const createHolds = (db: Db): Holds => {
  const read = db.prepare<[], Hold>(
    `SELECT id, account_id, n AS workspace, NULL AS pool, NULL AS domain, NULL AS email_id,
       coalesce(suspended_reason, 'the workspace is suspended') AS reason
     FROM workspaces WHERE suspended_at IS NOT NULL
     UNION ALL SELECT * FROM (SELECT h.id, h.account_id, w.n AS workspace, p.n AS pool, h.domain, h.email_id, h.reason FROM holds h
       LEFT JOIN workspaces w ON w.id = h.workspace_id LEFT JOIN pools p ON p.id = h.pool_id ORDER BY h.ord)`,
  )
  const accountOf = db.prepare<[number], string>('SELECT account_id FROM workspaces WHERE n = ?').pluck()
  let standing: readonly Hold[] = []

  const covers = (hold: Hold, one: Standing): boolean =>
    (hold.workspace === null || hold.workspace === one.workspace) &&
    (hold.pool === null || hold.pool === one.pool) &&
    (hold.email_id === null || hold.email_id === one.email_id) &&
    (hold.domain === null || one.address_lc.endsWith(`@${hold.domain}`)) &&
    accountOf.get(one.workspace) === hold.account_id

  return {
    look: () => {
      standing = read.all()
    },
    get any() {
      return standing.length > 0
    },
    over: (one) => standing.find((hold) => covers(hold, one)) ?? null,
  }
}
