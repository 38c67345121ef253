/**
 * NAME      report - the answer to a question, from rows
 *   Reads a page of rows at a time and lets others run in between, since a long span by recipient domain has many.
 *   Groups are told busiest first; those beyond the limit are one, and so are the values that the store put together.
 */
import { setImmediate } from 'node:timers/promises'
import { type Fault, invalidField } from '../base/fault.js'
import type { Mode } from '../lifecycle/page.js'
import { CATEGORIES, type Category } from '../mail/report/category.js'
import { OTHER, type Statistics, type StatisticsRow, TAG_SEPARATOR } from '../store/port/watch.js'
import type { Question } from './ask.js'
import { bouncedAs, categoriesOf, ofAccepted, type Sums, sumOf, volume } from './counters.js'

export interface ReportScope {
  readonly accountId: string
  /** null: all workspaces. */
  readonly workspaceId: string | null
  readonly mode: Mode
}

/** By the number of the span; a span without anything has none. */
export type Cells = ReadonlyMap<number, Sums>

interface Group {
  /** null: all that are not told apart. Of a tag `name:value`, or `name` for its other values. */
  readonly key: string | null
  readonly total: Sums
  readonly cells: Cells
}

export interface StatisticsReport {
  readonly total: Sums
  readonly cells: Cells
  /** Busiest first; empty when none were asked for. */
  readonly groups: readonly Group[]
}

/** Rows read for one answer. */
const MOST_ROWS = 100_000

const tooMuch = ({ nameOf }: Question): Fault =>
  invalidField(
    nameOf('from'),
    'range',
    `must be later, or for one workspace: more than ${MOST_ROWS} rows would have to be read`,
  )

type Growing = Map<number, Map<number, number>>

const addTo = (cells: Growing, i: number, counts: readonly number[]): void => {
  const sums = cells.get(i) ?? new Map<number, number>()
  cells.set(i, sums)
  for (let k = 0; k < counts.length; k += 2)
    sums.set(counts[k] as number, (sums.get(counts[k] as number) ?? 0) + (counts[k + 1] as number))
}

const together = (all: Iterable<Cells>): Growing => {
  const sums: Growing = new Map()
  for (const cells of all) for (const [i, cell] of cells) addTo(sums, i, [...cell].flat())
  return sums
}

const totalOf = (cells: Cells): Sums => {
  const sums: Growing = new Map()
  for (const cell of cells.values()) addTo(sums, 0, [...cell].flat())
  return sums.get(0) ?? new Map()
}

/** A row as each of the groups that it belongs to. */
const sharesOf = (
  { groupBy }: Question,
  row: StatisticsRow,
): readonly (readonly [string, readonly number[]])[] => {
  if (groupBy === 'workspace') return [[row.workspaceId, row.counts]]
  if (groupBy !== 'category') return [[row.value, row.counts]]
  const found = Object.entries(categoriesOf(sumOf([row]))) as [Category, number][]
  return found.map(([category, n]) => {
    const fact = CATEGORIES[category].severity === 'hard' ? 'bounced_hard' : 'bounced_soft'
    return [category, [volume(fact), n, bouncedAs(category), n]]
  })
}

const indexOf = (starts: readonly number[], at: number): number => {
  let low = 0
  let high = starts.length - 2
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] as number) <= at) low = middle
    else high = middle - 1
  }
  return low
}

const busyOf = (sums: Sums): number => {
  let busy = 0
  for (const [counter, n] of sums) if (counter < ofAccepted('accepted')) busy += n
  return busy
}

const read = async (
  store: Pick<Statistics, 'statistics'>,
  scope: ReportScope,
  question: Question,
): Promise<ReadonlyMap<string, Growing>> => {
  const { starts, span, dimension, tag } = question
  const [from, to] = [starts[0] as number, starts.at(-1) as number]
  const query = { ...scope, dimension, span, tagName: tag, from, to }
  const found = new Map<string, Growing>()
  let rows = 0
  let after: string | null = null
  do {
    const page = await store.statistics(query, after)
    rows += page.rows.length
    if (rows > MOST_ROWS) throw tooMuch(question)
    for (const row of page.rows) {
      for (const [value, counts] of sharesOf(question, row)) {
        const cells: Growing = found.get(value) ?? new Map()
        found.set(value, cells)
        addTo(cells, indexOf(starts, row.at), counts)
      }
    }
    after = page.next
    if (after !== null) await setImmediate()
  } while (after !== null)
  return found
}

const keyOf = ({ groupBy }: Question, value: string): string | null =>
  groupBy === 'tag' ? value.replace(TAG_SEPARATOR, ':') : value === OTHER ? null : value

export const report = async (
  store: Pick<Statistics, 'statistics'>,
  scope: ReportScope,
  question: Question,
): Promise<StatisticsReport> => {
  const found = await read(store, scope, question)
  // in the groups of these a recipient is several times, or not at all
  const isWhole = !['tag', 'upstream', 'category'].includes(question.groupBy)
  const whole = isWhole
    ? found
    : await read(store, scope, { ...question, groupBy: 'none', dimension: 'none', tag: null })
  const cells = together(whole.values())
  const total = totalOf(cells)
  if (question.groupBy === 'none') return { total, cells, groups: [] }
  const groups = [...found]
    .map(([value, own]): Group => ({ key: keyOf(question, value), total: totalOf(own), cells: own }))
    .sort((a, b) => busyOf(b.total) - busyOf(a.total) || (String(a.key) < String(b.key) ? -1 : 1))
  const named = groups.filter(({ key }) => key !== null)
  const told = named.slice(0, question.limit)
  const rest = [...named.slice(question.limit), ...groups.filter(({ key }) => key === null)]
  if (rest.length === 0) return { total, cells, groups: told }
  const others = together(rest.map((one) => one.cells))
  return { total, cells, groups: [...told, { key: null, total: totalOf(others), cells: others }] }
}
