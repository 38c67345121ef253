/**
 * NAME      tenants - reading who is who
 * DESCRIPTION
 *   Point reads and short lists. What every mail asks for is remembered until
 *   such a row changes (memory.ts), so a revoked key is gone from the very next
 *   read, whichever process revoked it.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import type {
  AccountRow,
  CredentialRow,
  KeyRow,
  KnownPool,
  SuppressionRow,
  WorkspaceRow,
} from '../../port/tenants/tenants.js'
import { listOf } from '../../sql/pages/pages.js'
import type { Table } from '../../sql/table.js'
import { ACCOUNTS, CREDENTIALS, KEYS, KNOWN_POOLS, SUPPRESSIONS, WORKSPACES } from '../schema/tables.js'
import type { Remember } from './memory.js'
import { pageOf } from './pages.js'
import type { Statements } from './statements.js'

type Readable<T> = Pick<Table<T>, 'name' | 'columns' | 'decode'>

/** In the list of the workspace, or in that of its account. */
const SUPPRESSED = `SELECT 1 FROM suppressions
  WHERE workspace_id IN (?, ?) AND email = ? AND (expires_at IS NULL OR expires_at > ?)`

export const createTenantReads = (sql: Statements, remember: Remember) => {
  const all = <T>(table: Readable<T>, where: string, ...params: readonly unknown[]): T[] =>
    sql(`SELECT ${table.columns} FROM ${table.name} WHERE ${where}`)
      .all(...params)
      .map(table.decode)
  /** Its text is made once: on the hot path, making it would cost more than the read. */
  const reader = <T>(table: Readable<T>, where: string) => {
    const text = `SELECT ${table.columns} FROM ${table.name} WHERE ${where} LIMIT 1`
    return (...params: readonly unknown[]): T | null => {
      const row = sql(text).get(...params)
      return row === undefined ? null : table.decode(row)
    }
  }
  const one = <T>(table: Readable<T>, where: string, ...params: readonly unknown[]): T | null =>
    reader(table, where)(...params)
  const list = <T>(table: Readable<T>, where: string, params: readonly unknown[], page: Page): Rows<T> =>
    pageOf(sql, listOf(table.name, where, params), page, reader(table, 'id = ?'))

  const workspaceById = reader(WORKSPACES, 'id = ? AND account_id = ? AND deleted_at IS NULL')
  const workspaceBySlug = reader(WORKSPACES, 'slug = ? AND account_id = ? AND deleted_at IS NULL')
  const keyByLookup = reader(KEYS, 'lookup = ?')
  const keyById = reader(KEYS, 'account_id = ? AND id = ?')
  const poolByRef = reader(
    KNOWN_POOLS,
    'account_id = ? AND (id = ? OR name = ?) AND deleted_at IS NULL ORDER BY id = ? DESC',
  )
  const credentialById = reader(CREDENTIALS, 'id = ?')
  const accountOf = (workspaceId: string) =>
    sql('SELECT account_id FROM workspaces WHERE id = ?').get(workspaceId)?.account_id ?? null

  return {
    account: (id: string): AccountRow | null => one(ACCOUNTS, 'id = ?', id),
    pepperMark: (): string | null =>
      (sql('SELECT mark FROM pepper').get() as { mark: string } | undefined)?.mark ?? null,
    accounts: (): readonly AccountRow[] => all(ACCOUNTS, 'true ORDER BY ord'),
    /** No slug begins like an id. */
    workspace: (accountId: string, ref: string): WorkspaceRow | null =>
      remember(`workspace ${accountId} ${ref}`, () =>
        ref.startsWith('ws_') ? workspaceById(ref, accountId) : workspaceBySlug(ref, accountId),
      ),
    workspaces: (accountId: string, page: Page, only: string | null = null): Rows<WorkspaceRow> =>
      only === null
        ? list(WORKSPACES, 'account_id = ? AND deleted_at IS NULL', [accountId], page)
        : list(WORKSPACES, 'account_id = ? AND deleted_at IS NULL AND id = ?', [accountId, only], page),
    keyByLookup: (lookup: string): KeyRow | null => remember(`lookup ${lookup}`, () => keyByLookup(lookup)),
    key: (accountId: string, id: string): KeyRow | null =>
      remember(`key ${accountId} ${id}`, () => keyById(accountId, id)),
    keys: (accountId: string, page: Page, lookup: string | null = null): Rows<KeyRow> =>
      lookup === null
        ? list(KEYS, 'account_id = ?', [accountId], page)
        : list(KEYS, 'account_id = ? AND lookup = ?', [accountId, lookup], page),
    credential: (id: string): CredentialRow | null => remember(`credential ${id}`, () => credentialById(id)),
    credentialsByUsername: (username: string): readonly CredentialRow[] =>
      remember(`username ${username}`, () => all(CREDENTIALS, 'username = ? ORDER BY ord', username)),
    credentialsByRange: (): readonly CredentialRow[] =>
      remember('ranges', () => all(CREDENTIALS, 'cidr IS NOT NULL ORDER BY ord')),
    credentialByCertificate: (fingerprint: string): CredentialRow | null =>
      all(CREDENTIALS, 'certificate_fingerprint = ?', fingerprint)[0] ?? null,
    credentials: (accountId: string, page: Page): Rows<CredentialRow> =>
      list(CREDENTIALS, 'account_id = ?', [accountId], page),
    pool: (accountId: string, ref: string): KnownPool | null =>
      remember(`pool ${accountId} ${ref}`, () => poolByRef(accountId, ref, ref, ref)),
    pools: (accountId: string, page: Page): Rows<KnownPool> =>
      list(KNOWN_POOLS, 'account_id = ? AND deleted_at IS NULL', [accountId], page),
    allPools: (): readonly KnownPool[] => all(KNOWN_POOLS, 'deleted_at IS NULL ORDER BY ord'),
    suppression: (workspaceId: string, ref: string): SuppressionRow | null =>
      one(SUPPRESSIONS, 'workspace_id = ? AND (id = ? OR email = ?)', workspaceId, ref, ref),
    suppressions: (
      workspaceId: string,
      origin: SuppressionRow['origin'] | null,
      page: Page,
    ): Rows<SuppressionRow> =>
      origin === null
        ? list(SUPPRESSIONS, 'workspace_id = ?', [workspaceId], page)
        : list(SUPPRESSIONS, 'workspace_id = ? AND origin = ?', [workspaceId, origin], page),
    suppressed(workspaceId: string, emails: readonly string[], now: number): readonly string[] {
      const account = remember(`account of ${workspaceId}`, () => accountOf(workspaceId))
      return emails.filter((email) => sql(SUPPRESSED).get(workspaceId, account, email, now) !== undefined)
    },
    usedIn: (bucket: string, window: number): number =>
      Number(
        sql('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?').get(bucket, window)?.used ?? 0,
      ),
  }
}
