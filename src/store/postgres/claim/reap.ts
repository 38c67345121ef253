/**
 * NAME      reap - freeing unused leases of this writer that ran out
 * DESCRIPTION
 *   Nearly always a comparison and nothing more. Only its own: those of others are theirs, or end with their epoch.
 */
import { FIRST_LEASE_MS } from '../../../lifecycle/accept.js'
import { first } from '../../sql/query.js'
import type { Writer } from '../write/writer.js'

const OVER = 'q.boot = ? AND q.lease_until <= ? AND q.attempting IS NULL AND r.id = q.recipient_id'

/** Due again where sending still makes sense; the generation moves on, so the old lease is void. */
const REAP = `
over AS (
  DELETE FROM queue q USING fence, recipient_rows r WHERE ${OVER} AND r.status NOT IN ('queued', 'deferred')
  RETURNING q.recipient_id, q.gen),
noted AS (UPDATE recipient_rows r SET last_gen = o.gen + 1 FROM over o WHERE r.id = o.recipient_id),
freed AS (
  UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT)
  FROM fence, recipient_rows r WHERE ${OVER} AND r.status IN ('queued', 'deferred'))
SELECT n FROM fence`

const EARLIEST = 'SELECT min(lease_until) AS until FROM queue WHERE boot = ? AND attempting IS NULL'

export const createReap = (writer: Writer) => {
  const { boot } = writer
  let earliest = Number.NEGATIVE_INFINITY
  return {
    async runOut(now: number): Promise<void> {
      if (now < earliest) return
      await writer.inTurn(async () => {
        await writer.statement('reap', () => ({ text: REAP, values: [boot, now, now, boot, now] }))
        const { until } = (await writer.look(first(EARLIEST, boot))) ?? { until: null }
        // mail may have been accepted under a lease to this writer, and its taker never have heard of it
        earliest = Math.min((until ?? Number.POSITIVE_INFINITY) as number, now + FIRST_LEASE_MS)
      })
    },
    /** When the next may run out. */
    noteUntil(until: number): void {
      earliest = Math.min(earliest, until)
    },
    moved(): void {
      earliest = Number.NEGATIVE_INFINITY
    },
  }
}
