/**
 * NAME      incident - hard bounces that say more of a server than of the addresses, as the wire has them
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { KnownIncident } from '../store/port/watch.js'
import { incidentFacts } from '../store/rules/watch.js'

export const incident = (row: KnownIncident) => ({
  id: row.id,
  object: 'incident' as const,
  workspace_id: row.workspaceId,
  ...incidentFacts(row),
  pending: row.pending,
  decision: row.decision,
  created_at: toRfc3339(row.createdAt),
  decided_at: timeOrNull(row.decidedAt),
})

/** Why it was opened, in words. */
export const incidentText = (row: Pick<KnownIncident, 'addresses' | 'living' | 'outcomes'>): string =>
  row.living > 0
    ? `${row.addresses} addresses of ${row.outcomes} at the same time, of which ${row.living} took mail before`
    : `${row.addresses} addresses of ${row.outcomes} at the same time`

export type Incident = ReturnType<typeof incident>
