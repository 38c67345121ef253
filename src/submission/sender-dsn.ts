/**
 * NAME      sender-dsn - senders hear what became of their mail
 * DESCRIPTION
 *     An SMTP client expects what RFC 3461 promises: a DSN at its MAIL FROM when a
 *     recipient failed, is long delayed, or was reached and NOTIFY asked to know.
 *     A workspace turns it on (`senderDsn`). The report is a mail of its own, from
 *     the null sender, through the workspace's pool: listed like any other, tagged
 *     `dsn_for` with the id of the mail that it is about, whose timeline names it.
 *     Exactly once: the transaction that changes a status notes that a report is
 *     pending, the one that accepts the report strikes it off (store/port/mail.ts).
 *     No loop: a mail from the null sender never has one, and its refusal puts no
 *     address on a suppression list. It is not counted as a send, and goes to a
 *     suppressed address too, for it is an answer and no mailing.
 *   NOTES
 *     What is pending is looked up every two seconds, in a table that is nearly always
 *     empty; recipients of one mail that fail in the same moment share a report.
 */
import type { Clock } from '../base/clock.js'
import { newId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { overIn, repeated, type Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import type { NewEmail } from '../lifecycle/facts.js'
import { type DsnRecipient, dsnSubject, writeDsn } from '../mail/dsn.js'
import type { PendingDsn, PendingDsnRecipient, Queue, SenderDsns } from '../store/port/mail.js'
import type { Tenants } from '../store/port/tenants.js'
import { ownMail } from './own-mail.js'
import { createRoute, type Route } from './route.js'

interface SenderDsnParts {
  readonly store: SenderDsns & Pick<Queue, 'accept' | 'body'> & Pick<Tenants, 'workspace' | 'pool'>
  readonly config: Pick<Config, 'hostname'> & { readonly relay: Pick<Config['relay'], 'lifetime'> }
  readonly clock: Clock
  readonly log: Log
  /** False while nothing may be stored. */
  readonly accepting: () => boolean
  /** Milliseconds between looks, and for which recipients of one mail are waited for. */
  readonly every?: number
}

const EVERY_MS = 2_000
const AT_ONCE = 50
/** RET=FULL gets at most this much back; more would be refused where reports are taken. */
const LARGEST_RETURNED = 8 * 1024 * 1024
const DSN_TAG = 'dsn_for'

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

const causeOf = ({ reason, detail }: PendingDsnRecipient): string | null =>
  reason === 'suppressed'
    ? 'The address is on the suppression list: mail to it failed before, or its owner wants none'
    : (textOf(detail?.error) ?? textOf(detail?.diagnostic))

const toRecipient = (pending: PendingDsn, one: PendingDsnRecipient, lifetime: number): DsnRecipient => ({
  address: one.address,
  orcpt: one.dsn.orcpt,
  reply: one.reply,
  cause: causeOf(one),
  remoteMta: textOf(one.detail?.remote_mta) ?? one.mta?.host ?? null,
  lastAttempt: one.occurredAt,
  retryUntil: pending.action === 'delayed' ? one.queuedAt + lifetime : null,
})

/** The report's octets. */
const reportOf = async (
  { store, config }: SenderDsnParts,
  pending: PendingDsn,
  messageId: string,
  now: number,
): Promise<Uint8Array> => {
  // what may not travel without TLS is not sent around whole (RFC 8689, section 5)
  const mayBeWhole = pending.ret === 'FULL' && !pending.requireTls && pending.size <= LARGEST_RETURNED
  const whole = pending.action === 'failed' && mayBeWhole
  const { subject } = pending
  return writeDsn({
    messageId,
    hostname: config.hostname,
    now,
    action: pending.action,
    sender: pending.mailFrom,
    envid: pending.envid,
    arrivedAt: pending.createdAt,
    recipients: pending.recipients.map((one) => toRecipient(pending, one, config.relay.lifetime)),
    original: { messageId: pending.messageId, subject, raw: await store.body(pending.emailId), whole },
  })
}

const toEmail = async (
  parts: SenderDsnParts,
  route: Route,
  pending: PendingDsn,
): Promise<NewEmail | null> => {
  const { accountId, workspaceId, mode, action, mailFrom, requireTls } = pending
  const { hostname } = parts.config
  const workspace = await parts.store.workspace(accountId, workspaceId)
  if (workspace === null) return null
  const now = parts.clock.now()
  const id = newId('em', now)
  const messageId = `<${id}@${hostname}>`
  return {
    ...ownMail({
      ...{ id, messageId, workspace, now },
      routing: await route(workspace, mode),
      // a report on a report is nobody's wish (RFC 3461, section 6.2)
      recipients: [{ address: mailFrom, kind: 'to', dsn: { notify: 'NEVER', orcpt: null } }],
      from: `Mail Delivery System <MAILER-DAEMON@${hostname}>`,
      subject: dsnSubject(action, pending.subject),
      tag: { name: DSN_TAG, value: pending.emailId },
      raw: await reportOf(parts, pending, messageId, now),
    }),
    ...{ mode, mailFrom: '', requireTls },
  }
}

/** Writes one DSN and accepts it; what another process sent meanwhile is left alone. */
const send = async (parts: SenderDsnParts, route: Route, pending: PendingDsn): Promise<void> => {
  const { store, clock, log } = parts
  const mail = await toEmail(parts, route, pending)
  if (mail === null) return
  const { emailId, action } = pending
  const dsn = { emailId, action, recipientIds: pending.recipients.map(({ recipientId }) => recipientId) }
  const result = await store.accept({ mails: [mail], idempotency: null, dsn, now: clock.now() })
  if (result === 'accepted') log.info({ event: 'sender_dsn', email: emailId, action, dsn: mail.id })
}

/** Looks for what is pending until there is no more. */
const sendPending = async (parts: SenderDsnParts, route: Route, before: number): Promise<void> => {
  const tried = new Set<string>()
  for (;;) {
    const pending = parts.accepting() ? await parts.store.pendingDsns(before, AT_ONCE) : []
    const fresh = pending.filter(({ emailId, action }) => !tried.has(`${emailId} ${action}`))
    if (fresh.length === 0) return
    for (const one of fresh) {
      tried.add(`${one.emailId} ${one.action}`)
      await send(parts, route, one)
    }
  }
}

export const createSenderDsns = (parts: SenderDsnParts): Service => {
  const { clock, log, every = EVERY_MS } = parts
  const route = createRoute(parts.store)
  const turn = async (): Promise<number> => {
    await sendPending(parts, route, clock.now() - every)
    return every
  }
  const telling = {
    told: ({ message }: Error) =>
      log.error({ event: 'sender_dsn_failed', error: message }, 'report to a sender not stored'),
    over: overIn(log, 'report to a sender not stored'),
  }
  return repeated('sender-dsn', turn, { restMs: every, ...telling }, every)
}
