/**
 * NAME      schema - all tables of a new database
 *   The schema of 1.0.0, number 13. Nothing here is ever changed but comments: a change is a step at the end of
 *   steps.ts, which a new database takes after this (test/house/frozen.test.ts compares). Tables that SQLite has in
 *   the same words are in sql/schema.ts. Columns that a table got later are its last, with a default.
 */
import { INDEXED_MESSAGE_ID } from '../../sql/mails.js'
import { DECIDING, SHARED, SUPPRESSION } from '../../sql/schema.js'

/** The number of what is made here. */
export const SCHEMA_NUMBER = 13

// The column types of this database, in short. TEXT compares octet by octet, whatever the locale of the database: lists
// and marks rely on it. Times, places and counts are INTEGER, truth is TRUTH (0 or 1), so that shared statements read
// them as they do elsewhere. What shared tables say of how SQLite keeps them is left out, and so are their foreign keys.

const WORDS: Readonly<Record<string, string>> = {
  TEXT: 'text COLLATE "C"',
  INTEGER: 'bigint',
  TRUTH: 'smallint',
  BLOB: 'bytea',
}

const NOT_HERE = / WITHOUT ROWID| REFERENCES \w+ \(\w+\)/g

export const tables = (text: string): string =>
  text.replace(NOT_HERE, '').replace(/\b(?:TEXT|INTEGER|TRUTH|BLOB)\b/g, (word) => WORDS[word] ?? word)

export const WRITERS = 256

/**
 * By which several daemons are one. `writers` has a row for each that can be (256: their number is 8 bits of every
 * place). Its row is a writer's fence (epoch), its position in the log (frontier) and its sign of life (heartbeat); what
 * it is can be read beside it. `order_state` is the last place of what is not mail, and the row that verbs which are
 * not about mail lock, so that they follow one another.
 */
const CLUSTER = `
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE writers (
  n smallint PRIMARY KEY,
  epoch int NOT NULL,
  owner TEXT, -- id of a daemon; NULL: free
  role TEXT, -- main, relay, followers or command
  about TEXT, -- JSON: what it says of itself
  schema int NOT NULL DEFAULT 0, -- the version that it knows
  boot INTEGER, -- by which its leases are known, from when it joined until it goes
  frontier INTEGER NOT NULL,
  heartbeat INTEGER NOT NULL
) WITH (fillfactor = 10);
INSERT INTO writers (n, epoch, frontier, heartbeat) SELECT n, 0, 0, 0 FROM generate_series(0, ${WRITERS - 1}) AS n;

CREATE TABLE work (kind TEXT PRIMARY KEY, boot INTEGER NOT NULL); -- of the writer who does it

CREATE TABLE order_state (last INTEGER NOT NULL, carried INTEGER NOT NULL);
INSERT INTO order_state VALUES (0, 0);
`

/** Who is who. The small number `n` is given after the row is stored, under the lock that such verbs hold. */
const TENANTS = `
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
  ord INTEGER NOT NULL,
  permission TEXT NOT NULL DEFAULT 'full_access',
  ses_salt BLOB -- of the access key that clients of Amazon SES sign with
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
`

/**
 * Mail, its queue and its log. `queue` has what waits, is leased or is held, and nothing else: an update of an indexed
 * column writes every index of its row, so what changes often is kept where there is little. `recipient_rows` is the
 * record, of which no indexed column changes but the reason of what failed. `recipients` shows both as one, and `waiting`
 * what is in the queue, for reading. `boot` is who leases (writer.ts).
 */
