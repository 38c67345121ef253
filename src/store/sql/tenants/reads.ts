/**
 * NAME      reads - who is who
 * DESCRIPTION
 *   Point reads and short lists. Whether an address is suppressed and what of a limit is used, which every mail
 *   asks, each engine answers in its own way.
 */
import type { Domains, Tenants } from '../../port/tenants.js'
import { type AskedReads, first } from '../query.js'
import { allOf, oneOf, pagesOf } from '../rows.js'
import { ACCOUNTS, CREDENTIALS, DOMAINS, KEYS, KNOWN_POOLS, SUPPRESSIONS, WORKSPACES } from './tables.js'

const workspaceById = oneOf(WORKSPACES, 'id = ? AND account_id = ? AND deleted_at IS NULL')
const workspaceBySlug = oneOf(WORKSPACES, 'slug = ? AND account_id = ? AND deleted_at IS NULL')
const poolByRef = oneOf(
  KNOWN_POOLS,
  'account_id = ? AND (id = ? OR name = ?) AND deleted_at IS NULL ORDER BY id = ? DESC',
)
const suppressionByRef = oneOf(SUPPRESSIONS, 'workspace_id = ? AND (id = ? OR email = ?)')
const domainByName = oneOf(DOMAINS, 'account_id = ? AND name = ?')
const domainById = oneOf(DOMAINS, 'account_id = ? AND id = ?')
const pages = {
  workspaces: pagesOf(WORKSPACES),
  keys: pagesOf(KEYS),
  credentials: pagesOf(CREDENTIALS),
  pools: pagesOf(KNOWN_POOLS),
  suppressions: pagesOf(SUPPRESSIONS),
  domains: pagesOf(DOMAINS),
}

export const tenantReads: AskedReads<Omit<Tenants, 'suppressed'> & Domains> = {
  account: oneOf(ACCOUNTS, 'id = ?'),
  accounts: allOf(ACCOUNTS, 'true ORDER BY ord'),
  *pepperMark() {
    return ((yield* first('SELECT mark FROM pepper'))?.mark as string | undefined) ?? null
  },
  /** No slug begins like an id. */
  workspace: (accountId, ref) =>
    ref.startsWith('ws_') ? workspaceById(ref, accountId) : workspaceBySlug(ref, accountId),
  workspaces: (accountId, page, only = null) =>
    only === null
      ? pages.workspaces('account_id = ? AND deleted_at IS NULL', [accountId], page)
      : pages.workspaces('account_id = ? AND deleted_at IS NULL AND id = ?', [accountId, only], page),
  keyByLookup: oneOf(KEYS, 'lookup = ?'),
  key: oneOf(KEYS, 'account_id = ? AND id = ?'),
  keys: (accountId, page, lookup = null) =>
    lookup === null
      ? pages.keys('account_id = ?', [accountId], page)
      : pages.keys('account_id = ? AND lookup = ?', [accountId, lookup], page),
  credential: oneOf(CREDENTIALS, 'id = ?'),
  credentialsByUsername: allOf(CREDENTIALS, 'username = ? ORDER BY ord'),
  credentialsByRange: allOf(CREDENTIALS, 'cidr IS NOT NULL ORDER BY ord'),
  credentialByCertificate: oneOf(CREDENTIALS, 'certificate_fingerprint = ?'),
  credentials: (accountId, page) => pages.credentials('account_id = ?', [accountId], page),
  pool: (accountId, ref) => poolByRef(accountId, ref, ref, ref),
  pools: (accountId, page) => pages.pools('account_id = ? AND deleted_at IS NULL', [accountId], page),
  allPools: allOf(KNOWN_POOLS, 'deleted_at IS NULL ORDER BY ord'),
  suppression: (list, ref) => suppressionByRef(list, ref, ref),
  suppressions: (list, origin, page) =>
    origin === null
      ? pages.suppressions('workspace_id = ?', [list], page)
      : pages.suppressions('workspace_id = ? AND origin = ?', [list, origin], page),
  *domain(accountId, ref) {
    return (yield* domainByName(accountId, ref)) ?? (yield* domainById(accountId, ref))
  },
  domains: (accountId, page, workspaceId = null) =>
    workspaceId === null
      ? pages.domains('account_id = ?', [accountId], page)
      : pages.domains('account_id = ? AND workspace_id = ?', [accountId, workspaceId], page),
  allDomains: allOf(DOMAINS, 'true ORDER BY ord'),
}
