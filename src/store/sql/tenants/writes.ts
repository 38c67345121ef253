/**
 * NAME      writes - who is who
 * DESCRIPTION
 *   Short verbs over small tables. A name that is taken is an answer (`not_unique`)
 *   and not an error: no statement fails, so the transaction goes on.
 */
import { numbered } from '../../pools.js'
import type {
  Accounts,
  Credentials,
  Keys,
  PoolRow,
  WorkspaceChange,
  Workspaces,
  Written,
} from '../../port/tenants.js'
import { insertInto, insertNew, type Places } from '../insert.js'
import { type AskedWrites, type Asking, first, run } from '../query.js'
import { change, isThere } from '../rows.js'
import { ACCOUNTS, CREDENTIALS, KEYS, POOLS, WORKSPACES } from './tables.js'

/** What has been used, when, and from where. */
export type Touch = Readonly<Parameters<Keys['touch']>>

export interface TenantParts {
  readonly places: Places
  /** Pools have changed, or what uses them has. */
  poolsChanged(now: number): Asking<void>
  now(): number
}

export const written = (isNew: boolean): Written => (isNew ? 'done' : 'not_unique')

const idOf = function* (text: string, ...values: readonly unknown[]): Asking<string | null> {
  return ((yield* first(text, ...values))?.id as string | undefined) ?? null
}

/** The pool of a workspace that no other one uses, if it has no upstreams. */
const poolOf = (workspaceId: string): Asking<string | null> =>
  idOf(
    `SELECT p.id FROM workspaces w JOIN pools p ON p.id = w.pool_id WHERE w.id = ? AND p.kind = 'relay'
       AND p.upstreams = '[]' AND NOT EXISTS (SELECT 1 FROM workspaces o WHERE o.pool_id = p.id AND o.id <> ?)`,
    ...[workspaceId, workspaceId],
  )

const unusedPool = (accountId: string, name: string): Asking<string | null> =>
  idOf(
    `SELECT id FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL AND kind = 'relay'
       AND upstreams = '[]' AND NOT EXISTS (
         SELECT 1 FROM workspaces w WHERE w.pool_id = pools.id OR replace(w.routes, pools.id, '') <> w.routes)`,
    ...[accountId, name],
  )

/** Workspaces and the pools that are theirs alone. */
const owning = (places: Places): AskedWrites<Workspaces> => {
  const addWorkspace = insertNew(WORKSPACES, places)
  const addPool = insertNew(POOLS, places)
  /** Under the first of `shop`, `shop-2` … that is free; with `known` an unused one is taken instead. */
  function* addNumbered(pool: PoolRow, known: boolean): Asking<string> {
    for (let n = 1; ; n++) {
      const name = numbered(pool.name, n)
      const found = known ? yield* unusedPool(pool.accountId, name) : null
      if (found !== null) return found
      if (yield* addPool({ ...pool, name })) return pool.id
    }
  }
  return {
    *createWorkspace(workspace, own) {
      if (own !== undefined) {
        // it must be there first, and must not stay behind where the slug is taken
        const taken = 'SELECT 1 FROM workspaces WHERE account_id = ? AND slug = ?'
        if (yield* isThere(taken, workspace.accountId, workspace.slug)) return 'not_unique'
        yield* addNumbered(own, false)
      }
      return written(yield* addWorkspace(workspace))
    },
    *ownPool(workspaceId, fresh) {
      return (yield* poolOf(workspaceId)) ?? (yield* addNumbered(fresh, true))
    },
  }
}

const isSlugTaken = (id: string, slug: string): Asking<boolean> =>
  isThere(
    `SELECT 1 FROM workspaces WHERE account_id = (SELECT account_id FROM workspaces WHERE id = ?)
       AND slug = ? AND id <> ?`,
    ...[id, slug, id],
  )

const TOUCH: Readonly<Record<'key' | 'credential', string>> = {
  key: 'UPDATE keys SET last_used_at = ?, last_used_from = ? WHERE id = ? AND coalesce(last_used_at, 0) <= ?',
  credential:
    'UPDATE credentials SET last_used_at = ?, last_used_from = ? WHERE id = ? AND coalesce(last_used_at, 0) <= ?',
}

function* touchAll(touched: readonly Touch[]): Asking<void> {
  for (const [kind, id, at, from] of touched) {
    if (kind === 'session')
      yield* run('UPDATE sessions SET last_seen_at = ? WHERE id = ? AND last_seen_at < ?', at, id, at)
    else yield* run(TOUCH[kind], at, from, id, at)
  }
}

const credentialWrites = (places: Places): AskedWrites<Credentials> => {
  const add = insertNew(CREDENTIALS, places)
  return {
    *createCredential(credential) {
      return written(yield* add(credential))
    },
    *importCredentials(credentials) {
      const taken: string[] = []
      for (const credential of credentials) if (!(yield* add(credential))) taken.push(credential.id)
      return { changed: credentials.length - taken.length, taken }
    },
    *revokeCredential(accountId, id) {
      return (yield* run('DELETE FROM credentials WHERE account_id = ? AND id = ?', accountId, id)) === 1
    },
  }
}

export const tenantWrites = ({ places, poolsChanged, now }: TenantParts) => {
  const addAccount = insertInto(ACCOUNTS, places)
  const addWorkspace = insertInto(WORKSPACES, places)
  const addPool = insertInto(POOLS, places)
  const addKey = insertInto(KEYS, places)
  const rows: AskedWrites<Accounts & Keys> = {
    *createAccount(account, { workspace, pools }) {
      yield* addAccount(account)
      for (const pool of pools) yield* addPool(pool)
      yield* addWorkspace(workspace)
    },
    *setPepperMark(mark, onlyFirst = false) {
      if (onlyFirst && (yield* first('SELECT mark FROM pepper')) !== null) return
      yield* run('DELETE FROM pepper')
      yield* run('INSERT INTO pepper (mark) VALUES (?)', mark)
    },
    *createKey(key) {
      yield* addKey(key)
    },
    *rotateKey(accountId, id, next, endsAt) {
      const isThere =
        (yield* run(
          'UPDATE keys SET expires_at = CASE WHEN expires_at < ? THEN expires_at ELSE ? END WHERE account_id = ? AND id = ?',
          ...[endsAt, endsAt, accountId, id],
        )) === 1
      if (isThere) yield* addKey(next)
      return isThere
    },
    *revokeKey(accountId, id) {
      return (yield* run('DELETE FROM keys WHERE account_id = ? AND id = ?', accountId, id)) === 1
    },
  }
  return {
    ...rows,
    ...owning(places),
    ...credentialWrites(places),
    touchAll,
    *updateWorkspace(id: string, part: WorkspaceChange): Asking<Written> {
      if (part.slug !== undefined && (yield* isSlugTaken(id, part.slug))) return 'not_unique'
      yield* change(WORKSPACES, part, 'id = ?', id)
      if (part.poolId !== undefined) yield* poolsChanged(now())
      return 'done'
    },
  }
}
