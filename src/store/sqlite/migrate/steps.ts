/**
 * NAME      steps - the tables, as numbered steps that only go forward
 * DESCRIPTION
 *   Step n brings a database from user_version n-1 to n; a step that has been
 *   released is never edited, and a new one comes with a new version of the package
 *   (test/house/releases.test.ts says which brought which). Ids are text and rise with time, so every insert
 *   lands at the right edge of its tree: random keys cost four times as much at
 *   ten million rows. Names that repeat in every row (workspace, pool) are small integers.
 *   Bodies are apart, in a rowid table, which holds large values best.
 * NOTES
 *   A recipient is due (due_at, no boot), leased (boot) or at rest (neither).
 *   Both states have a partial index, so their cost follows the queue and not
 *   the history. `due_at` of a scheduled recipient is its appointed time.
 */
import { hardCountsStep, INCIDENTS_STEP } from '../../sql/bounces.js'
import { FACTORS_STEP } from '../../sql/identity.js'
import { JOBS_STEP } from '../../sql/jobs.js'
import { after, ordAt } from '../../sql/pages.js'
import { SANDBOX_STEP } from '../../sql/reading.js'
import { SETUP_STEP } from '../../sql/setup.js'
import { DOMAIN_REPORTS_STEP, RETURN_PATH_STEP, WARMUP_STEP } from '../../sql/tenants.js'
import { FORMATS_STEP, HOOKS_STEP } from '../../sql/webhooks.js'
import type { Db } from '../connect.js'
import { SEARCH_PARTS_STEP } from '../search.js'
import { CHANGES_STEP, RULES_STEP } from '../thread/changes.js'
import { REST_STEP } from '../write/context.js'
import { REPORTS_STEP } from '../write/events.js'
import {
  AUDIT_STEP,
  DOMAINS_STEP,
  HOLDS_STEP,
  IDENTITY_STEP,
  KEEPING_STEP,
  LINE_ENDINGS_STEP,
  LISTS,
  LOG_STEP,
  LOTS_STEP,
  MESSAGE_IDS_STEP,
  OPERATIONS,
  OWN_POOLS_STEP,
  PEPPER_STEP,
  QUEUE_ORDERS_STEP,
  RARE_STEP,
  RECIPIENTS_STEP,
  REQUIRE_TLS_STEP,
  ROUTES_STEP,
  SEARCH_AGAIN_STEP,
  SEARCH_STEP,
  SENDER_DSNS_STEP,
  SHORT_STEP,
  SOFT_BOUNCES_STEP,
  STATISTICS_STEP,
  SUBMITTERS_STEP,
  SUSPENDED_STEP,
  WATCH_STEP,
} from './earlier.js'

// Every row gets its place, also those that are there already. Until here lists went by id, so rows that are carried
// over are placed in the order of their ids, near the time of their `created_at`. `emails` is keyed by the place from
// now on and `events` by email and place; a recipient and a tag have the place of their email. `order_state.carried`
// is the last place given here: a cursor from before holds an id, which is looked up among the rows up to it.
// `carried_bodies` says where bodies from before stand; later ones are numbered by their place. Rows are written anew
// in the order of their old key, so no step sorts. Bodies are not touched.

