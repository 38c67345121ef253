/**
 * NAME      workspace - a workspace as the wire has it
 */
import { timeOrNull, toRfc3339 } from '../../base/clock.js'
import { ALARMS, type AlarmLimit, causeRecord, limitOf } from '../../store/port/alarms.js'
import type { KeyScope, WorkspaceRow } from '../../store/port/tenants.js'

const limit = (of: AlarmLimit | 'off') => (of === 'off' ? of : { rate: of.rate, at_least: of.atLeast })

const alarms = ({ alarms: settings, alarmed, onAlarm }: WorkspaceRow) => ({
  alarms: Object.fromEntries(ALARMS.map((alarm) => [alarm, limit(limitOf(settings, alarm))])),
  on_alarm: onAlarm,
  alarmed: ALARMS.flatMap((alarm) => {
    const raised = alarmed[alarm]
    if (raised === undefined) return []
    const { since, count, tried, cause } = raised
    return [{ alarm, since: toRfc3339(since), count, tried, cause: causeRecord(cause) }]
  }),
})

/** Why it is suspended is for whoever runs this, not for the tenant. */
export const workspaceRecord = (row: WorkspaceRow, scope: KeyScope = 'platform') => ({
  id: row.id,
  object: 'workspace' as const,
  name: row.name,
  slug: row.slug,
  is_default: row.isDefault,
  egress_pool_id: row.poolId,
  routes: row.routes.map(({ domain, poolId }) => ({ domain, egress_pool_id: poolId })),
  default_from: row.defaultFrom,
  restrict_senders: row.restrictSenders,
  sender_dsn: row.senderDsn,
  line_endings: row.lineEndings,
  ambiguous: row.ambiguous,
  ...alarms(row),
  suppress_soft: row.suppressSoft,
  statistics: { tags: row.statisticsTags },
  suspended: row.suspendedAt !== null,
  suspended_at: timeOrNull(row.suspendedAt),
  suspended_reason: scope === 'platform' ? row.suspendedReason : null,
  created_at: toRfc3339(row.createdAt),
})
