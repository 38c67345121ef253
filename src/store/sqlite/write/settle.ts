/**
 * NAME      settle - outcomes of recipients, and the mail that they sum up to
 *   Loads what is known, lets lifecycle/settle.ts decide, and stores what it says: recipient, counts of the
 *   mail and event together. Of hot mail the row is known since its accept, unless somebody has been at it
 *   meanwhile: so it is not read, but compared in the statement that changes it. Where it is no longer so,
 *   nothing has changed, and it is read.
 *   The counts and the aggregate status of an email move in the same transaction as the recipient, and
 *   `updated_at` only when they do. Most mails have one recipient, whose status is the mail's: only the
 *   others have their counts read. One statement per pair of statuses, so that the index on status is
 *   touched only when it changes.
 */
import type { Statement } from 'better-sqlite3'
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import type { RecipientState } from '../../../lifecycle/recipient.js'
import {
  factKey,
  type SettleChanges,
  type SettleEvent,
  type SettleFacts,
  settle,
  settledOf,
} from '../../../lifecycle/settle.js'
import { type Counts, STATUSES, type Status } from '../../../mail/status.js'
import type { SoftBounced } from '../../sql/bounces.js'
import { outcomeEvent, scopeOf } from '../../sql/log/events.js'
import type { Db } from '../connect.js'
import type { WriteContext } from './context.js'
import { type AddEvent, createKeepReport, type PendingDsns } from './events.js'

interface Fold {
  counts(ord: number): Counts
  /** Stores that one recipient has gone `from` one status `to` another, and its mail from `before` to `after`. */
  write(ord: number, from: Status, to: Status, before: Status, after: Status, now: number): void
}

export const createFold = (db: Db): Fold => {
  const read = db.prepare<[number], Counts>(`SELECT ${STATUSES.join(', ')} FROM emails WHERE ord = ?`)
  const statements = new Map<string, Statement<unknown[]>>()

  const statement = (from: Status, to: Status, moved: boolean) => {
    const key = `${from}>${to}${moved ? '!' : ''}`
    let found = statements.get(key)
    if (found === undefined) {
      found = db.prepare(
        `UPDATE emails SET ${from} = ${from} - 1, ${to} = ${to} + 1, updated_at = ?${moved ? ', status = ?' : ''} WHERE ord = ?`,
      )
      statements.set(key, found)
    }
    return found
  }

  return {
    counts(ord) {
      const row = read.get(ord)
      if (row === undefined) throw new Error(`no email at ${ord}`)
      return row
    },
    write(ord, from, to, before, after, now) {
      if (from === to) return
      if (before === after) statement(from, to, false).run(now, ord)
      else statement(from, to, true).run(now, after, ord)
    },
  }
}

export const STATE_COLUMNS =
  'r.status, r.attempts, r.due_at, r.boot, r.lease_gen, r.attempting, r.held, r.deadline, r.last_response, r.reason'

/** Rows come as arrays, since making twenty named properties costs more than finding the row. */
const FIND = `SELECT e.id, r.workspace, r.address, r.lease_until, e.status, e.total, e.test, r.email_ord, ${STATE_COLUMNS}
  FROM recipients r JOIN emails e ON e.ord = r.email_ord WHERE r.id = ?`

export type StateArray = readonly [
  status: Status,
  attempts: number,
  dueAt: number | null,
  boot: number | null,
  leaseGen: number,
  attempting: number | null,
  held: string | null,
  deadline: number | null,
  lastResponse: string | null,
  reason: string | null,
]

export type SettledRow = readonly [
  emailId: string,
  workspace: number,
  address: string,
  leaseUntil: number | null,
  emailStatus: Status,
  total: number,
  test: number,
  emailOrd: number,
  ...StateArray,
]
const STATE = 8
const LEASE_GEN = STATE + 4

/** Of a row in which the columns of the state begin at `from`. */
export const stateOf = (row: readonly unknown[], from: number): RecipientState => ({
  status: row[from] as Status,
  attempts: row[from + 1] as number,
  dueAt: row[from + 2] as number | null,
  boot: row[from + 3] as number | null,
  leaseGen: row[from + 4] as number,
  attempting: row[from + 5] as number | null,
  held: row[from + 6] as string | null,
  deadline: row[from + 7] as number | null,
  lastResponse: row[from + 8] as string | null,
  reason: row[from + 9] as string | null,
})

const prepare = (context: WriteContext) => ({
  find: context.db.prepare<[string], SettledRow>(FIND).raw(),
  known: context.db.prepare<[string], number>('SELECT 1 FROM events WHERE dedupe = ?').pluck(),
  update: context.db.prepare(
    `UPDATE recipients SET status = ?, attempts = ?, updated_at = ?, due_at = ?, boot = ?,
       lease_until = ?, lease_gen = ?, attempting = ?, attempt_upstream = CASE WHEN ? THEN attempt_upstream END, deadline = ?, last_response = ?, reason = ?
     WHERE id = ? AND boot IS ? AND lease_gen = ? AND status = ? AND held IS ? AND deadline IS ?`,
  ),
  held: context.db.prepare('UPDATE recipients SET held = ?, held_at = ?, held_due = NULL WHERE id = ?'),
  note: context.db.prepare('UPDATE recipients SET deadline = ? WHERE id = ?'),
})

