/**
 * NAME      store - how the writer of the store is doing, as metrics
 */

import type { Incidents } from '../../store/port/tenants/incident.js'
import { CLOCK_AHEAD_MS, type Distribution, type WriterLoad } from '../../store/port/upkeep.js'
import { gauge, type Metric } from '../metrics.js'

const histogram = (name: string, help: string, { bounds, counts, sum }: Distribution): Metric => {
  let below = 0
  const buckets = counts.map((count, i) => {
    below += count
    return { suffix: '_bucket', labels: { le: String(bounds[i] ?? '+Inf') }, value: below }
  })
  const whole = [
    { suffix: '_sum', value: sum },
    { suffix: '_count', value: below },
  ]
  return { name, help, type: 'histogram', samples: [...buckets, ...whole] }
}

export const writerMetrics = ({ verbsPerCommit, commitSeconds }: WriterLoad): readonly Metric[] => [
  histogram('postern_store_batch_verbs', 'Verbs that shared a commit of the writer', verbsPerCommit),
  histogram('postern_store_commit_seconds', 'Time of a commit, nearly all of it fsync', commitSeconds),
]

/** `lead`: how far the clock is ahead of the last stored row. */
export const clockMetric = (lead: number): Metric =>
  gauge(
    'postern_clock_ahead_seconds',
    'How far the clock is ahead of the last stored row while lists do not follow it; 0 when they do',
    lead > CLOCK_AHEAD_MS ? lead / 1000 : 0,
  )

/** What waits for somebody's decision. */
export const incidentMetrics = async (
  store: Pick<Incidents, 'openIncidents'>,
): Promise<readonly Metric[]> => {
  const { incidents, suppressions } = await store.openIncidents()
  return [
    gauge('postern_suppression_incidents', 'Refusals in common that nobody has decided', incidents),
    gauge('postern_suppressions_pending', 'Suppressions that wait for a decision', suppressions),
  ]
}
