/**
 * NAME      schema - all tables of a new database
 *   The schema of 1.0.0, number 49. Nothing here is ever changed but comments: a change is a step at the end of
 *   steps.ts, which a new database takes after this (test/house/frozen.test.ts compares). Tables that PostgreSQL has
 *   in the same words are in sql/schema.ts.
 *   Ids are text and rise with time, so every insert lands at the right edge of its tree: random keys cost four times as
 *   much at ten million rows. Names that repeat in every row (workspace, pool) are small integers. Each row has its place,
 *   `ord`; an index of a table whose key is the place ends with it unsaid. Bodies are apart, in a table with a rowid,
 *   which holds large values best. Columns that a table got later are its last, with a default. Times are ms since
 *   the epoch.
 * NOTES
 *   A recipient is due (due_at, no boot), leased (boot) or at rest (neither). Both states have a partial index, so their
 *   cost follows the queue and not the history. `due_at` of a scheduled recipient is its appointed time.
 */
import { FOREIGN_MESSAGE_ID } from '../../sql/mails.js'
import { DECIDING, SHARED, SUPPRESSION } from '../../sql/schema.js'

/** The number of what is made here. */
export const SCHEMA_NUMBER = 49

const TENANTS = `
CREATE TABLE accounts (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL, ord INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE pools (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  return_path TEXT NOT NULL,
  notify_success INTEGER NOT NULL,
  relayed_means TEXT NOT NULL,
  upstreams TEXT NOT NULL, -- JSON
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER, -- kept as a name for old mail
  ord INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX pools_name ON pools (account_id, name) WHERE deleted_at IS NULL;
CREATE INDEX pools_account ON pools (account_id, ord) WHERE deleted_at IS NULL;
CREATE TABLE pauses (pool INTEGER NOT NULL, paused_at INTEGER NOT NULL, resumed_at INTEGER);
CREATE INDEX pauses_pool ON pauses (pool, paused_at);

CREATE TABLE workspaces (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  is_default INTEGER NOT NULL,
  pool_id TEXT REFERENCES pools (id),
  default_from TEXT,
  ambiguous TEXT NOT NULL, -- what becomes of mail of which nobody knows whether it was sent
  line_endings TEXT NOT NULL,
  sender_dsn INTEGER NOT NULL,
  restrict_senders INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL DEFAULT 0,
  suspended_at INTEGER,
  suspended_reason TEXT,
  deleted_at INTEGER,
  statistics_tags TEXT NOT NULL DEFAULT '[]', -- JSON, as the columns below but for on_alarm
  alarms TEXT NOT NULL DEFAULT '{}',
  on_alarm TEXT NOT NULL DEFAULT 'notify',
  alarmed TEXT NOT NULL DEFAULT '{}',
  suppress_soft TEXT NOT NULL DEFAULT '{}',
  routes TEXT NOT NULL DEFAULT '[]', -- pools for domains of recipients
  UNIQUE (account_id, slug)
);
CREATE INDEX workspaces_default ON workspaces (account_id, pool_id) WHERE is_default = 1; -- is asked for each pool that is read
CREATE INDEX workspaces_pool ON workspaces (pool_id);
CREATE INDEX workspaces_account ON workspaces (account_id, ord);
CREATE INDEX workspaces_suspended ON workspaces (suspended_at) WHERE suspended_at IS NOT NULL;
CREATE TABLE resumes ( -- the last suspension of each that was suspended
  workspace_id TEXT PRIMARY KEY, suspended_at INTEGER NOT NULL, resumed_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  mode TEXT NOT NULL,
  scope TEXT NOT NULL,
  workspace_id TEXT REFERENCES workspaces (id),
  lookup TEXT NOT NULL UNIQUE, -- the part of a key by which its row is found
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  rate_limit_per_minute INTEGER,
  ord INTEGER NOT NULL DEFAULT 0,
  last_used_from TEXT,
  permission TEXT NOT NULL DEFAULT 'full_access',
  ses_salt BLOB -- of the access key that clients of Amazon SES sign with
) WITHOUT ROWID;
CREATE INDEX keys_account ON keys (account_id, ord);

CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  mode TEXT NOT NULL,
  username TEXT, -- it has a name, a range of addresses or a certificate
  hash TEXT,
  cidr TEXT,
  imported INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  ord INTEGER NOT NULL DEFAULT 0,
  certificate_fingerprint TEXT,
  last_used_from TEXT
) WITHOUT ROWID;
CREATE UNIQUE INDEX credentials_username ON credentials (username, workspace_id) WHERE username IS NOT NULL;
CREATE UNIQUE INDEX credentials_range ON credentials (cidr, workspace_id) WHERE cidr IS NOT NULL;
CREATE INDEX credentials_account ON credentials (account_id, ord);
-- of one certificate there is one credential, wherever it is: which workspace it means must be plain
CREATE UNIQUE INDEX credentials_certificate ON credentials (certificate_fingerprint)
  WHERE certificate_fingerprint IS NOT NULL;

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
  ord INTEGER NOT NULL DEFAULT 0,
  UNIQUE (account_id, name)
) WITHOUT ROWID;
CREATE INDEX domains_account ON domains (account_id, ord);

CREATE TABLE suppressions (${SUPPRESSION}
  ord INTEGER NOT NULL DEFAULT 0,
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
CREATE INDEX suppressions_workspace ON suppressions (workspace_id, ord);

CREATE TABLE rate_windows (
  bucket TEXT NOT NULL, span INTEGER NOT NULL, used INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (bucket, span)
) WITHOUT ROWID;
CREATE TABLE idempotency (
  n INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL, -- of the request
  token TEXT NOT NULL, -- of whoever is answering it
  locked_until INTEGER NOT NULL,
  completed_at INTEGER,
  status INTEGER,
  body TEXT,
  UNIQUE (workspace, test, key)
);
`