const DAY = 86_400_000
const MAIL_IN_ORDER = `
CREATE TABLE order_state (last INTEGER NOT NULL, carried INTEGER NOT NULL);

CREATE TABLE emails_placed (
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
  body INTEGER NOT NULL,
  size INTEGER NOT NULL,
  source TEXT NOT NULL,
  utf8 INTEGER NOT NULL,
  require_tls INTEGER NOT NULL DEFAULT 0,
  envid TEXT,
  ret TEXT,
  message_id TEXT NOT NULL,
  sender TEXT NOT NULL,
  mail_from TEXT,
  subject TEXT NOT NULL,
  lists TEXT NOT NULL -- JSON: to, cc, bcc, replyTo, tags, attachments
);
INSERT INTO emails_placed (ord, id, workspace, test, status, total, scheduled, queued, sent, deferred, delivered, bounced,
    canceled, created_at, updated_at, scheduled_at, pool, body, size, source, utf8, require_tls, envid, ret, message_id,
    sender, mail_from, subject, lists)
  SELECT place('emails', created_at), id, workspace, test, status, total, scheduled, queued, sent, deferred, delivered, bounced,
    canceled, created_at, updated_at, scheduled_at, pool, body, size, source, utf8, require_tls, envid, ret, message_id,
    sender, mail_from, subject, lists FROM emails ORDER BY id;
DROP TABLE emails;
ALTER TABLE emails_placed RENAME TO emails;
-- each ends with the place, as every index of this table does
CREATE INDEX emails_workspace ON emails (workspace, test);
CREATE INDEX emails_status ON emails (workspace, test, status);
CREATE INDEX emails_message ON emails (message_id) WHERE source = 'smtp'; -- an API mail's Message-ID holds its id

CREATE TABLE tags_placed (
  workspace INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, email_ord INTEGER NOT NULL,
  PRIMARY KEY (workspace, name, value, email_ord)
) WITHOUT ROWID;
INSERT INTO tags_placed SELECT t.workspace, t.name, t.value, e.ord FROM tags t CROSS JOIN emails e ON e.id = t.email_id;
DROP TABLE tags;
ALTER TABLE tags_placed RENAME TO tags;

CREATE TABLE recipients_placed (
  id TEXT PRIMARY KEY,
  email_id TEXT NOT NULL,
  email_ord INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  due_at INTEGER,
  boot INTEGER,
  lease_until INTEGER,
  lease_gen INTEGER NOT NULL DEFAULT 0,
  attempting INTEGER, -- the journal of G2: this attempt may reach the final dot
  attempt_upstream TEXT,
  attempt_at INTEGER,
  deadline INTEGER,
  held TEXT, -- id of a hold, or 'ambiguous'
  held_due INTEGER,
  address TEXT NOT NULL,
  address_lc TEXT NOT NULL,
  notify TEXT,
  orcpt TEXT,
  last_response TEXT,
  reason TEXT
) WITHOUT ROWID;
INSERT INTO recipients_placed (id, email_id, email_ord, workspace, pool, kind, status, attempts, updated_at, queued_at, due_at,
    boot, lease_until, lease_gen, attempting, attempt_upstream, attempt_at, deadline, held, held_due, address, address_lc,
    notify, orcpt, last_response, reason)
  SELECT r.id, r.email_id, e.ord, r.workspace, r.pool, r.kind, r.status, r.attempts, r.updated_at, r.queued_at, r.due_at,
    r.boot, r.lease_until, r.lease_gen, r.attempting, r.attempt_upstream, r.attempt_at, r.deadline, r.held, r.held_due,
    r.address, r.address_lc, r.notify, r.orcpt, r.last_response, r.reason
  FROM recipients r CROSS JOIN emails e ON e.id = r.email_id ORDER BY r.id;
DROP TABLE recipients;
ALTER TABLE recipients_placed RENAME TO recipients;
CREATE INDEX recipients_email ON recipients (email_id);
CREATE INDEX recipients_address ON recipients (workspace, address_lc, email_ord);
CREATE INDEX recipients_due ON recipients (pool, workspace, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX recipients_leased ON recipients (boot) WHERE boot IS NOT NULL;
CREATE INDEX recipients_deadline ON recipients (deadline) WHERE deadline IS NOT NULL;
CREATE INDEX recipients_held ON recipients (held) WHERE held IS NOT NULL;

CREATE TABLE events_placed (
  email_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  recipient_id TEXT,
  source TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  attempt INTEGER,
  applied INTEGER NOT NULL,
  reason TEXT,
  dedupe TEXT,
  more TEXT, -- JSON: reply, mta, detail
  PRIMARY KEY (email_id, ord)
) WITHOUT ROWID;
INSERT INTO events_placed (email_id, ord, id, type, recipient_id, source, occurred_at, created_at, attempt, applied, reason, dedupe, more)
  SELECT email_id, place(email_id, created_at), id, type, recipient_id, source, occurred_at, created_at, attempt, applied,
    reason, dedupe, more FROM events ORDER BY email_id, id;

CREATE TABLE owed_placed (
  email_id TEXT NOT NULL,
  action TEXT NOT NULL,
  recipient_id TEXT NOT NULL,
  event_ord INTEGER NOT NULL, -- what happened
  at INTEGER NOT NULL,
  PRIMARY KEY (email_id, action, recipient_id)
) WITHOUT ROWID;
INSERT INTO owed_placed SELECT o.email_id, o.action, o.recipient_id, v.ord, o.at
  FROM owed_dsns o CROSS JOIN events_placed v ON v.email_id = o.email_id AND v.id = o.event_id;
DROP TABLE owed_dsns;
ALTER TABLE owed_placed RENAME TO owed_dsns;

DROP TABLE events;
ALTER TABLE events_placed RENAME TO events;
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;

DROP TABLE skew;
-- How far the time of a place and created_at part, by the day of the place (order/days.ts).
CREATE TABLE email_days (day INTEGER PRIMARY KEY, behind INTEGER NOT NULL, ahead INTEGER NOT NULL);
INSERT INTO email_days SELECT ord / (4096 * ${DAY}), max(0, max(ord / 4096 + ${Date.UTC(2020, 0, 1)} - created_at)),
    max(0, max(created_at - ord / 4096 - ${Date.UTC(2020, 0, 1)}))
  FROM emails GROUP BY 1;

CREATE TABLE carried_bodies (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, created_from INTEGER NOT NULL);
INSERT INTO carried_bodies SELECT min(n), max(n), created_at / ${DAY} * ${DAY} FROM bodies GROUP BY created_at / ${DAY};
`

