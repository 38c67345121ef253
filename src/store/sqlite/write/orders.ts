/**
 * NAME      orders - what may be done to recipients that wait
 * DESCRIPTION
 *   Writes what the law says of a hold, with the event that tells it.
 *     What lifecycle/schedule.ts says of a row, for all rows in a few statements.
 *   NOTES
 *     One verb and no small steps: a row that is written in between would be moved by
 *     what it never missed. 200,000 waiting mails hold the writer for a few seconds, once a step.
 */
import type { Outcome, Settled, Source } from '../../../lifecycle/facts.js'
import { type Freed, holdBack, moved, type Note, setFree } from '../../../lifecycle/orders.js'
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
import { noteEvent } from '../../sql/log/draft.js'
import type { Found, Freeable, Holdable, QueueWrites, StandingHold, StandingHolds } from '../../sql/orders.js'
import { type Asking, first, run } from '../../sql/query.js'
import type { Db } from '../connect.js'
import { MAIL } from '../read/statements.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from './context.js'
import type { AddEvent } from './events.js'
import type { Leases } from './lease.js'

interface Waiting {
  readonly id: string
  readonly email_id: string
  readonly address_lc: string
}

/** Of mail of one workspace, by its number: ends a recipient who is due and must not be written to any more; true when it did. */
export type EndSuppressed = (workspace: number) => (recipient: Waiting, now: number) => boolean

type Entry = [list: string, expiresAt: number | null, entry: string]

interface Mail {
  readonly source: Source
  readonly insists: number | null
  readonly mailingList: string | null
  readonly test: number
}

const prepare = (db: Db) => ({
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
  const sql = prepare(db)

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
  free(one: Freeable, note: Note): void
  /** An event of the operator that changes no status. */
  note(one: Freeable, note: Note): void
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
  locked: done((rows: readonly Found[]) => rows),
  lockMails: done(() => {}),
  hold: done((rows: readonly Holdable[], hold: Parameters<HoldRecipients['hold']>[1], now: number) => {
    for (const one of rows) holdRecipients.hold(one, hold, now)
  }),
  free: done((rows: readonly Freeable[], note: Note) => {
    for (const one of rows) holdRecipients.free(one, note)
  }),
  note: done((rows: readonly Freeable[], note: Note) => {
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