type Statements = ReturnType<typeof prepare>

interface SettleParts {
  readonly addEvent: AddEvent
  readonly fold: Fold
  readonly dsns: PendingDsns
  readonly softBounce: (outcome: Outcome, bounced: SoftBounced, now: number) => void
  readonly now: () => number
}

const answerOf = (
  { names }: WriteContext,
  outcome: Outcome,
  row: SettledRow,
  changes: SettleChanges,
): Settled => {
  const [emailId, workspace, address, , , , test] = row
  const of = { recipientId: outcome.recipientId, emailId, workspaceId: names.workspaceId(workspace) }
  return settledOf({ ...of, mode: test === 1 ? 'test' : 'live', address }, changes)
}

/** Stores a recipient that was `before` and is `after`; false when it was not. The rest of `before` follows from what is compared. */
const createWriteRecipient = (context: WriteContext, sql: Statements) => {
  return (
    id: string,
    before: RecipientState,
    after: RecipientState,
    leaseUntil: number | null,
    at: number,
  ): boolean => {
    const { changes } = sql.update.run(
      after.status,
      after.attempts,
      at,
      after.dueAt,
      after.boot,
      after.boot === null ? null : leaseUntil,
      after.leaseGen,
      after.attempting,
      after.attempting === null ? 0 : 1, // no longer needed, and long
      after.deadline,
      after.lastResponse,
      after.reason,
      id,
      before.boot,
      before.leaseGen,
      before.status,
      before.held,
      before.deadline,
    )
    if (changes === 0) return false
    // apart, because it is rare and the statement above runs for every mail
    if (after.held !== before.held) sql.held.run(after.held, at, id)
    if (after.boot === null && before.boot !== null) context.hot.drop(id)
    if (after.dueAt !== null && after.dueAt !== before.dueAt) context.effects.due = true
    return true
  }
}

const loadFacts = (sql: Statements, fold: Fold, outcome: Outcome, row: SettledRow): SettleFacts => {
  const recipient = stateOf(row, STATE)
  const key = factKey(outcome, recipient)
  const [, , , , status, total, test, ord] = row
  return {
    recipient,
    email: { status, total, counts: total === 1 ? null : fold.counts(ord) },
    mode: test === 1 ? 'test' : 'live',
    known: key !== null && sql.known.get(key) !== undefined,
  }
}

const createApply = (context: WriteContext, sql: Statements, parts: SettleParts) => {
  const { addEvent, fold, dsns, softBounce } = parts
  const keepReport = createKeepReport(context.db)
  const writeRecipient = createWriteRecipient(context, sql)

  return (
    outcome: Outcome,
    row: SettledRow,
    { recipient, email }: SettleFacts,
    changes: SettleChanges,
    event: SettleEvent,
    now: number,
  ): boolean => {
    const [emailId, workspace, address, leaseUntil, , , test, ord] = row
    const { recipient: after, deadline } = changes
    if (after !== null) {
      if (!writeRecipient(outcome.recipientId, recipient, after, leaseUntil, changes.writtenAt)) return false
    } else if (deadline !== null) sql.note.run(deadline, outcome.recipientId)
    fold.write(ord, changes.from, changes.to, email.status, changes.emailStatus, now)
    const place = addEvent(outcomeEvent({ ord, scope: scopeOf(workspace, test === 1) }, outcome, event, now))
    if (outcome.report !== undefined) keepReport(ord, outcome.report, now, event.applied)
    if (changes.applied) dsns.add(outcome, emailId, place)
    if (changes.bounced) softBounce(outcome, { emailId, workspace, address }, outcome.at)
    return true
  }
}

export const createSettle = (context: WriteContext, parts: SettleParts) => {
  const sql = prepare(context)
  const apply = createApply(context, sql, parts)
  /** Null when the recipient is not as `row` says. */
  const settleAs = (outcome: Outcome, row: SettledRow): Settled | null => {
    const facts = loadFacts(sql, parts.fold, outcome, row)
    const now = parts.now()
    const changes = settle(facts, outcome, now)
    if (changes.event !== null && !apply(outcome, row, facts, changes, changes.event, now)) return null
    const answer = answerOf(context, outcome, row, changes)
    if (changes.applied) context.effects.settled.push(answer)
    return answer
  }
  return (outcome: Outcome): Settled | null => {
    const known = context.hot.known(outcome.recipientId) as SettledRow | undefined
    // the outcome of a lease always writes the row
    const isOurs = known?.[LEASE_GEN] === outcome.leaseGen && outcome.dedupe === null
    const answer = known !== undefined && isOurs ? settleAs(outcome, known) : null
    if (answer !== null) return answer
    const row = sql.find.get(outcome.recipientId)
    return row === undefined ? null : settleAs(outcome, row)
  }
}