/** The tables of who is who, and the index through which each is listed. */
const PLACED: readonly (readonly [table: string, index: string])[] = [
  ['accounts', ''],
  ['workspaces', 'CREATE INDEX workspaces_account ON workspaces (account_id, ord);'],
  ['pools', 'CREATE INDEX pools_account ON pools (account_id, ord) WHERE deleted_at IS NULL;'],
  ['keys', 'DROP INDEX keys_account; CREATE INDEX keys_account ON keys (account_id, ord);'],
  [
    'credentials',
    'DROP INDEX credentials_account; CREATE INDEX credentials_account ON credentials (account_id, ord);',
  ],
  ['users', ''],
  ['sessions', ''],
  [
    'suppressions',
    'DROP INDEX suppressions_workspace; CREATE INDEX suppressions_workspace ON suppressions (workspace_id, ord);',
  ],
  ['domains', 'DROP INDEX domains_account; CREATE INDEX domains_account ON domains (account_id, ord);'],
  ['holds', 'CREATE INDEX holds_order ON holds (ord);'],
  ['lots', ''],
]

const placeTenants = (table: string, index: string): string => `
CREATE TEMP TABLE placed (id TEXT PRIMARY KEY, ord INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO placed SELECT id, place('${table}', created_at) FROM ${table} ORDER BY id;
ALTER TABLE ${table} ADD COLUMN ord INTEGER NOT NULL DEFAULT 0;
UPDATE ${table} SET ord = (SELECT p.ord FROM placed p WHERE p.id = ${table}.id);
DROP TABLE placed;
${index}
`

/** Places that rise within each group of rows. */
const createPlace = () => {
  let group: unknown = null
  let last = 0
  let highest = 0
  return {
    place: (of: unknown, createdAt: unknown): number => {
      if (of !== group) last = 0
      group = of
      last = after(last, Number(createdAt))
      highest = Math.max(highest, last)
      return last
    },
    highest: () => highest,
  }
}

const ORDER_STEP = (db: Db, now: number): void => {
  const { place, highest } = createPlace()
  db.function('place', { deterministic: false }, place)
  db.exec(MAIL_IN_ORDER)
  for (const [table, index] of PLACED) db.exec(placeTenants(table, index))
  const last = highest() === 0 ? ordAt(now) : highest()
  db.prepare('INSERT INTO order_state VALUES (?, ?)').run(last, highest())
}

