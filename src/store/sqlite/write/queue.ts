/**
 * NAME      queue - recipients that wait: orders of operators, leases, who is next
 *   Writes what the law says of a hold, with the event that tells it.
 *   What lifecycle/schedule.ts says of a row, for all rows in a few statements.
 * NOTES
 *   One verb for a step of the clock, and no small steps: a row that is written in between would be moved by
 *   what it never missed. 200,000 waiting mails hold the writer for a few seconds, once a step.
 */
import type { AttemptMark, LeaseRef, Outcome, Settled, Source } from '../../../lifecycle/facts.js'
import { circle, type Drawn, deal, type OnAmbiguous, recovered } from '../../../lifecycle/lease.js'
import { type Freed, holdBack, moved, type OrderNote, setFree } from '../../../lifecycle/orders.js'
import { SEEN_WITHIN_MS } from '../../../lifecycle/schedule.js'
import {
  domainEntry,
  endSuppressed,
  entriesAgainst,
  entryOf,
  isSuppressing,
  listsAgainst,
  suppressionList,
} from '../../../lifecycle/suppress.js'
import { normalizeAddress } from '../../../mail/address.js'
import type { Status } from '../../../mail/status.js'
import type { DeadBoots } from '../../port/upkeep.js'
import { FOR_RELAY, RELAYED, toClaimed } from '../../sql/claimed.js'
import { unpacking } from '../../sql/flat.js'
import { ambiguousEvent, noteEvent } from '../../sql/log/events.js'
import { EMAIL_ID } from '../../sql/mails.js'
import type {
  FoundRecipient,
  Freeable,
  Holdable,
  QueueWrites,
  RecipientStanding,
  StandingHold,
  StandingHolds,
} from '../../sql/orders.js'
import { type Asking, answered, atOnce, first, type Row, run } from '../../sql/query.js'
import { type Left, nextPair, scheduleWrites } from '../../sql/schedule.js'
import type { Db } from '../connect.js'
import type { Unindex } from '../search.js'
import { MAIL } from '../statements.js'
import { CLAIMED, type ClaimedArray } from '../thread/wire.js'
import type { Pauses, WriteContext } from './context.js'
import type { AddEvent } from './events.js'
import { STATE_COLUMNS, type StateArray, stateOf } from './settle.js'

// Who may send a recipient, and what is known of the attempt. lifecycle/lease.ts says what a lease is. Marking,
// releasing and freeing what ran out are single updates, whose conditions are those rules: they run for every mail.

interface Leases {
  attempting(marks: readonly AttemptMark[]): readonly boolean[]
  release(leases: readonly LeaseRef[], dueAt: number): void
  recover(dead: DeadBoots, now: number): { readonly released: number; readonly ambiguous: number }
  /** Remembers when the next lease may run out. */
  noteUntil(until: number): void
  /** The clock was set, and the stored ends of our leases with it. */
  moved(): void
  /** Frees unused leases that ran out; nearly always a comparison and nothing more. */
  reap(now: number): void
}

type Lost = [
  id: string,
  emailId: string,
  upstreamId: string | null,
  attemptAt: number | null,
  pool: number,
  on: OnAmbiguous,
  ...StateArray,
]
const STATE = 6

/** Due again where sending still makes sense; the generation moves on, so the old lease is void. */
const FREE = `UPDATE recipients SET boot = NULL, lease_until = NULL, attempting = NULL, lease_gen = lease_gen + 1,
  due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END`

