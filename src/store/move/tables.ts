/**
 * NAME      tables - what goes along when a store moves to another database
 * DESCRIPTION
 *   Every table of the store that is left is in one of the two lists; so a new table is not forgotten without a word. Of
 *   each table those columns go that both sides have.
 */

/** In this order, each sorted by these columns. */
export const MOVED: Readonly<Record<string, string>> = {
  accounts: 'id',
  pools: 'n',
  workspaces: 'n',
  resumes: 'workspace_id',
  keys: 'id',
  credentials: 'id',
  domains: 'id',
  suppressions: 'id',
  pepper: 'mark',
  return_path: 'ring',
  users: 'id',
  identities: 'account_id, issuer, subject',
  links: 'id',
  sessions: 'id',
  remembered: 'kind, value',
  audit: 'ord',
  submitters: 'n',
  bodies: 'n',
  emails: 'ord',
  email_days: 'day',
  tags: 'workspace, name, value, email_ord',
  recipient_rows: 'id',
  queue: 'id',
  events: 'ord',
  log_state: 'since',
  mtas: 'n',
  attempt_details: 'n',
  reports: 'n',
  owed_dsns: 'email_id, action, recipient_id',
  idempotency: 'workspace, test, key',
  rate_windows: 'bucket, span',
  holds: 'id',
  pauses: 'pool, paused_at',
  queue_orders: 'n',
  lots: 'id',
  jobs: 'id',
  webhooks: 'id',
  webhook_places: 'endpoint_id',
  posts: 'id',
  brief_posts: 'endpoint_id, first',
  replays: 'id',
  statistics: 'span, at, dimension, workspace, test, value',
  statistics_place: 'mark',
  outages: 'upstream_id',
  alarm_counts: 'workspace, span',
  alarm_mark: 'mark',
  sandbox_place: 'mark',
  hard_bounces: 'cause, email, list',
  hard_counts: 'hour, cause',
  incidents: 'id',
  pending_suppressions: 'id',
  order_state: 'last',
}

/** What stays, and why. */
export const STAYS: Readonly<Record<string, string>> = {
  recipients: 'its rows go into recipient_rows and queue',
  carried_bodies: 'a body gets the place of its mail',
  changes: 'of one process',
  fence: 'of one process',
  made_by: 'of its schema',
  search_parts: 'the index is made anew',
  search_spans: 'the index is made anew',
  search_state: 'the index is made anew',
}
