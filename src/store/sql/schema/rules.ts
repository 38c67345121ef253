/**
 * NAME      schema/rules - what moves the row `rules`
 * DESCRIPTION
 *   Not uses, holds, suppressions or alarms. Triggers move it, so it does not matter which process writes, of which
 *   release, nor whether it is ours.
 */

/** The columns that a send is decided by; a row that comes or goes counts, too. */
export const DECIDING: Readonly<Record<string, string>> = {
  keys: 'account_id, mode, scope, workspace_id, lookup, hash, expires_at, rate_limit_per_minute, permission',
  credentials: 'account_id, workspace_id, mode, username, hash, cidr, certificate_fingerprint',
  workspaces:
    'account_id, slug, pool_id, routes, default_from, line_endings, restrict_senders, suspended_at, deleted_at',
  pools: 'account_id, name, deleted_at',
  domains: 'account_id, workspace_id, name, verified_at',
}
