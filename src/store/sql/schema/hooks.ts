/**
 * NAME      hooks - the tables of webhooks
 * DESCRIPTION
 *   `webhooks` changes when somebody says so, `webhook_places` once a second while
 *   events pass. `posts` has a row for each failure, replay and test; what was taken
 *   at once is in `brief_posts`, a row for each second, whose posts have places of
 *   their own (`first` to `last`), so that one list goes over both tables.
 * NOTES
 *   A deleted endpoint keeps its row until the sweep has taken its posts.
 */
export const HOOKS_STEP = `
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
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX webhooks_account ON webhooks (account_id, ord) WHERE deleted_at IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE webhook_places (
  endpoint_id TEXT PRIMARY KEY,
  generation INTEGER NOT NULL,
  mark TEXT,
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
  due_at INTEGER,
  tries TEXT NOT NULL,
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
