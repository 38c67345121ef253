/**
 * NAME      claim - whose turn it is, and appointments
 * DESCRIPTION
 *   lifecycle/lease.ts says whose turn it is. The cost follows the limit and the number of workspaces with
 *   mail waiting, never the depth of the queue: 200,000 mails of one tenant are one seek. A scheduled mail
 *   whose time has come is queued in the same verb, all its recipients together, so that a cancel wins or
 *   loses as a whole.
 */

import { circle, type Drawn, deal } from '../../../lifecycle/lease.js'
import type { Status } from '../../../mail/status.js'
import { EMAIL_ID } from '../../sql/mails.js'
import { nextPair } from '../../sql/pairs.js'
import { type Asking, answered, atOnce, run } from '../../sql/query.js'
import { type Left, scheduleWrites } from '../../sql/schedule.js'
import { MAIL } from '../read/statements.js'
import type { ClaimedArray } from '../thread/wire.js'
import type { WriteContext } from './context.js'
import type { AddEvent } from './events.js'
import type { Pauses } from './holds.js'
import type { Leases } from './lease.js'
import type { EndSuppressed, HoldRecipients } from './orders.js'

const WRITE = `UPDATE recipients SET status = ?, queued_at = coalesce(?, queued_at), due_at = ?, held = ?, held_due = ?,
  updated_at = ? WHERE id = ?`

function* write(rows: readonly Left[], now: number): Asking<void> {
  for (const { id, status, queuedAt, dueAt, held, heldDue } of rows)
    yield* run(WRITE, status, queuedAt, dueAt, held, heldDue, now, id)
}

export const createSchedule = ({ effects, sql }: WriteContext, addEvent: AddEvent) =>
  answered(
    scheduleWrites({ addEvent: (draft) => atOnce(() => addEvent(draft)), effects, lock: '', write }),
    sql.ask,
  )

type Schedule = ReturnType<typeof createSchedule>

/** Larger bodies stay out of the answer; body() fetches them when they are sent. */
const RAW_LIMIT = 64 * 1024

interface Candidate {
  readonly id: string
  readonly email_id: string
  readonly email_ord: number
  readonly status: Status
  readonly due_at: number
  readonly address_lc: string
}

/** In the order of ClaimedArray; workspace and pool still as numbers. */
const CLAIMED = `SELECT r.id, e.id, r.workspace, r.pool, e.test, r.address, r.notify, r.orcpt, e.envid, e.ret,
    e.message_id, e.sender, e.utf8, r.attempts, e.created_at, r.queued_at, r.lease_gen, e.size,
    CASE WHEN e.size <= ${RAW_LIMIT} THEN (SELECT raw FROM bodies WHERE n = e.body AND email_id = e.id) END, w.ambiguous,
    e.mail_from = '', e.require_tls, CASE WHEN r.held IS NULL THEN r.held_at END
  FROM recipients r JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace WHERE r.id = ?`

const prepare = (context: WriteContext) => ({
  due: context.db.prepare<[number, number, number, number], Candidate>(
    `SELECT id, email_ord, ${EMAIL_ID}, status, due_at, address_lc FROM recipients WHERE pool = ? AND workspace = ? AND due_at <= ?
     ORDER BY due_at LIMIT ? + 0`,
  ),
  lease: context.db.prepare(
    `UPDATE recipients SET due_at = NULL, boot = ?, lease_until = ?, lease_gen = lease_gen + 1 WHERE id = ?`,
  ),
  claimed: context.db.prepare<[string], unknown[]>(CLAIMED).raw(),
})

type SinceOf = ReturnType<Pauses['of']>

const toClaimed = (context: WriteContext, row: unknown[], sinceOf: SinceOf): ClaimedArray => {
  const [since, resumedAt] = sinceOf(row[15] as number)
  row[15] = since
  if (resumedAt !== null) row[22] = Math.max(resumedAt, (row[22] as number | null) ?? resumedAt)
  row[2] = context.names.workspaceId(row[2] as number)
  row[3] = context.names.poolId(row[3] as number)
  row[4] = row[4] === 1
  row[12] = row[12] === 1
  row[20] = row[20] === 1
  row[21] = row[21] === 1
  return row as unknown as ClaimedArray
}

/** Puts to rest what somebody holds; true when it did. */
const createIsHeld = (context: WriteContext, holdRecipients: HoldRecipients) => {
  return (candidate: Candidate, workspace: number, pool: number, now: number): boolean => {
    const hold = context.holds.any ? context.holds.over({ ...candidate, workspace, pool }) : null
    if (hold === null) return false
    const status = candidate.status === 'scheduled' ? 'queued' : candidate.status
    holdRecipients.hold({ ...candidate, status }, hold, now)
    return true
  }
}

export const createClaim = (
  context: WriteContext,
  leases: Leases,
  fallDue: Schedule['fallDue'],
  holdRecipients: HoldRecipients,
  endSuppressed: EndSuppressed,
) => {
  const sql = prepare(context)
  const isHeld = createIsHeld(context, holdRecipients)
  /** Per pool, the workspace served last. */
  const served = new Map<number, number>()

  function* after(pool: number, workspace: number): Generator<number> {
    const next = (last: number) => context.sql.ask(nextPair(MAIL.waiting, [pool, last], pool))
    for (let pair = next(workspace); pair !== null; pair = next(pair[1])) yield pair[1]
  }

  /** Workspaces of the pool that have something due, in circle order, at most `limit`. */
  const waitingIn = (pool: number, now: number, limit: number): number[] => {
    const found: number[] = []
    for (const workspace of circle(served.get(pool) ?? 0, (last) => after(pool, last))) {
      if (found.length >= limit) break
      if (sql.due.get(pool, workspace, now, 1) !== undefined) found.push(workspace)
    }
    return found
  }

  const draw = (pool: number, workspace: number, wanted: number, now: number): Drawn<Candidate> => {
    const due = sql.due.all(pool, workspace, now, wanted)
    for (const { status, email_ord } of due) if (status === 'scheduled') fallDue(email_ord, now)
    served.set(pool, workspace)
    const isEnded = endSuppressed(workspace)
    const free = due.filter((one) => !isHeld(one, workspace, pool, now) && !isEnded(one, now))
    return { found: due.length, free }
  }

  const lease = (id: string, leaseUntil: number, sinceOf: SinceOf): ClaimedArray => {
    sql.lease.run(context.boot, leaseUntil, id)
    leases.noteUntil(leaseUntil)
    const row = sql.claimed.get(id)
    if (row === undefined) throw new Error(`recipient ${id} has no email`)
    return toClaimed(context, row, sinceOf)
  }

  return (poolId: string, limit: number, leaseUntil: number, now: number): readonly ClaimedArray[] => {
    leases.reap(now)
    const pool = context.names.pool(poolId)
    const claimed: ClaimedArray[] = []
    const sinceOf = context.pauses.of(pool, now)
    const stopped = deal<Candidate>(waitingIn(pool, now, limit), limit, {
      draw: (workspace, wanted) => draw(pool, workspace, wanted, now),
      take: ({ id }) => claimed.push(lease(id, leaseUntil, sinceOf)),
    })
    if (stopped) context.effects.due = true
    return claimed
  }
}
