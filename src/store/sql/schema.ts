/**
 * NAME      schema - the tables that both engines have in the same words
 *   Part of the schema of 1.0.0, which each engine completes (sqlite/migrate/schema.ts, postgres/schema/schema.ts). No
 *   column and no index of it is ever changed here: a change is a step of an engine. What a comment says may be mended.
 *   `ord` is the place of a row in its list, and the last column but for those that were added later. Words are those of
 *   SQLite; PostgreSQL makes its own of them. Times are ms since the epoch unless a comment says otherwise.
 */

/** Columns of who is suppressed; `workspace_id` names a list, not always a workspace. */
export const SUPPRESSION = `
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL,
  email TEXT NOT NULL,
  origin TEXT NOT NULL,
  source_id TEXT,
  reason TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,`

/** Refusals of addresses, their counts by the hour, and what waits until a person decides whether a server failed. */
const BOUNCES = `
CREATE TABLE hard_bounces (
  cause TEXT NOT NULL,
  email TEXT NOT NULL,
  list TEXT NOT NULL,
  recipient TEXT NOT NULL,
  at INTEGER NOT NULL,
  taken_at INTEGER NOT NULL,
  living INTEGER,
  PRIMARY KEY (cause, email, list)
) WITHOUT ROWID;
CREATE INDEX hard_bounces_at ON hard_bounces (at);
CREATE INDEX hard_bounces_email ON hard_bounces (list, email);
CREATE TABLE hard_counts ( -- the row without a cause says since when is counted
  cause TEXT NOT NULL,
  hour BIGINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (hour, cause)
);
CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL,
  upstream_id TEXT,
  domain TEXT NOT NULL,
  said TEXT NOT NULL,
  addresses INTEGER NOT NULL,
  living INTEGER NOT NULL,
  outcomes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER,
  decision TEXT,
  cause TEXT,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX incidents_workspace ON incidents (account_id, workspace_id, ord);
CREATE INDEX incidents_account ON incidents (account_id, ord);
CREATE INDEX incidents_open ON incidents (created_at) WHERE decided_at IS NULL;
CREATE TABLE pending_suppressions (${SUPPRESSION}
  incident_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
CREATE INDEX pending_workspace ON pending_suppressions (workspace_id, ord);
CREATE INDEX pending_incident ON pending_suppressions (incident_id, ord);
`

/** People, how they sign in, and for how long. */
const IDENTITY = `
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email TEXT NOT NULL,
  name TEXT,
  role TEXT NOT NULL,
  hash TEXT,
  time_zone TEXT,
  views TEXT NOT NULL, -- JSON
  disabled_at INTEGER,
  role_from TEXT,
  created_at INTEGER NOT NULL,
  last_sign_in_at INTEGER,
  ord INTEGER NOT NULL,
  has_factor INTEGER NOT NULL DEFAULT 0,
  UNIQUE (account_id, email)
) WITHOUT ROWID;
CREATE INDEX users_account ON users (account_id, ord);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  user_id TEXT,
  role TEXT NOT NULL,
  provider TEXT NOT NULL,
  address TEXT,
  user_agent TEXT,
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  idle_ms INTEGER NOT NULL,
  oidc TEXT NOT NULL, -- JSON
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_account ON sessions (account_id, ord);
CREATE INDEX sessions_user ON sessions (user_id, ord) WHERE user_id IS NOT NULL;

CREATE TABLE identities (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  user_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  by_rule INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_sign_in_at INTEGER,
  ord INTEGER NOT NULL,
  PRIMARY KEY (account_id, issuer, subject)
) WITHOUT ROWID;
CREATE INDEX identities_user ON identities (user_id, ord);

CREATE TABLE links (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  email TEXT,
  user_id TEXT,
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER,
  created_by TEXT NOT NULL,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX links_account ON links (account_id, kind, ord);
CREATE INDEX links_end ON links (expires_at);

CREATE TABLE remembered (
  kind TEXT NOT NULL, value TEXT NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY (kind, value)
) WITHOUT ROWID;
CREATE INDEX remembered_end ON remembered (until);

-- what a person proves beside the password
CREATE TABLE factors (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  lookup TEXT NOT NULL,
  secret TEXT NOT NULL,
  counter INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  ord INTEGER NOT NULL,
  UNIQUE (user_id, lookup)
) WITHOUT ROWID;
CREATE INDEX factors_user ON factors (user_id, ord);
`

