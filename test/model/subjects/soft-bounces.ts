/**
 * NAME      soft-bounces - an address that bounces softly for too long is suppressed
 */
import type { Outcome } from '../../../src/lifecycle/facts.js'
import { LIVING_AFTER_MS } from '../../../src/lifecycle/suppress.js'
import type { SuppressionRow } from '../../../src/store/port/tenants.js'
import { isTooMuch, softLimitOf, softSuppression } from '../../../src/store/rules/watch.js'
import type { Recipient, State } from '../state.js'

/** Its mail reached somebody: a report of the contrary would be here. */
export const isTaken = ({ status, updatedAt }: Recipient, now: number): boolean =>
  status === 'delivered' || (status === 'sent' && updatedAt < now - LIVING_AFTER_MS)

export const createSoftBounces =
  ({ recipients, mails, workspaces }: State, add: (row: SuppressionRow) => unknown) =>
  (outcome: Outcome, one: Recipient, now: number): void => {
    const { workspaceId, emailId, address } = one
    const workspace = workspaces.get(workspaceId)
    const limit = workspace && softLimitOf(outcome, workspace.suppressSoft)
    if (limit === null) return
    const alike = recipients.where(
      (row) =>
        row.workspaceId === workspaceId &&
        row.address.toLowerCase() === address.toLowerCase() &&
        mails.get(row.emailId)?.mode === 'live',
    )
    const anew = Math.max(0, ...alike.filter((row) => isTaken(row, now)).map(({ updatedAt }) => updatedAt))
    const times = alike
      .filter(({ status, reason }) => status === 'bounced' && reason === outcome.reason)
      .filter((row) => mails.get(row.emailId)?.source !== 'system' && row.updatedAt > anew)
      .map(({ updatedAt }) => updatedAt)
    const seen = { bounces: times.length, first: times.length === 0 ? null : Math.min(...times) }
    if (!isTooMuch(limit, seen, now)) return
    add(
      softSuppression({ accountId: workspace?.accountId ?? '', workspaceId, emailId }, address, outcome, now),
    )
  }
