/**
 * NAME      statistics - the store's verbs about what is counted
 * DESCRIPTION
 *   A row counts recipients: of one workspace and mode, in one span of time, under
 *   one value of one dimension. What is counted stands in `counts` as pairs of a
 *   counter's number and how often; the store only adds, and knows none of them
 *   (statistics/counters.ts does).
 * NOTES
 *   Who counts keeps its place in the log here, and both are written by one verb:
 *   an event that is counted is behind the place, and one behind it is counted.
 *   Of each dimension the store keeps the busiest values of an hour, and adds the
 *   rest up under OTHER; sums over all values are always exact.
 */
import type { Mode } from '../../lifecycle/page.js'

/** Minutes. Quarters make days right in zones that are not whole hours from UTC. */
export const SPANS = [1, 15, 60] as const
export type Span = (typeof SPANS)[number]

const HOUR = 3600_000
const DAY = 24 * HOUR

/** How long rows of a span are kept, in milliseconds. */
export const KEPT: Readonly<Record<Span, number>> = { 1: 48 * HOUR, 15: 35 * DAY, 60: 396 * DAY }

/** Their numbers are stored: a name keeps its place, new ones go to the end. `none` has one row for each workspace. */
export const DIMENSIONS = ['none', 'pool', 'upstream', 'recipient_domain', 'provider', 'tag'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** Rows of one minute are made of these only. */
export const BY_MINUTE: readonly Dimension[] = ['none', 'pool', 'upstream']

/** The value that stands for all that are not among the busiest; of a tag it follows the name and TAG_SEPARATOR is missing. */
export const OTHER = ''
/** Between the name of a tag and its value, as no tag holds one. */
export const TAG_SEPARATOR = '\n'

export interface StatisticsRow {
  readonly span: Span
  /** When the span begins, a multiple of it since the epoch. */
  readonly at: number
  readonly workspaceId: string
  readonly mode: Mode
  readonly dimension: Dimension
  readonly value: string
  /** Number of a counter, how often, number of the next, how often... */
  readonly counts: readonly number[]
}

export interface StatisticsQuery {
  /** null: of every account. */
  readonly accountId: string | null
  /** null: of all workspaces, those that were deleted too. */
  readonly workspaceId: string | null
  readonly mode: Mode
  readonly dimension: Dimension
  /** Of `tag`: the name; null for all. */
  readonly tagName: string | null
  readonly span: Span
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

export interface StatisticsPage {
  /** In order of time. */
  readonly rows: readonly StatisticsRow[]
  /** Where to go on; null when that was all. */
  readonly next: string | null
}

export interface Statistics {
  /** Some of the rows, about a thousand, so that a long answer leaves room for others. */
  statistics(query: StatisticsQuery, after: string | null): Promise<StatisticsPage>
}
