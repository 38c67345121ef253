/**
 * NAME      owe - a report to the sender, owed and paid
 * DESCRIPTION
 *   `owe` runs inside the verb that writes an event, `pay` inside the one that
 *   accepts the report as a mail; each is one transaction with what it goes
 *   with. The timeline's event of the payment carries a dedupe key per recipient
 *   and action, which is how we know later what was told already.
 */

import type { DsnPayment, Outcome } from '../../../lifecycle/facts.js'
import { owedReport } from '../../../lifecycle/pending-dsn.js'
import type { Action } from '../../../mail/report/report.js'
import type { Db } from '../connect.js'
import { NOTHING } from '../log/codec.js'
import type { AddEvent } from '../write/events.js'

type Submitted = [mailFrom: string | null, notify: string | null, queuedAt: number, senderDsn: number]

const keyOf = (recipientId: string, action: Action): string => `sender-dsn:${recipientId}:${action}`

export interface Owing {
  /** Notes what the sender must hear of this change, if anything. */
  owe(change: Pick<Outcome, 'recipientId' | 'seen' | 'at' | 'detail'>, emailId: string, event: number): void
  /** False when not all of it was owed any more; nothing has changed then. */
  pay(payment: DsnPayment, dsnId: string, now: number): boolean
}

export const createOwing = (db: Db, addEvent: AddEvent): Owing => {
  const submitted = db
    .prepare<[string], Submitted>(
      `SELECT e.mail_from, r.notify, r.queued_at, w.sender_dsn FROM recipients r
         JOIN emails e ON e.id = r.email_id JOIN workspaces w ON w.n = r.workspace WHERE r.id = ?`,
    )
    .raw()
  const told = db.prepare<[string], number>('SELECT 1 FROM events WHERE dedupe = ?').pluck()
  const add = db.prepare('INSERT OR IGNORE INTO owed_dsns VALUES (?, ?, ?, ?, ?)')
  const owed = db
    .prepare<[string, string, string], number>(
      'SELECT 1 FROM owed_dsns WHERE email_id = ? AND action = ? AND recipient_id = ?',
    )
    .pluck()
  const remove = db.prepare('DELETE FROM owed_dsns WHERE email_id = ? AND action = ? AND recipient_id = ?')

  return {
    owe({ recipientId, seen, at, detail }, emailId, event) {
      const untracked = detail?.reports === false
      // nearly every change is this one, and owes nothing to anybody
      if (seen === 'accepted' && !untracked) return
      const [mailFrom = null, notify = null, queuedAt = at, senderDsn = 0] = submitted.get(recipientId) ?? []
      if (mailFrom === null || mailFrom === '' || senderDsn === 0) return
      const action = owedReport({ seen, notify, waited: at - queuedAt, untracked })
      if (action === null || told.get(keyOf(recipientId, action)) !== undefined) return
      add.run(emailId, action, recipientId, event, at)
    },
    pay({ emailId, action, recipientIds }, dsnId, now) {
      if (recipientIds.some((id) => owed.get(emailId, action, id) === undefined)) return false
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
          dedupe: keyOf(recipientId, action),
          more: { ...NOTHING, detail: { action, dsn: dsnId } },
        })
      }
      return true
    },
  }
}
