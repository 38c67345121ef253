/**
 * NAME      apply - what was decided, in one statement
 * DESCRIPTION
 *   What was read is its condition: where a recipient is not any more as it was read, the statement fails as a whole
 *   (a division by zero), as it does when somebody else has told the same (the key of an event), and it is all
 *   read and decided again. Mails may have moved meanwhile by other recipients: their counts are added to, and their
 *   status follows from the counts that they have then. Mails of several recipients are locked first, in the order of
 *   their places.
 *   A key is compared with an array of one, so that no plan can be to read a table from end to end beside what is given:
 *   the queue is nearly empty when its rows are counted, and a plan is kept by which that costs nothing.
 */
import { MAX_REPORTS } from '../../../lifecycle/facts.js'
import { toldKey } from '../../../lifecycle/pending-dsn.js'
import { STATUSES, type Status, WEIGHTIEST_FIRST } from '../../../mail/status.js'
import { flagsOf, kindOf, type Numbers, packMore } from '../../sql/log/codec.js'
import type { Query } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import type { Decided, DecidedEvent, DecidedMail, DecidedRecipient } from './decide.js'

/** The status of a mail whose counts these are. */
export const aggregateOf = (count: (status: Status) => string): string =>
  `CASE ${WEIGHTIEST_FIRST.map((status) => `WHEN ${count(status)} > 0 THEN '${status}'`).join(' ')} ELSE 'queued' END`

const sumOf = (status: Status): string => `e.${status} + coalesce(m.${status}, 0)`

const AS_READ = `q.recipient_id = ANY (ARRAY[g.id]) AND q.gen = g.was_gen AND q.boot IS NOT DISTINCT FROM g.was_boot
  AND q.due_at IS NOT DISTINCT FROM g.was_due AND q.attempting IS NOT DISTINCT FROM g.was_attempting
  AND q.held IS NOT DISTINCT FROM g.was_held`

/** What follows `fence`. */
const APPLY = `
mails AS MATERIALIZED (
  SELECT m.* FROM fence, json_to_recordset(CAST(? AS JSON)) AS m (ord bigint, shared int, at bigint,
    ${STATUSES.map((status) => `${status} int`).join(', ')})),
locked AS MATERIALIZED (
  SELECT e.ord FROM emails e WHERE e.ord IN (SELECT ord FROM mails WHERE shared = 1) ORDER BY e.ord FOR NO KEY UPDATE),
people AS MATERIALIZED (
  SELECT g.* FROM fence, (SELECT count(*) AS n FROM locked) l, json_to_recordset(CAST(? AS JSON)) AS g (id text, place text,
    was_status text, was_attempts int, was_deadline bigint, was_gen int, was_boot bigint, was_due bigint,
    was_attempting int, was_held text, status text, attempts int, deadline bigint, gen int, boot bigint, due_at bigint,
    attempting int, held text, held_at bigint, response text, reason text, at bigint) WHERE l.n >= 0),
gone AS (
  DELETE FROM queue q USING people g WHERE g.place = 'gone' AND ${AS_READ} RETURNING g.*, q.pool),
kept AS (
  UPDATE queue q SET gen = g.gen, due_at = g.due_at, boot = g.boot,
    lease_until = CASE WHEN g.boot IS NOT NULL THEN q.lease_until END, attempting = g.attempting,
    attempt_upstream = CASE WHEN g.attempting IS NOT NULL THEN q.attempt_upstream END, held = g.held,
    held_at = CASE WHEN g.held IS DISTINCT FROM g.was_held THEN g.held_at ELSE q.held_at END,
    held_due = CASE WHEN g.held IS NOT DISTINCT FROM g.was_held THEN q.held_due END
  FROM people g WHERE g.place = 'kept' AND ${AS_READ} RETURNING g.*, q.pool),
here AS (
  SELECT * FROM gone UNION ALL SELECT * FROM kept UNION ALL SELECT g.*, CAST(NULL AS BIGINT) FROM people g WHERE place = 'none'
    AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.recipient_id = ANY (ARRAY[g.id]))),
stored AS (
  UPDATE recipient_rows r SET status = g.status, attempts = g.attempts, deadline = g.deadline,
    last_gen = CASE g.place WHEN 'kept' THEN r.last_gen ELSE g.gen END, pool = coalesce(g.pool, r.pool),
    last_response = g.response, reason = g.reason, updated_at = coalesce(g.at, r.updated_at)
  FROM here g WHERE r.id = ANY (ARRAY[g.id]) AND r.status = g.was_status AND r.attempts = g.was_attempts
    AND r.deadline IS NOT DISTINCT FROM g.was_deadline AND (g.place <> 'none' OR r.last_gen = g.was_gen)
  RETURNING r.id),
moved AS (
  UPDATE emails e SET updated_at = m.at, ${STATUSES.map((status) => `${status} = ${sumOf(status)}`).join(', ')},
    status = ${aggregateOf(sumOf)}
  FROM mails m WHERE e.ord = ANY (ARRAY[m.ord]) RETURNING e.ord, e.status),
told AS (
  INSERT INTO events (ord, email, scope, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more)
  SELECT v.* FROM fence, json_to_recordset(CAST(? AS JSON)) AS v (ord bigint, email bigint, scope bigint, kind int, flags int,
    recipient text, occurred_at bigint, late bigint, attempt int, reason text, dedupe text, more text)),
owed AS (
  INSERT INTO owed_dsns (email_id, action, recipient_id, event_ord, at)
  SELECT o.email_id, o.action, o.recipient_id, o.event_ord, o.at
  FROM fence, json_to_recordset(CAST(? AS JSON)) AS o (email_id text, action text, recipient_id text, event_ord bigint,
    at bigint, key text)
  WHERE NOT EXISTS (SELECT 1 FROM events v WHERE v.dedupe = o.key) ON CONFLICT DO NOTHING),
reported AS (
  INSERT INTO reports (n, email, name, at, octets)
  SELECT k.n, k.email, k.name, k.at, decode(k.octets, 'base64')
  FROM fence, json_to_recordset(CAST(? AS JSON)) AS k (n bigint, email bigint, name text, at bigint, octets text, before int,
    most int)
  WHERE k.before + (SELECT count(*) FROM reports r WHERE r.email = k.email) < k.most ON CONFLICT DO NOTHING)
SELECT m.ord, m.status, 1 / CASE WHEN (SELECT count(*) FROM stored) = (SELECT count(*) FROM people)
  AND (SELECT count(*) FROM moved) = (SELECT count(*) FROM mails) THEN 1 ELSE 0 END AS whole
FROM fence LEFT JOIN moved m ON true`

