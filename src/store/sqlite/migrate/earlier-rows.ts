/**
 * NAME      earlier-rows - SQL of earlier steps that changes rows or adds columns
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
import { SUPPRESSION } from '../../sql/bounces.js'
import { carriedType, createChanges } from '../../sql/log/carried.js'
import { flagsOf, kindOf, type More, NOTHING, type Numbers, packMore } from '../../sql/log/codec.js'
import type { Db } from '../connect.js'

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
