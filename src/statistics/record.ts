/**
 * NAME      record - statistics as the public sees them, as JSON and as a table
 *   One JSON for HTTP and the command line. Figures at the top are volumes, of what happened in a span; those under
 *   `of_accepted` follow the recipients that were accepted in it, whenever it happened, and rates and times are theirs.
 *   Workspaces, pools and upstreams are counted by their ids, which outlive them: what was deleted has no name any
 *   more.
 */
import { toRfc3339 } from '../base/clock.js'
import type { EventLog } from '../store/port/log.js'
import type { Tenants } from '../store/port/tenants.js'
import type { Reading } from '../store/port/watch.js'
import type { GroupBy, Question } from './ask.js'
import {
  categoriesOf,
  factsOf,
  ofAccepted,
  type Sums,
  timesToDelivered,
  timesToSent,
  volume,
} from './counters.js'
import type { Cells, ReportScope, StatisticsReport } from './report.js'

const RATE_BASES = {
  delivered: 'of_accepted.tried',
  deferred: 'of_accepted.tried',
  bounced: 'of_accepted.tried',
  bounced_hard: 'of_accepted.tried',
  bounced_soft: 'of_accepted.tried',
  complained: 'of_accepted.sent',
} as const

/** Nothing is said of a part that is no part: of mail that was rerouted into a pool, or of two complaints about one. */
const share = (part: number, base: number): number | null =>
  base <= 0 || part > base ? null : Math.round((part / base) * 1e5) / 1e5

/** Whom somebody tried to reach; an upstream accepts nothing, and tried whom it answered for. */
const triedOf = (groupBy: GroupBy, of: ReturnType<typeof factsOf>): number =>
  groupBy === 'upstream'
    ? of.sent + of.bounced_hard + of.bounced_soft
    : of.accepted - of.suppressed - of.canceled - of.dropped

export const figures = (groupBy: GroupBy, sums: Sums) => {
  const { bounced_hard: hard, bounced_soft: soft, ...volumes } = factsOf(sums, volume)
  const of = factsOf(sums, ofAccepted)
  const tried = triedOf(groupBy, of)
  // what reports tell is known of no upstream
  const told = (part: number, base: number) => (groupBy === 'upstream' ? null : share(part, base))
  return {
    ...volumes,
    bounced: { total: hard + soft, hard, soft, by_category: categoriesOf(sums) },
    of_accepted: { ...of, tried },
    rates: {
      delivered: told(of.delivered, tried),
      deferred: share(of.deferred, tried),
      bounced: share(of.bounced_hard + of.bounced_soft, tried),
      bounced_hard: share(of.bounced_hard, tried),
      bounced_soft: share(of.bounced_soft, tried),
      complained: told(of.complained, of.sent),
    },
    time_to_sent: timesToSent(sums),
    time_to_delivered: timesToDelivered(sums),
  }
}

const NOTHING: Sums = new Map()

/** What people call a group, by its key; nothing for what is its own name. */
type Names = ReadonlyMap<string, string>

export const statisticsRecord = (
  scope: ReportScope,
  asked: Question,
  told: StatisticsReport,
  names: Names,
  asOf: number,
) => {
  const { groupBy, starts } = asked
  // a total of all is no group's
  const whole = (sums: Sums) => figures('none', sums)
  const at = (i: number) => toRfc3339(starts[i] as number)
  const spansOf = (cells: Cells) =>
    [...cells.keys()]
      .sort((a, b) => a - b)
      .map((i) => ({ at: at(i), ...figures(groupBy, cells.get(i) ?? NOTHING) }))
  return {
    object: 'statistics' as const,
    workspace_id: scope.workspaceId,
    mode: scope.mode,
    from: at(0),
    to: at(starts.length - 1),
    interval: asked.interval,
    tz: asked.zone,
    group_by: groupBy,
    as_of: toRfc3339(asOf),
    rate_bases: RATE_BASES,
    totals: whole(told.total),
    data: starts.slice(0, -1).map((_, i) => ({ at: at(i), ...whole(told.cells.get(i) ?? NOTHING) })),
    groups: told.groups.map(({ key, total, cells }) => ({
      key,
      name: key === null ? null : (names.get(key) ?? null),
      totals: figures(groupBy, total),
      data: spansOf(cells),
    })),
  }
}

export type StatisticsRecord = ReturnType<typeof statisticsRecord>

type NameReads = Pick<Tenants, 'workspace' | 'pool' | 'allPools'>

export const namesOf = async (
  store: NameReads,
  accountId: string,
  groupBy: GroupBy,
  { groups }: StatisticsReport,
): Promise<Names> => {
  const names = new Map<string, string>()
  if (groupBy === 'upstream')
    for (const pool of await store.allPools())
      if (pool.accountId === accountId)
        for (const { id, host, port } of pool.upstreams) names.set(id, `${host}:${port}`)
  if (groupBy !== 'workspace' && groupBy !== 'pool') return names
  for (const { key } of groups) {
    const row = key === null ? null : await store[groupBy](accountId, key)
    if (row !== null && key !== null) names.set(key, row.name)
  }
  return names
}

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

const STEP = 50

/** When the oldest record was stored that is not counted yet; `now` when there is none. */
export const countedUntil = async (
  store: Pick<Reading, 'readPlaces' | 'readLog'> & Pick<EventLog, 'logEnds'>,
  now: number,
): Promise<number> => {
  let place = (await store.readPlaces()).statistics
  for (;;) {
    place ??= (await store.logEnds()).oldest
    const next = await store.readLog('log', place, null, STEP)
    if (next === 'gone') {
      place = null
      continue
    }
    const [first] = next.rows
    if (first !== undefined) return Math.min(now, first.createdAt)
    // what is there may be nothing that is told, such as mail of a deleted workspace
    if (next.isEnd) return now
    place = next.mark
  }
}
