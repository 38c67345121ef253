/**
 * NAME      statistics - how far counting is behind, as a metric
 */
import { countedUntil } from '../../statistics/progress.js'
import { gauge, type Metric } from '../metrics.js'

export const statisticsMetric = async (
  store: Parameters<typeof countedUntil>[0],
  now: number,
): Promise<Metric> =>
  gauge(
    'postern_statistics_lag_seconds',
    'Age of the oldest record of the log that statistics have not counted; 0 when all are',
    (now - (await countedUntil(store, now))) / 1000,
  )
