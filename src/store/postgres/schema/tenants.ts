/**
 * NAME      tenants - the tables of who is who
 * DESCRIPTION
 *   Columns are those of store/sql/. The small number `n` of a workspace or a pool is given after its row is
 *   stored, under the lock that such verbs hold.
 */

import { SUPPRESSION } from '../../sql/bounces.js'
import { AUDIT, REST_OF_IDENTITY, SESSIONS_SCHEMA, USERS_SCHEMA } from '../../sql/identity.js'
import { RETURN_PATH_STEP } from '../../sql/tenants.js'
import { tables } from './words.js'

export const TENANTS = tables(`
CREATE TABLE accounts (id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL, ord INTEGER NOT NULL);

CREATE TABLE pools (
  n INTEGER UNIQUE,
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  return_path TEXT NOT NULL,
  notify_success TRUTH NOT NULL,
  relayed_means TEXT NOT NULL,
  upstreams TEXT NOT NULL, -- JSON
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER, -- kept as a name for old mail
  ord INTEGER NOT NULL
);
CREATE UNIQUE INDEX pools_name ON pools (account_id, name) WHERE deleted_at IS NULL;
CREATE INDEX pools_account ON pools (account_id, ord) WHERE deleted_at IS NULL;

CREATE TABLE workspaces (
  n INTEGER UNIQUE,
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  is_default TRUTH NOT NULL,
  pool_id TEXT,
  default_from TEXT,
  ambiguous TEXT NOT NULL,
  line_endings TEXT NOT NULL,
  sender_dsn TRUTH NOT NULL,
  restrict_senders TRUTH NOT NULL,
  alarms TEXT NOT NULL, -- JSON
  on_alarm TEXT NOT NULL,
  alarmed TEXT NOT NULL, -- JSON
  suspended_at INTEGER,
  suspended_reason TEXT,
  statistics_tags TEXT NOT NULL, -- JSON
  suppress_soft TEXT NOT NULL, -- JSON
  routes TEXT NOT NULL, -- JSON
  created_at INTEGER NOT NULL,
  deleted_at INTEGER,
  ord INTEGER NOT NULL,
  UNIQUE (account_id, slug)
);
CREATE INDEX workspaces_pool ON workspaces (pool_id);
CREATE INDEX workspaces_default ON workspaces (account_id, pool_id) WHERE is_default = 1;
CREATE INDEX workspaces_account ON workspaces (account_id, ord);
CREATE INDEX workspaces_suspended ON workspaces (suspended_at) WHERE suspended_at IS NOT NULL;
CREATE TABLE resumes (workspace_id TEXT PRIMARY KEY, suspended_at INTEGER NOT NULL, resumed_at INTEGER NOT NULL);

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  name TEXT NOT NULL,
  mode TEXT NOT NULL,
  scope TEXT NOT NULL,
  workspace_id TEXT,
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  last_used_from TEXT,
  expires_at INTEGER,
  rate_limit_per_minute INTEGER,
  ord INTEGER NOT NULL
);
CREATE INDEX keys_account ON keys (account_id, ord);

CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workspace_id TEXT NOT NULL,
  mode TEXT NOT NULL,
  username TEXT,
  hash TEXT,
  cidr TEXT,
  certificate_fingerprint TEXT,
  imported TRUTH NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  last_used_from TEXT,
  ord INTEGER NOT NULL
);
CREATE INDEX credentials_account ON credentials (account_id, ord);
CREATE UNIQUE INDEX credentials_username ON credentials (username, workspace_id) WHERE username IS NOT NULL;
CREATE UNIQUE INDEX credentials_range ON credentials (cidr, workspace_id) WHERE cidr IS NOT NULL;
CREATE UNIQUE INDEX credentials_certificate ON credentials (certificate_fingerprint)
  WHERE certificate_fingerprint IS NOT NULL;

CREATE TABLE domains (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workspace_id TEXT,
  name TEXT NOT NULL,
  keys TEXT NOT NULL, -- JSON
  verified_at INTEGER,
  checked_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  ord INTEGER NOT NULL,
  UNIQUE (account_id, name)
);
CREATE INDEX domains_account ON domains (account_id, ord);

CREATE TABLE suppressions (${SUPPRESSION}
  ord INTEGER NOT NULL,
  UNIQUE (workspace_id, email)
);
CREATE INDEX suppressions_workspace ON suppressions (workspace_id, ord);

CREATE TABLE pepper (mark TEXT NOT NULL);
${RETURN_PATH_STEP}
CREATE TABLE users ${USERS_SCHEMA};
CREATE INDEX users_account ON users (account_id, ord);
CREATE TABLE sessions ${SESSIONS_SCHEMA};
CREATE INDEX sessions_account ON sessions (account_id, ord);
CREATE INDEX sessions_user ON sessions (user_id, ord) WHERE user_id IS NOT NULL;
${REST_OF_IDENTITY}${AUDIT}
CREATE INDEX audit_account ON audit (account_id, ord);
CREATE INDEX audit_actor ON audit (account_id, actor_id, ord);
CREATE INDEX audit_object ON audit (account_id, object_id, ord);
`)
