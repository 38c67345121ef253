/**
 * NAME      events - records of the log, and their numbers
 *   For verbs that write some events in a transaction; what settles many at once has a statement of its own
 *   (settle.ts).
 *   As sql/log/events.ts has them. Whoever needs one that is not there gives the next: of two that do so at
 *   once the later waits for the other, and looks again. A number that no event has in the end harms nobody.
 */
import type { MtaRef } from '../../lifecycle/facts.js'
import { type EventDraft, flagsOf, kindOf, type More, type Numbers, packMore } from '../sql/log/events.js'
import { type Asking, first, run } from '../sql/query.js'
import type { Places } from '../sql/table.js'

interface Kind {
  readonly find: string
  readonly add: string
}

const MTA: Kind = {
  find: 'SELECT n FROM mtas WHERE pool_id = ? AND upstream_id = ? AND host IS NOT DISTINCT FROM ?',
  add: `INSERT INTO mtas (n, pool_id, upstream_id, host)
    SELECT coalesce(max(n), 0) + 1, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT) FROM mtas ON CONFLICT DO NOTHING RETURNING n`,
}
const DETAIL: Kind = {
  find: 'SELECT n FROM attempt_details WHERE detail = ?',
  add: `INSERT INTO attempt_details (n, detail)
    SELECT coalesce(max(n), 0) + 1, CAST(? AS TEXT) FROM attempt_details ON CONFLICT DO NOTHING RETURNING n`,
}
const MOST_TRIES = 20

function* numberOf({ find, add }: Kind, values: readonly unknown[]): Asking<number> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = (yield* first(find, ...values)) ?? (yield* first(add, ...values))
    if (found !== null) return Number(found.n)
  }
  return 0
}

/** By what they are of. */
export type KnownNumbers = Map<string, number>

const keyOf = ({ poolId, upstreamId, host }: MtaRef): string => JSON.stringify([poolId, upstreamId, host])

/** Those that these need, of which `known` has some, and has all afterwards. */
export function* numbersFor(mores: readonly More[], known: KnownNumbers = new Map()): Asking<Numbers> {
  const mtas = new Map<string, MtaRef>()
  const details = new Set<string>()
  // servers that others name are as many as they like
  const numbers: Numbers = {
    mta: (mta) => {
      if (mta.upstreamId === null) return 0
      const key = keyOf(mta)
      if (!known.has(key)) mtas.set(key, mta)
      return known.get(key) ?? 0
    },
    detail: (shape) => {
      if (!known.has(shape)) details.add(shape)
      return known.get(shape) ?? 0
    },
  }
  for (const more of mores) packMore(more, numbers)
  for (const [key, { poolId, upstreamId, host }] of mtas)
    known.set(key, yield* numberOf(MTA, [poolId, upstreamId, host]))
  for (const shape of details) known.set(shape, yield* numberOf(DETAIL, [shape]))
  return numbers
}

const COLUMNS = 'ord, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more, email, scope'
const VALUES = `CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT),
  CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)`
const BY_PLACE = `INSERT INTO events (${COLUMNS}) VALUES (${VALUES}, ?, ?)`
const BY_ID = `INSERT INTO events (${COLUMNS}) SELECT ${VALUES}, ord, workspace * 2 + test FROM emails WHERE id = ? FOR KEY SHARE`

/** Answers with the event's place. */
export type AddEventLater = (draft: EventDraft) => Asking<number>

export const createAddEvent = (places: Places): AddEventLater =>
  function* (draft) {
    const { mail, source, applied, change, occurredAt } = draft
    const ord = places.next()
    const more = packMore(draft.more, yield* numbersFor([draft.more]))
    const values = [
      ...[ord, kindOf(`email.${draft.status}`), flagsOf(source, applied, change), draft.recipientId],
      ...[occurredAt, draft.now - occurredAt, draft.attempt, draft.reason, draft.dedupe, more],
    ]
    const added =
      typeof mail === 'string'
        ? yield* run(BY_ID, ...values, mail)
        : yield* run(BY_PLACE, ...values, mail.ord, mail.scope)
    if (added === 0) throw new Error(`no email ${String(mail)}`)
    return ord
  }
