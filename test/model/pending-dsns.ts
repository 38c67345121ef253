/**
 * NAME      pending-dsns - reports that submitting senders are to get
 */
import type { SentDsn } from '../../src/lifecycle/facts.js'
import { dsnActionOf, isTold, type ToldOutcome, toldKey } from '../../src/lifecycle/pending-dsn.js'
import type { Action } from '../../src/mail/report/report.js'
import type { SenderDsns } from '../../src/store/port/mail.js'
import type { Log } from './log.js'
import type { Plain } from './plain.js'
import type { State } from './state.js'

export interface PendingDsns extends Plain<SenderDsns> {
  add(change: ToldOutcome & { readonly recipientId: string }, emailId: string, eventId: string): void
  /** False when not all of it is pending any more; nothing has changed then. */
  sent(sent: SentDsn, dsnId: string, now: number): boolean
}

export const createPendingDsns = (state: State, log: Pick<Log, 'add' | 'has'>): PendingDsns => {
  const { pending, mails, recipients, events } = state
  const keyOf = (emailId: string, action: Action, recipientId: string): string =>
    `${emailId} ${action} ${recipientId}`
  return {
    add(change, emailId, eventId) {
      const { recipientId, at } = change
      const [one, mail] = [recipients.get(recipientId), mails.get(emailId)]
      const action = dsnActionOf(change)
      if (one === null || mail === null || action === null) return
      const submitted = {
        mailFrom: mail.mailFrom ?? null,
        notify: one.dsn?.notify ?? null,
        queuedAt: one.queuedAt,
        senderDsn: state.workspaces.get(mail.workspaceId)?.senderDsn ?? false,
      }
      if (!isTold(action, change, submitted)) return
      if (log.has(toldKey(recipientId, action))) return
      const key = keyOf(emailId, action, recipientId)
      if (pending.get(key) === null) pending.add(key, { emailId, action, recipientId, eventId, at })
    },
    sent({ emailId, action, recipientIds }, dsnId, now) {
      const mail = mails.get(emailId)
      const keys = recipientIds.map((id) => keyOf(emailId, action, id))
      if (mail === null || keys.some((key) => pending.get(key) === null)) return false
      for (const recipientId of recipientIds) {
        pending.delete(keyOf(emailId, action, recipientId))
        log.add(mail, 'sender_notified', {
          ...{ recipientId, source: 'system', occurredAt: now, change: false },
          ...{ dedupe: toldKey(recipientId, action), detail: { action, dsn: dsnId } },
        })
      }
      return true
    },
    pendingDsns(before, limit) {
      const groups = new Map<string, ReturnType<typeof pending.where>>()
      for (const row of pending.where(() => true)) {
        const key = `${row.emailId} ${row.action}`
        groups.set(key, [...(groups.get(key) ?? []), row])
      }
      return [...groups]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .filter(([, rows]) => rows.every(({ at }) => at <= before))
        .slice(0, limit)
        .flatMap(([, rows]) => {
          const [first] = rows
          const mail = mails.get(first?.emailId ?? '')
          if (first === undefined || mail === null) return []
          const { accountId, workspaceId, mode, envid, ret, messageId, subject, createdAt, size } = mail
          return [
            {
              ...{ emailId: mail.id, accountId, workspaceId, mode, action: first.action },
              ...{ mailFrom: mail.mailFrom ?? '', envid, ret, messageId, subject, createdAt, size },
              requireTls: mail.requireTls === true,
              recipients: [...rows]
                .sort((a, b) => (a.recipientId < b.recipientId ? -1 : 1))
                .flatMap((row) => {
                  const [one, event] = [recipients.get(row.recipientId), events.get(row.eventId)]
                  if (one === null || event === null) return []
                  const { reply, mta, detail, reason, occurredAt } = event
                  const dsn = one.dsn ?? { notify: null, orcpt: null }
                  const { id: recipientId, address, queuedAt } = one
                  return [{ recipientId, address, dsn, queuedAt, reply, mta, detail, reason, occurredAt }]
                }),
            },
          ]
        })
    },
  }
}