const MAIL = `
CREATE TABLE bodies (
  n INTEGER PRIMARY KEY, -- the place of its mail
  email_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  content TEXT,
  raw BLOB COMPRESSION lz4 NOT NULL
);

CREATE TABLE emails (
  ord INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workspace INTEGER NOT NULL,
  test TRUTH NOT NULL,
  status TEXT NOT NULL,
  total int NOT NULL, -- recipients, in each status:
  scheduled int NOT NULL DEFAULT 0,
  queued int NOT NULL DEFAULT 0,
  sent int NOT NULL DEFAULT 0,
  deferred int NOT NULL DEFAULT 0,
  delivered int NOT NULL DEFAULT 0,
  bounced int NOT NULL DEFAULT 0,
  canceled int NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  scheduled_at INTEGER,
  pool INTEGER NOT NULL,
  body INTEGER NOT NULL,
  size INTEGER NOT NULL,
  source TEXT NOT NULL,
  utf8 TRUTH NOT NULL,
  require_tls TRUTH NOT NULL,
  envid TEXT,
  ret TEXT,
  message TEXT NOT NULL,
  message_host TEXT,
  message_id TEXT
    GENERATED ALWAYS AS (CASE WHEN message_host IS NULL THEN message ELSE '<' || id || '@' || message_host || '>' END) STORED,
  sender TEXT NOT NULL,
  mail_from TEXT,
  subject TEXT NOT NULL,
  lists TEXT NOT NULL, -- JSON
  submitter INTEGER
) WITH (fillfactor = 85);
CREATE INDEX emails_workspace ON emails (workspace, test, ord);
CREATE INDEX emails_status ON emails (workspace, test, status, ord);
CREATE INDEX emails_scheduled ON emails (workspace, test, ord) WHERE scheduled_at IS NOT NULL;
CREATE INDEX emails_message ON emails (message) WHERE ${INDEXED_MESSAGE_ID};
CREATE TABLE submitters (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE); -- keys and credentials that ever submitted mail
CREATE TABLE email_days (day INTEGER PRIMARY KEY, behind INTEGER NOT NULL, ahead INTEGER NOT NULL);

CREATE TABLE tags (
  workspace INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, email_ord INTEGER NOT NULL,
  PRIMARY KEY (workspace, name, value, email_ord)
);

CREATE TABLE recipient_rows (
  id TEXT PRIMARY KEY,
  email_ord INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  last_gen int NOT NULL DEFAULT 0, -- of its lease, when it is in the queue no more
  updated_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  deadline INTEGER,
  written TEXT NOT NULL,
  address_lc TEXT NOT NULL,
  notify TEXT,
  orcpt TEXT,
  last_response TEXT,
  reason TEXT,
  first int NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX recipient_rows_email ON recipient_rows (email_ord, first);
CREATE INDEX recipient_rows_deadline ON recipient_rows (deadline) WHERE deadline IS NOT NULL; -- a report set it: few
CREATE INDEX recipient_rows_address ON recipient_rows (workspace, address_lc, email_ord);
CREATE INDEX recipient_rows_reason ON recipient_rows (workspace, reason, email_ord) WHERE reason IS NOT NULL;

CREATE TABLE queue (
  recipient_id TEXT PRIMARY KEY,
  email_ord INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  gen int NOT NULL,
  due_at INTEGER, -- it is due, leased or held: one of the three
  boot INTEGER,
  lease_until INTEGER,
  attempting int, -- the attempt that may reach the final dot
  attempt_upstream TEXT,
  attempt_at INTEGER,
  held TEXT,
  held_at INTEGER,
  held_due INTEGER
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX queue_due ON queue (pool, workspace, due_at, recipient_id) WHERE due_at IS NOT NULL;
CREATE INDEX queue_leased ON queue (boot) WHERE boot IS NOT NULL;
CREATE INDEX queue_held ON queue (held, recipient_id) WHERE held IS NOT NULL;
CREATE INDEX queue_email ON queue (email_ord);

CREATE VIEW recipients AS
  SELECT r.id, r.email_ord, r.workspace, coalesce(q.pool, r.pool) AS pool, r.kind, r.status, r.attempts, r.updated_at,
    r.queued_at, q.due_at, q.boot, q.lease_until, coalesce(q.gen, r.last_gen) AS lease_gen, q.attempting,
    q.attempt_upstream, q.attempt_at, r.deadline, q.held, q.held_due, q.held_at, r.written, r.address_lc,
    CASE r.written WHEN '' THEN r.address_lc ELSE r.written END AS address, r.notify, r.orcpt, r.last_response,
    r.reason, r.first
  FROM recipient_rows r LEFT JOIN queue q ON q.recipient_id = r.id;

CREATE VIEW waiting AS
  SELECT q.recipient_id AS id, q.email_ord, q.workspace, q.pool, r.kind, r.status, r.attempts, r.updated_at, r.queued_at,
    q.due_at, q.boot, q.lease_until, q.gen AS lease_gen, q.attempting, q.attempt_upstream, q.attempt_at, r.deadline,
    q.held, q.held_due, q.held_at, r.address_lc, CASE r.written WHEN '' THEN r.address_lc ELSE r.written END AS address,
    r.notify, r.orcpt, r.last_response, r.reason
  FROM queue q LEFT JOIN recipient_rows r ON r.id = q.recipient_id;

CREATE TABLE events (
  ord INTEGER PRIMARY KEY,
  email INTEGER, -- the place of its mail; NULL: it is about something else
  scope INTEGER,
  kind INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  recipient TEXT,
  occurred_at INTEGER NOT NULL,
  late INTEGER NOT NULL, -- how many ms later it was stored
  attempt INTEGER,
  reason TEXT,
  dedupe TEXT,
  more TEXT,
  id TEXT
);
CREATE INDEX events_email ON events (email, ord);
CREATE INDEX events_scope ON events (scope, kind, ord) WHERE scope IS NOT NULL;
CREATE INDEX events_notes ON events (scope, kind, ord) WHERE scope IS NOT NULL AND flags & 2 = 0;
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;
CREATE TABLE log_state (since INTEGER NOT NULL, floor INTEGER NOT NULL);
INSERT INTO log_state VALUES (0, 0);
CREATE TABLE mtas (n INTEGER PRIMARY KEY, pool_id TEXT NOT NULL, upstream_id TEXT NOT NULL, host TEXT);
CREATE INDEX mtas_upstream ON mtas (upstream_id, pool_id);
CREATE TABLE attempt_details (n INTEGER PRIMARY KEY, detail TEXT NOT NULL UNIQUE); -- JSON
CREATE TABLE reports (
  n INTEGER PRIMARY KEY, email INTEGER NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, octets BLOB NOT NULL
);
CREATE UNIQUE INDEX reports_email ON reports (email, name);
CREATE INDEX reports_at ON reports (at);
CREATE TABLE owed_dsns (
  email_id TEXT NOT NULL,
  action TEXT NOT NULL,
  recipient_id TEXT NOT NULL,
  event_ord INTEGER NOT NULL, -- what happened
  at INTEGER NOT NULL,
  PRIMARY KEY (email_id, action, recipient_id)
);

CREATE TABLE idempotency (
  workspace INTEGER NOT NULL,
  test TRUTH NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  token TEXT NOT NULL,
  locked_until INTEGER NOT NULL,
  completed_at INTEGER,
  status int,
  body TEXT,
  PRIMARY KEY (workspace, test, key)
);
CREATE INDEX idempotency_age ON idempotency (coalesce(completed_at, locked_until));
CREATE TABLE rate_windows (
  bucket TEXT NOT NULL,
  span INTEGER NOT NULL,
  used INTEGER NOT NULL,
  at INTEGER NOT NULL,
  got INTEGER NOT NULL DEFAULT 0, -- what a statement of several calls has added
  PRIMARY KEY (bucket, span)
) WITH (fillfactor = 50);
CREATE INDEX rate_windows_age ON rate_windows (at); -- it never changes

CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  workspace_id TEXT,
  pool_id TEXT,
  domain TEXT,
  email_id TEXT,
  reason TEXT NOT NULL,
  owner TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL
);
CREATE INDEX holds_order ON holds (ord);
CREATE TABLE pauses (pool INTEGER NOT NULL, paused_at INTEGER NOT NULL, resumed_at INTEGER);
CREATE INDEX pauses_pool ON pauses (pool, paused_at);
CREATE TABLE queue_orders (
  n INTEGER PRIMARY KEY, given INTEGER NOT NULL, workspace_id TEXT, task TEXT NOT NULL -- JSON: an order, or a hold
);
CREATE TABLE lots (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL, file TEXT NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL,
  ord INTEGER NOT NULL
);
`

