/**
 * NAME      schedule - where mail waits and how long mail has waited, pauses, and times that move with the wall clock
 *   The row of the mail is locked first, by whoever claims and by whoever cancels: all its recipients leave
 *   their appointment together, and exactly one of the two wins.
 *   The database counts, a step at a time: made into objects, the rows would keep this thread busy for eight
 *   times as long. What is under way is no more than a relay has at once, and is counted in one go.
 *   A pool is paused while it has upstreams and none is to get mail; one that follows another
 *   is paused with it. Each pause is a row, written when pools change.
 * NOTES
 *   Pauses that ended long ago are forgotten: a mail as old has come to its end.
 */
import { toRfc3339 } from '../../base/clock.js'
import type { EventSource, Settled } from '../../lifecycle/facts.js'
import { isAway, isPaused, type Pause } from '../../lifecycle/orders.js'
import {
  type Appointment,
  cancelAnswer,
  isVisible,
  leaveSchedule,
  mayReschedule,
  rescheduled,
} from '../../lifecycle/schedule.js'
import { movedCounts } from '../../lifecycle/settle.js'
import { aggregate, type Counts, STATUSES, type Status } from '../../mail/status.js'
import type { EmailScope, RescheduleResult } from '../port/mail.js'
import {
  AGE_EDGES,
  type Operations,
  type QueueAge,
  type QueueAges,
  type QueueGroup,
  type QueueOwner,
} from '../port/operations.js'
import { type EventDraft, NOTHING, plainEvent, scopeOf } from './log/events.js'
import { modeOf } from './mails.js'
import { type Asking, all, first, pause, type Row, run } from './query.js'

// Where mail waits, and the numbers that stand for pools and workspaces. The pairs of pool and workspace with mail
// that is due some time, by skipping from one to the next: a seek for each, however deep the queue is.

export type Pair = readonly [pool: number, workspace: number]

/** Of recipients that are due, under way or held. */
type Column = 'due_at' | 'boot' | 'held'

/** In two steps: a comparison of row values would use the index for the pool alone. */
export function* nextPair(
  waiting: string,
  pair: Pair,
  only: number | null,
  column: Column = 'due_at',
): Asking<Pair | null> {
  const some = `SELECT pool, workspace FROM ${waiting} WHERE ${column} IS NOT NULL AND`
  const row =
    (yield* first(`${some} pool = ? AND workspace > ? ORDER BY pool, workspace LIMIT 1`, ...pair)) ??
    (only === null ? yield* first(`${some} pool > ? ORDER BY pool, workspace LIMIT 1`, pair[0]) : null)
  return row === null ? null : [row.pool as number, row.workspace as number]
}

/** Of one pool, when that is named. */
export function* pairsOf(
  waiting: string,
  only: number | null = null,
  column: Column = 'due_at',
): Asking<readonly Pair[]> {
  const pairs: Pair[] = []
  let pair: Pair | null = [only ?? 0, 0]
  for (;;) {
    pair = yield* nextPair(waiting, pair, only, column)
    if (pair === null) return pairs
    pairs.push(pair)
  }
}

export function* idOf(table: 'pools' | 'workspaces', n: number): Asking<string> {
  return (yield* first(`SELECT id FROM ${table} WHERE n = ?`, n))?.id as string
}

/** The numbers of the workspaces of an owner. */
export function* workspacesOf({ accountId, workspaceId }: QueueOwner): Asking<ReadonlySet<number>> {
  const rows = yield* all(
    'SELECT n FROM workspaces WHERE account_id = ? AND id = coalesce(?, id)',
    accountId,
    workspaceId,
  )
  return new Set(rows.map((row) => row.n as number))
}

/** The pools of an account whose mail API keys do not see. */
export function* sandboxes(accountId: string): Asking<ReadonlySet<number>> {
  const rows = yield* all("SELECT n FROM pools WHERE account_id = ? AND kind = 'sandbox'", accountId)
  return new Set(rows.map((row) => row.n as number))
}

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
/** Digits of a time in milliseconds, with one before them that is cut off; the least text is the soonest due. */
const AT = 13
const DUE = `substr(CAST(1${'0'.repeat(AT)} + coalesce(due_at, 9${'0'.repeat(AT - 1)}) AS TEXT), 2)`
const SAID = `min(CASE WHEN last_response IS NULL THEN NULL ELSE ${DUE} || last_response END)`
const REFUSED = "max(CASE WHEN reason = 'connection' THEN updated_at END)"
const YOUNGER = AGE_EDGES.map((_, i) => `count(*) FILTER (WHERE queued_at > ?) AS younger${i}`).join()

