/**
 * NAME      heartbeat - that a daemon lives, and what happens when one does not
 *   Every two seconds a writer counts up in its row, which also brings its frontier to the present: what
 *   others read waits for no idle writer, and for none whose clock is behind: it goes on above the highest
 *   that it has seen. Death is observed and not dated: a count that has not moved for 30 s of the observer's
 *   own tick clock, while its own heartbeats arrived. No clock is compared with another, and after an outage
 *   of the database nobody is taken for dead. Its answer brings who lives and what time it is in the
 *   database (cluster.ts). To take over is to end the epoch (below): a writer that was only
 *   asleep finds that out with its next statement.
 */
import { systemClock } from '../../base/clock.js'
import { type OnAmbiguous, recovered } from '../../lifecycle/lease.js'
import { ambiguousEvent, type Begun } from '../sql/log/events.js'
import { type Asking, all, type Row, run } from '../sql/query.js'
import type { Places } from '../sql/table.js'
import { NOW } from './cluster.js'
import { numbersFor } from './events.js'
import { type LoadedRecipient, load, lock, placeOf } from './leased.js'
import type { Effects } from './notify.js'
import { applyQuery, type DecidedEvent, type DecidedRecipient } from './settle.js'
import { endSessions, type PostgresWriter } from './writer.js'

// What a daemon that ended leaves, and how another one takes its part. lifecycle/lease.ts decides: what was not begun
// is due again, what was may have been taken. It happens in the transaction that ends the epoch, in statements of
// their own: they see what the dying writer stored last. Its epoch is ended, so that it stores nothing more, and its
// leases are recovered in the same transaction: in later statements, which see what it stored last. Its sessions are
// told to end first: one that was stopped in the middle of a transaction would keep its row locked. But for one that
// waits for a synchronous standby: its transaction is in, and whoever waits for its row learns that.

interface Recovered {
  readonly released: number
  readonly ambiguous: number
}

/** Whose attempt has not begun waits; nobody else writes it by now. */
const FREE = `UPDATE queue SET boot = NULL, lease_until = NULL, gen = gen + 1, due_at = ?
  WHERE boot = ANY(CAST(? AS BIGINT[])) AND attempting IS NULL`

const BEGUN = `SELECT q.recipient_id AS id, q.attempt_upstream, q.attempt_at, p.id AS pool_id, w.ambiguous
  FROM queue q JOIN pools p ON p.n = q.pool JOIN workspaces w ON w.n = q.workspace WHERE q.boot = ANY(CAST(? AS BIGINT[]))`

/** Of writers that left, or were ended by whoever came after them on their data folder. */
const ORPHANS = `SELECT DISTINCT boot FROM queue WHERE boot IS NOT NULL
  AND boot NOT IN (SELECT boot FROM writers WHERE boot IS NOT NULL)`

/** Nothing more is written under the epoch of these writers. */
const END = 'UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL WHERE'

const eventOf = ({ id, mail }: LoadedRecipient, row: Row, attempt: number, now: number): DecidedEvent => {
  const begun: Begun = {
    ...{ attempt, at: row.attempt_at as number | null, poolId: row.pool_id as string },
    ...{ upstreamId: row.attempt_upstream as string | null, on: row.ambiguous as OnAmbiguous },
  }
  return { draft: ambiguousEvent(placeOf(mail), id, begun, now), report: null, owed: null }
}

