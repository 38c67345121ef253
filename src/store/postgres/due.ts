/**
 * NAME      due - when a recipient falls due next; appointments; waiting mail after a clock was set
 *   The next due time is one seek for each pair of pool and workspace with waiting mail, in one statement.
 *   Appointments and clock steps follow lifecycle/schedule.ts, a page of rows in a transaction, because a long
 *   transaction would keep the writer from its heartbeat. A crash in between leaves what was not moved as it was; the
 *   next start goes on.
 *   Leases whose mail was stored while the answer was lost (the database went away) are known by the end of the
 *   writer's epoch, and are freed before the next claim or as soon as the database answers.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { STEP_MS, systemClock } from '../../base/clock.js'
import { SEEN_WITHIN_MS } from '../../lifecycle/schedule.js'
import type { Queue } from '../port/mail.js'
import type { Store } from '../port/store.js'
import { ordAt } from '../sql/pages.js'
import { type Asking, all, first, run } from '../sql/query.js'
import { type Left, scheduleWrites } from '../sql/schedule.js'
import type { Places } from '../sql/table.js'
import type { DueStanding, Floors, PoolDue } from './claim.js'
import { failureOf } from './connection.js'
import { createAddEvent } from './events.js'
import { lock } from './leased.js'
import type { Effects } from './notify.js'
import type { Readers } from './readers.js'
import type { PostgresWriter } from './writer.js'

const PAIRS = `WITH RECURSIVE pairs AS (
  (SELECT pool, workspace, due_at FROM queue WHERE due_at IS NOT NULL ORDER BY pool, workspace, due_at LIMIT 1)
  UNION ALL
  SELECT n.pool, n.workspace, n.due_at FROM pairs p CROSS JOIN LATERAL (
    SELECT q.pool, q.workspace, q.due_at FROM queue q
    WHERE q.due_at IS NOT NULL AND (q.pool, q.workspace) > (p.pool, p.workspace)
    ORDER BY q.pool, q.workspace, q.due_at LIMIT 1) n)
SELECT p.n, p.id, min(f.due_at) AS due_at FROM pairs f JOIN pools p ON p.n = f.pool GROUP BY p.n, p.id`

const FROM = `SELECT p.n, p.id, min(d.due_at) AS due_at
FROM pools p LEFT JOIN unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])) AS f (pool, due_at) ON f.pool = p.n
CROSS JOIN workspaces w CROSS JOIN LATERAL (
  SELECT q.due_at FROM queue q WHERE q.pool = p.n AND q.workspace = w.n AND q.due_at >= coalesce(f.due_at, ?)
  ORDER BY q.due_at LIMIT 1) d
GROUP BY p.n, p.id`

/** When the first of each pool is due: of all, or of what is due at its floor or later. */
export function* leastDue(from: DueStanding | null = null): Asking<readonly PoolDue[]> {
  const found =
    from === null
      ? yield* all(PAIRS)
      : yield* all(FROM, [...from.pools.keys()], [...from.pools.values()], from.rest)
  return found as unknown as readonly PoolDue[]
}

export const dueVerbs = (readers: Readers, floors: Floors): Pick<Store, 'nextDue' | 'duePools'> => {
  const least = async (): Promise<readonly PoolDue[]> => {
    const [from, began] = [floors.standing(), systemClock.tick()]
    const found = await readers.read(() => leastDue(from))
    floors.note(systemClock.tick() - began, from)
    return found
  }
  return {
    async nextDue(poolIds) {
      const wanted = (await least()).filter(({ id }) => poolIds === undefined || poolIds.includes(id))
      return wanted.length === 0 ? null : Math.min(...wanted.map(({ due_at }) => due_at))
    },
    async duePools(now) {
      return (await least()).filter(({ due_at }) => due_at <= now).map(({ id }) => id)
    },
  }
}

const WRITE = `WITH given AS (
  SELECT g.* FROM json_to_recordset(CAST(? AS JSON)) AS g (id text, status text, queued bigint, due bigint, held text,
    held_due bigint)),
gone AS (
  DELETE FROM queue q USING given g WHERE q.recipient_id = g.id AND g.due IS NULL AND g.held IS NULL
  RETURNING q.recipient_id, q.gen),
moved AS (
  UPDATE queue q SET due_at = g.due, held = g.held, held_due = g.held_due FROM given g
  WHERE q.recipient_id = g.id AND (g.due IS NOT NULL OR g.held IS NOT NULL)
    AND (q.due_at, q.held, q.held_due) IS DISTINCT FROM (g.due, g.held, g.held_due))
UPDATE recipient_rows r SET status = g.status, queued_at = coalesce(g.queued, r.queued_at), updated_at = ?,
  last_gen = coalesce((SELECT o.gen FROM gone o WHERE o.recipient_id = r.id), r.last_gen)
FROM given g WHERE r.id = g.id`