const TENANTS = `
CREATE TABLE accounts (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL
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
  upstreams TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER -- kept as a name for old mail
);
CREATE UNIQUE INDEX pools_name ON pools (account_id, name) WHERE deleted_at IS NULL;

CREATE TABLE workspaces (
  n INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  slug TEXT NOT NULL,
  is_default INTEGER NOT NULL,
  pool_id TEXT REFERENCES pools (id),
  default_from TEXT,
  ambiguous TEXT NOT NULL,
  line_endings TEXT NOT NULL,
  sender_dsn INTEGER NOT NULL,
  restrict_senders INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (account_id, slug)
);

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  name TEXT NOT NULL,
  mode TEXT NOT NULL,
  scope TEXT NOT NULL,
  workspace_id TEXT REFERENCES workspaces (id),
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at INTEGER,
  rate_limit_per_minute INTEGER
) WITHOUT ROWID;
CREATE INDEX keys_account ON keys (account_id, id);

CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  mode TEXT NOT NULL,
  username TEXT,
  hash TEXT,
  cidr TEXT,
  imported INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) WITHOUT ROWID;
CREATE INDEX credentials_account ON credentials (account_id, id);
CREATE UNIQUE INDEX credentials_username ON credentials (username, workspace_id) WHERE username IS NOT NULL;
CREATE UNIQUE INDEX credentials_range ON credentials (cidr, workspace_id) WHERE cidr IS NOT NULL;

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  email TEXT NOT NULL UNIQUE,
  name TEXT,
  hash TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  user_id TEXT REFERENCES users (id),
  lookup TEXT NOT NULL UNIQUE,
  hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE suppressions (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL REFERENCES workspaces (id),
  email TEXT NOT NULL,
  origin TEXT NOT NULL,
  source_id TEXT,
  reason TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
CREATE INDEX suppressions_workspace ON suppressions (workspace_id, id);

CREATE TABLE rate_windows (
  bucket TEXT NOT NULL, span INTEGER NOT NULL, used INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (bucket, span)
) WITHOUT ROWID;

CREATE TABLE idempotency (
  n INTEGER PRIMARY KEY,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  token TEXT NOT NULL,
  locked_until INTEGER NOT NULL,
  completed_at INTEGER,
  status INTEGER,
  body TEXT,
  UNIQUE (workspace, test, key)
);
`

const MAIL = `
CREATE TABLE bodies (
  n INTEGER PRIMARY KEY, email_id TEXT NOT NULL, created_at INTEGER NOT NULL, content TEXT, raw BLOB NOT NULL
);

-- How far the time in an email's id was ever ahead of its created_at, and behind.
CREATE TABLE skew (ahead INTEGER NOT NULL, behind INTEGER NOT NULL);
INSERT INTO skew VALUES (0, 0);

CREATE TABLE emails (
  id TEXT PRIMARY KEY,
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
  body INTEGER NOT NULL,
  size INTEGER NOT NULL,
  source TEXT NOT NULL,
  utf8 INTEGER NOT NULL,
  envid TEXT,
  ret TEXT,
  message_id TEXT NOT NULL,
  sender TEXT NOT NULL,
  subject TEXT NOT NULL,
  lists TEXT NOT NULL -- JSON: to, cc, bcc, replyTo, tags, attachments
) WITHOUT ROWID;
CREATE INDEX emails_workspace ON emails (workspace, test, id);
CREATE INDEX emails_status ON emails (workspace, test, status, id);
CREATE INDEX emails_message ON emails (message_id) WHERE source = 'smtp'; -- an API mail's Message-ID holds its id

CREATE TABLE tags (
  workspace INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, email_id TEXT NOT NULL,
  PRIMARY KEY (workspace, name, value, email_id)
) WITHOUT ROWID;

CREATE TABLE recipients (
  id TEXT PRIMARY KEY,
  email_id TEXT NOT NULL,
  workspace INTEGER NOT NULL,
  pool INTEGER NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  due_at INTEGER,
  boot INTEGER,
  lease_until INTEGER,
  lease_gen INTEGER NOT NULL DEFAULT 0,
  attempting INTEGER, -- the journal of G2: this attempt may reach the final dot
  attempt_upstream TEXT,
  attempt_at INTEGER,
  deadline INTEGER,
  address TEXT NOT NULL,
  address_lc TEXT NOT NULL,
  notify TEXT,
  orcpt TEXT,
  last_response TEXT,
  reason TEXT
) WITHOUT ROWID;
CREATE INDEX recipients_email ON recipients (email_id);
CREATE INDEX recipients_address ON recipients (workspace, address_lc, email_id);
CREATE INDEX recipients_due ON recipients (pool, workspace, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX recipients_leased ON recipients (boot) WHERE boot IS NOT NULL;
CREATE INDEX recipients_deadline ON recipients (deadline) WHERE deadline IS NOT NULL;

CREATE TABLE events (
  email_id TEXT NOT NULL,
  id TEXT NOT NULL,
  type TEXT NOT NULL,
  recipient_id TEXT,
  source TEXT NOT NULL,
  occurred_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  attempt INTEGER,
  applied INTEGER NOT NULL,
  reason TEXT,
  dedupe TEXT,
  more TEXT, -- JSON: reply, mta, detail
  PRIMARY KEY (email_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;
`