const MAIL = `
CREATE TABLE bodies (
  n INTEGER PRIMARY KEY, -- the place of its mail, but for those of 0.1 (carried_bodies)
  email_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  content TEXT,
  raw BLOB NOT NULL,
  beside INTEGER NOT NULL DEFAULT 0 -- 1: the octets are in a file
);
CREATE INDEX bodies_beside ON bodies (email_id) WHERE beside = 1;
CREATE TABLE carried_bodies (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, created_from INTEGER NOT NULL);

CREATE TABLE emails (
  ord INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  status TEXT NOT NULL,
  total INTEGER NOT NULL, -- recipients, in each status:
  scheduled INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  deferred INTEGER NOT NULL DEFAULT 0,
  delivered INTEGER NOT NULL DEFAULT 0,
  bounced INTEGER NOT NULL DEFAULT 0,
  canceled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  scheduled_at INTEGER,
  pool INTEGER NOT NULL,
  body_apart INTEGER NOT NULL, -- 0: the body is at the mail's own place
  size INTEGER NOT NULL,
  source TEXT NOT NULL,
  utf8 INTEGER NOT NULL,
  require_tls INTEGER NOT NULL DEFAULT 0,
  envid TEXT,
  ret TEXT,
  message TEXT NOT NULL,
  sender TEXT NOT NULL,
  mail_from TEXT,
  subject TEXT NOT NULL,
  lists TEXT NOT NULL, -- JSON: to, cc, bcc, replyTo, tags, attachments
  message_host TEXT, -- with it the Message-ID is made of the id
  message_id TEXT AS (CASE WHEN message_host IS NULL THEN message ELSE '<' || id || '@' || message_host || '>' END),
  submitter INTEGER,
  body INTEGER AS (CASE body_apart WHEN 0 THEN ord ELSE body_apart END)
);
CREATE INDEX emails_workspace ON emails (workspace, test);
CREATE INDEX emails_status ON emails (workspace, test, status);
CREATE INDEX emails_scheduled ON emails (workspace, test) WHERE scheduled_at IS NOT NULL; -- few among very many
CREATE INDEX emails_message ON emails (message) WHERE ${FOREIGN_MESSAGE_ID};
CREATE TABLE submitters (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE); -- keys and credentials that ever submitted mail
-- how far the time of a place and created_at part, by the day of the place
CREATE TABLE email_days (day INTEGER PRIMARY KEY, behind INTEGER NOT NULL, ahead INTEGER NOT NULL);
CREATE TABLE tags (
  workspace INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, email_ord INTEGER NOT NULL,
  PRIMARY KEY (workspace, name, value, email_ord)
) WITHOUT ROWID;

CREATE TABLE recipients (
  id TEXT PRIMARY KEY,
  email_ord INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  due_at INTEGER,
  boot INTEGER, -- of the daemon that leases it
  lease_until INTEGER,
  lease_gen INTEGER NOT NULL DEFAULT 0,
  attempting INTEGER, -- this attempt may reach the final dot
  attempt_upstream TEXT,
  attempt_at INTEGER,
  deadline INTEGER,
  held TEXT, -- id of a hold or of a lot, or 'ambiguous'
  held_due INTEGER,
  written TEXT NOT NULL, -- the address as it was given, where it is not address_lc
  address_lc TEXT NOT NULL,
  notify TEXT,
  orcpt TEXT,
  last_response TEXT,
  reason TEXT,
  first INTEGER NOT NULL DEFAULT 0, -- the order in its mail
  held_at INTEGER, -- once it is free again, when that was
  address TEXT AS (CASE written WHEN '' THEN address_lc ELSE written END)
) WITHOUT ROWID;
CREATE INDEX recipients_address ON recipients (workspace, address_lc, email_ord);
CREATE INDEX recipients_due ON recipients (pool, workspace, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX recipients_leased ON recipients (boot) WHERE boot IS NOT NULL;
CREATE INDEX recipients_deadline ON recipients (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX recipients_held ON recipients (held) WHERE held IS NOT NULL;
CREATE INDEX recipients_rest ON recipients (pool, workspace, held) WHERE held IS NOT NULL;
-- few recipients have either, so neither is touched where mail is accepted
CREATE INDEX recipients_held_mail ON recipients (workspace, email_ord) WHERE held IS NOT NULL;
CREATE INDEX recipients_reason ON recipients (workspace, reason, email_ord) WHERE reason IS NOT NULL;
CREATE INDEX recipients_email ON recipients (email_ord, first);

CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  pool_id TEXT REFERENCES pools (id),
  domain TEXT,
  email_id TEXT,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL DEFAULT 'operator'
) WITHOUT ROWID;
CREATE INDEX holds_order ON holds (ord);
CREATE TABLE lots ( -- mail that left for another store in one file
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  file TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE queue_orders ( -- orders that are not at their end
  n INTEGER PRIMARY KEY,
  given INTEGER NOT NULL,
  workspace_id TEXT,
  task TEXT NOT NULL -- JSON: an order, or a hold
);
CREATE TABLE owed_dsns ( -- reports that senders are still to get
  email_id TEXT NOT NULL,
  action TEXT NOT NULL,
  recipient_id TEXT NOT NULL,
  event_ord INTEGER NOT NULL, -- what happened
  at INTEGER NOT NULL,
  PRIMARY KEY (email_id, action, recipient_id)
) WITHOUT ROWID;
`

