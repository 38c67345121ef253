/**
 * NAME      subjects - the tables of what is told of mail: webhooks, jobs, statistics, alarms, incidents
 */
import { tables } from './words.js'

export const SUBJECTS = tables(`
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workspace_id TEXT,
  action TEXT NOT NULL,
  reason TEXT NOT NULL,
  filter TEXT NOT NULL, -- JSON
  q TEXT,
  matched INTEGER NOT NULL,
  is_capped TRUTH NOT NULL,
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
  ord INTEGER NOT NULL
);
CREATE INDEX jobs_account ON jobs (account_id, ord);
CREATE INDEX jobs_running ON jobs (ord) WHERE state = 'running';

CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workspace_id TEXT,
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
);
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
);

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
);
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
  failed TRUTH NOT NULL, -- all of them, or none
  at INTEGER NOT NULL,
  posts TEXT NOT NULL, -- JSON
  PRIMARY KEY (endpoint_id, first)
);
CREATE INDEX brief_posts_failed ON brief_posts (endpoint_id, first) WHERE failed = 1;
CREATE INDEX brief_posts_at ON brief_posts (at);

CREATE TABLE replays (
  id TEXT PRIMARY KEY,
  endpoint_id TEXT NOT NULL,
  failed TRUTH NOT NULL,
  place TEXT,
  since INTEGER,
  until INTEGER NOT NULL,
  made INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL
);

CREATE TABLE statistics (
  span INTEGER NOT NULL,
  at INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  test TRUTH NOT NULL,
  value TEXT NOT NULL,
  counts TEXT NOT NULL, -- JSON: number of a counter, how often, ...
  PRIMARY KEY (span, at, dimension, workspace, test, value)
);
CREATE TABLE statistics_place (mark TEXT);

CREATE TABLE outages (upstream_id TEXT PRIMARY KEY, since INTEGER NOT NULL);
CREATE TABLE alarm_counts (
  workspace INTEGER NOT NULL,
  span INTEGER NOT NULL,
  tried INTEGER NOT NULL,
  complaints INTEGER NOT NULL,
  hard_bounces INTEGER NOT NULL,
  deferrals INTEGER NOT NULL,
  PRIMARY KEY (workspace, span)
);
CREATE TABLE alarm_mark (mark TEXT NOT NULL);

CREATE TABLE hard_bounces (
  cause TEXT NOT NULL,
  email TEXT NOT NULL,
  list TEXT NOT NULL,
  recipient TEXT NOT NULL,
  at INTEGER NOT NULL,
  taken_at INTEGER NOT NULL,
  living INTEGER,
  PRIMARY KEY (cause, email, list)
);
CREATE INDEX hard_bounces_at ON hard_bounces (at);

CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
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
);
CREATE INDEX incidents_workspace ON incidents (account_id, workspace_id, ord);
CREATE INDEX incidents_account ON incidents (account_id, ord);
CREATE INDEX incidents_open ON incidents (created_at) WHERE decided_at IS NULL;

CREATE TABLE pending_suppressions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL,
  email TEXT NOT NULL,
  origin TEXT NOT NULL,
  source_id TEXT,
  reason TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  incident_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  UNIQUE (workspace_id, email)
);
CREATE INDEX pending_workspace ON pending_suppressions (workspace_id, ord);
CREATE INDEX pending_incident ON pending_suppressions (incident_id, ord);
`)