/** Of these boots, whose epochs have ended. */
export const recovering = (places: Places, effects: Effects) => {
  /** Where a writer left, several may be about it, and a report may have come meanwhile: once it is locked it is looked at again. */
  function* begunOf(boots: readonly number[], now: number): Asking<Recovered> {
    const rows = new Map((yield* all(BEGUN, boots)).map((row) => [row.id as string, row]))
    if (rows.size === 0) return { released: 0, ambiguous: 0 }
    const ids = [...rows.keys()]
    yield* lock(ids)
    const loaded = yield* load(ids, () => [])
    const recipients: DecidedRecipient[] = []
    const events: DecidedEvent[] = []
    for (const one of loaded.recipients.values()) {
      if (!boots.includes(one.state.boot ?? 0)) continue
      const begun = rows.get(one.id) as Row
      const { recipient: after, ambiguous } = recovered(one.state, begun.ambiguous as OnAmbiguous, now)
      recipients.push({ loaded: one, after, writtenAt: null })
      if (ambiguous !== null) events.push(eventOf(one, begun, ambiguous, now))
    }
    if (recipients.length === 0) return { released: 0, ambiguous: 0 }
    const numbers = yield* numbersFor(events.map(({ draft }) => draft.more))
    const decided = { now, answers: [], recipients, mails: [], events, bounces: [] }
    const { text, values } = applyQuery(decided, numbers, places)
    yield* all(`WITH fence AS (SELECT 1 AS n),${text}`, ...values)
    return { released: recipients.length - events.length, ambiguous: events.length }
  }

  function* ofBoots(boots: readonly number[], now: number): Asking<Recovered> {
    if (boots.length === 0) return { released: 0, ambiguous: 0 }
    const freed = yield* run(FREE, now, boots)
    const { released, ambiguous } = yield* begunOf(boots, now)
    if (freed + released + ambiguous > 0) effects.due = true
    return { released: freed + released, ambiguous }
  }

  return {
    ofBoots,
    /** Those whose writer is gone, and nobody took it over. */
    *ofNobody(now: number): Asking<Recovered> {
      const boots = (yield* all(ORPHANS)).map(({ boot }) => boot as number)
      return yield* ofBoots(boots, now)
    },
    /** Somebody knows that these are dead. */
    *ofDead(boots: readonly number[], now: number): Asking<Recovered> {
      yield* run(`${END} boot = ANY(CAST(? AS BIGINT[]))`, boots)
      return yield* ofBoots(boots, now)
    },
  }
}

interface Dead {
  readonly n: number
  readonly boot: number
  readonly heartbeat: number
  readonly owner: string
}

/** What a daemon that was killed has left; only who has the lock of its data folder knows that it is dead. */
export function* endPredecessor(owner: string): Asking<void> {
  const boots = (yield* all('SELECT boot FROM writers WHERE owner = ?', owner)).map(({ boot }) =>
    Number(boot),
  )
  if (boots.length === 0) return
  yield* endSessions(owner, boots)
  yield* run(`${END} owner = ?`, owner)
}

const takingOver = (places: Places, effects: Effects) => {
  const { ofBoots, ofNobody } = recovering(places, effects)
  return {
    ofNobody,
    /** Null when it was not any more as it had been seen. */
    *takeOver({ n, boot, heartbeat }: Dead, now: number): Asking<Recovered | null> {
      const isEnded = (yield* run(`${END} n = ? AND boot = ? AND heartbeat = ?`, n, boot, heartbeat)) === 1
      return isEnded ? yield* ofBoots([boot], now) : null
    },
  }
}

export const HEARTBEAT_MS = 2000
const DEAD_MS = 30_000
/** For leases that are nobody's. */
const BEATS_A_LOOK = 15
/** So long after a takeover one looks each time: what was being accepted then is stored with a lease of who is gone. */
const BEATS_AFTER = 6

export type SeenWriter = Dead

/** Tells of each look at all writers which of them have not moved for too long. A look that came late starts anew. */
export const createObserver = (tick: () => number) => {
  const since = new Map<number, { readonly heartbeat: number; readonly at: number }>()
  let last = Number.NEGATIVE_INFINITY
  return (seen: readonly SeenWriter[]): readonly SeenWriter[] => {
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
  writer: PostgresWriter,
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
    const others = (rows as unknown as readonly SeenWriter[]).filter(({ boot }) => boot !== writer.boot)
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