/** Of one certificate there is one credential, wherever it is: which workspace it means must be plain. */
const CLIENT_CERTIFICATES_STEP = `
ALTER TABLE credentials ADD COLUMN certificate_fingerprint TEXT;
CREATE UNIQUE INDEX credentials_certificate ON credentials (certificate_fingerprint)
  WHERE certificate_fingerprint IS NOT NULL;
`

const LAST_USED_FROM_STEP = `
ALTER TABLE keys ADD COLUMN last_used_from TEXT;
ALTER TABLE credentials ADD COLUMN last_used_from TEXT;
`

const KEYS_AND_JOBS_STEP = `
ALTER TABLE keys ADD COLUMN permission TEXT NOT NULL DEFAULT 'full_access';
ALTER TABLE jobs ADD COLUMN created_by_name TEXT;
`

const SES_STEP = 'ALTER TABLE keys ADD COLUMN ses_salt BLOB'

/** SQL text, or what does more than SQL can. */
type Step = string | ((db: Db, now: number) => void)

export const runStep = (db: Db, step: Step, now: number): void => {
  if (typeof step === 'string') db.exec(step)
  else step(db, now)
}

/** Position i holds the step to version i + 1. */
export const STEPS: readonly Step[] = [
  TENANTS + MAIL,
  OPERATIONS,
  LISTS,
  DOMAINS_STEP,
  PEPPER_STEP,
  SENDER_DSNS_STEP,
  KEEPING_STEP,
  REQUIRE_TLS_STEP,
  LOTS_STEP,
  OWN_POOLS_STEP,
  ORDER_STEP,
  SUSPENDED_STEP,
  LOG_STEP,
  HOOKS_STEP,
  STATISTICS_STEP,
  WATCH_STEP,
  MESSAGE_IDS_STEP,
  HOLDS_STEP,
  RARE_STEP,
  IDENTITY_STEP,
  SEARCH_STEP,
  AUDIT_STEP,
  JOBS_STEP,
  SEARCH_AGAIN_STEP,
  LINE_ENDINGS_STEP,
  INCIDENTS_STEP,
  REPORTS_STEP,
  CLIENT_CERTIFICATES_STEP,
  SOFT_BOUNCES_STEP,
  REST_STEP,
  ROUTES_STEP,
  CHANGES_STEP,
  QUEUE_ORDERS_STEP,
  SHORT_STEP,
  LAST_USED_FROM_STEP,
  RECIPIENTS_STEP,
  SEARCH_PARTS_STEP,
  SUBMITTERS_STEP,
  RETURN_PATH_STEP,
  hardCountsStep("strftime('%s', 'now')"),
  KEYS_AND_JOBS_STEP,
  SANDBOX_STEP,
  FACTORS_STEP,
  RULES_STEP,
  SETUP_STEP,
  SES_STEP,
  FORMATS_STEP,
  WARMUP_STEP,
  DOMAIN_REPORTS_STEP,
]
