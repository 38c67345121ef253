/**
 * NAME      ages - how old what waits is, by one of its parts
 * DESCRIPTION
 *   SQLite counts, a step at a time: made into objects, the rows would keep this thread busy for eight times as long.
 *   What is under way is no more than a relay has at once, and is counted in one go.
 */
import { setImmediate } from 'node:timers/promises'
import {
  AGE_EDGES,
  type QueueAge,
  type QueueAges,
  type QueueFilter,
  type QueueGroup,
  type QueueOwner,
} from '../../port/operations.js'
import type { Row } from '../connect.js'
import { createPairs } from '../read/depth.js'
import type { Statements } from '../read/statements.js'
import { sandboxes } from './queue-pages.js'
import { placeOf } from './walk.js'

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
/** Digits of a time in milliseconds, so that the least text is the soonest due. */
const AT = 13
const SAID = `min(iif(last_response IS NULL, NULL, printf('%0${AT}d', coalesce(due_at, 9e12)) || last_response))`
const YOUNGER = AGE_EDGES.map((_, i) => `sum(queued_at > @younger${i}) AS younger${i}`).join()

type Group = { -readonly [name in keyof QueueAge]: QueueAge[name] }

/** Younger than each edge, and all of them, as numbers between the edges. */
const agesOf = (row: Row): readonly number[] => {
  const below = [...AGE_EDGES.map((_, i) => row[`younger${i}`] as number), row.n as number]
  return below.map((n, i) => n - (below[i - 1] ?? 0))
}

const least = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Adds up what the steps counted. */
class Tally {
  readonly #groups = new Map<string, Group>()
  scheduled = 0

  add(key: string, row: Row): void {
    const { n, oldest, due, said, scheduled } = row
    if (scheduled === 1) {
      this.scheduled += n as number
      return
    }
    const one: Group = {
      key,
      recipients: n as number,
      ages: agesOf(row),
      oldestAt: oldest as number,
      nextDueAt: due as number | null,
      lastResponse: (said as string | null)?.slice(AT) ?? null,
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
  }

  /** Most first. */
  rows(): readonly QueueAge[] {
    return [...this.#groups.values()].sort((a, b) => b.recipients - a.recipients || a.oldestAt - b.oldestAt)
  }
}

/** From one row on, and up to another, of a pool and workspace. */
interface Range {
  readonly pool: number
  readonly workspace: number
  readonly at: number
  readonly id: string
  readonly toAt: number
  readonly toId: string
}

type Cut = readonly [range: Range, rest: Range | null]

const HERE = 'pool = @pool AND workspace = @workspace AND due_at IS NOT NULL AND (due_at, id) >= (@at, @id)'

export const createAges = (sql: Statements, step = STEP) => {
  const pairs = createPairs(sql)
  const idOf = (table: string, n: unknown): string =>
    sql(`SELECT id FROM ${table} WHERE n = ?`).get(n)?.id as string
  const keyOf = (by: QueueGroup, { key }: Row): string =>
    by === 'domain' ? (key as string) : idOf(by === 'pool' ? 'pools' : 'workspaces', key)

  /** So many rows of a range at most, and where it goes on. */
  const cut = (range: Range, n: number): Cut => {
    const edge = sql(
      `SELECT due_at AS at, id FROM recipients WHERE ${HERE} ORDER BY due_at, id LIMIT 1 OFFSET @n + 0`,
    ).get({ ...range, n }) as Pick<Range, 'at' | 'id'> | undefined
    return edge === undefined
      ? [range, null]
      : [
          { ...range, toAt: edge.at, toId: edge.id },
          { ...range, ...edge },
        ]
  }

  return async (
    of: QueueOwner & Pick<QueueFilter, 'liveOnly'>,
    by: QueueGroup,
    most: number,
    now: number,
  ): Promise<QueueAges> => {
    const tally = new Tally()
    const place = placeOf(sql, { ...of, poolId: null, domain: null, emailId: null })
    const hidden = of.liveOnly ? sandboxes(sql, of.accountId) : null
    const isOurs = (pool: number, workspace: number): boolean =>
      place?.workspaces.has(workspace) === true && hidden?.has(pool) !== true
    const edges = Object.fromEntries(AGE_EDGES.map((edge, i) => [`younger${i}`, now - edge]))
    let left = most
    let ends = 0
    const count = (where: string, range: object = {}): void => {
      const rows = sql(
        `SELECT pool, workspace, ${KEY[by]} AS key, status = 'scheduled' AS scheduled, count(*) AS n,
         min(queued_at) AS oldest, min(due_at) AS due, ${SAID} AS said, ${YOUNGER}
         FROM recipients WHERE ${where} GROUP BY pool, workspace, key, scheduled`,
      ).all({ ...edges, ...range })
      for (const row of rows) {
        left -= row.n as number
        if (isOurs(row.pool as number, row.workspace as number)) tally.add(keyOf(by, row), row)
      }
    }

    for (const [pool, workspace] of pairs()) {
      const all: Range = { pool, workspace, at: -1, id: '', toAt: Number.MAX_SAFE_INTEGER, toId: '' }
      for (let rest: Range | null = isOurs(pool, workspace) ? all : null; rest !== null; ) {
        if (left <= 0) return { rows: tally.rows(), scheduled: tally.scheduled, complete: false }
        const [range, next]: Cut = cut(rest, Math.min(step, left))
        count(`${HERE} AND (due_at, id) < (@toAt, @toId)`, range)
        rest = next
        if (rest !== null || ++ends % FEW === 0) await setImmediate()
      }
    }
    count('boot IS NOT NULL')
    return { rows: tally.rows(), scheduled: tally.scheduled, complete: true }
  }
}
