/**
 * NAME      stopped - what was due and must be looked at before it may leave
 * DESCRIPTION
 *   In one transaction: what is scheduled falls due, with all recipients of its mail; what somebody holds is put to rest;
 *   who has been suppressed ends; the others are leased. Mails are locked first, in the order of their places, and
 *   all is read again after that.
 */
import type { Outcome, Settled, Source } from '../../../lifecycle/facts.js'
import { endSuppressed, isSuppressing, listsAgainst, suppressionList } from '../../../lifecycle/suppress.js'
import { normalizeAddress } from '../../../mail/address.js'
import type { Status } from '../../../mail/status.js'
import { modeOf } from '../../sql/mails.js'
import { holdOver, type StandingHold } from '../../sql/orders.js'
import { type Asking, all } from '../../sql/query.js'
import type { ScheduleWrites } from '../../sql/schedule.js'
import { standingHolds } from '../operate/standing.js'
import { LEASE, type Picked } from './pick.js'

interface Candidate {
  readonly id: string
  readonly email_id: string
  readonly email_ord: number
  readonly status: Status
  readonly due_at: number
  readonly workspace: number
  readonly pool: number
  readonly address_lc: string
  readonly workspaceId: string
  readonly accountId: string
  readonly source: Source
  readonly test: number
  readonly insists: number
}

interface StoppedParts {
  readonly fallDue: ScheduleWrites['fallDue']
  readonly hold: (rows: readonly Candidate[], hold: StandingHold, now: number) => Asking<void>
  readonly settle: (outcome: Outcome) => Asking<Settled | null>
}

const SCHEDULED = `SELECT DISTINCT r.email_ord FROM recipient_rows r
  WHERE r.id = ANY (CAST(? AS TEXT[])) AND r.status = 'scheduled' ORDER BY r.email_ord`

const LOCK = 'SELECT ord FROM emails WHERE ord = ANY (CAST(? AS BIGINT[])) ORDER BY ord FOR UPDATE'

const CANDIDATES = `SELECT q.recipient_id AS id, e.id AS email_id, q.email_ord, r.status, q.due_at, q.workspace, q.pool,
    r.address_lc, w.id AS "workspaceId", w.account_id AS "accountId", e.source, e.test,
    CASE WHEN CAST(e.lists AS JSON) ->> 'insists' IS NULL THEN 0 ELSE 1 END AS insists
  FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id JOIN emails e ON e.ord = q.email_ord
  JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.due_at <= ? FOR UPDATE OF q SKIP LOCKED`

const LISTED = `SELECT workspace_id, email, expires_at FROM suppressions
  WHERE workspace_id = ANY (CAST(? AS TEXT[])) AND email = ANY (CAST(? AS TEXT[]))`

/** The lists on which an address stands, as `list address`. */
function* listings(candidates: readonly Candidate[], now: number): Asking<ReadonlySet<string>> {
  const lists = new Set(
    candidates.flatMap(({ workspaceId, accountId }) => [
      ...[suppressionList(workspaceId, 'live'), suppressionList(workspaceId, 'test'), accountId],
    ]),
  )
  const emails = new Set(candidates.map(({ address_lc }) => normalizeAddress(address_lc)))
  const rows = yield* all(LISTED, [...lists], [...emails])
  const standing = rows.filter((row) => isSuppressing(row.expires_at as number | null, now))
  return new Set(standing.map((row) => `${row.workspace_id} ${row.email}`))
}

const isListed = (one: Candidate, listed: ReadonlySet<string>): boolean => {
  const { source, insists, accountId, workspaceId } = one
  const mail = { source, accountId, workspaceId, mode: modeOf(one.test), ignoresSuppressions: insists === 1 }
  return listsAgainst(mail).some((list) => listed.has(`${list} ${normalizeAddress(one.address_lc)}`))
}

/** Puts to rest what somebody holds; the others. */
const holding = ({ hold }: StoppedParts) =>
  function* (candidates: readonly Candidate[], now: number): Asking<readonly Candidate[]> {
    const standing = yield* standingHolds()
    if (standing.length === 0) return candidates
    const held = new Map<StandingHold, Candidate[]>()
    const free: Candidate[] = []
    for (const one of candidates) {
      const over = holdOver(standing, one.accountId, one)
      if (over === null) free.push(one)
      else held.set(over, [...(held.get(over) ?? []), one])
    }
    for (const [over, rows] of held) yield* hold(rows, over, now)
    return free
  }

/** Ends whom a list means; the others. */
const ending = ({ settle }: StoppedParts) =>
  function* (candidates: readonly Candidate[], now: number): Asking<readonly Candidate[]> {
    const listed = yield* listings(candidates, now)
    const free: Candidate[] = []
    for (const one of candidates) {
      const isEnded = isListed(one, listed) && (yield* settle(endSuppressed(one.id, now)))?.applied === true
      if (!isEnded) free.push(one)
    }
    return free
  }

const due = (ids: readonly string[], now: number): Asking<readonly Candidate[]> =>
  all(CANDIDATES, ids, now) as Asking<unknown> as Asking<readonly Candidate[]>

const OF = 'SELECT DISTINCT email_ord FROM recipient_rows WHERE id = ANY (CAST(? AS TEXT[]))'

export const createStopped = (parts: StoppedParts) => {
  const holdBack = holding(parts)
  const end = ending(parts)
  return {
    /** Answers with the ids of those that are leased now. */
    *take(
      stopped: readonly Picked[],
      boot: number,
      leaseUntil: number,
      now: number,
    ): Asking<readonly string[]> {
      const ids = stopped.map(({ id }) => id)
      yield* all(LOCK, [...new Set(stopped.map(({ email_ord }) => email_ord))])
      for (const { email_ord } of yield* all(SCHEDULED, ids)) yield* parts.fallDue(email_ord as number, now)
      const free = yield* end(yield* holdBack(yield* due(ids, now), now), now)
      const leased = free.map(({ id }) => id)
      const lease = `${LEASE} WHERE recipient_id = ANY (CAST(? AS TEXT[])) RETURNING recipient_id AS id`
      const rows = leased.length === 0 ? [] : yield* all(lease, boot, leaseUntil, leased)
      return rows.map(({ id }) => id as string)
    },
    /** Puts to rest those of them that somebody holds. */
    *hold(ids: readonly string[], now: number): Asking<void> {
      const places = (yield* all(OF, ids)).map(({ email_ord }) => email_ord)
      yield* all(LOCK, places)
      yield* holdBack(yield* due(ids, now), now)
    },
  }
}
