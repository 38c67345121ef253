/**
 * NAME      suppression - a suppressed address as the wire has it
 */
import { toRfc3339 } from '../../base/clock.js'
import type { SuppressionRow } from '../../store/port/tenants.js'
import type { PendingSuppression } from '../../store/port/watch.js'

/** True for a row that counts in every workspace of its account. */
const isAccountWide = ({ list, accountId }: SuppressionRow): boolean => list === accountId

export const suppressionRecord = (row: SuppressionRow | PendingSuppression) => ({
  id: row.id,
  object: 'suppression' as const,
  email: row.email,
  origin: row.origin,
  source_id: row.sourceId,
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.expiresAt !== null && { expires_at: toRfc3339(row.expiresAt) }),
  ...(isAccountWide(row) && { scope: 'account' as const }),
  ...('incidentId' in row && { status: 'pending' as const, incident_id: row.incidentId }),
  created_at: toRfc3339(row.createdAt),
})
