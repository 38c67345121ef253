/**
 * NAME      statistics - how far what follows the mail is behind, as metrics
 */
import { countedUntil } from '../../statistics/progress.js'
import type { EmailSearch } from '../../store/port/ledger.js'
import { gauge, type Metric } from '../metrics.js'

export const statisticsMetrics = async (
  store: Parameters<typeof countedUntil>[0] & Pick<EmailSearch, 'notIndexedSince'>,
  now: number,
): Promise<readonly Metric[]> => [
  gauge(
    'postern_statistics_lag_seconds',
    'Age of the oldest record of the log that statistics have not counted; 0 when all are',
    (now - (await countedUntil(store, now))) / 1000,
  ),
  gauge(
    'postern_search_lag_seconds',
    'Age of the oldest mail that a search does not find yet; 0 when all are in the index',
    Math.max(0, now - ((await store.notIndexedSince()) ?? now)) / 1000,
  ),
]