function* write(rows: readonly Left[], now: number): Asking<void> {
  const given = rows.map(({ id, status, queuedAt: queued, dueAt: due, held, heldDue: held_due }) => ({
    ...{ id, status, queued, due, held, held_due },
  }))
  yield* run(WRITE, JSON.stringify(given), now)
}

/** Verbs of mail under way (writer.ts). */
export const scheduleVerbs = (places: Places, effects: Effects) =>
  scheduleWrites({ addEvent: createAddEvent(places), effects, lock: ' FOR UPDATE OF e', write })

const PAGE = 1000

/** All that is to be moved, in pages. */
const FIND = `WITH step AS (SELECT CAST(? AS BIGINT) AS now, CAST(? AS BIGINT) AS by, CAST(? AS BIGINT) AS latest,
  (SELECT max(frontier) FROM writers) > CAST(? AS BIGINT) AS is_ahead),
found AS (
  SELECT r.id, r.updated_at, coalesce(q.gen, r.last_gen) AS gen, (row_number() OVER (ORDER BY r.id) - 1) / ${PAGE} AS page
  FROM step s CROSS JOIN LATERAL (
    SELECT recipient_id AS id FROM queue
    WHERE s.by <> 0 OR s.is_ahead OR due_at > s.latest OR held_due > s.latest OR held_at > s.now
    UNION SELECT id FROM recipient_rows WHERE deadline IS NOT NULL) c
  JOIN recipient_rows r ON r.id = c.id LEFT JOIN queue q ON q.recipient_id = c.id
  WHERE r.status IN ('queued', 'deferred'))
SELECT CAST(json_agg(json_build_object('id', id, 'updated_at', updated_at, 'gen', gen)) AS TEXT) AS rows
FROM found GROUP BY page ORDER BY page`

/** A time, moved; not later than the longest wait. */
const waits = (column: string): string =>
  `CASE WHEN o.${column} IS NOT NULL THEN
    least(CASE WHEN o.is_future THEN o.now + greatest(0, o.${column} - o.updated_at) ELSE o.${column} + o.by END, o.latest) END`

/** A time, moved; not later than now. */
const past = (column: string): string =>
  `CASE WHEN o.${column} IS NOT NULL THEN least(o.${column} + o.by, o.now) END`

const MOVE = `WITH step AS (SELECT CAST(? AS BIGINT) AS now, CAST(? AS BIGINT) AS by, CAST(? AS BIGINT) AS latest),
old AS (
  SELECT r.id, q.due_at, q.held_due, q.held_at, q.lease_until, r.queued_at, r.deadline, r.updated_at, s.now, s.latest,
    CASE WHEN r.updated_at > s.now - ${SEEN_WITHIN_MS} AND r.updated_at <= s.now THEN 0 ELSE s.by END AS by,
    s.by = 0 AND r.updated_at > s.now AS is_future
  FROM step s CROSS JOIN json_to_recordset(CAST(? AS JSON)) AS g (id text, updated_at bigint, gen int)
  JOIN recipient_rows r ON r.id = g.id LEFT JOIN queue q ON q.recipient_id = r.id
  WHERE r.updated_at = g.updated_at AND coalesce(q.gen, r.last_gen) = g.gen),
new AS MATERIALIZED (
  SELECT o.id, o.by, ${waits('due_at')} AS due_at, ${waits('held_due')} AS held_due, ${past('held_at')} AS held_at,
    o.lease_until + o.by AS lease_until, ${past('queued_at')} AS queued_at, o.deadline + o.by AS deadline,
    ${past('updated_at')} AS updated_at
  FROM old o),
waiting AS (
  UPDATE queue q SET due_at = n.due_at, held_due = n.held_due, held_at = n.held_at, lease_until = n.lease_until FROM new n
  WHERE q.recipient_id = n.id AND (q.due_at, q.held_due, q.held_at, q.lease_until)
    IS DISTINCT FROM (n.due_at, n.held_due, n.held_at, n.lease_until) RETURNING n.id),
people AS (
  UPDATE recipient_rows r SET queued_at = n.queued_at, deadline = n.deadline, updated_at = n.updated_at FROM new n
  WHERE r.id = n.id AND (r.queued_at, r.deadline, r.updated_at)
    IS DISTINCT FROM (n.queued_at, n.deadline, n.updated_at) RETURNING n.id)
SELECT count(*) AS moved FROM (
  SELECT id FROM waiting UNION SELECT id FROM people UNION SELECT id FROM new WHERE by <> 0) m`