/** Who changed what. */
const AUDIT = `
CREATE TABLE audit (
  ord INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  actor_name TEXT,
  actor_address TEXT,
  action TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id TEXT,
  workspace_id TEXT,
  detail TEXT NOT NULL -- JSON
);
`

/** Orders over many mails. */
const JOBS = `
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT,
  action TEXT NOT NULL,
  reason TEXT NOT NULL,
  filter TEXT NOT NULL, -- JSON
  q TEXT,
  matched INTEGER NOT NULL,
  is_capped INTEGER NOT NULL,
  state TEXT NOT NULL,
  place TEXT NOT NULL,
  done INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  last_error TEXT,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  ord INTEGER NOT NULL,
  created_by_name TEXT
) WITHOUT ROWID;
CREATE INDEX jobs_account ON jobs (account_id, ord);
CREATE INDEX jobs_running ON jobs (ord) WHERE state = 'running';
`

/** Endpoints, how each of them is doing, and its posts: those that wait or failed one by one, others many in a row. */
const WEBHOOKS = `
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  mode TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL, -- JSON, as the lists below
  status TEXT NOT NULL,
  disabled_reason TEXT,
  disabled_at INTEGER,
  secret TEXT NOT NULL,
  previous_secret TEXT,
  previous_until INTEGER,
  headers TEXT,
  header_names TEXT NOT NULL,
  domains TEXT NOT NULL,
  tags TEXT NOT NULL,
  fields TEXT NOT NULL,
  max_in_flight INTEGER NOT NULL,
  replay_rate INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  ord INTEGER NOT NULL,
  format TEXT NOT NULL DEFAULT 'standard', -- in whose words it is posted
  public_key TEXT,
  auth TEXT
) WITHOUT ROWID;
CREATE INDEX webhooks_account ON webhooks (account_id, ord) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE webhook_places (
  endpoint_id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL,
  mark TEXT, -- the place in the log up to which it has posts
  health TEXT NOT NULL,
  failing_since INTEGER,
  failures INTEGER NOT NULL,
  first_failed_at INTEGER,
  last_failed_at INTEGER,
  last_succeeded_at INTEGER,
  probes INTEGER NOT NULL,
  probe_at INTEGER,
  told INTEGER NOT NULL,
  given_up INTEGER NOT NULL,
  given_up_from TEXT,
  given_up_told_at INTEGER
) WITHOUT ROWID;

CREATE TABLE posts (
  id TEXT PRIMARY KEY,
  endpoint_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  event_at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER, -- NULL: it has ended
  tries TEXT NOT NULL, -- JSON
  url TEXT,
  headers TEXT NOT NULL,
  status INTEGER,
  ms INTEGER,
  answer TEXT,
  cause TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX posts_list ON posts (endpoint_id, ord);
CREATE INDEX posts_failed ON posts (endpoint_id, ord) WHERE cause IS NOT NULL;
CREATE INDEX posts_waiting ON posts (endpoint_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX posts_ended ON posts (updated_at) WHERE due_at IS NULL;
CREATE INDEX posts_event ON posts (endpoint_id, event_id, kind);

CREATE TABLE brief_posts (
  endpoint_id TEXT NOT NULL,
  first INTEGER NOT NULL, -- the place of the first of them
  last INTEGER NOT NULL,
  n INTEGER NOT NULL,
  failed INTEGER NOT NULL, -- all of them, or none
  at INTEGER NOT NULL,
  posts TEXT NOT NULL, -- JSON
  PRIMARY KEY (endpoint_id, first)
) WITHOUT ROWID;
CREATE INDEX brief_posts_failed ON brief_posts (endpoint_id, first) WHERE failed = 1;
CREATE INDEX brief_posts_at ON brief_posts (at);

CREATE TABLE replays (
  id TEXT PRIMARY KEY,
  endpoint_id TEXT NOT NULL,
  failed INTEGER NOT NULL,
  place TEXT,
  since INTEGER,
  until INTEGER NOT NULL,
  made INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
`

/**
 * What is counted, and what is watched. `statistics` begins with the time, so that new rows land at the right edge of
 * their span and old ones leave at its left; `at` is in minutes since the epoch. `alarm_counts` has what happened to
 * the live mail of a workspace by five minutes; rows older than a day go with the next ones.
 */
