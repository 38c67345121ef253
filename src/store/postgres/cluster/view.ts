/**
 * NAME      view - who else writes to this database
 * DESCRIPTION
 *   Each heartbeat brings the rows of all that live. What is divided among them may be gone by for so long as a newcomer
 *   waits before it takes its part: whoever has joined since the last answer takes nothing before that has lapsed.
 */
import { STEP_MS, systemClock } from '../../../base/clock.js'
import type { About, ClusterView, WriterRole, WriterRow } from '../../port/cluster.js'
import { timeOf } from '../../sql/pages.js'
import { type Asking, all, type Row } from '../../sql/query.js'

/** The time of the database in ms. */
export const NOW = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'

/** So long a newcomer waits, and so long an answer holds. */
export const NEWCOMER_MS = 5000

/** So long after a heartbeat was sent its writer is surely not taken for dead, which takes 30 s. */
const PROMISE_MS = 20_000

const aboutOf = (row: Row): About => JSON.parse(String(row.about)) as About

/** What the heartbeats told, the latest; `rows` of none is from before the first. */
export const createView = (
  self: { readonly n: number; readonly boot: number },
  joined: number = systemClock.tick(),
  wall: () => number = Date.now,
  tick: () => number = systemClock.tick,
) => {
  const { n, boot } = self
  let view: ClusterView = {
    ...{ isShared: true, daemons: 1, relays: [], self: n },
    ...{ from: joined + NEWCOMER_MS, until: Number.NEGATIVE_INFINITY },
    promisedUntil: Number.NEGATIVE_INFINITY,
    putBacks: 0,
  }
  let isFirst = true
  let lead = 0
  /** The machine was suspended, and the tick clock with it; or the wall clock was set, which the next heartbeat mends. */
  const hasStood = (): boolean => Math.abs(wall() - tick() - lead) > STEP_MS
  return {
    view: () => (hasStood() ? { ...view, promisedUntil: Number.NEGATIVE_INFINITY } : view),
    putBack(): void {
      view = { ...view, putBacks: view.putBacks + 1 }
    },
    told(rows: readonly Row[], sent: number): void {
      const relays = rows
        .filter(({ role }) => role === 'relay')
        .map((row) => ({ n: Number(row.n), pools: aboutOf(row).pools }))
        .sort((a, b) => a.n - b.n)
      // nobody is there who would have to hear of it first
      const isAlone = isFirst && relays.every((one) => one.n === n)
      isFirst = false
      lead = wall() - tick()
      const living = rows.filter((row) => row.role !== 'command' || Number(row.boot) === boot)
      view = {
        ...view,
        ...{ isShared: true, relays, self: n, until: sent + NEWCOMER_MS, promisedUntil: sent + PROMISE_MS },
        daemons: Math.max(1, new Set(living.map(({ owner }) => owner)).size),
        from: isAlone ? Number.NEGATIVE_INFINITY : view.from,
      }
    },
  }
}

const LIVING = `SELECT n, owner, role, epoch, about, frontier, ${NOW} AS now FROM writers WHERE boot IS NOT NULL ORDER BY n`

export function* writers(): Asking<readonly WriterRow[]> {
  return (yield* all(LIVING)).map((row) => ({
    n: Number(row.n),
    daemonId: String(row.owner),
    role: row.role as WriterRole,
    epoch: Number(row.epoch),
    ...aboutOf(row),
    // each heartbeat brings the frontier to the present
    lagMs: Math.max(0, Number(row.now) - timeOf(Number(row.frontier))),
  }))
}
