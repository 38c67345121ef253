/**
 * NAME      rows - statistics as a table
 */
import type { StatisticsRecord } from './record.js'

/** Columns of a file; a dot leads into a member. */
export const STATISTICS_COLUMNS = [
  'group',
  'name',
  'at',
  ...['accepted', 'sent', 'delivered', 'deferred', 'greylisted'],
  ...['bounced.total', 'bounced.hard', 'bounced.soft', 'complained', 'suppressed', 'canceled', 'dropped'],
  ...['of_accepted.accepted', 'of_accepted.tried', 'of_accepted.sent', 'of_accepted.delivered'],
  ...['rates.delivered', 'rates.deferred', 'rates.bounced', 'rates.complained'],
  ...['time_to_sent.p50', 'time_to_sent.p95', 'time_to_delivered.p50', 'time_to_delivered.p95'],
] as const

/** One for each span of each group; of no groups, one for each span. */
export const statisticsRows = ({ group_by: by, data, groups }: StatisticsRecord) =>
  by === 'none'
    ? data.map((one) => ({ group: null, name: null, ...one }))
    : groups.flatMap(({ key, name, data: spans }) => spans.map((one) => ({ group: key, name, ...one })))
