/**
 * NAME      soft-bounces - an address that bounces softly for too long is suppressed
 * DESCRIPTION
 *   In the commit of the bounce that is one too many, where its workspace has a limit for the kind. What is
 *   counted are the recipients of that address that are kept and bounced so, since the last one that took its mail.
 */
import type { Outcome } from '../../../lifecycle/facts.js'
import { LIVING_AFTER_MS } from '../../../lifecycle/incident.js'
import type { SuppressionRow } from '../../port/tenants/tenants.js'
import type { SoftLimits } from '../../port/watch/soft-bounces.js'
import { isTooMuch, softLimitOf, softSuppression } from '../../rules/bounces.js'
import type { WriteContext } from '../write/context.js'

export const SOFT_BOUNCES_STEP = `
ALTER TABLE workspaces ADD COLUMN suppress_soft TEXT NOT NULL DEFAULT '{}'; -- JSON
`

export interface Bounced {
  readonly email_id: string
  readonly workspace: number
  readonly address: string
}

/** `addSuppression` writes in the commit that runs. */
export const createSoftBounces = ({ db }: WriteContext, addSuppression: (row: SuppressionRow) => unknown) => {
  const limits = db.prepare<[number], { id: string; account: string; limits: string }>(
    "SELECT id, account_id AS account, suppress_soft AS limits FROM workspaces WHERE n = ? AND suppress_soft <> '{}'",
  )
  const count = db.prepare<[Record<string, unknown>], { bounces: number; first: number | null }>(
    `SELECT count(*) AS bounces, min(r.updated_at) AS first FROM recipients r
     JOIN emails e ON e.ord = r.email_ord AND e.test = 0 AND e.source <> 'system'
     WHERE r.workspace = @workspace AND r.address_lc = @address AND r.status = 'bounced' AND r.reason = @kind
       AND r.updated_at > coalesce((
         SELECT max(d.updated_at) FROM recipients d JOIN emails m ON m.ord = d.email_ord AND m.test = 0
         WHERE d.workspace = r.workspace AND d.address_lc = r.address_lc
           AND (d.status = 'delivered' OR d.status = 'sent' AND d.updated_at < @settled)), 0)`,
  )
  /** Of a live recipient that has bounced just now. */
  return (outcome: Outcome, row: Bounced, now: number): void => {
    const found = limits.get(row.workspace)
    const limit = softLimitOf(outcome, JSON.parse(found?.limits ?? '{}') as SoftLimits)
    if (found === undefined || limit === null) return
    const { workspace, address, email_id: emailId } = row
    const settled = now - LIVING_AFTER_MS
    const seen = count.get({ workspace, address: address.toLowerCase(), kind: outcome.reason, settled })
    if (seen === undefined || !isTooMuch(limit, seen, now)) return
    const mail = { accountId: found.account, workspaceId: found.id, emailId }
    addSuppression(softSuppression(mail, address, outcome, now))
  }
}
