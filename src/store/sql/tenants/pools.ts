/**
 * NAME      pools - writing pools
 * DESCRIPTION
 *   One that is deleted lives on as the name of old mail, without upstreams.
 */
import type { Pools } from '../../port/tenants.js'
import { insertNew } from '../insert.js'
import { type AskedWrites, type Asking, first, run } from '../query.js'
import { change, isThere } from '../rows.js'
import { POOLS } from './tables.js'
import { type TenantParts, written } from './writes.js'

interface PoolParts extends TenantParts {
  /** Whether mail waits in it, is held or under way. */
  hasMail(poolId: string): Asking<boolean>
}

const isUsed = (id: string): Asking<boolean> =>
  isThere(
    "SELECT 1 FROM workspaces WHERE pool_id = ? OR replace(routes, ?, '') <> routes LIMIT 1",
    ...[id, id],
  )

export const poolWrites = ({ places, poolsChanged, hasMail, now }: PoolParts): AskedWrites<Pools> => {
  const add = insertNew(POOLS, places)
  return {
    *createPool(pool) {
      const isNew = yield* add(pool)
      yield* poolsChanged(pool.createdAt)
      return written(isNew)
    },
    *updatePool({ id, accountId, createdAt, ...rest }) {
      const other = 'SELECT 1 FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL AND id <> ?'
      if (yield* isThere(other, accountId, rest.name, id)) return 'not_unique'
      yield* change(POOLS, rest, 'id = ? AND deleted_at IS NULL', id)
      yield* poolsChanged(rest.updatedAt)
      return 'done'
    },
    *deletePool(accountId, id) {
      const mine = 'SELECT kind FROM pools WHERE account_id = ? AND id = ? AND deleted_at IS NULL'
      const pool = yield* first(mine, accountId, id)
      if (pool === null) return 'not_found'
      if (pool.kind === 'sandbox' || (yield* isUsed(id)) || (yield* hasMail(id))) return 'in_use'
      yield* run("UPDATE pools SET deleted_at = ?, upstreams = '[]' WHERE id = ?", now(), id)
      return 'done'
    },
    // sealed text is base64url: it stands in the JSON as it is, and nowhere else
    *rotateToken(was, is) {
      const text = `UPDATE pools SET upstreams = replace(upstreams, ?, ?)
        WHERE deleted_at IS NULL AND replace(upstreams, ?, '') <> upstreams`
      return (yield* run(text, was, is, was)) > 0
    },
  }
}
