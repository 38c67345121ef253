/**
 * NAME      heartbeat - that a daemon lives
 * DESCRIPTION
 *   Every two seconds a writer counts up in its row, which also brings its frontier to the present: what
 *   others read waits for no idle writer, and for none whose clock is behind: it goes on above the highest
 *   that it has seen. Death is observed and not dated: a count that has not moved for 30 s of the observer's
 *   own tick clock, while its own heartbeats arrived. No clock is compared with another, and after an outage
 *   of the database nobody is taken for dead. Its answer brings who lives and what time it is in the
 *   database (cluster.ts). To take over is to end the epoch (recover.ts): a writer that was only
 *   asleep finds that out with its next statement.
 */
import { systemClock } from '../../base/clock.js'
import { all, type Row } from '../sql/query.js'
import { NOW } from './cluster.js'
import { type Dead, ORPHANS, type Recovered, takingOver } from './recover.js'
import { endSessions, type Writer } from './writer.js'

export const HEARTBEAT_MS = 2000
const DEAD_MS = 30_000
/** For leases that are nobody's. */
const BEATS_A_LOOK = 15
/** So long after a takeover one looks each time: what was being accepted then is stored with a lease of who is gone. */
const BEATS_AFTER = 6

export type Seen = Dead

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

const LOOK = ` others AS (SELECT n, boot, heartbeat, owner, role, about, frontier FROM writers WHERE boot IS NOT NULL)
  SELECT others.*, ${NOW} AS now FROM others, fence`

/** What was heard; times are on the tick clock. */
interface Heard {
  /** What a heartbeat brought: the rows of all that live. */
  told(rows: readonly Row[], sent: number, answered: number): void
  /** Somebody was taken over. */
  takenOver(dead: Dead, recovered: Recovered): void
}

const NOBODY: Heard = { told: () => {}, takenOver: () => {} }

const isFirstOf = (rows: readonly Row[], n: number): boolean => rows.every((row) => Number(row.n) >= n)

/** One heartbeat. */
export const createBeat = (
  writer: Writer,
  tick: () => number = systemClock.tick,
  { told, takenOver }: Heard = NOBODY,
): (() => Promise<void>) => {
  const observe = createObserver(tick)
  const { takeOver, ofNobody } = takingOver(writer.places, writer.effects)
  const now = (): number => systemClock.now()
  let beats = 0
  let looks = 0

  const end = async (dead: Dead): Promise<void> => {
    await writer.inTurn(() => writer.look(endSessions(dead.owner, [dead.boot])))
    const recovered = await writer.mail(() => takeOver(dead, now()))
    if (recovered === null) return
    looks = BEATS_AFTER
    takenOver(dead, recovered)
  }
  /** One that cannot be ended now is in nobody's way. */
  const endAll = async (all: readonly Dead[]): Promise<void> => {
    const failed: unknown[] = []
    for (const dead of all) await end(dead).catch((error: unknown) => failed.push(error))
    if (failed.length > 0) throw failed[0]
  }
  /** Who left without giving back its leases left them to all. */
  const recoverOrphans = async (): Promise<void> => {
    const found = await writer.inTurn(() => writer.look(all(ORPHANS)))
    if (found.length > 0) await writer.mail(() => ofNobody(now()))
  }

  return async () => {
    let sent = tick()
    const look = () => {
      sent = tick()
      return { text: LOOK, values: [] }
    }
    const rows = (await writer.beforeOthers(() => writer.statement('heartbeat', look))) ?? []
    if (rows.length > 0) told(rows, sent, tick())
    writer.rise(Math.max(0, ...rows.map(({ frontier }) => Number(frontier))))
    const others = (rows as unknown as readonly Seen[]).filter(({ boot }) => boot !== writer.boot)
    beats += 1
    looks -= 1
    if (looks >= 0 || (beats % BEATS_A_LOOK === 0 && isFirstOf(rows, writer.n))) await recoverOrphans()
    await endAll(observe(others))
  }
}

/** Until it is stopped. `failed` hears of one that did not arrive. */
export const startHeartbeat = (beat: () => Promise<void>, failed: (error: unknown) => void): (() => void) => {
  let isBeating = false
  let isStopped = false
  const timer = setInterval(() => {
    if (isBeating) return
    isBeating = true
    void beat()
      .catch((error: unknown) => {
        // what it still had to do after its writer had left
        if (!isStopped) failed(error)
      })
      .finally(() => {
        isBeating = false
      })
  }, HEARTBEAT_MS).unref()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}