type Group = { -readonly [name in keyof QueueAge]: QueueAge[name] }

/** Younger than each edge, and all of them, as numbers between the edges. */
const agesOf = (row: Row): readonly number[] => {
  const below = [...AGE_EDGES.map((_, i) => row[`younger${i}`] as number), row.n as number]
  return below.map((n, i) => n - (below[i - 1] ?? 0))
}

const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)

const least = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

/** Adds up what the steps counted. */
class Tally {
  readonly #groups = new Map<string, Group>()
  scheduled = 0
  readonly scheduledOf: Record<string, number> = {}

  add(key: string, row: Row): void {
    const { n, oldest, due, said, refused, scheduled } = row
    if (scheduled === 1) {
      this.scheduled += n as number
      this.scheduledOf[key] = (this.scheduledOf[key] ?? 0) + (n as number)
      return
    }
    const one: Group = {
      key,
      recipients: n as number,
      ages: agesOf(row),
      oldestAt: oldest as number,
      nextDueAt: due as number | null,
      lastResponse: (said as string | null)?.slice(AT) ?? null,
      refusedAt: refused as number | null,
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
    known.refusedAt = latest(known.refusedAt, one.refusedAt)
  }

  /** Most first. */
  rows(): readonly QueueAge[] {
    return [...this.#groups.values()].sort((a, b) => b.recipients - a.recipients || a.oldestAt - b.oldestAt)
  }
}

type At = readonly [at: number, id: string]

/** From one row on, and up to another, of a pool and workspace. */
interface Range {
  readonly pair: Pair
  readonly from: At
  readonly to: At
}

const HERE = 'pool = ? AND workspace = ? AND due_at IS NOT NULL AND (due_at, id) >= (?, ?)'

/** So many rows of a range at most, and where it goes on. */
function* cut(waiting: string, range: Range, n: number): Asking<readonly [range: Range, rest: Range | null]> {
  const edge = yield* first(
    `SELECT due_at AS at, id FROM ${waiting} WHERE ${HERE} ORDER BY due_at, id LIMIT 1 OFFSET ? + 0`,
    ...range.pair,
    ...range.from,
    n,
  )
  if (edge === null) return [range, null]
  const at: At = [edge.at as number, edge.id as string]
  return [
    { ...range, to: at },
    { ...range, from: at },
  ]
}

export type AgesOf = Parameters<Operations['queueAges']>[0]

/** Counts what is ours, so much at a time. */
class Count {
  readonly #waiting: string
  readonly #by: QueueGroup
  readonly #edges: readonly number[]
  readonly #isOurs: (pool: number, workspace: number) => boolean
  readonly tally = new Tally()
  counted = 0

  constructor(
    waiting: string,
    by: QueueGroup,
    now: number,
    isOurs: (pool: number, workspace: number) => boolean,
  ) {
    this.#waiting = waiting
    this.#by = by
    this.#edges = AGE_EDGES.map((edge) => now - edge)
    this.#isOurs = isOurs
  }

  *add(where: string, ...params: readonly unknown[]): Asking<void> {
    const rows = yield* all(
      `SELECT pool, workspace, ${KEY[this.#by]} AS key, CASE WHEN status = 'scheduled' THEN 1 ELSE 0 END AS scheduled,
       count(*) AS n, min(queued_at) AS oldest, min(due_at) AS due, ${SAID} AS said, ${REFUSED} AS refused, ${YOUNGER}
       FROM ${this.#waiting} WHERE ${where} GROUP BY 1, 2, 3, 4`,
      ...this.#edges,
      ...params,
    )
    for (const row of rows) {
      this.counted += row.n as number
      if (!this.#isOurs(row.pool as number, row.workspace as number)) continue
      const { key } = row
      const by = this.#by
      this.tally.add(
        by === 'domain'
          ? (key as string)
          : yield* idOf(by === 'pool' ? 'pools' : 'workspaces', key as number),
        row,
      )
    }
  }

  ages(complete: boolean): QueueAges {
    const { scheduled, scheduledOf } = this.tally
    return { rows: this.tally.rows(), scheduled, scheduledOf, complete }
  }
}

export function* queueAges(
  waiting: string,
  of: AgesOf,
  by: QueueGroup,
  most: number,
  now: number,
  step = STEP,
): Asking<QueueAges> {
  const workspaces = yield* workspacesOf(of)
  const forTests = of.liveOnly || of.testOnly ? yield* sandboxes(of.accountId) : null
  const isOurs = (pool: number, workspace: number): boolean =>
    workspaces.has(workspace) && (forTests === null || forTests.has(pool) === (of.testOnly === true))
  const count = new Count(waiting, by, now, isOurs)
  let ends = 0
  for (const pair of yield* pairsOf(waiting)) {
    const whole: Range = { pair, from: [-1, ''], to: [Number.MAX_SAFE_INTEGER, ''] }
    for (let rest: Range | null = isOurs(...pair) ? whole : null; rest !== null; ) {
      const left = most - count.counted
      if (left <= 0) return count.ages(false)
      const [range, next]: readonly [Range, Range | null] = yield* cut(waiting, rest, Math.min(step, left))
      yield* count.add(`${HERE} AND (due_at, id) < (?, ?)`, ...range.pair, ...range.from, ...range.to)
      rest = next
      if (rest !== null || ++ends % FEW === 0) yield* pause()
    }
  }
  yield* count.add('boot IS NOT NULL')
  return count.ages(true)
}

const KEPT_MS = 400 * 86_400_000

/** Pools without upstreams use those of the pool of the default workspace. */
const POOLS = `SELECT p.n, p.upstreams, l.upstreams AS leading FROM pools p
  LEFT JOIN workspaces w ON w.account_id = p.account_id AND w.is_default = 1 LEFT JOIN pools l ON l.id = w.pool_id
  WHERE p.deleted_at IS NULL AND p.kind = 'relay'`

const CLOSE = `UPDATE pauses SET resumed_at = CASE WHEN paused_at > ? THEN paused_at ELSE ? END
  WHERE pool = ? AND resumed_at IS NULL`

/** Pools have changed: writes down which are paused by now, and which no more. */
export function* notePauses(now: number): Asking<void> {
  const paused = new Set<number>()
  for (const { n, upstreams, leading } of yield* all(POOLS)) {
    const used = upstreams === '[]' ? (leading ?? '[]') : upstreams
    if (isPaused(JSON.parse(used as string))) paused.add(n as number)
  }
  const open = (yield* all('SELECT pool FROM pauses WHERE resumed_at IS NULL')).map(
    (row) => row.pool as number,
  )
  for (const pool of open) if (!paused.has(pool)) yield* run(CLOSE, now, now, pool)
  for (const pool of paused)
    if (!open.includes(pool)) yield* run('INSERT INTO pauses (pool, paused_at) VALUES (?, ?)', pool, now)
  yield* run('DELETE FROM pauses WHERE resumed_at < ?', now - KEPT_MS)
}

/** Newest first. */
export function* pausesOf(pool: number): Asking<readonly Pause[]> {
  const text = 'SELECT paused_at, resumed_at FROM pauses WHERE pool = ? ORDER BY paused_at DESC'
  return (yield* all(text, pool)).map((row) => [row.paused_at as number, row.resumed_at as number | null])
}

/** What `leaveSchedule` and `rescheduled` say of a recipient. */
export interface Left extends Appointment {
  readonly id: string
  readonly status: Status
  /** null leaves it as it is. */
  readonly queuedAt: number | null
}

interface ScheduleParts {
  readonly addEvent: (draft: EventDraft) => Asking<unknown>
  /** What is told after the commit. */
  readonly effects: { due: boolean; readonly settled: Settled[] }
  /** Behind a SELECT of a mail `e`: nobody else writes it until the end of the transaction. */
  readonly lock: string
  /** Stores recipients of a mail. */
  readonly write: (rows: readonly Left[], now: number) => Asking<void>
}

interface Scheduled extends Counts {
  readonly id: string
  readonly ord: number
  readonly workspace: number
  readonly test: number
  readonly workspaceId: string
  readonly accountId: string
}

interface Waiting extends Appointment {
  readonly id: string
  readonly address: string
}

const MAIL = `SELECT e.id, e.ord, e.workspace, e.test, w.id AS "workspaceId", w.account_id AS "accountId",
    ${STATUSES.map((status) => `e.${status}`).join(', ')}
  FROM emails e JOIN workspaces w ON w.n = e.workspace AND w.deleted_at IS NULL`

const WAITING = `SELECT id, address, due_at AS "dueAt", held, held_due AS "heldDue" FROM recipients
  WHERE email_ord = ? AND status = 'scheduled' ORDER BY first`

const COUNTED =
  'UPDATE emails SET scheduled = ?, queued = ?, canceled = ?, status = ?, updated_at = ? WHERE ord = ?'

function* waitingOf(ord: number): Asking<readonly Waiting[]> {
  return (yield* all(WAITING, ord)) as unknown as readonly Waiting[]
}

const placeOf = ({ ord, workspace, test }: Scheduled) => ({ ord, scope: scopeOf(workspace, test === 1) })

const isSomeAway = (waiting: readonly Waiting[]): boolean =>
  waiting.some(({ held }) => held !== null && isAway(held))

/** Carries every scheduled recipient over to what the table says of `seen`. */
const leaving = ({ addEvent, effects, write }: ScheduleParts) =>
  function* (
    mail: Scheduled,
    waiting: readonly Waiting[],
    seen: 'due' | 'canceled',
    source: EventSource,
    now: number,
  ): Asking<void> {
    const left = waiting.map((one) => ({ ...leaveSchedule(one, seen), id: one.id }))
    yield* write(left, now)
    const place = placeOf(mail)
    let counts: Counts = mail
    for (const [i, { status: to }] of left.entries()) {
      const { id: recipientId, address } = waiting[i] as Waiting
      counts = movedCounts(counts, 'scheduled', to)
      yield* addEvent(plainEvent(place, recipientId, to, source, now))
      effects.settled.push({
        ...{ recipientId, emailId: mail.id, workspaceId: mail.workspaceId, mode: modeOf(mail.test) },
        ...{ address, applied: true, from: 'scheduled', to, emailStatus: aggregate(counts) },
      })
    }
    const { scheduled, queued, canceled } = counts
    yield* run(COUNTED, scheduled, queued, canceled, aggregate(counts), now, mail.ord)
  }

const locking = ({ lock }: ScheduleParts) => {
  function* find(column: 'id' | 'ord', value: string | number): Asking<Scheduled | null> {
    return (yield* first(`${MAIL} WHERE e.${column} = ?${lock}`, value)) as unknown as Scheduled | null
  }
  function* visible(scope: EmailScope, id: string): Asking<Scheduled | null> {
    const mail = yield* find('id', id)
    return mail !== null && isVisible(scope, { ...mail, mode: modeOf(mail.test) }) ? mail : null
  }
  return { find, visible }
}

export const scheduleWrites = (parts: ScheduleParts) => {
  const { addEvent, effects, write } = parts
  const leave = leaving(parts)
  const { find, visible } = locking(parts)

  return {
    /** Queues every scheduled recipient of the mail at this place; their due times stay. */
    *fallDue(ord: number, now: number): Asking<void> {
      const mail = yield* find('ord', ord)
      const waiting = mail === null ? [] : yield* waitingOf(ord)
      if (mail !== null && waiting.length > 0) yield* leave(mail, waiting, 'due', 'system', now)
    },

    *reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): Asking<RescheduleResult> {
      const mail = yield* visible(scope, id)
      if (mail === null) return 'not_found'
      const waiting = yield* waitingOf(mail.ord)
      if (!mayReschedule(mail, isSomeAway(waiting))) return 'not_scheduled'
      yield* write(
        waiting.map((one) => ({
          ...rescheduled(one, scheduledAt),
          ...{ id: one.id, status: 'scheduled', queuedAt: null },
        })),
        now,
      )
      yield* run(
        'UPDATE emails SET scheduled_at = ?, updated_at = ? WHERE ord = ?',
        ...[scheduledAt, now, mail.ord],
      )
      yield* addEvent({
        ...plainEvent(placeOf(mail), null, 'scheduled', 'api', now),
        change: false,
        more: { ...NOTHING, detail: { scheduled_at: toRfc3339(scheduledAt) } },
      })
      effects.due = true
      return 'done'
    },

    *cancel(scope: EmailScope, id: string, now: number): Asking<RescheduleResult> {
      const mail = yield* visible(scope, id)
      if (mail === null) return 'not_found'
      const waiting = yield* waitingOf(mail.ord)
      const answer = cancelAnswer(mail, isSomeAway(waiting))
      if (answer !== 'cancel') return answer
      yield* leave(mail, waiting, 'canceled', 'api', now)
      return 'done'
    },
  }
}

export type ScheduleWrites = ReturnType<typeof scheduleWrites>