const prepareLeases = (context: WriteContext) => ({
  mark: context.db.prepare(
    `UPDATE recipients SET attempting = ?, attempt_upstream = ?, attempt_at = ?
     WHERE id = ? AND lease_gen = ? AND boot = ?`,
  ),
  release: context.db.prepare(`${FREE} WHERE id = ? AND lease_gen = ? AND boot = ?`),
  runOut: context.db
    .prepare<[number, number], string>(
      'SELECT id FROM recipients WHERE boot = ? AND lease_until <= ? AND attempting IS NULL',
    )
    .pluck(),
  earliest: context.db
    .prepare<[number], number | null>(
      'SELECT min(lease_until) FROM recipients WHERE boot = ? AND attempting IS NULL',
    )
    .pluck(),
  free: context.db.prepare(`${FREE} WHERE id = ?`),
  boots: context.db
    .prepare<[number], number>('SELECT DISTINCT boot FROM recipients WHERE boot IS NOT NULL AND boot <> ?')
    .pluck(),
  lost: context.db
    .prepare<[number], Lost>(
      `SELECT r.id, ${EMAIL_ID}, r.attempt_upstream, r.attempt_at, r.pool, w.ambiguous, ${STATE_COLUMNS}
       FROM recipients r JOIN workspaces w ON w.n = r.workspace WHERE r.boot = ?`,
    )
    .raw(),
  recovered: context.db.prepare(
    `UPDATE recipients SET boot = NULL, lease_until = NULL, attempting = NULL, lease_gen = ?, due_at = ?, attempts = ?,
       held = ?, held_at = CASE WHEN ? THEN ? ELSE held_at END, reason = ? WHERE id = ?`,
  ),
  standing: context.db.prepare<[string], RecipientStanding>(
    `SELECT workspace, pool, ${EMAIL_ID}, address_lc FROM recipients WHERE id = ?`,
  ),
})

type Statements = ReturnType<typeof prepareLeases>

const createRecover = (context: WriteContext, addEvent: AddEvent, sql: Statements, alone: boolean) => {
  // whoever takes the lock of the data folder finds leases of the dead alone; what comes later may live
  const earlier = alone ? sql.boots.all(context.boot) : []

  const recoverOne = (row: Lost, now: number): boolean => {
    const { recipient, ambiguous } = recovered(stateOf(row, STATE), row[5], now)
    const { leaseGen, dueAt, attempts, held, reason } = recipient
    sql.recovered.run(leaseGen, dueAt, attempts, held, held === null ? 0 : 1, now, reason, row[0])
    if (ambiguous === null) return false
    const [id, mail, upstreamId, at, pool, on] = row
    const begun = { attempt: ambiguous, at, poolId: context.names.poolId(pool), upstreamId, on }
    addEvent(ambiguousEvent(mail, id, begun, now))
    return true
  }

  return (dead: DeadBoots, now: number) => {
    context.pauses.note(now)
    let released = 0
    let ambiguous = 0
    for (const boot of dead === 'earlier' ? earlier : dead) {
      for (const row of sql.lost.all(boot)) {
        if (recoverOne(row, now)) ambiguous++
        else released++
      }
    }
    if (released + ambiguous > 0) context.effects.due = true
    return { released, ambiguous }
  }
}

const createAttempting = (context: WriteContext, sql: Statements): Leases['attempting'] => {
  /** Somebody holds it by now: it must not begin. */
  const isHeld = (recipientId: string): boolean => {
    const standing = context.holds.any ? sql.standing.get(recipientId) : undefined
    return standing !== undefined && context.holds.over(standing) !== null
  }
  const isMarked = ({ recipientId, leaseGen, attempt, upstreamId, at }: AttemptMark): boolean =>
    !isHeld(recipientId) &&
    sql.mark.run(attempt, upstreamId, at, recipientId, leaseGen, context.boot).changes === 1
  return (marks) => {
    const marked: boolean[] = []
    for (const mark of marks) marked.push(isMarked(mark))
    return marked
  }
}

/** `alone`: nobody else of those who lease can be alive, since the lock of the data folder is ours. */
export const createLeases = (context: WriteContext, addEvent: AddEvent, alone: boolean): Leases => {
  const sql = prepareLeases(context)
  let earliest = Number.POSITIVE_INFINITY

  return {
    attempting: createAttempting(context, sql),
    recover: createRecover(context, addEvent, sql, alone),

    release(leases, dueAt) {
      for (const lease of leases) {
        if (sql.release.run(dueAt, lease.recipientId, lease.leaseGen, context.boot).changes === 0) continue
        context.hot.drop(lease.recipientId)
        context.effects.due = true
      }
    },

    noteUntil(until) {
      if (until < earliest) earliest = until
    },

    moved() {
      // not all of them were: the next claim looks
      earliest = Number.NEGATIVE_INFINITY
    },

    reap(now) {
      if (now < earliest) return
      for (const id of sql.runOut.all(context.boot, now)) {
        sql.free.run(now, id)
        context.hot.drop(id)
      }
      earliest = sql.earliest.get(context.boot) ?? Number.POSITIVE_INFINITY
    },
  }
}

