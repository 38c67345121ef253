/**
 * NAME      tenants - writing who is who
 * DESCRIPTION
 *   Short verbs over small tables. A broken UNIQUE is an answer (`not_unique`)
 *   and not an error: the failed statement leaves nothing behind, so the batch
 *   around it goes on.
 */
import { systemClock } from '../../../base/clock.js'
import { numbered } from '../../built-in.js'
import type {
  Accounts,
  CredentialRow,
  Credentials,
  Keys,
  PoolRow,
  Pools,
  WorkspaceRow,
  Workspaces,
} from '../../port/tenants/tenants.js'
import type { Writes } from '../../port/verbs.js'
import { inserter, unlessTaken } from '../order/insert.js'
import type { Inner } from '../protocol.js'
import { ACCOUNTS, CREDENTIALS, KEYS, POOLS, WORKSPACES } from '../schema/tables.js'
import type { WriteContext } from './context.js'

type RowWrites = Writes<Accounts & Workspaces & Keys & Credentials> &
  Pick<Inner, 'updateWorkspace' | 'touchAll'>

/** Workspaces and the pools that are theirs alone. */
const createOwning = (context: WriteContext): Writes<Workspaces> => {
  const { db } = context
  const addWorkspace = inserter(context, WORKSPACES)
  const addPool = inserter(context, POOLS)
  const slugTaken = db.prepare('SELECT 1 FROM workspaces WHERE account_id = ? AND slug = ?')
  const mine = db
    .prepare<[string, string], string>(
      `SELECT p.id FROM workspaces w JOIN pools p ON p.id = w.pool_id WHERE w.id = ? AND p.kind = 'relay'
       AND p.upstreams = '[]' AND NOT EXISTS (SELECT 1 FROM workspaces o WHERE o.pool_id = p.id AND o.id <> ?)`,
    )
    .pluck()
  const unused = db
    .prepare<[string, string], string>(
      `SELECT id FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL AND kind = 'relay'
       AND upstreams = '[]' AND NOT EXISTS (SELECT 1 FROM workspaces WHERE pool_id = pools.id OR instr(routes, pools.id) > 0)`,
    )
    .pluck()
  /** Under the first of `shop`, `shop-2` … that is free; `known` may know a pool to take instead. */
  const addNumbered = (pool: PoolRow, known: (name: string) => string | undefined): string => {
    for (let n = 1; ; n++) {
      const name = numbered(pool.name, n)
      const found = known(name)
      if (found !== undefined) return found
      if (unlessTaken(() => addPool({ ...pool, name })) === 'done') return pool.id
    }
  }
  return {
    createWorkspace(workspace, own) {
      if (own !== undefined) {
        // it must be there first, and must not stay behind where the slug is taken
        if (slugTaken.get(workspace.accountId, workspace.slug) !== undefined) return 'not_unique'
        addNumbered(own, () => undefined)
      }
      return unlessTaken(() => addWorkspace(workspace))
    },
    ownPool: (workspaceId, fresh) =>
      mine.get(workspaceId, workspaceId) ?? addNumbered(fresh, (name) => unused.get(fresh.accountId, name)),
  }
}

