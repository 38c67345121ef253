/**
 * NAME      claim - which due recipients a daemon takes
 *   A look that changes nothing says which workspaces have due mail; one fenced statement leases what the plan of
 *   lifecycle/lease.ts gives to each; what sending needs is read last. What other daemons took in between is missing
 *   in the answer and is looked for again. The cost follows the limit and the number of workspaces with waiting mail,
 *   never the depth of the queue, and nothing is written when nothing is due. Workspaces are found by skipping from
 *   one to the next in the index of due rows, in a circle that begins behind the one that was served last.
 *   A recipient that a hold or a suppression may be about, or that is scheduled, is not leased by that statement: it
 *   is decided in a transaction of its own, with its mail locked (the functions about `stopped`).
 *   An old snapshot (a dump, a replication slot) keeps dead rows in the index, and each look walks over them. Then the
 *   least due time of each pool is read beside the looks, and looks begin at that floor. A row that falls due below
 *   the floor is found when the floor is read again, within ten seconds.
 */
import { type Clock, systemClock } from '../../base/clock.js'
import { FIRST_LEASE_MS } from '../../lifecycle/accept.js'
import type { Claimed, Outcome, Settled, Source } from '../../lifecycle/facts.js'
import { deal, MOST_STOPPED } from '../../lifecycle/lease.js'
import {
  endSuppressed,
  entriesAgainst,
  entryOf,
  isSuppressing,
  listsAgainst,
  suppressionList,
} from '../../lifecycle/suppress.js'
import { normalizeAddress } from '../../mail/address.js'
import type { Status } from '../../mail/status.js'
import { modeOf } from '../sql/mails.js'
import { holdOver, type StandingHold } from '../sql/orders.js'
import { type Asking, all, first, type SqlQuery } from '../sql/query.js'
import type { ScheduleWrites } from '../sql/schedule.js'
import { IS_HELD, MAY_BE_SUPPRESSED, standingHolds } from './lease.js'
import { claimedOf, type Leased } from './leased.js'
import type { Readers } from './readers.js'
import type { PostgresWriter } from './writer.js'

/** A look that takes so long walks over much, or the machine is busy. */
const SLOW_MS = 5
/** So many dead rows are more than a busy queue leaves between two rounds of autovacuum. */
const MANY = 5000
/** What reading the floor took is a twentieth of what it is kept for. */
const KEPT = 20
const [LEAST_KEPT_MS, MOST_KEPT_MS] = [1000, 10_000]
/** Clocks differ, and what was accepted a moment ago may not be committed. */
const BEFORE_MS = 5000

/** When the first of a pool is due. */
export interface PoolDue {
  readonly n: number
  readonly id: string
  readonly due_at: number
}

export interface DueStanding {
  /** Of pools with mail that waits. */
  readonly pools: ReadonlyMap<number, number>
  /** Of the others. */
  readonly rest: number
}

interface FloorParts {
  /** Walks over all that is due or was. */
  walk(): Promise<readonly PoolDue[]>
  /** How many rows of the queue are dead. */
  dead(): Promise<number>
  readonly clock?: Clock
}

export class Floors {
  readonly #parts: Required<FloorParts>
  #standing: DueStanding | null = null
  /** How long the last walk took. */
  #took = 0
  /** Not to be read anew before, by the tick clock. */
  #until = 0
  #isReading = false
  #age = 0

  constructor({ clock = systemClock, ...parts }: FloorParts) {
    this.#parts = { ...parts, clock }
  }

