/**
 * NAME      settle - an outcome becomes a status and an event
 * DESCRIPTION
 *   The table of mail/status.ts decides; this file only stores what it says.
 *   Three things make it safe to repeat: the dedupe key of a report, the lease
 *   generation of an attempt (an older one is recorded and not applied), and
 *   the cleared lease, which shows that this very attempt has settled before.
 *   The lease ends even when the table refuses the observation: a report may
 *   have overtaken our own 250. What was not applied says why (`unapplied`).
 *   A deadline marks a mail that another server reported as delayed. It outlasts
 *   our own 250 and 4xx, so that the report may come before them or after.
 */

import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import {
  type EventKind,
  isRemark,
  nextStatus,
  type Observation,
  STATUSES,
  type Status,
} from '../../../mail/status.js'
import { AMBIGUOUS } from '../../port/operations.js'
import { scopeOf } from '../log/codec.js'
import type { Owing } from '../owed/owe.js'
import type { OutcomeCounts } from '../watch/outcome-counts.js'
import type { Bounced } from '../watch/soft-bounces.js'
import type { WriteContext } from './context.js'
import { type AddEvent, moreOf } from './events.js'
import type { Fold } from './fold.js'
import { createKeepReport } from './reports.js'

interface Found {
  readonly email_id: string
  readonly email_ord: number
  readonly workspace: number
  readonly address: string
  readonly status: Status
  readonly attempts: number
  readonly due_at: number | null
  readonly boot: number | null
  readonly lease_until: number | null
  readonly lease_gen: number
  readonly attempting: number | null
  readonly deadline: number | null
  readonly last_response: string | null
  readonly reason: string | null
  readonly email_status: Status
  readonly total: number
  readonly held: string | null
  readonly test: number
}

/** In this order; rows come as arrays, since making twenty named properties costs more than finding the row. */
const COLUMNS = `r.email_id, r.workspace, r.address, r.status, r.attempts, r.due_at, r.boot, r.lease_until, r.lease_gen,
  r.attempting, r.deadline, r.last_response, r.reason, e.status, e.total, r.held, e.test, r.email_ord`

type FoundArray = [
  string,
  number,
  string,
  Status,
  number,
  number | null,
  number | null,
  number | null,
  number,
  number | null,
  number | null,
  string | null,
  string | null,
  Status,
  number,
  string | null,
  number,
  number,
]

const toFound = (row: FoundArray): Found => ({
  email_id: row[0],
  workspace: row[1],
  address: row[2],
  status: row[3],
  attempts: row[4],
  due_at: row[5],
  boot: row[6],
  lease_until: row[7],
  lease_gen: row[8],
  attempting: row[9],
  deadline: row[10],
  last_response: row[11],
  reason: row[12],
  email_status: row[13],
  total: row[14],
  held: row[15],
  test: row[16],
  email_ord: row[17],
})

/** The status an observation stands for, also when it is not applied; a remark stands for itself. */
const meaning = (seen: Observation, fallback: Status): EventKind => {
  if (isRemark(seen)) return seen
  for (const from of STATUSES) {
    const to = nextStatus(from, seen)
    if (to !== null) return to
  }
  return fallback
}

const responseText = (reply: Outcome['reply']): string | null =>
  reply === null
    ? null
    : [String(reply.code), reply.enhanced, reply.text]
        .filter((part) => part !== null && part !== '')
        .join(' ')

/** How an outcome stands to the lease of its recipient. */
type Standing = 'ours' | 'repeat' | 'stale' | 'report'

const standingOf = (outcome: Outcome, row: Found): Standing => {
  if (outcome.leaseGen === null) return 'report'
  if (outcome.leaseGen !== row.lease_gen) return 'stale'
  return row.boot === null ? 'repeat' : 'ours'
}

interface Change {
  readonly status: Status
  readonly attempts: number
  readonly dueAt: number | null
  readonly boot: number | null
  readonly leaseGen: number
  readonly attempting: number | null
  readonly deadline: number | null
  readonly lastResponse: string | null
  readonly reason: string | null
}

