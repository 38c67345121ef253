/**
 * NAME      lease - who may send a recipient, and how the state of each recipient stands
 *   lifecycle/lease.ts says what a lease is. Marks and releases that came while the writer was busy are one fenced
 *   statement, whose conditions are those rules. Whether somebody holds a mail is asked in the statement itself.
 *   A statement that leases many asks only whether something may be in the way of one; such a one is then looked at
 *   again, by the law.
 */

import { systemClock } from '../../base/clock.js'
import type { AttemptMark, LeaseRef } from '../../lifecycle/facts.js'
import { STANDING_HOLDS, type StandingHold } from '../sql/orders.js'
import { type Asking, all } from '../sql/query.js'
import type { Leased } from './leased.js'
import { gather } from './run.js'
import type { PostgresWriter } from './writer.js'

/** Of a recipient `r` and its workspace `w`: a hold covers it, or its workspace is suspended. */
export const heldBy = (poolId: string, emailId: string): string => `(w.suspended_at IS NOT NULL OR EXISTS (
  SELECT 1 FROM holds h WHERE h.account_id = w.account_id AND (h.workspace_id IS NULL OR h.workspace_id = w.id)
    AND (h.pool_id IS NULL OR h.pool_id = ${poolId}) AND (h.email_id IS NULL OR h.email_id = ${emailId})
    AND (h.domain IS NULL OR right(r.address_lc, length(h.domain) + 1) = '@' || h.domain)))`

/** The same of one in a row `q` of the queue. */
export const IS_HELD = heldBy(
  '(SELECT id FROM pools WHERE n = q.pool)',
  '(SELECT id FROM emails WHERE ord = q.email_ord)',
)

/** The same: its address, its domain or its address for some mailing list is on a list that may mean it, or lists have it in another form. */
export const MAY_BE_SUPPRESSED = `(r.address_lc ~ '[^!-~]' OR left(r.address_lc, 1) IN ('"', '*') OR EXISTS (
  SELECT 1 FROM suppressions s
  WHERE s.workspace_id IN (w.id, w.id || '/test', w.account_id)
    AND s.email IN (r.address_lc, '*' || substr(r.address_lc, strpos(r.address_lc, '@')))) OR EXISTS (
  SELECT 1 FROM suppressions s
  WHERE s.workspace_id IN (w.id, w.id || '/test') AND s.email > r.address_lc || '#' AND s.email < r.address_lc || '$'))`

export function* standingHolds(): Asking<readonly StandingHold[]> {
  return (yield* all(STANDING_HOLDS)) as unknown as readonly StandingHold[]
}

const MOST = 500

/**
 * Of several marks of one lease the statement sets one, which holds for all. A key is compared with an array of one
 * (settle.ts). The boot, never null here, is compared by IS NOT DISTINCT FROM, which no index serves: the index of
 * boots has all that one daemon leased.
 */
const ATTEMPTING = `
given AS MATERIALIZED (
  SELECT g.* FROM fence, json_to_recordset(CAST(? AS JSON)) AS g (i int, id text, gen int, attempt int, upstream text, at bigint)),
people AS MATERIALIZED (
  SELECT g.*, r.workspace, r.address_lc FROM given g JOIN recipient_rows r ON r.id = ANY (ARRAY[g.id])),
marked AS (
  UPDATE queue q SET attempting = r.attempt, attempt_upstream = r.upstream, attempt_at = r.at
  FROM people r JOIN workspaces w ON w.n = r.workspace
  WHERE q.recipient_id = ANY (ARRAY[r.id]) AND q.gen = r.gen AND q.boot IS NOT DISTINCT FROM CAST(? AS BIGINT) AND NOT ${IS_HELD}
  RETURNING r.i)
SELECT m.i FROM fence LEFT JOIN marked m ON true`

const leaseOf = ({ recipientId, leaseGen }: LeaseRef): string => `${recipientId} ${leaseGen}`

