/**
 * NAME      earlier - earlier steps: what they change of rows, and the tables that they make
 * DESCRIPTION
 *   Each constant is part of one step (steps.ts says of which) and is never edited. What a column means is said where
 *   it is used today; what a step did to rows that stood there is said here.
 *   Line endings: every workspace was made with `strict`, and old clients lost mail by it, so it became the tolerant
 *   mode, but for workspaces whose audit log shows that a person chose `strict`. `suppressions.workspace_id` names a
 *   list since then, not always a workspace, so it refers to no table any more. Events that stood there get the first
 *   numbers, keep their ids and belong to no scope: only the timeline of their mail shows them. A mail's own number in
 *   `search_state` lets mail of older databases be indexed by the same way as new mail.
 */
import type { EventSource } from '../../../lifecycle/facts.js'
import { DEFAULT_POOL, freshPool, numbered } from '../../pools.js'
import { SUPPRESSION } from '../../sql/bounces.js'
import { AUDIT, REST_OF_IDENTITY, SESSIONS_SCHEMA, USERS_SCHEMA } from '../../sql/identity.js'
import {
  carriedType,
  createChanges,
  flagsOf,
  kindOf,
  type More,
  NOTHING,
  type Numbers,
  packMore,
} from '../../sql/log/events.js'
import { FOREIGN_MESSAGE_ID } from '../../sql/mails.js'
import { STATISTICS, WATCH } from '../../sql/statistics.js'
import { POOLS } from '../../sql/tenants.js'
import type { Db } from '../connect.js'
import type { Giver } from '../giver.js'

export const KEEPING_STEP = `
ALTER TABLE bodies ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;
CREATE INDEX bodies_beside ON bodies (email_id) WHERE beside = 1;
CREATE TABLE made_by (version TEXT NOT NULL);
INSERT INTO made_by VALUES ('');
CREATE TABLE fence (boot INTEGER NOT NULL);
INSERT INTO fence VALUES (0);
`

export const LINE_ENDINGS_STEP = `
UPDATE workspaces SET line_endings = 'normalize' WHERE line_endings = 'strict' AND NOT EXISTS (
  SELECT 1 FROM audit a WHERE a.account_id = workspaces.account_id AND a.object_id = workspaces.id
    AND a.detail ->> '$.line_endings.after' = 'strict');
`

export const LISTS = `
CREATE TABLE suppressions_of_lists (${SUPPRESSION}
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
INSERT INTO suppressions_of_lists (id, account_id, workspace_id, email, origin, source_id, reason, expires_at, created_at)
  SELECT id, account_id, workspace_id, email, origin, source_id, reason, expires_at, created_at FROM suppressions;
DROP TABLE suppressions;
ALTER TABLE suppressions_of_lists RENAME TO suppressions;
CREATE INDEX suppressions_workspace ON suppressions (workspace_id, id);
`

export const PEPPER_STEP = `
CREATE TABLE pepper (mark TEXT NOT NULL);
`

export const REQUIRE_TLS_STEP = `
ALTER TABLE emails ADD COLUMN require_tls INTEGER NOT NULL DEFAULT 0;
`

export const SENDER_DSNS_STEP = `
ALTER TABLE emails ADD COLUMN mail_from TEXT;
CREATE TABLE owed_dsns (
  email_id TEXT NOT NULL,
  action TEXT NOT NULL,
  recipient_id TEXT NOT NULL,
  event_id TEXT NOT NULL, -- what happened
  at INTEGER NOT NULL,
  PRIMARY KEY (email_id, action, recipient_id)
) WITHOUT ROWID;
`

export const SEARCH_STEP = `
CREATE VIRTUAL TABLE search USING fts5(
  tokens, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@.-_+:='"
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE TABLE search_state (place INTEGER NOT NULL);
INSERT INTO search_state VALUES (0);
CREATE TABLE search_spans (first INTEGER PRIMARY KEY, mails INTEGER NOT NULL);
-- few recipients have either, so neither is touched where mail is accepted
CREATE INDEX recipients_held_mail ON recipients (workspace, email_ord) WHERE held IS NOT NULL;
CREATE INDEX recipients_reason ON recipients (workspace, reason, email_ord) WHERE reason IS NOT NULL;
`

/** Where the tokens of a mail have changed: the index is built anew. */
export const SEARCH_AGAIN_STEP = `
INSERT INTO search (search) VALUES ('delete-all');
UPDATE search_state SET place = 0;
DELETE FROM search_spans;
`

