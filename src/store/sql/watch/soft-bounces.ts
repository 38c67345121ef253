/**
 * NAME      soft-bounces - an address that bounces softly for too long is suppressed
 * DESCRIPTION
 *   In the transaction of the bounce that is one too many, where its workspace has a limit for the kind. What is
 *   counted are the recipients of that address that are kept and bounced so, since the last one that took its mail.
 */
import type { Outcome } from '../../../lifecycle/facts.js'
import { LIVING_AFTER_MS } from '../../../lifecycle/suppress.js'
import type { SoftLimits } from '../../port/alarms.js'
import type { SuppressionRow } from '../../port/tenants.js'
import { isTooMuch, softLimitOf, softSuppression } from '../../rules/watch.js'
import { type Asking, first } from '../query.js'

export interface SoftBounced {
  readonly emailId: string
  /** Its number. */
  readonly workspace: number
  readonly address: string
}

export interface SoftBounceParts {
  /** Live recipients of an address that bounced for that reason, and when the first did, since one took its mail; what was sent is taken when nothing has come back by then. */
  bouncesOf(
    bounced: SoftBounced,
    reason: string | null,
    settled: number,
  ): Asking<{ readonly bounces: number; readonly first: number | null }>
  addSuppression(row: SuppressionRow): Asking<unknown>
}

const LIMITS = "SELECT id, account_id, suppress_soft FROM workspaces WHERE n = ? AND suppress_soft <> '{}'"

/** Of a live recipient that has bounced just now. */
export const softBounces = ({ bouncesOf, addSuppression }: SoftBounceParts) =>
  function* (outcome: Outcome, bounced: SoftBounced, now: number): Asking<void> {
    const found = yield* first(LIMITS, bounced.workspace)
    if (found === null) return
    const limit = softLimitOf(outcome, JSON.parse(String(found.suppress_soft)) as SoftLimits)
    if (limit === null) return
    const seen = yield* bouncesOf(bounced, outcome.reason, now - LIVING_AFTER_MS)
    if (!isTooMuch(limit, seen, now)) return
    const ids = { accountId: String(found.account_id), workspaceId: String(found.id) }
    const mail = { ...ids, emailId: bounced.emailId }
    yield* addSuppression(softSuppression(mail, bounced.address, outcome, now))
  }
