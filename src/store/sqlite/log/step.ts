/**
 * NAME      step - events become a log
 * DESCRIPTION
 *   Events are keyed by their place from here on, and stored as codec.ts has them.
 *   Those that are there already are history: they get the first numbers, below
 *   every place, keep their ids, and belong to no scope, so that only the timeline
 *   of their mail shows them. What an operator's order did has a type of its own now.
 *   `first` of a recipient is its number in its mail, when its first event is made
 *   of its row, and 0 when that event is stored. `log_state.since` is where the log
 *   begins, `floor` how far back it can be followed.
 */

import type { EventSource } from '../../../lifecycle/facts.js'
import { carriedType, createChanges } from '../../sql/log/carried.js'
import { flagsOf, kindOf, type More, NOTHING, type Numbers, packMore } from '../../sql/log/codec.js'
import type { Db } from '../connect.js'

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
