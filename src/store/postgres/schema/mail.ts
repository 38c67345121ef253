/**
 * NAME      mail - the tables of mail, its queue and its log
 * DESCRIPTION
 *   `queue` has what waits, is leased or is held, and nothing else: an update of an indexed column writes every index
 *   of its row, so what changes often is kept where there is little. `recipient_rows` is the record, of which no indexed
 *   column changes but the reason of what failed. `recipients` shows both as one, and `waiting` what is in the queue, for reading.
 *   `boot` is who leases (writer.ts).
 */
import { INDEXED_MESSAGE_ID } from '../../sql/mails.js'
import { tables } from './words.js'

export const MAIL = tables(`
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
  bucket TEXT NOT NULL, span INTEGER NOT NULL, used INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (bucket, span)
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
`)