export const createAttempting = ({ inTurn, statement, look, boot }: PostgresWriter, leased: Leased) => {
  const run = async (marks: readonly AttemptMark[]): Promise<readonly boolean[]> => {
    const rows = marks.map(({ recipientId: id, leaseGen: gen, attempt, upstreamId: upstream, at }, i) => ({
      ...{ i, id, gen, attempt, upstream, at },
    }))
    const given = JSON.stringify(rows)
    const found =
      (await statement('attempting', () => ({ text: ATTEMPTING, values: [given, boot] }))) ??
      (await look(all(MARKED, given, boot)))
    const done = found.flatMap(({ i }) => marks[i as number] ?? [])
    const marked = new Set(done.map(leaseOf))
    for (const mark of done) leased.marked(mark)
    return marks.map((mark) => marked.has(leaseOf(mark)))
  }
  const gathered = gather<readonly AttemptMark[], readonly boolean[]>({
    ...{ inTurn, most: MOST, weigh: ({ length }) => length },
    async run(calls) {
      const left = [...(await run(calls.flat()))]
      return calls.map(({ length }) => left.splice(0, length))
    },
  })
  return async (marks: readonly AttemptMark[]): Promise<readonly boolean[]> =>
    marks.length === 0 ? [] : gathered(marks)
}

/** Its answer was lost: those that are marked so. */
const MARKED = `SELECT g.i FROM json_to_recordset(CAST(? AS JSON)) AS g (i int, id text, gen int, attempt int)
  JOIN queue q ON q.recipient_id = g.id AND q.gen = g.gen AND q.attempting = g.attempt WHERE q.boot = CAST(? AS BIGINT)`

/** Due again where sending still makes sense; what is at rest leaves the queue. The generation moves on. */
const RELEASE = `
given AS MATERIALIZED (
  SELECT g.*, r.status FROM fence, json_to_recordset(CAST(? AS JSON)) AS g (id text, gen int, due bigint)
    JOIN recipient_rows r ON r.id = ANY (ARRAY[g.id]) FOR NO KEY UPDATE OF r),
ours AS (SELECT CAST(? AS BIGINT) AS boot),
freed AS (
  UPDATE queue q SET boot = NULL, lease_until = NULL, attempting = NULL, gen = q.gen + 1, due_at = g.due
  FROM given g, ours
  WHERE q.recipient_id = ANY (ARRAY[g.id]) AND q.gen = g.gen AND q.boot IS NOT DISTINCT FROM ours.boot AND g.status IN ('queued', 'deferred')
  RETURNING q.recipient_id),
gone AS (
  DELETE FROM queue q USING given g, ours
  WHERE q.recipient_id = ANY (ARRAY[g.id]) AND q.gen = g.gen AND q.boot IS NOT DISTINCT FROM ours.boot AND g.status NOT IN ('queued', 'deferred')
  RETURNING q.recipient_id, q.gen),
stored AS (UPDATE recipient_rows r SET last_gen = o.gen + 1 FROM gone o WHERE r.id = ANY (ARRAY[o.recipient_id]))
SELECT (SELECT count(*) FROM freed) AS freed FROM fence`

interface Release extends LeaseRef {
  readonly dueAt: number
}

export const createRelease = ({ inTurn, statement, boot, hints }: PostgresWriter) => {
  const gathered = gather<readonly Release[], null>({
    ...{ inTurn, most: MOST, weigh: ({ length }) => length },
    async run(calls) {
      const rows = calls.flat().map(({ recipientId: id, leaseGen: gen, dueAt: due }) => ({ id, gen, due }))
      await statement('release', () => ({ text: RELEASE, values: [JSON.stringify(rows), boot] }))
      hints.due()
      hints.elsewhere({ topic: 'due', poolIds: null })
      hints.left(rows.map(({ id }) => id))
      return calls.map(() => null)
    },
  })
  const release = async (leases: readonly LeaseRef[], dueAt: number): Promise<void> => {
    const releases = leases.map(({ recipientId, leaseGen }) => ({ recipientId, leaseGen, dueAt }))
    if (leases.length > 0) await gathered(releases)
  }
  // what is not given back, since its relay has just left, is freed with all that one held (heartbeat.ts)
  hints.onUntaken((leases) => {
    const claimed = leases.map((one) => one.claimed)
    release(claimed, systemClock.now()).catch(() => {})
  })
  return release
}
