/**
 * NAME      recover - what a daemon that ended leaves, and how another one takes its part
 * DESCRIPTION
 *   lifecycle/lease.ts decides: what was not begun is due again, what was may have been taken. It happens in
 *   the transaction that ends the epoch, in statements of their own: they see what the dying writer stored
 *   last.
 *   Its epoch is ended, so that it stores nothing more, and its leases are recovered in the same
 *   transaction: in later statements, which see what it stored last. Its sessions are told to end first: one
 *   that was stopped in the middle of a transaction would keep its row locked. But for one that waits for a
 *   synchronous standby: its transaction is in, and whoever waits for its row learns that.
 */
import { type OnAmbiguous, recovered } from '../../lifecycle/lease.js'
import { ambiguousEvent, type Begun } from '../sql/log/draft.js'
import { type Asking, all, type Row, run } from '../sql/query.js'
import type { Places } from '../sql/table.js'
import { numbersFor } from './events.js'
import type { Effects } from './hints.js'
import { type LoadedRecipient, load, lock, placeOf } from './leased.js'
import { applyQuery, type DecidedEvent, type DecidedRecipient } from './settle.js'
import { endSessions } from './writer.js'

export interface Recovered {
  readonly released: number
  readonly ambiguous: number
}

/** Whose attempt has not begun waits; nobody else writes it by now. */
const FREE = `UPDATE queue SET boot = NULL, lease_until = NULL, gen = gen + 1, due_at = ?
  WHERE boot = ANY(CAST(? AS BIGINT[])) AND attempting IS NULL`

const BEGUN = `SELECT q.recipient_id AS id, q.attempt_upstream, q.attempt_at, p.id AS pool_id, w.ambiguous
  FROM queue q JOIN pools p ON p.n = q.pool JOIN workspaces w ON w.n = q.workspace WHERE q.boot = ANY(CAST(? AS BIGINT[]))`

/** Of writers that left, or were ended by whoever came after them on their data folder. */
export const ORPHANS = `SELECT DISTINCT boot FROM queue WHERE boot IS NOT NULL
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

export interface Dead {
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

export const takingOver = (places: Places, effects: Effects) => {
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