const WAITING: readonly Status[] = ['scheduled', 'queued', 'deferred']

const changeOf = (outcome: Outcome, row: Found, standing: Standing, next: Status | null): Change => {
  const status = next ?? row.status
  const applied = next !== null
  const ours = standing === 'ours'
  // A report that ends or hands on a recipient takes it out of our queue, unless its attempt is past the dot.
  const revoked =
    !ours && applied && row.boot !== null && row.attempting === null && !WAITING.includes(status)
  const held = applied && (outcome.seen === 'dsn-delayed' || !WAITING.includes(status))
  const dueAt = ours
    ? applied && outcome.seen === 'postponed'
      ? outcome.retryAt
      : null
    : held
      ? null
      : row.due_at
  return {
    status,
    attempts: row.attempts + (ours && outcome.attempt !== null ? 1 : 0),
    dueAt,
    boot: ours || revoked ? null : row.boot,
    leaseGen: revoked ? row.lease_gen + 1 : row.lease_gen,
    attempting: ours ? null : row.attempting,
    deadline: WAITING.includes(status) ? (row.deadline ?? outcome.deadline) : null,
    lastResponse: (applied || ours ? responseText(outcome.reply) : null) ?? row.last_response,
    reason: applied ? outcome.reason : row.reason,
  }
}

/** Somebody else holds this mail and has said so: our own 250 for it is no news. */
const isHeldElsewhere = (outcome: Outcome, row: Found): boolean =>
  outcome.seen === 'accepted' && row.status === 'deferred' && row.deadline !== null

/** A delay that is reported while we have deferred the mail ourselves moves nothing, and is remembered. */
const isNoted = (outcome: Outcome, row: Found): boolean =>
  outcome.seen === 'dsn-delayed' && outcome.trusted && row.status === 'deferred' && row.deadline === null

const nextOf = (outcome: Outcome, row: Found, standing: Standing): Status | null =>
  !outcome.trusted || standing === 'stale' || isHeldElsewhere(outcome, row)
    ? null
    : nextStatus(row.status, outcome.seen)

/** The detail of an outcome, and why it was not applied where it does not say so itself. */
const explained = (outcome: Outcome, row: Found, standing: Standing): Outcome => {
  if (outcome.detail?.unapplied !== undefined) return outcome
  const why =
    standing === 'stale' ? 'stale_attempt' : outcome.trusted ? `already_${row.status}` : 'unverified'
  return { ...outcome, detail: { ...outcome.detail, unapplied: why } }
}

const prepare = (context: WriteContext) => ({
  find: context.db
    .prepare<[string], FoundArray>(
      `SELECT ${COLUMNS} FROM recipients r JOIN emails e ON e.ord = r.email_ord WHERE r.id = ?`,
    )
    .raw(),
  known: context.db.prepare<[string], number>('SELECT 1 FROM events WHERE dedupe = ?').pluck(),
  update: context.db.prepare(
    `UPDATE recipients SET status = ?, attempts = ?, updated_at = ?, due_at = ?, boot = ?,
       lease_until = ?, lease_gen = ?, attempting = ?, deadline = ?, last_response = ?, reason = ? WHERE id = ?`,
  ),
  held: context.db.prepare('UPDATE recipients SET held = ?, held_at = ?, held_due = NULL WHERE id = ?'),
  note: context.db.prepare('UPDATE recipients SET deadline = ? WHERE id = ?'),
})

export interface SettleParts {
  readonly addEvent: AddEvent
  readonly fold: Fold
  readonly owing: Owing
  readonly counts: Pick<OutcomeCounts, 'note'>
  readonly softBounce: (outcome: Outcome, row: Bounced, now: number) => void
  readonly now: () => number
}

