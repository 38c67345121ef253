/**
 * NAME      answers - how much an upstream had to say, and about which domains
 * DESCRIPTION
 *   What hard bounces are a share of: recipients of live mail that were taken or refused, and those deferred at their
 *   first attempt. It is counted in the log, and only when a share is to be judged, so that mail which is taken costs
 *   nothing; no more of the log is read than READ_BACK. What was usual in the days before stands in the statistics,
 *   and how many of those were hard in hard_counts, since a report names no upstream there.
 */
import { type Share, SLOW_BEFORE_MS } from '../../../lifecycle/suppress.js'
import { DIMENSIONS } from '../../port/statistics.js'
import { answeredIn } from '../../rules/watch.js'
import { kindOf } from '../log/codec.js'
import type { MailTables } from '../mails/tables.js'
import { ordAt } from '../order/ord.js'
import { type Asking, all, first, run } from '../query.js'

const HOUR = 3_600_000
/** A report is measured against the time at which its mail was taken, a day ago at most. */
export const LONGEST_MS = 24 * HOUR
const READ_BACK = 100_000

/** By domain, since then. */
export const answersOf = ({ mtaOfEvent, record, domainOf }: MailTables) => {
  const text = `SELECT ${domainOf} AS domain, count(*) AS n FROM (
      SELECT e.* FROM events e WHERE e.ord >= ? AND e.scope % 2 = 0
        AND (e.kind IN (${kindOf('email.sent')}, ${kindOf('email.bounced')})
          OR e.kind = ${kindOf('email.deferred')} AND e.attempt = 1)
      ORDER BY e.ord DESC LIMIT ${READ_BACK}) AS e
    JOIN mtas m ON m.n = ${mtaOfEvent} JOIN ${record} r ON r.id = e.recipient
    WHERE m.upstream_id = ? AND e.occurred_at >= ? GROUP BY 1`
  return function* (upstreamId: string, from: number): Asking<ReadonlyMap<string, number>> {
    const rows = yield* all(text, ordAt(from), upstreamId, from)
    return new Map(rows.map(({ domain, n }) => [String(domain), Number(n)]))
  }
}

const COUNT = `INSERT INTO hard_counts (cause, hour, n) VALUES (?, ?, 1)
  ON CONFLICT (hour, cause) DO UPDATE SET n = hard_counts.n + 1`

/** One more that was listed. */
export const countHard = (cause: string, now: number): Asking<number> =>
  run(COUNT, cause, Math.floor(now / HOUR))

/** What is older than anything is measured by; the first of all, of no cause, tells since when is counted. */
export const forgetHard = (now: number): Asking<number> =>
  run("DELETE FROM hard_counts WHERE hour < ? AND cause <> ''", Math.floor((now - SLOW_BEFORE_MS) / HOUR) - 2)

const HARD = `SELECT CAST(coalesce(sum(n), 0) AS BIGINT) AS n FROM hard_counts WHERE cause = ? AND hour >= ? AND hour < ?`
const COUNTED_SINCE = 'SELECT min(hour) AS hour FROM hard_counts'
// a seek for each hour
const ANSWERS = `WITH RECURSIVE hours (at) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT at + 60 FROM hours WHERE at < ?)
  SELECT s.at, s.counts FROM hours h JOIN statistics s ON s.span = 60 AND s.at = h.at
    AND s.dimension = ${DIMENSIONS.indexOf('upstream')}
  JOIN workspaces w ON w.n = s.workspace WHERE s.test = 0 AND s.value = ? AND w.account_id = ?`

/** When the hour before this one began: what is slow is seen from there on. */
export const slowFrom = (now: number): number => (Math.floor(now / HOUR) - 1) * HOUR

/** What an upstream answered in the hour before and since, and what was usual in the seven days before. */
export function* usualOf(
  accountId: string,
  upstreamId: string,
  cause: string,
  now: number,
): Asking<{ readonly outcomes: number; readonly before: Share }> {
  const to = slowFrom(now) / HOUR
  const since = Number((yield* first(COUNTED_SINCE))?.hour ?? 0)
  const from = Math.max(to - SLOW_BEFORE_MS / HOUR, since)
  const addresses = Number((yield* first(HARD, cause, from, to))?.n)
  const sums = { before: 0, now: 0 }
  for (const row of yield* all(ANSWERS, from * 60, (to + 1) * 60, upstreamId, accountId))
    sums[Number(row.at) < to * 60 ? 'before' : 'now'] += answeredIn(
      JSON.parse(String(row.counts)) as number[],
    )
  return { outcomes: sums.now, before: { addresses, outcomes: sums.before } }
}