const PAUSES =
  'UPDATE pauses SET resumed_at = resumed_at + CAST(? AS BIGINT), paused_at = paused_at + CAST(? AS BIGINT)'

/** One page; how many of it were moved. */
const moving = ({ effects }: PostgresWriter, now: number, by: number, latest: number) =>
  function* (rows: string): Asking<number> {
    yield* lock((JSON.parse(rows) as readonly { readonly id: string }[]).map(({ id }) => id))
    const moved = Number((yield* first(MOVE, now, by, latest, rows))?.moved ?? 0)
    if (moved > 0) effects.due = true
    return moved
  }

/** `moved` hears of stored times that are others now. */
export const timeVerbs = (
  writer: PostgresWriter,
  readers: Readers,
  moved: () => void,
): Pick<Store, 'adjustTimes'> => ({
  adjustTimes: (now, by, longestWait) =>
    writer.inTurn(async () => {
      const latest = now + longestWait
      const pages = await readers.read(() => all(FIND, now, by, latest, ordAt(now + STEP_MS)))
      const move = moving(writer, now, by, latest)
      let sum = 0
      for (const { rows } of pages) sum += await writer.step(() => move(rows as string))
      if (by === 0) return sum
      await writer.step(() => run(PAUSES, by, by))
      moved()
      return sum
    }),
})

/** Those at rest meanwhile go when they run out (sweep.ts). */
const FREE = `UPDATE queue q SET boot = NULL, lease_until = NULL, gen = q.gen + 1, due_at = CAST(? AS BIGINT)
  FROM recipient_rows r WHERE (q.boot, q.lease_until) IN (
      SELECT * FROM unnest(CAST(? AS BIGINT[]), CAST(? AS BIGINT[])))
    AND q.attempting IS NULL AND r.id = q.recipient_id AND r.status IN ('queued', 'deferred')`

const AGAIN_MS = 1000

export interface Unheard {
  /** Those of this boot with this end, as soon as that can be. */
  free(boot: number, until: number, now: number): void
  /** Now, if there are any. */
  freeAll(now: number): Promise<void>
}

export const createUnheard = ({ mail, hints }: Pick<PostgresWriter, 'mail' | 'hints'>): Unheard => {
  const unheard = new Map<string, readonly [boot: number, until: number]>()
  let isFreeing = false

  const freeAll = async (now: number): Promise<void> => {
    if (unheard.size === 0) return
    const ends = [...unheard]
    const [boots, untils] = [ends.map(([, [boot]]) => boot), ends.map(([, [, until]]) => until)]
    await mail(() => run(FREE, now, boots, untils))
    for (const [key] of ends) unheard.delete(key)
  }

  /** Until they are free, or nothing of this writer is stored any more. */
  const freeSoon = async (now: number): Promise<void> => {
    if (isFreeing) return
    isFreeing = true
    for (let isOver = false; unheard.size > 0 && !isOver; ) {
      await sleep(AGAIN_MS, undefined, { ref: false })
      try {
        await freeAll(now)
        hints.due()
      } catch (error) {
        isOver = failureOf(error) === 'broken'
      }
    }
    isFreeing = false
  }

  return {
    free(boot, until, now) {
      unheard.set(`${boot} ${until}`, [boot, until])
      void freeSoon(now)
    },
    freeAll,
  }
}

export const freeingUnheard =
  (boot: number, unheard: Unheard, claim: Queue['claim']): Queue['claim'] =>
  async (poolId, limit, leaseUntil, now) => {
    await unheard.freeAll(now)
    try {
      return await claim(poolId, limit, leaseUntil, now)
    } catch (error) {
      unheard.free(boot, leaseUntil, now)
      throw error
    }
  }
