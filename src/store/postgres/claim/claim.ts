/**
 * NAME      claim - leasing what is due, fairly, among all daemons
 * DESCRIPTION
 *   A look that changes nothing says who has mail that is due; a fenced statement leases what the plan gives to each; what
 *   sending wants to know is read last. What others take between the look and the statement is missing
 *   in the answer, and looked for again. The cost follows the limit and the number of workspaces with mail waiting,
 *   never the depth of the queue. Nothing is written when nothing is due.
 */
import { systemClock } from '../../../base/clock.js'
import type { Claimed } from '../../../lifecycle/facts.js'
import { MOST_STOPPED } from '../../../lifecycle/lease.js'
import { type Asking, all } from '../../sql/query.js'
import type { Readers } from '../readers.js'
import type { Leased } from '../settle/leased.js'
import type { Writer } from '../write/writer.js'
import { claimedOf } from './claimed.js'
import { type Floors, floorOf } from './floor.js'
import { type Picked, pickQuery, type Round } from './pick.js'
import { createReap } from './reap.js'
import type { createStopped } from './stopped.js'
import { type Plan, planOf, poolNumber, waitingIn } from './waiting.js'

interface ClaimParts {
  readonly writer: Writer
  readonly readers: Readers
  readonly takeStopped: ReturnType<typeof createStopped>['take']
  readonly leased: Leased
  readonly floors: Floors
}

/** So often a claim looks again because others took what it had seen. */
const MOST_LOOKS = 10

interface Taken {
  readonly picked: readonly Picked[]
  /** Of them, those that are leased. */
  readonly leased: ReadonlySet<string>
}

/** In the order of the plan: of each workspace the oldest first. */
const inOrder = (plan: Plan, { picked, leased }: Taken): string[] => {
  const hands = new Map<number, string[]>()
  const byAge = picked.filter(({ id }) => leased.has(id)).sort((a, b) => a.due_at - b.due_at)
  for (const { id, workspace } of byAge) {
    const hand = hands.get(workspace)
    if (hand === undefined) hands.set(workspace, [id])
    else hand.push(id)
  }
  return plan.order.flatMap((workspace) => hands.get(workspace)?.splice(0, 1) ?? [])
}

/** Leases whose statement was stored while its answer was lost: they have this end, and nobody has heard of them. */
const UNHEARD = `SELECT q.recipient_id AS id, q.email_ord, q.workspace, 0 AS due_at, true AS is_leased FROM queue q
  WHERE q.boot = ? AND q.lease_until = ? AND q.attempting IS NULL`

const createTake = ({ writer, takeStopped }: ClaimParts) => {
  /** Who was answered with leases of the last end. */
  let heard = { until: 0, ids: new Set<string>() }

  function* unheard({ boot, leaseUntil }: Round): Asking<readonly Picked[]> {
    const rows = (yield* all(UNHEARD, boot, leaseUntil)) as unknown as readonly Picked[]
    return rows.filter(({ id }) => heard.until !== leaseUntil || !heard.ids.has(id))
  }

  const hear = (ids: Iterable<string>, until: number): void => {
    if (heard.until !== until) heard = { until, ids: new Set() }
    for (const id of ids) heard.ids.add(id)
  }

  return async (plan: Plan, round: Round): Promise<Taken> => {
    const { boot, leaseUntil, now } = round
    const rows = await writer.inTurn(async () => {
      const found = await writer.statement('claim', () => pickQuery(plan, round))
      return found ?? writer.look(unheard(round))
    })
    const picked = (rows as unknown as readonly Picked[]).filter(({ id }) => id !== null)
    const leased = new Set(picked.filter(({ is_leased }) => is_leased).map(({ id }) => id))
    hear(leased, leaseUntil)
    const stopped = picked.filter(({ is_leased }) => !is_leased)
    if (stopped.length > 0) {
      const ids = await writer.mail(() => takeStopped(stopped, boot, leaseUntil, now))
      for (const id of ids) leased.add(id)
      hear(ids, leaseUntil)
    }
    return { picked, leased }
  }
}

/** The number of a pool never changes. */
const createNumberOf = ({ readers, writer }: ClaimParts) => {
  const numbers = new Map<string, number>()
  writer.onPutBack(() => numbers.clear())
  return async (poolId: string): Promise<number | null> => {
    const found = numbers.get(poolId) ?? (await readers.read(() => poolNumber(poolId)))
    if (found !== null) numbers.set(poolId, found)
    return found
  }
}

/** Who has mail that is due; `served` has the workspace of each pool that was served last. */
const createLook = ({ readers, floors }: ClaimParts) => {
  const served = new Map<number, number>()
  /** With the floor from which on it was. */
  const look = async ({ pool, now }: Omit<Round, 'floor'>, limit: number) => {
    const [from, began] = [floors.standing(), systemClock.tick()]
    const floor = floorOf(from, pool, now)
    const waiting = await readers.read(() => waitingIn(pool, served.get(pool) ?? 0, limit, now, floor))
    floors.note(systemClock.tick() - began, floor === 0 ? null : from)
    return { waiting, floor }
  }
  return { look, served }
}

export const createClaim = (parts: ClaimParts) => {
  const { writer, readers, leased: noted, floors } = parts
  const { boot, hints } = writer
  const take = createTake(parts)
  const reap = createReap(writer)
  const numberOf = createNumberOf(parts)
  const { look, served } = createLook(parts)

  /** Leases what there is, at most `limit`. */
  const lease = async (round: Omit<Round, 'floor'>, limit: number): Promise<readonly string[]> => {
    const { pool } = round
    const ids: string[] = []
    let stopped = 0
    for (let looks = 0; looks < MOST_LOOKS && ids.length < limit && stopped < MOST_STOPPED; looks++) {
      const left = limit - ids.length
      const { waiting, floor } = await look(round, left)
      if (waiting.length === 0) break
      const plan = planOf(waiting, left)
      const taken = await take(plan, { ...round, floor })
      served.set(pool, plan.servedLast)
      ids.push(...inOrder(plan, taken))
      const { picked, leased } = taken
      stopped += picked.length - leased.size
      // else others were quicker, or something was in the way: there may be more
      if (leased.size === plan.sum && plan.sum < left) break
    }
    if (stopped >= MOST_STOPPED) hints.due()
    return ids
  }

  return {
    async claim(poolId: string, limit: number, leaseUntil: number, now: number): Promise<readonly Claimed[]> {
      await reap.runOut(now)
      const pool = await numberOf(poolId)
      if (pool === null) return []
      const ids = await lease({ pool, boot, leaseUntil, now }, limit)
      if (ids.length === 0) return []
      reap.noteUntil(leaseUntil)
      const found = await readers.read(() => claimedOf(ids, { id: poolId, n: pool }, boot, now))
      for (const { loaded } of found) noted.note(loaded)
      const byId = new Map(found.map(({ claimed }) => [claimed.recipientId, claimed]))
      return ids.flatMap((id) => byId.get(id) ?? [])
    },
    /** The clock was set, and what is stored moved with it: the next claim looks at all of it. */
    clockMoved(): void {
      reap.moved()
      floors.forget()
    },
  }
}