/** A recipient was not any more as it was read, or the same had been told. */
export const isOutOfDate = (error: unknown): boolean => {
  const { code, constraint } = (error ?? {}) as { readonly code?: unknown; readonly constraint?: unknown }
  return code === '22012' || (code === '23505' && constraint === 'events_dedupe')
}

/** What is null, or does not move, is left out: each key of each row is read one by one. */
const given = <T>(value: T | null): T | undefined => value ?? undefined

const mailRow = ({ loaded, moved }: DecidedMail, at: number): Readonly<Record<string, number>> => {
  const row: Record<string, number> = { ord: loaded.ord, shared: loaded.total > 1 ? 1 : 0, at }
  for (const status of STATUSES) if (moved[status] !== 0) row[status] = moved[status]
  return row
}

const placeOf = ({ loaded, after }: DecidedRecipient): 'gone' | 'kept' | 'none' => {
  const waits = after.dueAt !== null || after.boot !== null || after.held !== null
  if (!loaded.isQueued) {
    if (waits) throw new Error(`recipient ${loaded.id} would come back into the queue`)
    return 'none'
  }
  return waits ? 'kept' : 'gone'
}

const personRow = (one: DecidedRecipient, now: number) => {
  const { loaded, after, writtenAt } = one
  const was = loaded.state
  return {
    id: loaded.id,
    place: placeOf(one),
    at: given(writtenAt),
    was_status: was.status,
    was_attempts: was.attempts,
    was_deadline: given(was.deadline),
    was_gen: was.leaseGen,
    was_boot: given(was.boot),
    was_due: given(was.dueAt),
    was_attempting: given(was.attempting),
    was_held: given(was.held),
    status: after.status,
    attempts: after.attempts,
    deadline: given(after.deadline),
    gen: after.leaseGen,
    boot: given(after.boot),
    due_at: given(after.dueAt),
    attempting: given(after.attempting),
    held: given(after.held),
    held_at: after.held === was.held ? undefined : (writtenAt ?? now),
    response: given(after.lastResponse),
    reason: given(after.reason),
  }
}

const eventRow = ({ draft }: DecidedEvent, ord: number, numbers: Numbers) => ({
  ord,
  email: draft.mail.ord,
  scope: draft.mail.scope,
  kind: kindOf(`email.${draft.status}`),
  flags: flagsOf(draft.source, draft.applied, draft.change),
  recipient: given(draft.recipientId),
  occurred_at: draft.occurredAt,
  late: draft.now - draft.occurredAt,
  attempt: given(draft.attempt),
  reason: given(draft.reason),
  dedupe: given(draft.dedupe),
  more: given(packMore(draft.more, numbers)),
})

const owedRow = ({ draft, owed }: DecidedEvent, ord: number) => {
  if (owed === null || draft.recipientId === null) return []
  const key = toldKey(draft.recipientId, owed.action)
  return {
    ...{ email_id: owed.emailId, action: owed.action, recipient_id: draft.recipientId },
    ...{ event_ord: ord, at: draft.occurredAt, key },
  }
}

/** A report has the place of the event that tells of it. */
const reportRows = (events: readonly DecidedEvent[], ords: readonly number[]) => {
  const before = new Map<number, number>()
  return events.flatMap(({ draft, report }, i) => {
    if (report === null) return []
    const email = draft.mail.ord
    const n = before.get(email) ?? 0
    before.set(email, n + 1)
    const octets = Buffer.from(report.octets).toString('base64')
    const most = draft.applied ? 2 * MAX_REPORTS : MAX_REPORTS
    return { n: ords[i], email, name: report.name, at: draft.now, octets, before: n, most }
  })
}

/** To follow a CTE `fence` that has one row. */
export const applyQuery = (
  { now, recipients, mails, events }: Decided,
  numbers: Numbers,
  places: Places,
): Query => {
  const ords = events.map(() => places.next())
  const rows = [
    mails.map((mail) => mailRow(mail, now)),
    recipients.map((one) => personRow(one, now)),
    events.map((event, i) => eventRow(event, ords[i] as number, numbers)),
    events.flatMap((event, i) => owedRow(event, ords[i] as number)),
    reportRows(events, ords),
  ]
  return { text: APPLY, values: rows.map((some) => JSON.stringify(some)) }
}