// Whose turn it is, and appointments. lifecycle/lease.ts says whose turn it is. The cost follows the limit and the
// number of workspaces with mail waiting, never the depth of the queue: 200,000 mails of one tenant are one seek. A
// scheduled mail whose time has come is queued in the same verb, all its recipients together, so that a cancel wins
// or loses as a whole.

const WRITE = `UPDATE recipients SET status = ?, queued_at = coalesce(?, queued_at), due_at = ?, held = ?, held_due = ?,
  updated_at = ? WHERE id = ?`

function* write(rows: readonly Left[], now: number): Asking<void> {
  for (const { id, status, queuedAt, dueAt, held, heldDue } of rows)
    yield* run(WRITE, status, queuedAt, dueAt, held, heldDue, now, id)
}

export const createSchedule = ({ effects, sql }: WriteContext, addEvent: AddEvent) =>
  answered(
    scheduleWrites({ addEvent: (draft) => atOnce(() => addEvent(draft)), effects, lock: '', write }),
    sql.ask,
  )

type Schedule = ReturnType<typeof createSchedule>

/** Larger bodies stay out of the answer; body() fetches them when they are sent. */
const RAW_LIMIT = 64 * 1024

interface Candidate {
  readonly id: string
  readonly email_id: string
  readonly email_ord: number
  readonly status: Status
  readonly due_at: number
  readonly address_lc: string
}

const COLUMNS = {
  ...{ recipient_id: 'r.id', workspace: 'r.workspace', pool: 'r.pool', address: 'r.address' },
  ...{
    notify: 'r.notify',
    orcpt: 'r.orcpt',
    attempts: 'r.attempts',
    queued_at: 'r.queued_at',
    gen: 'r.lease_gen',
  },
  ...{ ambiguous: 'w.ambiguous', freed_at: 'CASE WHEN r.held IS NULL THEN r.held_at END' },
  raw: `CASE WHEN e.size <= ${RAW_LIMIT} THEN (SELECT raw FROM bodies WHERE n = e.body AND email_id = e.id) END`,
}
const LEASED = `SELECT ${RELAYED}, ${Object.values(COLUMNS).join(', ')}
  FROM recipients r JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace WHERE r.id = ?`
const rowOf = unpacking<Row>([...FOR_RELAY, ...Object.keys(COLUMNS)])

const prepareClaim = (context: WriteContext) => ({
  due: context.db.prepare<[number, number, number, number], Candidate>(
    `SELECT id, email_ord, ${EMAIL_ID}, status, due_at, address_lc FROM recipients WHERE pool = ? AND workspace = ? AND due_at <= ?
     ORDER BY due_at LIMIT ? + 0`,
  ),
  lease: context.db.prepare(
    `UPDATE recipients SET due_at = NULL, boot = ?, lease_until = ?, lease_gen = lease_gen + 1 WHERE id = ?`,
  ),
  claimed: context.db.prepare<[string], unknown[]>(LEASED).raw(),
})

type SinceOf = ReturnType<Pauses['of']>

const leasedOf = ({ names }: WriteContext, values: unknown[], sinceOf: SinceOf): ClaimedArray => {
  const row = rowOf(values)
  const workspaceId = names.workspaceId(row.workspace as number)
  const poolId = names.poolId(row.pool as number)
  const known = { workspaceId, poolId, address: row.address as string, raw: row.raw as Uint8Array | null }
  return CLAIMED.pack(toClaimed(row, known, sinceOf(row.queued_at as number)))
}

/** Puts to rest what somebody holds; true when it did. */
const createIsHeld = (context: WriteContext, holdRecipients: HoldRecipients) => {
  return (candidate: Candidate, workspace: number, pool: number, now: number): boolean => {
    const hold = context.holds.any ? context.holds.over({ ...candidate, workspace, pool }) : null
    if (hold === null) return false
    const status = candidate.status === 'scheduled' ? 'queued' : candidate.status
    holdRecipients.hold({ ...candidate, status }, hold, now)
    return true
  }
}

