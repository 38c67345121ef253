/**
 * NAME      ages - how old what waits is, by one of its parts
 * DESCRIPTION
 *   The database counts, a step at a time: made into objects, the rows would keep this thread busy for eight times as long.
 *   What is under way is no more than a relay has at once, and is counted in one go.
 */
import {
  AGE_EDGES,
  type Operations,
  type QueueAge,
  type QueueAges,
  type QueueGroup,
} from '../../port/operations.js'
import { type Asking, all, first, pause, type Row } from '../query.js'
import { idOf, workspacesOf } from './depth.js'
import { type Pair, pairsOf } from './pairs.js'
import { sandboxes } from './queue-pages.js'

/** Some milliseconds of this thread. */
const STEP = 5_000
/** Ends of ranges, each of which costs some seeks. */
const FEW = 100

/** Of a domain, what stands behind the last `@`: all else but that sign is cut from the end. */
const KEY: Readonly<Record<QueueGroup, string>> = {
  domain: "substr(address_lc, length(rtrim(address_lc, replace(address_lc, '@', ''))) + 1)",
  pool: 'pool',
  workspace: 'workspace',
}
/** Digits of a time in milliseconds, with one before them that is cut off; the least text is the soonest due. */
const AT = 13
const DUE = `substr(CAST(1${'0'.repeat(AT)} + coalesce(due_at, 9${'0'.repeat(AT - 1)}) AS TEXT), 2)`
const SAID = `min(CASE WHEN last_response IS NULL THEN NULL ELSE ${DUE} || last_response END)`
const REFUSED = "max(CASE WHEN reason = 'connection' THEN updated_at END)"
const YOUNGER = AGE_EDGES.map((_, i) => `count(*) FILTER (WHERE queued_at > ?) AS younger${i}`).join()

type Group = { -readonly [name in keyof QueueAge]: QueueAge[name] }

/** Younger than each edge, and all of them, as numbers between the edges. */
const agesOf = (row: Row): readonly number[] => {
  const below = [...AGE_EDGES.map((_, i) => row[`younger${i}`] as number), row.n as number]
  return below.map((n, i) => n - (below[i - 1] ?? 0))
}

const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)

const least = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Adds up what the steps counted. */
class Tally {
  readonly #groups = new Map<string, Group>()
  scheduled = 0
  readonly scheduledOf: Record<string, number> = {}

  add(key: string, row: Row): void {
    const { n, oldest, due, said, refused, scheduled } = row
    if (scheduled === 1) {
      this.scheduled += n as number
      this.scheduledOf[key] = (this.scheduledOf[key] ?? 0) + (n as number)
      return
    }
    const one: Group = {
      key,
      recipients: n as number,
      ages: agesOf(row),
      oldestAt: oldest as number,
      nextDueAt: due as number | null,
      lastResponse: (said as string | null)?.slice(AT) ?? null,
      refusedAt: refused as number | null,
    }
    const known = this.#groups.get(key)
    if (known === undefined) {
      this.#groups.set(key, one)
      return
    }
    known.recipients += one.recipients
    known.ages = known.ages.map((count, i) => count + (one.ages[i] ?? 0))
    known.oldestAt = Math.min(known.oldestAt, one.oldestAt)
    known.nextDueAt = least(known.nextDueAt, one.nextDueAt)
    known.lastResponse ??= one.lastResponse
    known.refusedAt = latest(known.refusedAt, one.refusedAt)
  }

  /** Most first. */
  rows(): readonly QueueAge[] {
    return [...this.#groups.values()].sort((a, b) => b.recipients - a.recipients || a.oldestAt - b.oldestAt)
  }
}

type At = readonly [at: number, id: string]

/** From one row on, and up to another, of a pool and workspace. */
interface Range {
  readonly pair: Pair
  readonly from: At
  readonly to: At
}

const HERE = 'pool = ? AND workspace = ? AND due_at IS NOT NULL AND (due_at, id) >= (?, ?)'

/** So many rows of a range at most, and where it goes on. */
function* cut(waiting: string, range: Range, n: number): Asking<readonly [range: Range, rest: Range | null]> {
  const edge = yield* first(
    `SELECT due_at AS at, id FROM ${waiting} WHERE ${HERE} ORDER BY due_at, id LIMIT 1 OFFSET ? + 0`,
    ...range.pair,
    ...range.from,
    n,
  )
  if (edge === null) return [range, null]
  const at: At = [edge.at as number, edge.id as string]
  return [
    { ...range, to: at },
    { ...range, from: at },
  ]
}

export type AgesOf = Parameters<Operations['queueAges']>[0]

/** Counts what is ours, so much at a time. */
class Count {
  readonly #waiting: string
  readonly #by: QueueGroup
  readonly #edges: readonly number[]
  readonly #isOurs: (pool: number, workspace: number) => boolean
  readonly tally = new Tally()
  counted = 0

  constructor(
    waiting: string,
    by: QueueGroup,
    now: number,
    isOurs: (pool: number, workspace: number) => boolean,
  ) {
    this.#waiting = waiting
    this.#by = by
    this.#edges = AGE_EDGES.map((edge) => now - edge)
    this.#isOurs = isOurs
  }

  *add(where: string, ...params: readonly unknown[]): Asking<void> {
    const rows = yield* all(
      `SELECT pool, workspace, ${KEY[this.#by]} AS key, CASE WHEN status = 'scheduled' THEN 1 ELSE 0 END AS scheduled,
       count(*) AS n, min(queued_at) AS oldest, min(due_at) AS due, ${SAID} AS said, ${REFUSED} AS refused, ${YOUNGER}
       FROM ${this.#waiting} WHERE ${where} GROUP BY 1, 2, 3, 4`,
      ...this.#edges,
      ...params,
    )
    for (const row of rows) {
      this.counted += row.n as number
      if (!this.#isOurs(row.pool as number, row.workspace as number)) continue
      const { key } = row
      const by = this.#by
      this.tally.add(
        by === 'domain'
          ? (key as string)
          : yield* idOf(by === 'pool' ? 'pools' : 'workspaces', key as number),
        row,
      )
    }
  }

  ages(complete: boolean): QueueAges {
    const { scheduled, scheduledOf } = this.tally
    return { rows: this.tally.rows(), scheduled, scheduledOf, complete }
  }
}

export function* queueAges(
  waiting: string,
  of: AgesOf,
  by: QueueGroup,
  most: number,
  now: number,
  step = STEP,
): Asking<QueueAges> {
  const workspaces = yield* workspacesOf(of)
  const forTests = of.liveOnly || of.testOnly ? yield* sandboxes(of.accountId) : null
  const isOurs = (pool: number, workspace: number): boolean =>
    workspaces.has(workspace) && (forTests === null || forTests.has(pool) === (of.testOnly === true))
  const count = new Count(waiting, by, now, isOurs)
  let ends = 0
  for (const pair of yield* pairsOf(waiting)) {
    const whole: Range = { pair, from: [-1, ''], to: [Number.MAX_SAFE_INTEGER, ''] }
    for (let rest: Range | null = isOurs(...pair) ? whole : null; rest !== null; ) {
      const left = most - count.counted
      if (left <= 0) return count.ages(false)
      const [range, next]: readonly [Range, Range | null] = yield* cut(waiting, rest, Math.min(step, left))
      yield* count.add(`${HERE} AND (due_at, id) < (?, ?)`, ...range.pair, ...range.from, ...range.to)
      rest = next
      if (rest !== null || ++ends % FEW === 0) yield* pause()
    }
  }
  yield* count.add('boot IS NOT NULL')
  return count.ages(true)
}
