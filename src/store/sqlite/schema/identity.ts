/**
 * NAME      identity - the tables of people, links and sessions
 * DESCRIPTION
 *   Whoever was in `users` before roles were acts as before: as an owner. An
 *   address is unique within its account. Sessions refer to no table: a person's
 *   end with the person, by the verbs.
 */

const HOUR = 3_600_000

export const IDENTITY_STEP = `
CREATE TABLE sessions_of_people (
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
INSERT INTO sessions_of_people (id, account_id, user_id, role, provider, lookup, hash, created_at, last_seen_at,
    expires_at, idle_ms, oidc, ord)
  SELECT id, account_id, user_id, 'owner', 'cli', lookup, hash, created_at, created_at, expires_at,
    max(expires_at - created_at, ${12 * HOUR}), 'null', ord FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_of_people RENAME TO sessions;
CREATE INDEX sessions_account ON sessions (account_id, ord);
CREATE INDEX sessions_user ON sessions (user_id, ord) WHERE user_id IS NOT NULL;

CREATE TABLE people (
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
) WITHOUT ROWID;
INSERT INTO people (id, account_id, email, name, role, hash, views, created_at, ord)
  SELECT id, account_id, email, name, 'owner', hash, '[]', created_at, ord FROM users;
DROP TABLE users;
ALTER TABLE people RENAME TO users;
CREATE INDEX users_account ON users (account_id, ord);

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
