/**
 * NAME      events - records of the log, and their numbers
 *   Events are only ever added, each with its place, which is its key. The first event of a recipient is not
 *   among them: it is made of the recipient's row.
 *   A server that was tried is a row of `mtas`, the detail of an attempt one of `attempt_details`.
 */
import type { RunResult } from 'better-sqlite3'
import { type KeptReport, MAX_REPORTS, type SentDsn } from '../../../lifecycle/facts.js'
import { dsnActionOf, isTold, type ToldOutcome, toldKey } from '../../../lifecycle/pending-dsn.js'
import { isNote } from '../../../mail/event-type.js'
import type { EventNotice } from '../../port/log.js'
import {
  type EventDraft,
  flagsOf,
  kindOf,
  type MailPlace,
  NOTHING,
  type Numbers,
  packMore,
  scopeOf,
} from '../../sql/log/events.js'
import type { Db } from '../connect.js'
import type { WriteContext } from './context.js'

export const createNumbers = ({ db, onRollback }: Pick<WriteContext, 'db' | 'onRollback'>): Numbers => {
  const sql = {
    mta: db
      .prepare<[string, string, string | null], number>(
        'SELECT n FROM mtas WHERE pool_id = ? AND upstream_id = ? AND host IS ?',
      )
      .pluck(),
    addMta: db.prepare('INSERT INTO mtas (pool_id, upstream_id, host) VALUES (?, ?, ?)'),
    detail: db.prepare<[string], number>('SELECT n FROM attempt_details WHERE detail = ?').pluck(),
    addDetail: db.prepare('INSERT INTO attempt_details (detail) VALUES (?)'),
  }
  const known = new Map<string, number>()
  onRollback(() => known.clear())
  const numberOf = (key: string, find: () => number | undefined, add: () => RunResult): number => {
    const n = known.get(key) ?? find() ?? Number(add().lastInsertRowid)
    known.set(key, n)
    return n
  }
  return {
    // servers that others name are as many as they like
    mta: ({ poolId, upstreamId, host }) =>
      upstreamId === null
        ? 0
        : numberOf(
            `${poolId} ${upstreamId} ${host}`,
            () => sql.mta.get(poolId, upstreamId, host),
            () => sql.addMta.run(poolId, upstreamId, host),
          ),
    detail: (shape) =>
      numberOf(
        shape,
        () => sql.detail.get(shape),
        () => sql.addDetail.run(shape),
      ),
  }
}

/** Answers with the event's place. */
export type AddEvent = (draft: EventDraft) => number

/** Its place; null when its dedupe key was there. */
type AddNotice = (notice: EventNotice) => number | null