export const QUEUE_ORDERS_STEP = `
CREATE TABLE queue_orders (
  n INTEGER PRIMARY KEY,
  given INTEGER NOT NULL,
  workspace_id TEXT,
  task TEXT NOT NULL -- JSON: an order, or a hold
);
`

export const SUSPENDED_STEP = `
ALTER TABLE workspaces ADD COLUMN suspended_at INTEGER;
ALTER TABLE workspaces ADD COLUMN suspended_reason TEXT;
ALTER TABLE workspaces ADD COLUMN deleted_at INTEGER;
CREATE INDEX workspaces_suspended ON workspaces (suspended_at) WHERE suspended_at IS NOT NULL;
CREATE TABLE resumes (
  workspace_id TEXT PRIMARY KEY,
  suspended_at INTEGER NOT NULL,
  resumed_at INTEGER NOT NULL
) WITHOUT ROWID;
`

export const MESSAGE_IDS_STEP = `
DROP INDEX emails_message;
CREATE INDEX emails_message ON emails (message_id) WHERE substr(message_id, 2, 29) <> id;
`

const BEFORE = `
ALTER TABLE recipients ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
DROP INDEX recipients_email;
CREATE INDEX recipients_email ON recipients (email_id, first); -- in the order of their first events

CREATE TABLE mtas (
  n INTEGER PRIMARY KEY, pool_id TEXT NOT NULL, upstream_id TEXT NOT NULL, host TEXT
);
CREATE INDEX mtas_upstream ON mtas (upstream_id);

CREATE TABLE log_state (since INTEGER NOT NULL, floor INTEGER NOT NULL);
INSERT INTO log_state SELECT last + 1, last + 1 FROM order_state;

CREATE TABLE events_log (
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
`

const AFTER = `
UPDATE owed_dsns SET event_ord = place_of(email_id, event_ord);
DROP TABLE events;
ALTER TABLE events_log RENAME TO events;
CREATE INDEX events_email ON events (email);
CREATE INDEX events_scope ON events (scope, kind) WHERE scope IS NOT NULL;
CREATE UNIQUE INDEX events_dedupe ON events (dedupe) WHERE dedupe IS NOT NULL;
`

const COPY = `
INSERT INTO events_log (ord, email, scope, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more, id)
  SELECT next_place(v.email_id, v.ord), e.ord, NULL, kind_of(v.type, v.more), flags_of(v.email_id, v.recipient_id, v.type, v.more, v.source, v.applied), v.recipient_id,
    v.occurred_at, v.created_at - v.occurred_at, v.attempt, v.reason, v.dedupe, packed(v.more), v.id
  FROM events v CROSS JOIN emails e ON e.id = v.email_id
  ORDER BY v.email_id, v.ord -- their old key, so nothing is sorted
`

/** Notes and appointments are few among very many: a page of them reads no others. */
export const RARE_STEP = `
CREATE INDEX events_notes ON events (scope, kind) WHERE scope IS NOT NULL AND flags & 2 = 0;
CREATE INDEX emails_scheduled ON emails (workspace, test) WHERE scheduled_at IS NOT NULL;
`

/** Three functions ask for the same text, one after the other: it is read once. */
const createReadMore = (): ((text: unknown) => More) => {
  let last: unknown = null
  let more = NOTHING
  return (text) => {
    if (text === last) return more
    last = text
    more = typeof text === 'string' ? { ...NOTHING, ...(JSON.parse(text) as More) } : NOTHING
    return more
  }
}

/** Numbers events from 1 on, and keeps the numbers of those of which reports are owed. */
const createPlaces = (db: Db) => {
  const key = (emailId: unknown, ord: unknown): string => `${emailId} ${ord}`
  const owed = db.prepare<[], { email_id: string; event_ord: number }>(
    'SELECT email_id, event_ord FROM owed_dsns',
  )
  const places = new Map(owed.all().map(({ email_id, event_ord }) => [key(email_id, event_ord), 0]))
  let n = 0
  return {
    next: (emailId: unknown, ord: unknown): number => {
      n += 1
      if (places.size > 0 && places.has(key(emailId, ord))) places.set(key(emailId, ord), n)
      return n
    },
    of: (emailId: unknown, ord: unknown): number => places.get(key(emailId, ord)) ?? 0,
  }
}

