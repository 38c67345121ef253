/**
 * NAME      record - statistics as the public sees them
 * DESCRIPTION
 *   One JSON for HTTP and the command line. Figures at the top are volumes, of
 *   what happened in a span; those under `of_accepted` follow the recipients that
 *   were accepted in it, whenever it happened, and rates and times are theirs.
 */
import { toRfc3339 } from '../base/clock.js'
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
import type { Cells, Report, Scope } from './report.js'

/** What each rate is a share of. */
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
export type Names = ReadonlyMap<string, string>

export const statisticsRecord = (scope: Scope, asked: Question, told: Report, names: Names, asOf: number) => {
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