  /** Null: there is none. */
  standing(): DueStanding | null {
    if (this.#standing !== null) this.#readBeside()
    return this.#standing
  }

  /** How long a look took, from a floor or without one. */
  note(ms: number, from: DueStanding | null): void {
    if (from === null && ms >= SLOW_MS) this.#readBeside()
    // there are more workspaces to ask than dead rows to walk over
    else if (from !== null && from === this.#standing && ms > this.#took) {
      this.#standing = null
      this.#until = this.#parts.clock.tick() + MOST_KEPT_MS
    }
  }

  /** Due times have moved. */
  forget(): void {
    this.#age += 1
    this.#standing = null
    this.#until = 0
  }

  #readBeside(): void {
    if (this.#isReading || this.#parts.clock.tick() < this.#until) return
    this.#isReading = true
    this.#read()
      .catch(() => {})
      .finally(() => {
        this.#isReading = false
      })
  }

  async #read(): Promise<void> {
    const { clock, dead, walk } = this.#parts
    const [age, rest] = [this.#age, clock.now() - BEFORE_MS]
    this.#until = clock.tick() + LEAST_KEPT_MS
    if (this.#standing === null && (await dead()) < MANY) return
    const began = clock.tick()
    const pools = (await walk()).map(({ n, due_at }) => [n, Math.min(due_at, rest)] as const)
    if (age !== this.#age) return
    const took = clock.tick() - began
    this.#took = took
    this.#until = clock.tick() + Math.min(Math.max(took * KEPT, LEAST_KEPT_MS), MOST_KEPT_MS)
    // it is quick again: looks do without
    this.#standing = took < SLOW_MS ? null : { pools: new Map(pools), rest }
  }
}

/** 0: from the first on. */
export const floorOf = (standing: DueStanding | null, pool: number, now: number): number => {
  if (standing === null) return 0
  const from = standing.pools.get(pool) ?? standing.rest
  return from <= now ? from : 0
}

interface Waiting {
  readonly workspace: number
  /** How many are due, as far as anybody wants to know. */
  readonly due: number
}

const DUE = `SELECT count(*) AS due FROM (
    SELECT 1 FROM queue q WHERE q.pool = ? AND q.workspace = c.workspace AND q.due_at <= ? AND q.due_at >= ? ORDER BY q.due_at LIMIT ?) f`

const CIRCLE = `WITH RECURSIVE circle (workspace, lap, is_here) AS (
  SELECT CAST(? AS BIGINT), 0, false
  UNION ALL
  SELECT coalesce(n.workspace, 0), CASE WHEN n.workspace IS NULL THEN c.lap + 1 ELSE c.lap END, n.workspace IS NOT NULL
  FROM circle c LEFT JOIN LATERAL (
    SELECT q.workspace FROM queue q WHERE q.pool = ? AND q.due_at IS NOT NULL AND q.workspace > c.workspace
    ORDER BY q.workspace LIMIT 1) n ON c.lap = 0 OR n.workspace <= ?
  WHERE c.lap < 2)
SELECT c.workspace, d.due FROM circle c CROSS JOIN LATERAL (${DUE}) d WHERE c.is_here AND d.due > 0 LIMIT ?`

const EACH = `SELECT c.workspace, d.due FROM (
  (SELECT n AS workspace FROM workspaces WHERE n > ? ORDER BY n) UNION ALL
  (SELECT n AS workspace FROM workspaces WHERE n <= ? ORDER BY n)) c
CROSS JOIN LATERAL (${DUE}) d WHERE d.due > 0 LIMIT ?`

/** Its number, or null when it is not there. */
function* poolNumber(poolId: string): Asking<number | null> {
  return ((yield* first('SELECT n FROM pools WHERE id = ?', poolId))?.n ?? null) as number | null
}

/** At most `limit` workspaces, in the order of the circle; what was due before `floor` is passed over. */
export function* waitingIn(
  pool: number,
  served: number,
  limit: number,
  now: number,
  floor: number,
): Asking<readonly Waiting[]> {
  const circle = floor === 0 ? [CIRCLE, served, pool, served] : [EACH, served, served]
  const rows = yield* all(...(circle as [string]), pool, now, floor, limit, limit)
  return rows as unknown as readonly Waiting[]
}

interface Plan {
  readonly workspaces: readonly number[]
  /** How many of each. */
  readonly shares: readonly number[]
  readonly sum: number
  /** The workspaces of those that are to be leased, one after another. */
  readonly order: readonly number[]
  readonly servedLast: number
}

const planOf = (waiting: readonly Waiting[], limit: number): Plan => {
  const left = new Map(waiting.map(({ workspace, due }) => [workspace, due]))
  const shares = new Map<number, number>()
  const order: number[] = []
  let servedLast = 0
  deal<number>(
    waiting.map(({ workspace }) => workspace),
    limit,
    {
      draw: (workspace, wanted) => {
        const has = left.get(workspace) ?? 0
        const found = Math.min(wanted, has)
        left.set(workspace, has - found)
        shares.set(workspace, (shares.get(workspace) ?? 0) + found)
        servedLast = workspace
        return { found, free: Array.from({ length: found }, () => workspace) }
      },
      take: (workspace) => order.push(workspace),
    },
  )
  return {
    workspaces: [...shares.keys()],
    shares: [...shares.values()],
    sum: order.length,
    order,
    servedLast,
  }
}

interface Picked {
  readonly id: string
  readonly email_ord: number
  readonly workspace: number
  readonly due_at: number
  readonly is_leased: boolean
}

const LEASE = 'UPDATE queue SET due_at = NULL, boot = ?, lease_until = ?, gen = gen + 1'

const PICK = `
wanted AS (SELECT w.n, w.share FROM fence, unnest(CAST(? AS BIGINT[]), CAST(? AS INT[])) AS w (n, share)),
picked AS MATERIALIZED (
  SELECT d.* FROM wanted w CROSS JOIN LATERAL (
    SELECT q.recipient_id, q.email_ord, q.workspace, q.pool, q.due_at FROM queue q
    WHERE q.pool = ? AND q.workspace = w.n AND q.due_at <= ? AND q.due_at >= ? ORDER BY q.due_at
    LIMIT w.share FOR UPDATE SKIP LOCKED) d),
free AS MATERIALIZED (
  SELECT q.recipient_id FROM picked q JOIN workspaces w ON w.n = q.workspace
  JOIN LATERAL (SELECT * FROM recipient_rows r WHERE r.id = q.recipient_id OFFSET 0) r ON true
  WHERE r.status <> 'scheduled' AND NOT ${IS_HELD} AND NOT ${MAY_BE_SUPPRESSED}),
leased AS (
  ${LEASE} WHERE recipient_id = ANY (ARRAY(SELECT f.recipient_id FROM free f)) RETURNING recipient_id)
SELECT p.recipient_id AS id, p.email_ord, p.workspace, p.due_at,
  p.recipient_id IN (SELECT l.recipient_id FROM leased l) AS is_leased
FROM fence LEFT JOIN picked p ON true`

interface Round {
  readonly pool: number
  readonly boot: number
  readonly leaseUntil: number
  readonly now: number
  /** What was due before it is passed over. */
  readonly floor: number
}

/** What follows the fence; a row of nulls says that nothing was due any more. */
export const pickQuery = (
  { workspaces, shares }: Pick<Plan, 'workspaces' | 'shares'>,
  { pool, boot, leaseUntil, now, floor }: Round,
): SqlQuery => ({ text: PICK, values: [workspaces, shares, pool, now, floor, boot, leaseUntil] })

const OVER = 'q.boot = ? AND q.lease_until <= ? AND q.attempting IS NULL AND r.id = q.recipient_id'

/** Due again where sending still makes sense; the generation moves on, so the old lease is void. */
const REAP = `
over AS (
  DELETE FROM queue q USING fence, recipient_rows r WHERE ${OVER} AND r.status NOT IN ('queued', 'deferred')
  RETURNING q.recipient_id, q.gen),
noted AS (UPDATE recipient_rows r SET last_gen = o.gen + 1 FROM over o WHERE r.id = o.recipient_id),
freed AS (
  UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT)
  FROM fence, recipient_rows r WHERE ${OVER} AND r.status IN ('queued', 'deferred'))
SELECT n FROM fence`

const EARLIEST = 'SELECT min(lease_until) AS until FROM queue WHERE boot = ? AND attempting IS NULL'

const createReap = (writer: PostgresWriter) => {
  const { boot } = writer
  let earliest = Number.NEGATIVE_INFINITY
  return {
    async runOut(now: number): Promise<void> {
      if (now < earliest) return
      await writer.inTurn(async () => {
        await writer.statement('reap', () => ({ text: REAP, values: [boot, now, now, boot, now] }))
        const { until } = (await writer.look(first(EARLIEST, boot))) ?? { until: null }
        // mail may have been accepted under a lease to this writer, and its taker never have heard of it
        earliest = Math.min((until ?? Number.POSITIVE_INFINITY) as number, now + FIRST_LEASE_MS)
      })
    },
    /** When the next may run out. */
    noteUntil(until: number): void {
      earliest = Math.min(earliest, until)
    },
    moved(): void {
      earliest = Number.NEGATIVE_INFINITY
    },
  }
}

interface Candidate {
  readonly id: string
  readonly email_id: string
  readonly email_ord: number
  readonly status: Status
  readonly due_at: number
  readonly workspace: number
  readonly pool: number
  readonly address_lc: string
  readonly workspaceId: string
  readonly accountId: string
  readonly source: Source
  readonly test: number
  readonly insists: number
  readonly mailingList: string | null
}

interface StoppedParts {
  readonly fallDue: ScheduleWrites['fallDue']
  readonly hold: (rows: readonly Candidate[], hold: StandingHold, now: number) => Asking<void>
  readonly settle: (outcome: Outcome) => Asking<Settled | null>
}

const SCHEDULED = `SELECT DISTINCT r.email_ord FROM recipient_rows r
  WHERE r.id = ANY (CAST(? AS TEXT[])) AND r.status = 'scheduled' ORDER BY r.email_ord`

const LOCK = 'SELECT ord FROM emails WHERE ord = ANY (CAST(? AS BIGINT[])) ORDER BY ord FOR UPDATE'

const CANDIDATES = `SELECT q.recipient_id AS id, e.id AS email_id, q.email_ord, r.status, q.due_at, q.workspace, q.pool,
    r.address_lc, w.id AS "workspaceId", w.account_id AS "accountId", e.source, e.test,
    CASE WHEN CAST(e.lists AS JSON) ->> 'insists' IS NULL THEN 0 ELSE 1 END AS insists,
    CAST(e.lists AS JSON) #>> '{extras,unsubscribe_list}' AS "mailingList"
  FROM queue q JOIN recipient_rows r ON r.id = q.recipient_id JOIN emails e ON e.ord = q.email_ord
  JOIN workspaces w ON w.n = q.workspace
  WHERE q.recipient_id = ANY (CAST(? AS TEXT[])) AND q.due_at <= ? FOR UPDATE OF q SKIP LOCKED`

const LISTED = `SELECT workspace_id, email, expires_at FROM suppressions
  WHERE workspace_id = ANY (CAST(? AS TEXT[])) AND email = ANY (CAST(? AS TEXT[]))`

const entriesOf = ({ address_lc, mailingList }: Candidate): readonly string[] =>
  entriesAgainst(entryOf(normalizeAddress(address_lc), mailingList))

/** What stands on which list, as `list entry`. */
function* listings(candidates: readonly Candidate[], now: number): Asking<ReadonlySet<string>> {
  const lists = new Set(
    candidates.flatMap(({ workspaceId, accountId }) => [
      ...[suppressionList(workspaceId, 'live'), suppressionList(workspaceId, 'test'), accountId],
    ]),
  )
  const entries = new Set(candidates.flatMap(entriesOf))
  const rows = yield* all(LISTED, [...lists], [...entries])
  const standing = rows.filter((row) => isSuppressing(row.expires_at as number | null, now))
  return new Set(standing.map((row) => `${row.workspace_id} ${row.email}`))
}

/** Which entry is against it. */
const against = (one: Candidate, listed: ReadonlySet<string>): string | undefined => {
  const { source, insists, accountId, workspaceId } = one
  const mail = { source, accountId, workspaceId, mode: modeOf(one.test), ignoresSuppressions: insists === 1 }
  const lists = listsAgainst(mail)
  return entriesOf(one).find((entry) => lists.some((list) => listed.has(`${list} ${entry}`)))
}

/** Puts to rest what somebody holds; the others. */
const holding = ({ hold }: StoppedParts) =>
  function* (candidates: readonly Candidate[], now: number): Asking<readonly Candidate[]> {
    const standing = yield* standingHolds()
    if (standing.length === 0) return candidates
    const held = new Map<StandingHold, Candidate[]>()
    const free: Candidate[] = []
    for (const one of candidates) {
      const over = holdOver(standing, one.accountId, one)
      if (over === null) free.push(one)
      else held.set(over, [...(held.get(over) ?? []), one])
    }
    for (const [over, rows] of held) yield* hold(rows, over, now)
    return free
  }

/** Ends whom a list means; the others. */
const ending = ({ settle }: StoppedParts) =>
  function* (candidates: readonly Candidate[], now: number): Asking<readonly Candidate[]> {
    const listed = yield* listings(candidates, now)
    const free: Candidate[] = []
    for (const one of candidates) {
      const entry = against(one, listed)
      const isEnded =
        entry !== undefined && (yield* settle(endSuppressed(one.id, entry, now)))?.applied === true
      if (!isEnded) free.push(one)
    }
    return free
  }

const due = (ids: readonly string[], now: number): Asking<readonly Candidate[]> =>
  all(CANDIDATES, ids, now) as Asking<unknown> as Asking<readonly Candidate[]>

const OF = 'SELECT DISTINCT email_ord FROM recipient_rows WHERE id = ANY (CAST(? AS TEXT[]))'

export const createStopped = (parts: StoppedParts) => {
  const holdBack = holding(parts)
  const end = ending(parts)
  return {
    /** Answers with the ids of those that are leased now. */
    *take(
      stopped: readonly Picked[],
      boot: number,
      leaseUntil: number,
      now: number,
    ): Asking<readonly string[]> {
      const ids = stopped.map(({ id }) => id)
      yield* all(LOCK, [...new Set(stopped.map(({ email_ord }) => email_ord))])
      for (const { email_ord } of yield* all(SCHEDULED, ids)) yield* parts.fallDue(email_ord as number, now)
      const free = yield* end(yield* holdBack(yield* due(ids, now), now), now)
      const leased = free.map(({ id }) => id)
      const lease = `${LEASE} WHERE recipient_id = ANY (CAST(? AS TEXT[])) RETURNING recipient_id AS id`
      const rows = leased.length === 0 ? [] : yield* all(lease, boot, leaseUntil, leased)
      return rows.map(({ id }) => id as string)
    },
    /** Puts to rest those of them that somebody holds. */
    *hold(ids: readonly string[], now: number): Asking<void> {
      const places = (yield* all(OF, ids)).map(({ email_ord }) => email_ord)
      yield* all(LOCK, places)
      yield* holdBack(yield* due(ids, now), now)
    },
  }
}

interface ClaimParts {
  readonly writer: PostgresWriter
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
