/**
 * NAME      heartbeat - that a writer lives, and which others do not
 * DESCRIPTION
 *   Every two seconds a writer counts up in its row, which also brings its frontier to the present: what others read
 *   waits for no idle writer. Death is observed and not dated: a count that has not moved for 30 s of the observer's own
 *   tick clock, while its own heartbeats arrived. No clock is compared with another, and after an outage of the database
 *   nobody is taken for dead.
 *   Its answer brings who lives and what time it is in the database (cluster/).
 *   To take over is to end the epoch: a writer that was only asleep finds that out with its next statement.
 */
import { systemClock } from '../../../base/clock.js'
import { type Asking, type Row, run } from '../../sql/query.js'
import { NOW } from '../cluster/view.js'
import type { Writer } from './writer.js'

export const HEARTBEAT_MS = 2000
export const DEAD_MS = 30_000

export interface Seen {
  readonly n: number
  readonly boot: number
  readonly heartbeat: number
}

/** Tells of each look at all writers which of them have not moved for too long. A look that came late starts anew. */
export const createObserver = (tick: () => number) => {
  const since = new Map<number, { readonly heartbeat: number; readonly at: number }>()
  let last = Number.NEGATIVE_INFINITY
  return (seen: readonly Seen[]): readonly Seen[] => {
    const now = tick()
    if (now - last > 3 * HEARTBEAT_MS) since.clear()
    last = now
    const boots = new Set(seen.map(({ boot }) => boot))
    for (const boot of since.keys()) if (!boots.has(boot)) since.delete(boot)
    for (const { boot, heartbeat } of seen)
      if (since.get(boot)?.heartbeat !== heartbeat) since.set(boot, { heartbeat, at: now })
    return seen.filter(({ boot }) => now - (since.get(boot)?.at ?? now) >= DEAD_MS)
  }
}

/** Whether it was still as it had been seen. */
const endEpoch = function* ({ n, boot, heartbeat }: Seen): Asking<boolean> {
  const text = `UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL
    WHERE n = ? AND boot = ? AND heartbeat = ?`
  return (yield* run(text, n, boot, heartbeat)) === 1
}

const LOOK = ` others AS (SELECT n, boot, heartbeat, owner, role, about FROM writers WHERE boot IS NOT NULL)
  SELECT others.*, ${NOW} AS now FROM others, fence`

/** What a heartbeat brought: the rows of all that live. `sent` and `answered` are on the tick clock. */
export type Told = (rows: readonly Row[], sent: number, answered: number) => void

/** One heartbeat. */
export const createBeat = (
  writer: Writer,
  tick: () => number = systemClock.tick,
  told: Told = () => {},
): (() => Promise<void>) => {
  const observe = createObserver(tick)
  return async () => {
    let sent = tick()
    const look = () => {
      sent = tick()
      return { text: LOOK, values: [] }
    }
    const rows = await writer.inTurn(() => writer.statement(look))
    if (rows !== null) told(rows, sent, tick())
    const others = ((rows ?? []) as unknown as readonly Seen[]).filter(({ boot }) => boot !== writer.boot)
    for (const dead of observe(others)) await writer.write(() => endEpoch(dead))
  }
}

/** Until it is stopped. `failed` hears of one that did not arrive. */
export const startHeartbeat = (beat: () => Promise<void>, failed: (error: unknown) => void): (() => void) => {
  let isBeating = false
  const timer = setInterval(() => {
    if (isBeating) return
    isBeating = true
    void beat()
      .catch(failed)
      .finally(() => {
        isBeating = false
      })
  }, HEARTBEAT_MS).unref()
  return () => clearInterval(timer)
}
