/**
 * NAME      busiest - how statistics are added, and how many values of a dimension are kept apart in an hour
 * DESCRIPTION
 *   When an hour of a workspace has more values than these, the least busy tenth
 *   and what is beyond go into OTHER, in rows of all spans. Nothing is lost from
 *   sums; a value that went and comes again counts anew. Together they are at
 *   most 2,000 values an hour, workspace and mode.
 */
import { BY_MINUTE, type Dimension, OTHER, SPANS, type Span, TAG_SEPARATOR } from '../port/statistics.js'

interface Room {
  readonly values: number
  /** Of one tag's name. */
  readonly each: number
}

const room = (values: number, each = values): Room => ({ values, each })

export const ROOM: Readonly<Record<Dimension, Room>> = {
  none: room(1),
  pool: room(60),
  upstream: room(60),
  provider: room(60),
  recipient_domain: room(1_100),
  tag: room(660, 220),
}

/** `kind\nreceipt` is of `kind`; what has no name is of its dimension. */
const nameOf = (value: string): string => {
  const at = value.indexOf(TAG_SEPARATOR)
  return at < 0 ? value : value.slice(0, at)
}

/** Where a value is added to when it goes. */
export const restOf = (dimension: Dimension, value: string): string =>
  dimension === 'tag' ? nameOf(value) : OTHER

interface Busy {
  readonly value: string
  readonly busy: number
}

/** The values that go: none while all have room, else the least busy beyond nine tenths of it. */
export const crowdedOut = (dimension: Dimension, values: readonly Busy[]): readonly string[] => {
  const { values: all, each } = ROOM[dimension]
  const kept = values.filter(({ value }) => value !== restOf(dimension, value))
  const counts = new Map<string, number>()
  const nameFor = (value: string): string => (dimension === 'tag' ? nameOf(value) : '')
  for (const { value } of kept) counts.set(nameFor(value), (counts.get(nameFor(value)) ?? 0) + 1)
  if (kept.length <= all && Math.max(0, ...counts.values()) <= each) return []
  // by name where as busy, so that the order in which rows are found decides nothing
  const sorted = [...kept].sort((a, b) => b.busy - a.busy || (a.value < b.value ? -1 : 1))
  const gone: string[] = []
  const left = new Map<string, number>()
  let total = 0
  for (const { value } of sorted) {
    const name = nameFor(value)
    const n = left.get(name) ?? 0
    if (n >= Math.round(each / 1.1) || total >= Math.round(all / 1.1)) gone.push(value)
    else {
      left.set(name, n + 1)
      total++
    }
  }
  return gone
}

/** In which spans there are rows of a dimension. */
export const spansOf = (dimension: Dimension): readonly Span[] =>
  SPANS.filter((span) => span !== 1 || BY_MINUTE.includes(dimension))

/** Pairs of a counter's number and how often, of both together, in order of their numbers. */
export const added = (a: readonly number[], b: readonly number[]): number[] => {
  const sums = new Map<number, number>()
  for (const counts of [a, b])
    for (let i = 0; i < counts.length; i += 2) {
      const key = counts[i] as number
      sums.set(key, (sums.get(key) ?? 0) + (counts[i + 1] as number))
    }
  return [...sums].sort(([x], [y]) => x - y).flat()
}

/** How much a row stands for: all that it counts. */
export const busyOf = (counts: readonly number[]): number => {
  let sum = 0
  for (let i = 1; i < counts.length; i += 2) sum += counts[i] as number
  return sum
}

/** Whether a new row may have crowded others out. */
export const mayCrowd = ({
  span,
  dimension,
}: {
  readonly span: number
  readonly dimension: Dimension
}): boolean => span === 60 && dimension !== 'none'

/** Dimensions whose values name people, and go with a workspace that is deleted. */
export const PERSONAL = ['recipient_domain', 'tag'] as const satisfies readonly Dimension[]