export const createClaim = (
  context: WriteContext,
  leases: Leases,
  fallDue: Schedule['fallDue'],
  holdRecipients: HoldRecipients,
  endSuppressed: EndSuppressed,
) => {
  const sql = prepareClaim(context)
  const isHeld = createIsHeld(context, holdRecipients)
  /** Per pool, the workspace served last. */
  const served = new Map<number, number>()

  function* after(pool: number, workspace: number): Generator<number> {
    const next = (last: number) => context.sql.ask(nextPair(MAIL.waiting, [pool, last], pool))
    for (let pair = next(workspace); pair !== null; pair = next(pair[1])) yield pair[1]
  }

  /** Workspaces of the pool that have something due, in circle order, at most `limit`. */
  const waitingIn = (pool: number, now: number, limit: number): number[] => {
    const found: number[] = []
    for (const workspace of circle(served.get(pool) ?? 0, (last) => after(pool, last))) {
      if (found.length >= limit) break
      if (sql.due.get(pool, workspace, now, 1) !== undefined) found.push(workspace)
    }
    return found
  }

  const draw = (pool: number, workspace: number, wanted: number, now: number): Drawn<Candidate> => {
    const due = sql.due.all(pool, workspace, now, wanted)
    for (const { status, email_ord } of due) if (status === 'scheduled') fallDue(email_ord, now)
    served.set(pool, workspace)
    const isEnded = endSuppressed(workspace)
    const free = due.filter((one) => !isHeld(one, workspace, pool, now) && !isEnded(one, now))
    return { found: due.length, free }
  }

  const lease = (id: string, leaseUntil: number, sinceOf: SinceOf): ClaimedArray => {
    sql.lease.run(context.boot, leaseUntil, id)
    leases.noteUntil(leaseUntil)
    const row = sql.claimed.get(id)
    if (row === undefined) throw new Error(`recipient ${id} has no email`)
    return leasedOf(context, row, sinceOf)
  }

  return (poolId: string, limit: number, leaseUntil: number, now: number): readonly ClaimedArray[] => {
    leases.reap(now)
    const pool = context.names.pool(poolId)
    const claimed: ClaimedArray[] = []
    const sinceOf = context.pauses.of(pool, now)
    const stopped = deal<Candidate>(waitingIn(pool, now, limit), limit, {
      draw: (workspace, wanted) => draw(pool, workspace, wanted, now),
      take: ({ id }) => claimed.push(lease(id, leaseUntil, sinceOf)),
    })
    if (stopped) context.effects.due = true
    return claimed
  }
}

interface Waiting {
  readonly id: string
  readonly email_id: string
  readonly address_lc: string
}

/** Of mail of one workspace, by its number: ends a recipient who is due and must not be written to any more; true when it did. */
type EndSuppressed = (workspace: number) => (recipient: Waiting, now: number) => boolean

type Entry = [list: string, expiresAt: number | null, entry: string]

interface Mail {
  readonly source: Source
  readonly insists: number | null
  readonly mailingList: string | null
  readonly test: number
}

const prepareOrders = (db: Db) => ({
  owners: db
    .prepare<[number], [workspaceId: string, accountId: string]>(
      'SELECT id, account_id FROM workspaces WHERE n = ?',
    )
    .raw(),
  entries: db
    .prepare<string[], Entry>(
      `SELECT workspace_id, expires_at, email FROM suppressions WHERE email IN (?, ?) AND workspace_id IN (?, ?, ?)
       UNION ALL
       SELECT workspace_id, expires_at, email FROM suppressions WHERE email > ? AND email < ? AND workspace_id IN (?, ?)`,
    )
    .raw(),
  mail: db.prepare<[string], Mail>(
    `SELECT source, json_extract(lists, '$.insists') AS insists, test,
       json_extract(lists, '$.extras.unsubscribe_list') AS mailingList FROM emails WHERE id = ?`,
  ),
})

