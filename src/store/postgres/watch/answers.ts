/**
 * NAME      answers - how much an upstream had to say about a domain
 * DESCRIPTION
 *   What hard bounces are a share of: recipients of live mail that were taken or refused, and those deferred at their
 *   first attempt. All daemons send, so it is counted in the log, and only when a share is to be judged; no more
 *   of the log is read than READ_BACK.
 */
import { INCIDENT_WINDOW_MS } from '../../../lifecycle/incident.js'
import { kindOf } from '../../sql/log/codec.js'
import { ordAt } from '../../sql/order/ord.js'
import { type Asking, first } from '../../sql/query.js'
import { MAIL } from '../mails.js'

const HOUR = 3_600_000
/** A report is measured against the time at which its mail was taken, a day ago at most. */
const LONGEST = 24 * HOUR
const READ_BACK = 100_000

const COUNT = `SELECT count(*) AS n FROM (
    SELECT e.* FROM events e WHERE e.ord >= ? AND e.scope % 2 = 0
      AND (e.kind IN (${kindOf('email.sent')}, ${kindOf('email.bounced')})
        OR e.kind = ${kindOf('email.deferred')} AND e.attempt = 1)
    ORDER BY e.ord DESC LIMIT ${READ_BACK}) AS e
  JOIN mtas m ON m.n = ${MAIL.mtaOfEvent} JOIN recipient_rows r ON r.id = e.recipient
  WHERE m.upstream_id = ? AND e.occurred_at >= ? AND right(r.address_lc, length(?) + 1) = '@' || ?`

/** Since `from`, and at least in the window before `now`. */
export function* answersSince(upstreamId: string, domain: string, from: number, now: number): Asking<number> {
  const begin = Math.max(Math.min(from, now - INCIDENT_WINDOW_MS), now - LONGEST)
  const row = yield* first(COUNT, ordAt(begin), upstreamId, begin, domain, domain)
  return Number(row?.n)
}