/**
 * The index of words: a row for each mail, with its tokens (sql/search/tokens.ts). New rows wait in a list that each
 * search reads, too, so that many go into the index together: half a megabyte of it costs a search less than a
 * millisecond. `search_state.place` is the last place that is in it.
 */
const SEARCH = `
CREATE TABLE search_words (ord INTEGER PRIMARY KEY, words tsvector NOT NULL);
CREATE INDEX search_words_words ON search_words USING gin (words) WITH (gin_pending_list_limit = 512);
CREATE TABLE search_state (place INTEGER NOT NULL);
INSERT INTO search_state VALUES (0);
`

const REST = `
CREATE INDEX audit_account ON audit (account_id, ord);
CREATE INDEX audit_actor ON audit (account_id, actor_id, ord);
CREATE INDEX audit_object ON audit (account_id, object_id, ord);
INSERT INTO hard_counts SELECT '', CAST(floor(extract(epoch FROM now())) AS BIGINT) / 3600, 0;
`

/**
 * `rules` moves with each commit that changes what a send is decided by. It is the sum of rows that each such transaction
 * adds, after it took away those that no other one is about to take away: who has not committed holds up nobody. The rows
 * are random and no count: a database that was put back, to a standby or a copy, would count again what somebody has read
 * before, and other rows would stand behind it. Whoever may write one of the tables moves the rules by that, with no right
 * of its own: it is done with those of the owner, in the schema in which it was made, and never in a temporary one.
 */
export const MOVED_RULES = `
CREATE VIEW rules AS SELECT CAST(coalesce(sum(n), 0) AS bigint) AS n FROM rule_moves;
DO $do$ BEGIN EXECUTE format($make$
CREATE OR REPLACE FUNCTION move_rules() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, %I, pg_temp AS $$
BEGIN
  DELETE FROM rule_moves WHERE ctid = ANY (ARRAY(SELECT ctid FROM rule_moves FOR UPDATE SKIP LOCKED));
  INSERT INTO rule_moves VALUES (CAST(floor(random() * ${2 ** 43}) AS bigint));
  RETURN NULL;
END $$ $make$, current_schema()); END $do$;`

export const RULE_TRIGGERS = Object.entries(DECIDING)
  .map(
    ([table, columns]) => `
CREATE TRIGGER moves_rules AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF ${columns} ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION move_rules();`,
  )
  .join('')

const RULES = `
CREATE TABLE rule_moves (n bigint NOT NULL);
INSERT INTO rule_moves VALUES (0);${MOVED_RULES}${RULE_TRIGGERS}`

export const SCHEMA_TEXT = `${tables(`${CLUSTER}${TENANTS}${MAIL}${SEARCH}${SHARED}${REST}`)}${RULES}`