export const createSettle = (
  context: WriteContext,
  { addEvent, fold, owing, counts, softBounce, now }: SettleParts,
) => {
  const sql = prepare(context)
  const keepReport = createKeepReport(context.db)

  const settled = (
    outcome: Outcome,
    row: Found,
    to: Status,
    emailStatus: Status,
    applied: boolean,
  ): Settled => ({
    recipientId: outcome.recipientId,
    emailId: row.email_id,
    workspaceId: context.names.workspaceId(row.workspace),
    mode: row.test === 1 ? 'test' : 'live',
    address: row.address,
    applied,
    from: row.status,
    to,
    emailStatus,
  })

  const write = (outcome: Outcome, row: Found, change: Change, at: number): void => {
    sql.update.run(
      change.status,
      change.attempts,
      at,
      change.dueAt,
      change.boot,
      change.boot === null ? null : row.lease_until,
      change.leaseGen,
      change.attempting,
      change.deadline,
      change.lastResponse,
      change.reason,
      outcome.recipientId,
    )
    const ambiguous = change.boot === null && change.dueAt === null && outcome.seen === 'postponed'
    // apart, because it is rare and the statement above runs for every mail
    if (ambiguous) sql.held.run(AMBIGUOUS, at, outcome.recipientId)
    else if (row.held !== null && !WAITING.includes(change.status))
      sql.held.run(null, at, outcome.recipientId)
    if (change.boot === null && row.boot !== null) context.hot.drop(outcome.recipientId)
    if (change.dueAt !== null && change.dueAt !== row.due_at) context.effects.due = true
  }

  /** A stale outcome has no lease to clear, so its event itself must say that it was here. */
  const dedupeOf = (outcome: Outcome, standing: Standing): string | null =>
    outcome.dedupe ??
    (standing === 'stale' ? `stale:${outcome.recipientId}:${outcome.leaseGen}:${outcome.seen}` : null)

  return (outcome: Outcome): Settled | null => {
    const found = sql.find.get(outcome.recipientId)
    if (found === undefined) return null
    const row = toFound(found)
    const standing = standingOf(outcome, row)
    const dedupe = dedupeOf(outcome, standing)
    const unchanged = (): Settled => settled(outcome, row, row.status, row.email_status, false)
    if (standing === 'repeat' || (dedupe !== null && sql.known.get(dedupe) !== undefined)) return unchanged()

    const next = nextOf(outcome, row, standing)
    const applied = next !== null || (outcome.trusted && isRemark(outcome.seen))
    const at = now()
    // an attempt's row is written by the clock that its next try was reckoned with (see times.ts)
    const written = standing === 'ours' ? outcome.at : at
    if (next !== null || standing === 'ours')
      write(outcome, row, changeOf(outcome, row, standing, next), written)
    else if (isNoted(outcome, row)) sql.note.run(outcome.deadline, outcome.recipientId)
    const email = { ord: row.email_ord, status: row.email_status, total: row.total }
    const emailStatus = next === null ? row.email_status : fold.move(email, row.status, next, at)
    const event = addEvent({
      mail: { ord: row.email_ord, scope: scopeOf(row.workspace, row.test === 1) },
      recipientId: outcome.recipientId,
      change: next === null ? applied && outcome.seen === 'complained' : next !== row.status,
      status: next ?? meaning(outcome.seen, row.status),
      source: outcome.source,
      occurredAt: outcome.at,
      now: at,
      attempt: outcome.attempt,
      applied,
      reason: outcome.reason,
      dedupe,
      more: moreOf(applied ? outcome : explained(outcome, row, standing)),
    })
    if (outcome.report !== undefined) keepReport(row.email_ord, outcome.report, at, applied)
    if (next !== null) owing.owe(outcome, row.email_id, event)
    const result = settled(outcome, row, next ?? row.status, emailStatus, next !== null)
    if (next !== null) context.effects.settled.push(result)
    if (next !== null && row.test === 0) counts.note(outcome, row.address)
    if (next === 'bounced' && row.status !== next && row.test === 0) softBounce(outcome, row, outcome.at)
    return result
  }
}