const COUNTS = `
CREATE TABLE statistics (
  span INTEGER NOT NULL,
  at INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  value TEXT NOT NULL,
  counts TEXT NOT NULL, -- JSON: number of a counter, how often, ...
  PRIMARY KEY (span, at, dimension, workspace, test, value)
) WITHOUT ROWID;
CREATE TABLE statistics_place (mark TEXT);
INSERT INTO statistics_place VALUES (NULL);
CREATE TABLE alarm_counts (
  workspace INTEGER NOT NULL,
  span INTEGER NOT NULL,
  tried INTEGER NOT NULL,
  complaints INTEGER NOT NULL,
  hard_bounces INTEGER NOT NULL,
  deferrals INTEGER NOT NULL,
  PRIMARY KEY (workspace, span)
) WITHOUT ROWID;
CREATE TABLE alarm_mark (mark TEXT NOT NULL); -- how far the log is counted
CREATE TABLE outages (upstream_id TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
`

/** How far the sandbox has reported, and the keys that sign return paths: one row each, or none. */
const ROWS = `
CREATE TABLE sandbox_place (mark TEXT NOT NULL); -- in the log
CREATE TABLE return_path (ring TEXT NOT NULL); -- JSON
CREATE TABLE pepper (mark TEXT NOT NULL); -- by which a wrong one is told
`

// Steps of both engines made these whole, from 0.9.2 on.

/** Which setup is being applied, and what each has made. */
export const SETUPS = `
CREATE TABLE setups (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  setup TEXT NOT NULL,
  owner TEXT,
  until INTEGER NOT NULL,
  PRIMARY KEY (account_id, setup)
) WITHOUT ROWID;

CREATE TABLE managed (
  account_id TEXT NOT NULL REFERENCES accounts (id),
  setup TEXT NOT NULL,
  kind TEXT NOT NULL,
  workspace TEXT NOT NULL,
  name TEXT NOT NULL,
  object_id TEXT,
  applied TEXT NOT NULL, -- JSON
  at INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  PRIMARY KEY (account_id, setup, kind, workspace, name)
) WITHOUT ROWID;
`

/** What an upstream that warms up was given, by days. */
export const WARMUP = `
CREATE TABLE warmup_days (
  id TEXT NOT NULL,
  day INTEGER NOT NULL, -- since the epoch, in UTC
  used INTEGER NOT NULL,
  began_at INTEGER NOT NULL,
  PRIMARY KEY (id, day)
) WITHOUT ROWID;
`

/** What receivers report of a domain. */
export const DOMAIN_REPORTS = `
CREATE TABLE domain_reports (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  domain_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  digest TEXT NOT NULL,
  reporter TEXT NOT NULL,
  contact TEXT,
  report_id TEXT NOT NULL,
  begins INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  total INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  policy TEXT NOT NULL,
  sources TEXT NOT NULL, -- JSON
  failures TEXT NOT NULL, -- JSON
  ord INTEGER NOT NULL,
  UNIQUE (domain_id, digest)
);
CREATE INDEX domain_reports_domain ON domain_reports (domain_id, ord);
CREATE INDEX domain_reports_came ON domain_reports (domain_id, received_at);
CREATE INDEX domain_reports_age ON domain_reports (received_at);
`

/** After the tables of accounts and workspaces. */
export const SHARED = `${ROWS}${IDENTITY}${AUDIT}${JOBS}${WEBHOOKS}${BOUNCES}${COUNTS}${SETUPS}${WARMUP}${DOMAIN_REPORTS}`

/** Steps of both engines to 0.9.4. */
export const FORMATS = `
ALTER TABLE webhooks ADD COLUMN format TEXT NOT NULL DEFAULT 'standard';
ALTER TABLE webhooks ADD COLUMN public_key TEXT;
ALTER TABLE webhooks ADD COLUMN auth TEXT;
`

/**
 * The columns that a send is decided by; a row that comes or goes counts, too. Not uses, holds, suppressions or alarms.
 * Triggers move `rules`, so it does not matter which process writes, of which release, nor whether it is ours.
 */
export const DECIDING: Readonly<Record<string, string>> = {
  keys: 'account_id, mode, scope, workspace_id, lookup, hash, expires_at, rate_limit_per_minute, permission',
  credentials: 'account_id, workspace_id, mode, username, hash, cidr, certificate_fingerprint',
  workspaces:
    'account_id, slug, pool_id, routes, default_from, line_endings, restrict_senders, suspended_at, deleted_at',
  pools: 'account_id, name, deleted_at',
  domains: 'account_id, workspace_id, name, verified_at',
}