export const LOG_STEP = (db: Db): void => {
  const changes = createChanges()
  const places = createPlaces(db)
  const readMore = createReadMore()
  const numbers = new Map<string, number>()
  const servers: [string, string, string | null][] = []
  const mta: Numbers['mta'] = ({ poolId, upstreamId, host }) => {
    if (upstreamId === null) return 0
    const key = `${poolId} ${upstreamId} ${host}`
    const known = numbers.get(key) ?? servers.push([poolId, upstreamId, host])
    numbers.set(key, known)
    return known
  }
  db.exec(BEFORE)
  db.function('next_place', places.next)
  db.function('place_of', places.of)
  // a function of SQL may not write, so servers are stored at the end
  db.function('kind_of', (type: unknown, more: unknown) =>
    kindOf(carriedType(String(type), readMore(more).detail)),
  )
  db.function(
    'flags_of',
    { varargs: true },
    (...[email, recipient, type, more, source, applied]: unknown[]) => {
      const now = carriedType(String(type), readMore(more).detail)
      const change = changes(String(email), String(recipient), now, applied === 1)
      return flagsOf(source as EventSource, applied === 1, change)
    },
  )
  db.function('packed', (more: unknown) => packMore(readMore(more), { mta, detail: () => 0 }))
  db.exec(COPY)
  const add = db.prepare('INSERT INTO mtas (n, pool_id, upstream_id, host) VALUES (?, ?, ?, ?)')
  for (const [i, server] of servers.entries()) add.run(i + 1, ...server)
  db.exec(AFTER)
}

// SQL of earlier steps that makes tables. Each constant is part of one step (steps.ts says of which) and is never
// edited. People who were there before roles became owners. What Postern 0.1 had exported without a lot became one
// lot.

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

// Every workspace gets an egress pool of its own. Workspaces without one shared the pool `default`. The default
// workspace keeps that pool; each other gets one named after its slug, and what waits in `default` for it moves
// along: the rows of the queue, and the mails' own note of their pool.

/** Whose pool is the account's default one is asked for each pool that is read. */
export const OWN_POOLS_STEP = `
CREATE INDEX workspaces_default ON workspaces (account_id, pool_id) WHERE is_default = 1;
CREATE INDEX workspaces_pool ON workspaces (pool_id);
`

interface Poolless {
  readonly n: number
  readonly id: string
  readonly account_id: string
  readonly slug: string
  readonly is_default: number
}

const WAITS = '(due_at IS NOT NULL OR boot IS NOT NULL OR held IS NOT NULL)'

const prepare = (db: Db) => ({
  poolless: db.prepare<[], Poolless>(
    'SELECT n, id, account_id, slug, is_default FROM workspaces WHERE pool_id IS NULL',
  ),
  pool: db.prepare<[string, string], { n: number; id: string }>(
    'SELECT n, id FROM pools WHERE account_id = ? AND name = ? AND deleted_at IS NULL',
  ),
  add: db.prepare(POOLS.insert),
  give: db.prepare('UPDATE workspaces SET pool_id = ? WHERE n = ?'),
  mails: db.prepare(
    `UPDATE emails SET pool = ? WHERE pool = ? AND ord IN
       (SELECT email_ord FROM recipients WHERE pool = ? AND workspace = ? AND ${WAITS})`,
  ),
  recipients: db.prepare(`UPDATE recipients SET pool = ? WHERE pool = ? AND workspace = ? AND ${WAITS}`),
})

/** Pools for domains of recipients, as JSON. */
export const ROUTES_STEP = `
ALTER TABLE workspaces ADD COLUMN routes TEXT NOT NULL DEFAULT '[]';
`

/** Gives a pool to each workspace that has none. */
export const giveOwnPools = (db: Db, giver: Giver, now: number): void => {
  const sql = prepare(db)
  const made = (accountId: string, name: string): { n: number; id: string } => {
    sql.add.run(...POOLS.encode(freshPool(accountId, name, now)), giver.next())
    return sql.pool.get(accountId, name) as { n: number; id: string }
  }
  const free = (accountId: string, slug: string): string => {
    for (let n = 1; ; n++) {
      const name = numbered(slug, n)
      if (sql.pool.get(accountId, name) === undefined) return name
    }
  }
  for (const { n, account_id, slug, is_default } of sql.poolless.all()) {
    const shared = sql.pool.get(account_id, DEFAULT_POOL) ?? made(account_id, DEFAULT_POOL)
    const own = is_default === 1 ? shared : made(account_id, free(account_id, slug))
    sql.give.run(own.id, n)
    if (own.n === shared.n) continue
    sql.mails.run(own.n, shared.n, shared.n, n)
    sql.recipients.run(own.n, shared.n, n)
  }
}
