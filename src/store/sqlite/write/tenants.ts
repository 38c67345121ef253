/**
 * NAME      tenants - writing who is who
 * DESCRIPTION
 *   Short verbs over small tables. A broken UNIQUE is an answer (`not_unique`)
 *   and not an error: the failed statement leaves nothing behind, so the batch
 *   around it goes on.
 */
import { builtInPool, SANDBOX_POOL } from '../../built-in.js'
import type { CredentialRow, PoolRow, WorkspaceRow, Written } from '../../port-tenants.js'
import type { Db } from '../connect.js'
import type { TenantWrites } from '../protocol.js'
import type { Table } from '../schema/record.js'
import { ACCOUNTS, CREDENTIALS, KEYS, POOLS, SESSIONS, USERS, WORKSPACES } from '../schema/tables.js'

const UNIQUE = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY'])

/** Runs one statement; a broken UNIQUE is the answer `not_unique`. */
const unlessTaken = (run: () => unknown): Written => {
  try {
    run()
    return 'done'
  } catch (error) {
    if (UNIQUE.has((error as { code?: string }).code ?? '')) return 'not_unique'
    throw error
  }
}

const inserter = <T>(db: Db, table: Table<T>): ((row: T) => unknown) => {
  const insert = db.prepare(table.insert)
  return (row) => insert.run(table.encode(row))
}

type RowWrites = Pick<
  TenantWrites,
  | 'createAccount'
  | 'setPepperMark'
  | 'createWorkspace'
  | 'updateWorkspace'
  | 'createKey'
  | 'revokeKey'
  | 'touchAll'
  | 'createCredential'
  | 'revokeCredential'
  | 'createUser'
  | 'createSession'
  | 'revokeSession'
>

export const createTenantWrites = (db: Db): RowWrites => {
  const add = {
    account: inserter(db, ACCOUNTS),
    workspace: inserter(db, WORKSPACES),
    key: inserter(db, KEYS),
    credential: inserter(db, CREDENTIALS),
    user: inserter(db, USERS),
    session: inserter(db, SESSIONS),
    pool: inserter(db, POOLS),
  }
  const touch = {
    key: db.prepare('UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?'),
    credential: db.prepare(
      'UPDATE credentials SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?',
    ),
  }
  const revoke = {
    key: db.prepare('DELETE FROM keys WHERE account_id = ? AND id = ?'),
    credential: db.prepare('DELETE FROM credentials WHERE account_id = ? AND id = ?'),
    session: db.prepare('DELETE FROM sessions WHERE id = ?'),
  }
  return {
    createAccount(account, workspace) {
      add.account(account)
      add.workspace(workspace)
      add.pool(builtInPool(account.id, SANDBOX_POOL, account.createdAt))
    },
    setPepperMark(mark) {
      db.prepare('DELETE FROM pepper').run()
      db.prepare('INSERT INTO pepper VALUES (?)').run(mark)
    },
    createWorkspace: (workspace) => unlessTaken(() => add.workspace(workspace)),
    updateWorkspace(id, change) {
      const { set, values } = WORKSPACES.change(change as Partial<WorkspaceRow>)
      if (values.length === 0) return 'done'
      return unlessTaken(() => db.prepare(`UPDATE workspaces SET ${set} WHERE id = ?`).run(...values, id))
    },
    createKey: (key) => {
      add.key(key)
    },
    revokeKey: (accountId, id) => revoke.key.run(accountId, id).changes === 1,
    touchAll(touched) {
      for (const [kind, id, at] of touched) touch[kind].run(at, id)
    },
    createCredential: (credential: CredentialRow) => unlessTaken(() => add.credential(credential)),
    revokeCredential: (accountId, id) => revoke.credential.run(accountId, id).changes === 1,
    createUser: (user) => unlessTaken(() => add.user(user)),
    createSession: (session) => {
      add.session(session)
    },
    revokeSession: (id) => revoke.session.run(id).changes === 1,
  }
}

type PoolWrites = Pick<TenantWrites, 'createPool' | 'updatePool' | 'deletePool'>

export const createPoolWrites = (db: Db): PoolWrites => {
  const add = inserter(db, POOLS)
  const find = db.prepare<[string, string], { n: number; kind: PoolRow['kind'] }>(
    'SELECT n, kind FROM pools WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  )
  const inUse = db.prepare<[string, number, number, number]>(
    `SELECT 1 WHERE EXISTS (SELECT 1 FROM workspaces WHERE pool_id = ?)
       OR EXISTS (SELECT 1 FROM recipients WHERE pool = ? AND due_at IS NOT NULL)
       OR EXISTS (SELECT 1 FROM recipients WHERE boot IS NOT NULL AND pool = ?)
       OR EXISTS (SELECT 1 FROM recipients WHERE held IS NOT NULL AND pool = ?)`,
  )
  const remove = db.prepare('UPDATE pools SET deleted_at = ?, upstreams = ? WHERE n = ?')
  return {
    createPool: (pool) => unlessTaken(() => add(pool)),
    updatePool(pool) {
      const { id, accountId, createdAt, ...rest } = pool
      const { set, values } = POOLS.change(rest as Partial<PoolRow>)
      return unlessTaken(() =>
        db.prepare(`UPDATE pools SET ${set} WHERE id = ? AND deleted_at IS NULL`).run(...values, id),
      )
    },
    deletePool(accountId, id) {
      const pool = find.get(accountId, id)
      if (pool === undefined) return 'not_found'
      if (pool.kind === 'sandbox' || inUse.get(id, pool.n, pool.n, pool.n) !== undefined) return 'in_use'
      remove.run(Date.now(), '[]', pool.n)
      return 'done'
    },
  }
}
