/**
 * NAME      own-pools - every workspace gets an egress pool of its own
 * DESCRIPTION
 *   Workspaces without one shared the pool `default`. The default workspace
 *   keeps that pool; each other gets one named after its slug, and what waits in
 *   `default` for it moves along: the rows of the queue, and the mails' own note of their pool.
 */
import { DEFAULT_POOL, freshPool, numbered } from '../../pools.js'
import { POOLS } from '../../sql/tenants.js'
import type { Db } from '../connect.js'
import type { Giver } from '../order/giver.js'

/** Whose pool is the account's default one is asked for each pool that is read. */
export const OWN_POOLS_STEP = `
CREATE INDEX workspaces_default ON workspaces (account_id, pool_id) WHERE is_default = 1;
CREATE INDEX workspaces_pool ON workspaces (pool_id);
`

interface Poolless {
  readonly n: number
  readonly id: string
  readonly account_id: string
  readonly slug: string
  readonly is_default: number
}

const WAITS = '(due_at IS NOT NULL OR boot IS NOT NULL OR held IS NOT NULL)'

const prepare = (db: Db) => ({
  poolless: db.prepare<[], Poolless>(
    'SELECT n, id, account_id, slug, is_default FROM workspaces WHERE pool_id IS NULL',
  ),
  pool: db.prepare<[string, string], { n: number; id: string }>(
    'SELECT n, id FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL',
  ),
  add: db.prepare(POOLS.insert),
  give: db.prepare('UPDATE workspaces SET pool_id = ? WHERE n = ?'),
  mails: db.prepare(
    `UPDATE emails SET pool = ? WHERE pool = ? AND ord IN
       (SELECT email_ord FROM recipients WHERE pool = ? AND workspace = ? AND ${WAITS})`,
  ),
  recipients: db.prepare(`UPDATE recipients SET pool = ? WHERE pool = ? AND workspace = ? AND ${WAITS}`),
})

/** Pools for domains of recipients, as JSON. */
export const ROUTES_STEP = `
ALTER TABLE workspaces ADD COLUMN routes TEXT NOT NULL DEFAULT '[]';
`

/** Gives a pool to each workspace that has none. */
export const giveOwnPools = (db: Db, giver: Giver, now: number): void => {
  const sql = prepare(db)
  const made = (accountId: string, name: string): { n: number; id: string } => {
    sql.add.run(...POOLS.encode(freshPool(accountId, name, now)), giver.next())
    return sql.pool.get(accountId, name) as { n: number; id: string }
  }
  const free = (accountId: string, slug: string): string => {
    for (let n = 1; ; n++) {
      const name = numbered(slug, n)
      if (sql.pool.get(accountId, name) === undefined) return name
    }
  }
  for (const { n, account_id, slug, is_default } of sql.poolless.all()) {
    const shared = sql.pool.get(account_id, DEFAULT_POOL) ?? made(account_id, DEFAULT_POOL)
    const own = is_default === 1 ? shared : made(account_id, free(account_id, slug))
    sql.give.run(own.id, n)
    if (own.n === shared.n) continue
    sql.mails.run(own.n, shared.n, shared.n, n)
    sql.recipients.run(own.n, shared.n, n)
  }
}