export const createTenantWrites = (context: WriteContext): RowWrites => {
  const { db } = context
  const add = {
    account: inserter(context, ACCOUNTS),
    workspace: inserter(context, WORKSPACES),
    key: inserter(context, KEYS),
    credential: inserter(context, CREDENTIALS),
    pool: inserter(context, POOLS),
  }
  const touch = {
    key: db.prepare(
      'UPDATE keys SET last_used_at = @at, last_used_from = @from WHERE id = @id AND coalesce(last_used_at, 0) <= @at',
    ),
    credential: db.prepare(
      'UPDATE credentials SET last_used_at = @at, last_used_from = @from WHERE id = @id AND coalesce(last_used_at, 0) <= @at',
    ),
    session: db.prepare('UPDATE sessions SET last_seen_at = max(last_seen_at, @at) WHERE id = @id'),
  }
  const revoke = {
    key: db.prepare('DELETE FROM keys WHERE account_id = ? AND id = ?'),
    credential: db.prepare('DELETE FROM credentials WHERE account_id = ? AND id = ?'),
  }
  return {
    createAccount(account, { workspace, pools }) {
      add.account(account)
      for (const pool of pools) add.pool(pool)
      add.workspace(workspace)
    },
    setPepperMark(mark) {
      db.prepare('DELETE FROM pepper').run()
      db.prepare('INSERT INTO pepper VALUES (?)').run(mark)
    },
    ...createOwning(context),
    updateWorkspace(id, change) {
      const { set, values } = WORKSPACES.change(change as Partial<WorkspaceRow>)
      if (values.length === 0) return 'done'
      const written = unlessTaken(() =>
        db.prepare(`UPDATE workspaces SET ${set} WHERE id = ?`).run(...values, id),
      )
      if (change.poolId !== undefined) context.pauses.note(systemClock.now())
      return written
    },
    createKey: (key) => {
      add.key(key)
    },
    revokeKey: (accountId, id) => revoke.key.run(accountId, id).changes === 1,
    touchAll(touched) {
      for (const [kind, id, at, from] of touched)
        touch[kind].run({ id, at, ...(kind !== 'session' && { from }) })
    },
    createCredential: (credential: CredentialRow) => unlessTaken(() => add.credential(credential)),
    importCredentials(credentials) {
      const taken = credentials
        .filter((credential) => unlessTaken(() => add.credential(credential)) !== 'done')
        .map(({ id }) => id)
      return { changed: credentials.length - taken.length, taken }
    },
    revokeCredential: (accountId, id) => revoke.credential.run(accountId, id).changes === 1,
  }
}

export const createPoolWrites = (context: WriteContext): Writes<Pools> => {
  const { db } = context
  const add = inserter(context, POOLS)
  const find = db.prepare<[string, string], { n: number; kind: PoolRow['kind'] }>(
    'SELECT n, kind FROM pools WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  )
  const inUse = db.prepare<[string, string, number, number, number]>(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM workspaces WHERE pool_id = ? OR instr(routes, ?) > 0)
       OR EXISTS (SELECT 1 FROM recipients WHERE pool = ? AND due_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM recipients WHERE boot IS NOT NULL AND pool = ?)
       OR EXISTS (SELECT 1 FROM recipients WHERE held IS NOT NULL AND pool = ?)`,
  )
  // sealed text is base64url: it stands in the JSON as it is, and nowhere else
  const rotate = db.prepare<[string, string, string]>(
    'UPDATE pools SET upstreams = replace(upstreams, ?, ?) WHERE deleted_at IS NULL AND instr(upstreams, ?) > 0',
  )
  const remove = db.prepare('UPDATE pools SET deleted_at = ?, upstreams = ? WHERE n = ?')
  return {
    createPool(pool) {
      const written = unlessTaken(() => add(pool))
      context.pauses.note(pool.createdAt)
      return written
    },
    updatePool(pool) {
      const { id, accountId, createdAt, ...rest } = pool
      const { set, values } = POOLS.change(rest as Partial<PoolRow>)
      const written = unlessTaken(() =>
        db.prepare(`UPDATE pools SET ${set} WHERE id = ? AND deleted_at IS NULL`).run(...values, id),
      )
      context.pauses.note(pool.updatedAt)
      return written
    },
    deletePool(accountId, id) {
      const pool = find.get(accountId, id)
      if (pool === undefined) return 'not_found'
      if (pool.kind === 'sandbox' || inUse.get(id, id, pool.n, pool.n, pool.n) !== undefined) return 'in_use'
      remove.run(Date.now(), '[]', pool.n)
      return 'done'
    },
    rotateToken: (was, is) => rotate.run(was, is, was).changes > 0,
  }
}