export const createEndSuppressed = (db: Db, settle: (outcome: Outcome) => Settled | null): EndSuppressed => {
  const sql = prepareOrders(db)

  return (workspace) => {
    const [workspaceId, accountId] = sql.owners.get(workspace) ?? ['', '']
    const live = suppressionList(workspaceId, 'live')
    const test = suppressionList(workspaceId, 'test')

    /** Which of these is against the mail to this address. */
    const against = (emailId: string, email: string, entries: readonly Entry[], now: number) => {
      const mail = sql.mail.get(emailId)
      if (mail === undefined) return undefined
      const { source, insists } = mail
      const mode = mail.test === 1 ? 'test' : 'live'
      const ignoresSuppressions = insists !== null
      const lists = listsAgainst({ source, ignoresSuppressions, accountId, workspaceId, mode })
      const standing = entries.filter(
        ([list, expiresAt]) => lists.includes(list) && isSuppressing(expiresAt, now),
      )
      return entriesAgainst(entryOf(email, mail.mailingList)).find((one) =>
        standing.some(([, , entry]) => entry === one),
      )
    }

    return ({ id, email_id, address_lc }, now) => {
      const email = normalizeAddress(address_lc)
      // of mailing lists all are found, and which of them the mail is of is asked of it then
      const [after, before] = [entryOf(email, ''), `${email}$`]
      const places = [live, test] as const
      const known = [email, domainEntry(email), ...places, accountId]
      const entries = sql.entries.all(...known, after, before, ...places)
      const entry = entries.length === 0 ? undefined : against(email_id, email, entries, now)
      return entry !== undefined && (settle(endSuppressed(id, entry, now))?.applied ?? false)
    }
  }
}

interface HeldRow extends Pick<Freed, 'heldAt' | 'heldDue' | 'queuedAt'> {
  readonly pool: number
}

export interface HoldRecipients {
  hold(one: Holdable, hold: Pick<StandingHold, 'id' | 'reason'>, now: number): void
  free(one: Freeable, note: OrderNote): void
  /** An event of the operator that changes no status. */
  note(one: Freeable, note: OrderNote): void
}

export const createHoldRecipients = (context: WriteContext, addEvent: AddEvent): HoldRecipients => {
  const write = context.db.prepare(
    'UPDATE recipients SET held = ?, held_at = ?, held_due = ?, due_at = ?, queued_at = coalesce(?, queued_at) WHERE id = ?',
  )
  const find = context.db.prepare<[string], HeldRow>(
    'SELECT pool, queued_at AS queuedAt, held_at AS heldAt, held_due AS heldDue FROM recipients WHERE id = ?',
  )

  const note: HoldRecipients['note'] = (one, what) => void addEvent(noteEvent(one.email_id, one.id, what))

  return {
    note,
    hold(one, hold, now) {
      const { held, heldAt, heldDue, dueAt } = holdBack(one.due_at, hold.id, now)
      write.run(held, heldAt, heldDue, dueAt, null, one.id)
      note(one, { action: 'held', did: 'held', reason: hold.reason, now, more: { hold: hold.id } })
    },
    free(one, why) {
      const row = find.get(one.id)
      if (row === undefined) return
      const { held, heldAt, heldDue, dueAt, queuedAt } = setFree(row, context.pauses.list(row.pool), why.now)
      write.run(held, heldAt, heldDue, dueAt, queuedAt, one.id)
      note(one, why)
      context.effects.due = true
    },
  }
}

/** What asks for nothing. */
const done = <Args extends readonly unknown[], T>(verb: (...args: Args) => T) =>
  // biome-ignore lint/correctness/useYield: the writer has prepared what it does
  function* (...args: Args): Asking<T> {
    return verb(...args)
  }

export const standingHolds = ({ holds }: WriteContext): StandingHolds => ({
  among: done((ids: readonly string[]) => new Set(ids.filter(holds.has))),
  look: done(() => holds.look()),
})

const UNLEASE = `UPDATE recipients SET boot = NULL, lease_until = NULL, lease_gen = lease_gen + 1,
  due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END WHERE id = ?`

