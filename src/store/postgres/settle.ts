/**
 * NAME      settle - outcomes of many recipients, decided here and written by one statement
 *   Outcomes that came while the writer was busy go together: one read of the rows that their claim did not bring,
 *   lifecycle/settle.ts decides one after another in their order, and one fenced statement writes all of it or
 *   nothing. No lock is held while it is decided.
 *   What was read is the condition of the statement: when a recipient has changed since, or another daemon has written
 *   the same event, the statement fails as a whole (a division by zero), and all is read and decided again. Mails are
 *   locked in the order of their places; counts are added to, and the status follows from the counts.
 *   A key is compared with an array of one: no plan can then read a whole table beside the keys. The queue is nearly
 *   empty when PostgreSQL counts its rows, and a plan made then would be kept.
 */

import { systemClock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { type KeptReport, MAX_REPORTS, type Outcome, type Settled } from '../../lifecycle/facts.js'
import { dsnActionOf, isTold, toldKey } from '../../lifecycle/pending-dsn.js'
import type { RecipientState } from '../../lifecycle/recipient.js'
import { factKey, type SettleChanges, settle, settledOf } from '../../lifecycle/settle.js'
import type { Action } from '../../mail/report/report.js'
import { type Counts, emptyCounts, STATUSES, type Status, WEIGHTIEST_FIRST } from '../../mail/status.js'
import type { SoftBounced } from '../sql/bounces.js'
import {
  type EventDraft,
  flagsOf,
  kindOf,
  type MailPlace,
  type Numbers,
  outcomeEvent,
  packMore,
} from '../sql/log/events.js'
import { type Asking, all, type Row, type SqlQuery } from '../sql/query.js'
import type { Places } from '../sql/table.js'
import { type KnownNumbers, numbersFor } from './events.js'
import {
  type Leased,
  type Loaded,
  type LoadedMail,
  type LoadedRecipient,
  load,
  lock,
  placeOf,
} from './leased.js'
import type { Effects } from './notify.js'
import { gather, persistently } from './run.js'
import type { PostgresWriter } from './writer.js'

export interface DecidedRecipient {
  readonly loaded: LoadedRecipient
  after: RecipientState
  /** The time of its row; null leaves it. */
  writtenAt: number | null
}

interface DecidedMail {
  readonly loaded: LoadedMail
  status: Status
  readonly counts: Counts
  /** How many more recipients it has in each status. */
  readonly moved: Counts
  hasMoved: boolean
}

export interface DecidedEvent {
  readonly draft: EventDraft & { readonly mail: MailPlace }
  readonly report: KeptReport | null
  /** What the sender is to hear. */
  readonly owed: { readonly emailId: string; readonly action: Action } | null
}

/** A recipient of live mail has bounced, and its workspace counts that. */
interface Bounce {
  readonly outcome: Outcome
  readonly of: LoadedRecipient
}

interface Decided {
  readonly now: number
  /** Null for a recipient that nobody knows. */
  readonly answers: readonly (Settled | null)[]
  /** Those that something was seen of. */
  readonly recipients: readonly DecidedRecipient[]
  readonly mails: readonly DecidedMail[]
  readonly events: readonly DecidedEvent[]
  readonly bounces: readonly Bounce[]
}

/** The keys by which it may be known that these outcomes of a recipient were settled before. */
const keysOf = (outcomes: readonly Outcome[]) => {
  const byId = new Map<string, Outcome[]>()
  for (const outcome of outcomes) {
    const those = byId.get(outcome.recipientId)
    if (those === undefined) byId.set(outcome.recipientId, [outcome])
    else those.push(outcome)
  }
  return (id: string, state: RecipientState): readonly string[] => {
    const those = byId.get(id) ?? []
    // what comes first may end the lease of what follows
    const gone = { ...state, leaseGen: state.leaseGen + 1 }
    const keys = those.flatMap((one) => [factKey(one, state), those.length > 1 ? factKey(one, gone) : null])
    return keys.filter((key) => key !== null)
  }
}

const answerOf = ({ id, address, mail }: LoadedRecipient, changes: SettleChanges): Settled => {
  const { id: emailId, workspaceId, mode } = mail
  return settledOf({ recipientId: id, emailId, workspaceId, mode, address }, changes)
}

const owedOf = (outcome: Outcome, { mail, notify, queuedAt }: LoadedRecipient): DecidedEvent['owed'] => {
  const action = dsnActionOf(outcome)
  if (action === null) return null
  const { id, mailFrom, senderDsn } = mail
  return isTold(action, outcome, { mailFrom, notify, queuedAt, senderDsn }) ? { emailId: id, action } : null
}

const remember = (
  recipient: DecidedRecipient,
  { recipient: after, deadline, writtenAt }: SettleChanges,
): void => {
  if (after !== null) {
    recipient.after = after
    recipient.writtenAt = writtenAt
  } else if (deadline !== null) recipient.after = { ...recipient.after, deadline }
}

const move = (mail: DecidedMail, { from, to, emailStatus }: SettleChanges): void => {
  if (from === to) return
  mail.hasMoved = true
  mail.status = emailStatus
  for (const counts of [mail.counts, mail.moved]) {
    counts[from]--
    counts[to]++
  }
}

const freshMail = (loaded: LoadedMail): DecidedMail => ({
  loaded,
  status: loaded.status,
  counts: { ...loaded.counts },
  moved: emptyCounts(),
  hasMoved: false,
})

const decide = ({ recipients, known }: Loaded, outcomes: readonly Outcome[], now: number): Decided => {
  const seen = new Set(known)
  const decided = new Map<string, DecidedRecipient>()
  const mails = new Map<number, DecidedMail>()
  const events: DecidedEvent[] = []
  const bounces: Bounce[] = []
  const touched = new Set<DecidedRecipient>()

  const one = (outcome: Outcome): Settled | null => {
    const of = recipients.get(outcome.recipientId)
    if (of === undefined) return null
    const recipient = decided.get(of.id) ?? { loaded: of, after: of.state, writtenAt: null }
    decided.set(of.id, recipient)
    const mail = mails.get(of.mail.ord) ?? freshMail(of.mail)
    mails.set(of.mail.ord, mail)
    const key = factKey(outcome, recipient.after)
    const { total } = of.mail
    const facts = {
      recipient: recipient.after,
      email: { status: mail.status, total, counts: total === 1 ? null : { ...mail.counts } },
      mode: of.mail.mode,
      known: key !== null && seen.has(key),
    }
    const changes = settle(facts, outcome, now)
    const { event } = changes
    if (event === null) return answerOf(of, changes)
    touched.add(recipient)
    if (event.dedupe !== null) seen.add(event.dedupe)
    remember(recipient, changes)
    move(mail, changes)
    const owed = changes.applied ? owedOf(outcome, of) : null
    events.push({
      draft: outcomeEvent(placeOf(of.mail), outcome, event, now),
      report: outcome.report ?? null,
      owed,
    })
    if (changes.bounced && of.mail.countsSoftBounces) bounces.push({ outcome, of })
    return answerOf(of, changes)
  }

  const answers = outcomes.map(one)
  const inOrder = [...mails.values()].filter(({ hasMoved }) => hasMoved)
  inOrder.sort((a, b) => a.loaded.ord - b.loaded.ord)
  return { now, answers, recipients: [...touched], mails: inOrder, events, bounces }
}

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
const isOutOfDate = (error: unknown): boolean => {
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

const placeOfDecided = ({ loaded, after }: DecidedRecipient): 'gone' | 'kept' | 'none' => {
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
    place: placeOfDecided(one),
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
): SqlQuery => {
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

const idsOf = (outcomes: readonly Outcome[]): readonly string[] => [
  ...new Set(outcomes.map(({ recipientId }) => recipientId)),
]

const NOTHING_KNOWN: ReadonlyMap<string, LoadedRecipient> = new Map()

function* decideOn(outcomes: readonly Outcome[], now: number, leased = NOTHING_KNOWN): Asking<Decided> {
  const unknown = idsOf(outcomes).filter((id) => !leased.has(id))
  if (unknown.length === 0) return decide({ recipients: leased, known: new Set() }, outcomes, now)
  const { recipients, known } = yield* load(unknown, keysOf(outcomes))
  return decide({ recipients: new Map([...leased, ...recipients]), known }, outcomes, now)
}

/** Something waits that did not, or at another time. */
const makesDue = ({ recipients }: Decided): boolean =>
  recipients.some(({ loaded, after }) => after.dueAt !== null && after.dueAt !== loaded.state.dueAt)

const note = (effects: Effects, decided: Decided): void => {
  if (makesDue(decided)) effects.due = true
  for (const answer of decided.answers) if (answer?.applied === true) effects.settled.push(answer)
}

interface SettleParts {
  readonly places: Places
  readonly effects: Effects
  softBounce(outcome: Outcome, bounced: SoftBounced, now: number): Asking<void>
}

/** In the transaction of another verb. */
export const settling = ({ places, effects, softBounce }: SettleParts) => {
  function* bounced({ outcome, of }: Bounce): Asking<void> {
    const { id: emailId, workspace } = of.mail
    yield* softBounce(outcome, { emailId, workspace, address: of.address }, outcome.at)
  }

  /** A position is null where nobody knows the recipient. */
  function* settleAll(outcomes: readonly Outcome[]): Asking<readonly (Settled | null)[]> {
    yield* lock(idsOf(outcomes))
    const decided = yield* decideOn(outcomes, systemClock.now())
    if (decided.events.length > 0) {
      const numbers = yield* numbersFor(decided.events.map(({ draft }) => draft.more))
      const { text, values } = applyQuery(decided, numbers, places)
      yield* all(`WITH fence AS (SELECT 1 AS n),${text}`, ...values)
      for (const bounce of decided.bounces) yield* bounced(bounce)
    }
    note(effects, decided)
    return decided.answers
  }

  function* settleOne(outcome: Outcome): Asking<Settled | null> {
    const [answer = null] = yield* settleAll([outcome])
    return answer
  }

  return { settleAll, settleOne }
}

interface Call {
  readonly outcomes: readonly Outcome[]
}

/** Null: it is to be settled in a transaction of its own. */
type Answer = readonly (Settled | null)[] | null

const MOST = 500
const MOST_TRIES = 5

/** What it answers of a mail last is what others have made of it, too. */
const asStored = (decided: Decided, rows: readonly Row[]): readonly (Settled | null)[] => {
  const stored = new Map(rows.map(({ ord, status }) => [ord, status as Settled['emailStatus']]))
  const other = new Map<string, Settled['emailStatus']>()
  for (const { loaded, status } of decided.mails) {
    const now = stored.get(loaded.ord)
    if (now !== undefined && now !== status) other.set(loaded.id, now)
  }
  if (other.size === 0) return decided.answers
  return decided.answers.map(
    (one) => one && { ...one, emailStatus: other.get(one.emailId) ?? one.emailStatus },
  )
}

/** Splits what belongs to the calls. */
const dealt = <T>(calls: readonly Call[], answers: readonly T[]): ReadonlyMap<Call, readonly T[]> => {
  const left = [...answers]
  return new Map(calls.map((call) => [call, left.splice(0, call.outcomes.length)]))
}

/** Decides and applies, and again when something moved between. */
const createSettleOnce = ({ look, statement, places, hints, onPutBack }: PostgresWriter, leased: Leased) => {
  const kept: KnownNumbers = new Map()
  onPutBack(() => kept.clear())
  const once = async (decided: Decided): Promise<readonly (Settled | null)[]> => {
    if (decided.events.length === 0) return decided.answers
    const mores = decided.events.map(({ draft }) => draft.more)
    const numbers = await persistently(() => look(numbersFor(mores, kept)))
    const rows = await statement('settle', (): SqlQuery => applyQuery(decided, numbers, places))
    return rows === null ? decided.answers : asStored(decided, rows)
  }
  return async (calls: readonly Call[]): Promise<ReadonlyMap<Call, Answer>> => {
    const apart = new Map<Call, Answer>()
    let rest = calls
    for (let tries = 1; ; ) {
      const outcomes = rest.flatMap((call) => call.outcomes)
      const known = leased.take(outcomes)
      const decided = await persistently(() => look(decideOn(outcomes, systemClock.now(), known)))
      const bounced = new Set(decided.bounces.map(({ outcome }) => outcome))
      for (const call of rest) if (call.outcomes.some((one) => bounced.has(one))) apart.set(call, null)
      if (bounced.size > 0) {
        rest = rest.filter((call) => !apart.has(call))
        continue
      }
      try {
        const answers = await once(decided)
        const effects: Effects = { due: false, settled: [] }
        note(effects, { ...decided, answers })
        hints.settled(effects.settled)
        // for later: others learn of it when they next look
        if (effects.due) hints.due()
        return new Map([...apart, ...dealt(rest, answers)])
      } catch (error) {
        if (!isOutOfDate(error)) throw error
        if (tries++ >= MOST_TRIES) throw new Fault('service.unavailable')
      }
    }
  }
}

/** As the port has it. */
export const createSettle = (writer: PostgresWriter, parts: SettleParts, leased: Leased) => {
  const settleOnce = createSettleOnce(writer, leased)
  const { settleAll } = settling(parts)
  const gathered = gather<Call, Answer>({
    inTurn: writer.inTurn,
    weigh: ({ outcomes }) => outcomes.length,
    most: MOST,
    async run(calls) {
      const answers = await settleOnce(calls)
      return calls.map((call) => answers.get(call) ?? null)
    },
  })
  return async (outcomes: readonly Outcome[], quiet = false): Promise<readonly Settled[]> => {
    if (outcomes.length === 0) return []
    const answers = (await gathered({ outcomes })) ?? (await writer.write(() => settleAll(outcomes)))
    // what is applied is told as settled; of the rest nothing is under way here any more either
    const applied = new Set(answers.map((one) => (one?.applied === true ? one.recipientId : null)))
    writer.hints.left(idsOf(outcomes).filter((id) => !applied.has(id)))
    return quiet ? [] : answers.filter((one) => one !== null)
  }
}
