/**
 * NAME      standing - what keeps mail from leaving, as the database itself can ask it
 * DESCRIPTION
 *   A statement that leases many asks only whether something may be in the way of one; such a one is then looked at
 *   again, by the law.
 */

import { STANDING_HOLDS, type StandingHold } from '../../sql/orders.js'
import { type Asking, all } from '../../sql/query.js'

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

/** The same: its address is on a list that may mean it, or is one that lists have in another form. */
export const MAY_BE_SUPPRESSED = `(r.address_lc ~ '[^!-~]' OR left(r.address_lc, 1) = '"' OR EXISTS (
  SELECT 1 FROM suppressions s
  WHERE s.workspace_id IN (w.id, w.id || '/test', w.account_id) AND s.email = r.address_lc))`

export function* standingHolds(): Asking<readonly StandingHold[]> {
  return (yield* all(STANDING_HOLDS)) as unknown as readonly StandingHold[]
}