const COLUMNS = 'ord, email, scope, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more'
const INSERT = `INTO events (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export const createAddEvent = (context: Pick<WriteContext, 'db' | 'order' | 'onRollback'>): AddEvent => {
  const { db, order } = context
  const insert = db.prepare(`INSERT ${INSERT}`)
  const find = db.prepare<[string], MailPlace>(
    'SELECT ord, workspace * 2 + test AS scope FROM emails WHERE id = ?',
  )
  const numbers = createNumbers(context)
  const placeOf = (id: string): MailPlace => {
    const mail = find.get(id)
    if (mail === undefined) throw new Error(`no email ${id}`)
    return mail
  }
  return (draft) => {
    const ord = order.next()
    const mail = typeof draft.mail === 'string' ? placeOf(draft.mail) : draft.mail
    insert.run(
      ord,
      mail.ord,
      mail.scope,
      kindOf(`email.${draft.status}`),
      flagsOf(draft.source, draft.applied, draft.change),
      draft.recipientId,
      draft.occurredAt,
      draft.now - draft.occurredAt,
      draft.attempt,
      draft.reason,
      draft.dedupe,
      packMore(draft.more, numbers),
    )
    return ord
  }
}

/** Answers with its place. */
export const createAddNotice = ({
  db,
  order,
  names,
}: Pick<WriteContext, 'db' | 'order' | 'names'>): AddNotice => {
  const insert = db.prepare(`INSERT OR IGNORE ${INSERT}`)
  return ({ type, accountId, workspaceId, mode, now, data, dedupe = null }) => {
    const ord = order.next()
    const scope = scopeOf(workspaceId === null ? 0 : names.workspace(workspaceId), mode === 'test')
    const more = JSON.stringify({ account: accountId, data })
    const flags = flagsOf('system', true, !isNote(type))
    const { changes } = insert.run(
      ord,
      null,
      scope,
      kindOf(type),
      flags,
      null,
      now,
      0,
      null,
      null,
      dedupe,
      more,
    )
    return changes === 0 ? null : ord
  }
}

// Reports that are due to a return path. `add` runs inside the verb that writes an event, `sent` inside the one that
// accepts the DSN as a mail; each is one transaction with what it goes with. The timeline's event of the second has a
// dedupe key for each recipient and action, which is how we know later what was told already. Written in the commit
// of the event that tells of one, and gone with its mail, or before. The octets are somebody else's, so a mail keeps
// a bounded number; what changed nothing leaves room for what did, since an address that answers by itself may do so
// without end.

type SubmittedArray = [mailFrom: string | null, notify: string | null, queuedAt: number, senderDsn: number]

export interface PendingDsns {
  /** Notes what the sender must hear of this change, if anything. */
  add(change: ToldOutcome & { readonly recipientId: string }, emailId: string, event: number): void
  /** False when not all of it was pending any more; nothing has changed then. */
  sent(sent: SentDsn, dsnId: string, now: number): boolean
}

export const createPendingDsns = (db: Db, addEvent: AddEvent): PendingDsns => {
  const submitted = db
    .prepare<[string], SubmittedArray>(
      `SELECT e.mail_from, r.notify, r.queued_at, w.sender_dsn FROM recipients r
         JOIN emails e ON e.ord = r.email_ord JOIN workspaces w ON w.n = r.workspace WHERE r.id = ?`,
    )
    .raw()
  const known = db.prepare<[string], number>('SELECT 1 FROM events WHERE dedupe = ?').pluck()
  const insert = db.prepare('INSERT OR IGNORE INTO owed_dsns VALUES (?, ?, ?, ?, ?)')
  const pending = db
    .prepare<[string, string, string], number>(
      'SELECT 1 FROM owed_dsns WHERE email_id = ? AND action = ? AND recipient_id = ?',
    )
    .pluck()
  const remove = db.prepare('DELETE FROM owed_dsns WHERE email_id = ? AND action = ? AND recipient_id = ?')

  return {
    add(change, emailId, event) {
      const action = dsnActionOf(change)
      const row = action === null ? undefined : submitted.get(change.recipientId)
      if (action === null || row === undefined) return
      const [mailFrom, notify, queuedAt, senderDsn] = row
      if (!isTold(action, change, { mailFrom, notify, queuedAt, senderDsn: senderDsn === 1 })) return
      if (known.get(toldKey(change.recipientId, action)) !== undefined) return
      insert.run(emailId, action, change.recipientId, event, change.at)
    },
    sent({ emailId, action, recipientIds }, dsnId, now) {
      if (recipientIds.some((id) => pending.get(emailId, action, id) === undefined)) return false
      for (const recipientId of recipientIds) {
        remove.run(emailId, action, recipientId)
        addEvent({
          mail: emailId,
          recipientId,
          status: 'sender_notified',
          change: false,
          source: 'system',
          occurredAt: now,
          now,
          attempt: null,
          applied: true,
          reason: null,
          dedupe: toldKey(recipientId, action),
          more: { ...NOTHING, detail: { action, dsn: dsnId } },
        })
      }
      return true
    },
  }
}

/** Each is up to 64 KiB: a page of them is deleted in a few milliseconds. */
const STEP = 50

export const DROP_REPORTS = 'DELETE FROM reports WHERE email = ?'

export const createKeepReport = (
  db: Db,
): ((email: number, report: KeptReport, now: number, applied: boolean) => void) => {
  const kept = db.prepare<[number], number>('SELECT count(*) FROM reports WHERE email = ?').pluck()
  const add = db.prepare('INSERT OR IGNORE INTO reports (email, name, at, octets) VALUES (?, ?, ?, ?)')
  return (email, { name, octets }, now, applied) => {
    if ((kept.get(email) ?? 0) < (applied ? 2 * MAX_REPORTS : MAX_REPORTS)) add.run(email, name, now, octets)
  }
}

/** One step; answers how many are gone. */
export const createReportSweep = (db: Db): ((before: number) => number) => {
  const drop = db.prepare<[number]>(
    `DELETE FROM reports WHERE n IN (SELECT n FROM reports WHERE at < ? LIMIT ${STEP})`,
  )
  return (before) => drop.run(before).changes
}
