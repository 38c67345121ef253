/**
 * NAME      identity - the tables of people, links and sessions
 * DESCRIPTION
 *   An address is unique within its account. Sessions refer to no table: a person's end with the person, by the verbs.
 */
export const SESSIONS = `(
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
) WITHOUT ROWID`

export const USERS = `(
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
  UNIQUE (account_id, email)
) WITHOUT ROWID`

export const REST_OF_IDENTITY = `
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
`

/** Who changed what. */
export const AUDIT = `
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

/** What a person proves beside the password. */
export const FACTORS_STEP = `
ALTER TABLE users ADD COLUMN has_factor INTEGER NOT NULL DEFAULT 0;
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
