/**
 * NAME      earlier-tables - SQL of earlier steps that makes tables
 * DESCRIPTION
 *   Each constant is part of one step (steps.ts says of which) and is never edited. People who were there before roles
 *   became owners. What Postern 0.1 had exported without a lot became one lot.
 */
import { AUDIT, REST_OF_IDENTITY, SESSIONS_SCHEMA, USERS_SCHEMA } from '../../sql/identity.js'
import { FOREIGN_MESSAGE_ID } from '../../sql/mails.js'
import { STATISTICS, WATCH } from '../../sql/schema/counts.js'

export const AUDIT_STEP = `${AUDIT}-- each ends with the place
CREATE INDEX audit_account ON audit (account_id);
CREATE INDEX audit_actor ON audit (account_id, actor_id);
CREATE INDEX audit_object ON audit (account_id, object_id);
`

export const DOMAINS_STEP = `
CREATE TABLE domains (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  name TEXT NOT NULL,
  keys TEXT NOT NULL, -- JSON
  verified_at INTEGER,
  checked_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (account_id, name)
) WITHOUT ROWID;
CREATE INDEX domains_account ON domains (account_id, id);
`

const HOUR = 3_600_000

export const IDENTITY_STEP = `
CREATE TABLE sessions_of_people ${SESSIONS_SCHEMA};
INSERT INTO sessions_of_people (id, account_id, user_id, role, provider, lookup, hash, created_at, last_seen_at,
    expires_at, idle_ms, oidc, ord)
  SELECT id, account_id, user_id, 'owner', 'cli', lookup, hash, created_at, created_at, expires_at,
    max(expires_at - created_at, ${12 * HOUR}), 'null', ord FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_of_people RENAME TO sessions;
CREATE INDEX sessions_account ON sessions (account_id, ord);
CREATE INDEX sessions_user ON sessions (user_id, ord) WHERE user_id IS NOT NULL;

CREATE TABLE people ${USERS_SCHEMA};
INSERT INTO people (id, account_id, email, name, role, hash, views, created_at, ord)
  SELECT id, account_id, email, name, 'owner', hash, '[]', created_at, ord FROM users;
DROP TABLE users;
ALTER TABLE people RENAME TO users;
CREATE INDEX users_account ON users (account_id, ord);

${REST_OF_IDENTITY}`

const FIRST = 'lot_00000000000000000000000000'

export const LOTS_STEP = `
CREATE TABLE lots (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  file TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO lots SELECT '${FIRST}', id, 'exported by Postern 0.1', 'exported', created_at FROM accounts
  WHERE EXISTS (SELECT 1 FROM recipients WHERE held = 'exported') ORDER BY id LIMIT 1;
UPDATE recipients SET held = '${FIRST}' WHERE held = 'exported';
`

export const OPERATIONS = `
CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  pool_id TEXT REFERENCES pools (id),
  domain TEXT,
  email_id TEXT,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
ALTER TABLE recipients ADD COLUMN held TEXT; -- id of a hold, or 'ambiguous'
ALTER TABLE recipients ADD COLUMN held_due INTEGER;
CREATE INDEX recipients_held ON recipients (held) WHERE held IS NOT NULL;
`

export const HOLDS_STEP = `
ALTER TABLE holds ADD COLUMN owner TEXT NOT NULL DEFAULT 'operator';
CREATE INDEX recipients_rest ON recipients (pool, workspace, held) WHERE held IS NOT NULL;
`

export const SHORT_STEP = `
ALTER TABLE emails RENAME COLUMN message_id TO message;
ALTER TABLE emails ADD COLUMN message_host TEXT;
ALTER TABLE emails ADD COLUMN message_id TEXT
  AS (CASE WHEN message_host IS NULL THEN message ELSE '<' || id || '@' || message_host || '>' END);
DROP INDEX emails_message;
CREATE INDEX emails_message ON emails (message) WHERE ${FOREIGN_MESSAGE_ID};

ALTER TABLE recipients RENAME COLUMN address TO written;
ALTER TABLE recipients ADD COLUMN address TEXT AS (CASE written WHEN '' THEN address_lc ELSE written END);

CREATE TABLE attempt_details (n INTEGER PRIMARY KEY, detail TEXT NOT NULL UNIQUE); -- JSON, with ms: 0
`

/** A recipient is told its mail by the place alone. */
export const RECIPIENTS_STEP = `
DROP INDEX recipients_email;
ALTER TABLE recipients DROP COLUMN email_id;
CREATE INDEX recipients_email ON recipients (email_ord, first); -- in the order of their first events
`

/** Keys and credentials that ever submitted mail are few beside the mail. 0: the body is at the mail's own place. */
export const SUBMITTERS_STEP = `
CREATE TABLE submitters (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
ALTER TABLE emails ADD COLUMN submitter INTEGER;
ALTER TABLE emails RENAME COLUMN body TO body_apart;
ALTER TABLE emails ADD COLUMN body INTEGER AS (CASE body_apart WHEN 0 THEN ord ELSE body_apart END);
`

export const STATISTICS_STEP = `${STATISTICS}ALTER TABLE workspaces ADD COLUMN statistics_tags TEXT NOT NULL DEFAULT '[]'; -- JSON
`

export const WATCH_STEP = `
ALTER TABLE workspaces ADD COLUMN alarms TEXT NOT NULL DEFAULT '{}';
ALTER TABLE workspaces ADD COLUMN on_alarm TEXT NOT NULL DEFAULT 'notify';
ALTER TABLE workspaces ADD COLUMN alarmed TEXT NOT NULL DEFAULT '{}';${WATCH}`

export const SOFT_BOUNCES_STEP = `
ALTER TABLE workspaces ADD COLUMN suppress_soft TEXT NOT NULL DEFAULT '{}'; -- JSON
`
