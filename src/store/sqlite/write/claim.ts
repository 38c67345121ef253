/**
 * NAME      claim - leasing what is due, fairly
 * DESCRIPTION
 *   Workspaces are visited in a circle from where the last claim stopped, and
 *   each gives up to an equal share of its oldest due recipients; what is left
 *   of the limit is filled in further rounds. The cost follows the limit and the
 *   number of workspaces with mail waiting, never the depth of the queue: 200,000
 *   mails of one tenant are one seek. A scheduled mail whose time has come is
 *   queued in the same verb, all its recipients together, so that a cancel wins
 *   or loses as a whole.
 */
import type { Status } from '../../../mail/status.js'
import type { Silence } from '../operate/end-suppressed.js'
import type { HoldRecipients } from '../operate/hold-recipient.js'
import type { Pauses } from '../operate/pauses.js'
import type { ClaimedArray } from '../thread/wire.js'
import type { WriteContext } from './context.js'
import type { Leases } from './lease.js'
import type { Appointments } from './schedule.js'

/** How many held or suppressed recipients one claim may put to rest before it lets others write. */
const MOST_PARKED = 1_000

/** Larger bodies stay out of the answer; body() fetches them when they are sent. */
const RAW_LIMIT = 64 * 1024

interface Candidate {
  readonly id: string
  readonly email_id: string
  readonly status: Status
  readonly due_at: number
  readonly address_lc: string
}

/** In the order of ClaimedArray; workspace and pool still as numbers. */
const CLAIMED = `SELECT r.id, r.email_id, r.workspace, r.pool, e.test, r.address, r.notify, r.orcpt, e.envid, e.ret,
    e.message_id, e.sender, e.utf8, r.attempts, e.created_at, r.queued_at, r.lease_gen, e.size,
    CASE WHEN e.size <= ${RAW_LIMIT} THEN (SELECT raw FROM bodies WHERE n = e.body AND email_id = e.id) END, w.ambiguous,
    e.mail_from = '', e.require_tls, CASE WHEN r.held IS NULL THEN r.held_at END
  FROM recipients r JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace WHERE r.id = ?`

const prepare = (context: WriteContext) => ({
  nextWorkspace: context.db
    .prepare<[number, number], number>(
      'SELECT workspace FROM recipients WHERE pool = ? AND workspace > ? AND due_at IS NOT NULL ORDER BY workspace LIMIT 1',
    )
    .pluck(),
  due: context.db.prepare<[number, number, number, number], Candidate>(
    `SELECT id, email_id, status, due_at, address_lc FROM recipients WHERE pool = ? AND workspace = ? AND due_at <= ?
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

export const createClaim = (
  context: WriteContext,
  leases: Leases,
  appointments: Appointments,
  holdRecipients: HoldRecipients,
  endSuppressed: Silence,
) => {
  const sql = prepare(context)
  /** Per pool, the workspace served last. */
  const served = new Map<number, number>()

  /** Workspaces of the pool that have something due, in circle order, at most `limit`. */
  const circle = (pool: number, now: number, limit: number): number[] => {
    const start = served.get(pool) ?? 0
    const found: number[] = []
    const visit = (after: number, until: number): void => {
      let workspace = sql.nextWorkspace.get(pool, after)
      while (workspace !== undefined && workspace <= until && found.length < limit) {
        if (sql.due.get(pool, workspace, now, 1) !== undefined) found.push(workspace)
        workspace = sql.nextWorkspace.get(pool, workspace)
      }
    }
    visit(start, Number.MAX_SAFE_INTEGER)
    visit(0, start)
    return found
  }

  /** Puts to rest what somebody holds; true when it did. */
  const isHeld = (candidate: Candidate, workspace: number, pool: number, now: number): boolean => {
    const hold = context.holds.over({ ...candidate, workspace, pool })
    if (hold === null) return false
    const status = candidate.status === 'scheduled' ? 'queued' : candidate.status
    holdRecipients.hold({ ...candidate, status }, hold, now)
    return true
  }

  const take = (candidate: Candidate, leaseUntil: number, sinceOf: SinceOf): ClaimedArray => {
    sql.lease.run(context.boot, leaseUntil, candidate.id)
    leases.noteUntil(leaseUntil)
    const row = sql.claimed.get(candidate.id)
    if (row === undefined) throw new Error(`recipient ${candidate.id} has no email`)
    return toClaimed(context, row, sinceOf)
  }

  /** One of each workspace in turn. */
  const deal = (hands: readonly (readonly Candidate[])[]): Candidate[] => {
    const dealt: Candidate[] = []
    for (let i = 0; hands.some((hand) => i < hand.length); i++) {
      for (const hand of hands) if (hand[i] !== undefined) dealt.push(hand[i] as Candidate)
    }
    return dealt
  }

  return (poolId: string, limit: number, leaseUntil: number, now: number): readonly ClaimedArray[] => {
    leases.reap(now)
    const pool = context.names.pool(poolId)
    const claimed: ClaimedArray[] = []
    let waiting = circle(pool, now, limit)
    let rested = 0
    const held = context.holds.any
    const sinceOf = context.pauses.of(pool, now)
    while (waiting.length > 0 && claimed.length < limit && rested < MOST_PARKED) {
      const share = Math.ceil((limit - claimed.length) / waiting.length)
      const more: number[] = []
      const hands: Candidate[][] = []
      let left = limit - claimed.length
      for (const workspace of waiting) {
        const wanted = Math.min(share, left)
        if (wanted === 0) break
        const hand = sql.due.all(pool, workspace, now, wanted)
        for (const { status, email_id } of hand)
          if (status === 'scheduled') appointments.fallDue(email_id, now)
        const free = hand.filter(
          (one) => !(held && isHeld(one, workspace, pool, now)) && !endSuppressed(one, now),
        )
        rested += hand.length - free.length
        hands.push(free)
        left -= free.length
        served.set(pool, workspace)
        if (hand.length === wanted) more.push(workspace)
      }
      for (const candidate of deal(hands)) claimed.push(take(candidate, leaseUntil, sinceOf))
      waiting = more
    }
    if (rested >= MOST_PARKED) context.effects.due = true
    return claimed
  }
}