export const createQueueWrites = (
  { effects, hot, pauses }: WriteContext,
  holdRecipients: HoldRecipients,
  settle: (outcome: Outcome) => Settled | null,
  unindex: Pick<Unindex, 'move'>,
): QueueWrites => ({
  recipients: MAIL.recipients,
  waiting: MAIL.waiting,
  // the writer is alone
  locked: done((rows: readonly FoundRecipient[]) => rows),
  lockMails: done(() => {}),
  hold: done((rows: readonly Holdable[], hold: Parameters<HoldRecipients['hold']>[1], now: number) => {
    for (const one of rows) holdRecipients.hold(one, hold, now)
  }),
  free: done((rows: readonly Freeable[], note: OrderNote) => {
    for (const one of rows) holdRecipients.free(one, note)
  }),
  note: done((rows: readonly Freeable[], note: OrderNote) => {
    for (const one of rows) holdRecipients.note(one, note)
  }),
  settle: done((outcomes: readonly Outcome[]) => outcomes.map((one) => settle(one)?.applied ?? false)),
  *due(rows, at) {
    for (const { id } of rows) yield* run('UPDATE recipients SET due_at = ? WHERE id = ?', at, id)
    if (rows.length > 0) effects.due = true
  },
  *move(rows, to, now) {
    for (const { id, email_id, email_ord, pool, held, queued_at } of rows) {
      const held_at =
        held === null ? null : (yield* first('SELECT held_at FROM recipients WHERE id = ?', id))?.held_at
      const queuedAt = moved(pauses.list(pool), pauses.list(to), queued_at, (held_at as number | null) ?? now)
      yield* run('UPDATE recipients SET pool = ?, queued_at = ? WHERE id = ?', to, queuedAt, id)
      unindex.move(email_ord, to)
      yield* run('UPDATE emails SET pool = ? WHERE id = ?', to, email_id)
    }
    if (rows.length > 0) effects.due = true
  },
  *unlease(rows, now) {
    for (const { id } of rows) {
      yield* run(UNLEASE, now, id)
      hot.drop(id)
    }
  },
})

/** What waits, is held, is leased, or has a deadline: each is a partial index. */
const WAITING = `status IN ('queued', 'deferred') AND id IN (
  SELECT id FROM recipients WHERE due_at IS NOT NULL UNION SELECT id FROM recipients WHERE held IS NOT NULL
  UNION SELECT id FROM recipients WHERE boot IS NOT NULL UNION SELECT id FROM recipients WHERE deadline IS NOT NULL)`

/** A time of a row from the future, as long from now as it was from when the row was written. */
const told = (column: string): string =>
  `CASE WHEN updated_at > @now THEN @now + max(0, ${column} - updated_at) ELSE ${column} END`

/** Written by the new clock, so the step is not theirs. */
const SEEN = `(updated_at > @now - ${SEEN_WITHIN_MS} AND updated_at <= @now)`

const SHIFT = `UPDATE recipients SET due_at = due_at + @by, held_due = held_due + @by, held_at = held_at + @by, lease_until = lease_until + @by,
    queued_at = queued_at + @by, deadline = deadline + @by, updated_at = updated_at + @by
  WHERE ${WAITING} AND NOT ${SEEN}`

const PAUSES = 'UPDATE pauses SET resumed_at = resumed_at + @by, paused_at = paused_at + @by'

const clamp = (time: (column: string) => string): string => `UPDATE recipients SET
    due_at = min(${time('due_at')}, @latest), held_due = min(${time('held_due')}, @latest),
    held_at = min(held_at, @now), queued_at = min(queued_at, @now), updated_at = min(updated_at, @now)
  WHERE ${WAITING} AND (due_at > @latest OR held_due > @latest OR held_at > @now OR queued_at > @now OR updated_at > @now)`

export const createTimes = (context: WriteContext, leases: Pick<Leases, 'moved'>) => {
  const shift = context.db.prepare(SHIFT)
  const pauses = context.db.prepare(PAUSES)
  const atStep = context.db.prepare(clamp((column) => column))
  // before the others have moved, so that each row counts once
  const seen = context.db.prepare(`${clamp((column) => column)} AND ${SEEN}`)
  const atStart = context.db.prepare(clamp(told))

  /** How many recipients were moved. */
  return (now: number, by: number, longestWait: number): number => {
    const latest = now + longestWait
    let moved = 0
    if (by === 0) moved = atStart.run({ now, latest }).changes
    else {
      moved = seen.run({ now, latest }).changes + shift.run({ now, by }).changes
      pauses.run({ by })
      atStep.run({ now, latest })
      leases.moved()
    }
    if (moved > 0) context.effects.due = true
    return moved
  }
}