const LOG = `
CREATE TABLE events (
  ord INTEGER PRIMARY KEY,
  email INTEGER, -- the place of its mail; NULL: it is about something else
  scope INTEGER, -- NULL: history, in its mail's timeline alone
  kind INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  recipient TEXT,
  occurred_at INTEGER NOT NULL,
  late INTEGER NOT NULL, -- how many ms later it was stored
  attempt INTEGER,
  reason TEXT,
  dedupe TEXT,
  more TEXT,
  id TEXT -- of history; others are made
);
CREATE INDEX events_email ON events (email);
CREATE INDEX events_scope ON events (scope, kind) WHERE scope IS NOT NULL;
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX events_notes ON events (scope, kind) WHERE scope IS NOT NULL AND flags & 2 = 0; -- few among very many
CREATE TABLE log_state (since INTEGER NOT NULL, floor INTEGER NOT NULL); -- places: where the log begins, and what is still kept
CREATE TABLE mtas (n INTEGER PRIMARY KEY, pool_id TEXT NOT NULL, upstream_id TEXT NOT NULL, host TEXT);
CREATE INDEX mtas_upstream ON mtas (upstream_id);
CREATE TABLE attempt_details (n INTEGER PRIMARY KEY, detail TEXT NOT NULL UNIQUE); -- JSON, with ms: 0
CREATE TABLE reports (
  n INTEGER PRIMARY KEY, email INTEGER NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, octets BLOB NOT NULL
);
CREATE UNIQUE INDEX reports_email ON reports (email, name);
CREATE INDEX reports_at ON reports (at);

-- each part of the index of words is a table of FTS5 with the mail from this place on (search.ts)
CREATE TABLE search_parts (first INTEGER PRIMARY KEY, gone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE search_state (place INTEGER NOT NULL, singly INTEGER NOT NULL DEFAULT 0);
INSERT INTO search_state (place) VALUES (0);
CREATE TABLE search_spans (first INTEGER PRIMARY KEY, mails INTEGER NOT NULL);

CREATE INDEX audit_account ON audit (account_id);
CREATE INDEX audit_actor ON audit (account_id, actor_id);
CREATE INDEX audit_object ON audit (account_id, object_id);
`

/** One row each, of the database itself. */
const STATE = `
CREATE TABLE made_by (version TEXT NOT NULL); -- the Postern that brought it where it is
INSERT INTO made_by VALUES ('');
CREATE TABLE fence (boot INTEGER NOT NULL); -- the daemon that may write
INSERT INTO fence VALUES (0);
CREATE TABLE order_state (last INTEGER NOT NULL, carried INTEGER NOT NULL); -- places: the last one, and the last that 0.1 left
CREATE TABLE changes (n INTEGER NOT NULL) STRICT; -- commits that may change what is remembered
INSERT INTO changes VALUES (0);
INSERT INTO hard_counts SELECT '', CAST(strftime('%s', 'now') AS BIGINT) / 3600, 0;
`

const counting = ([table, columns]: readonly [string, string]): string =>
  [`INSERT`, `DELETE`, `UPDATE OF ${columns}`]
    .map(
      (what) =>
        `CREATE TRIGGER ${table}_${what.slice(0, 6).toLowerCase()} AFTER ${what} ON ${table} BEGIN UPDATE rules SET n = n + 1; END;`,
    )
    .join('\n')

/** How often changed what sends are decided by; the step to 44, too. */
export const RULES = `
CREATE TABLE rules (n INTEGER NOT NULL) STRICT;
INSERT INTO rules VALUES (0);
${Object.entries(DECIDING).map(counting).join('\n')}
`

export const SCHEMA_TEXT = `${TENANTS}${MAIL}${SHARED}${LOG}${STATE}${RULES}`
