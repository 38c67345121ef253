/**
 * NAME      sender-dsn - senders hear what became of their mail
 * DESCRIPTION
 *   An SMTP client expects what RFC 3461 promises: a DSN at its MAIL FROM when a
 *   recipient failed, is long delayed, or was reached and NOTIFY asked to know.
 *   A workspace turns it on (`senderDsn`). The report is a mail of its own, from
 *   the null sender, through the workspace's pool: listed like any other, tagged
 *   `dsn_for` with the id of the mail that it is about, whose timeline names it.
 *   Exactly once: the transaction that changes a status notes that a report is
 *   owed, the one that accepts the report strikes it off (store/port/sender-dsns.ts).
 *   No loop: a mail from the null sender never owes one, and its refusal puts no
 *   address on a suppression list. It is not counted as a send, and goes to a
 *   suppressed address too, for it is an answer and no mailing.
 * NOTES
 *   What is owed is looked up every two seconds, in a table that is nearly always
 *   empty; recipients of one mail that fail in the same moment share a report.
 */
import type { Clock } from '../../base/clock.js'
import { newId, newRecipientId } from '../../base/id.js'
import type { Log } from '../../base/log.js'
import type { Service } from '../../base/service.js'
import type { Config } from '../../config/config.js'
import type { NewEmail } from '../../lifecycle/facts.js'
import { isAscii } from '../../mail/address.js'
import { type DsnRecipient, dsnSubject, writeDsn } from '../../mail/dsn/write.js'
import type { Queue } from '../../store/port/queue.js'
import type { OwedDsn, OwedRecipient, SenderDsns } from '../../store/port/sender-dsns.js'
import type { Tenants } from '../../store/port/tenants/tenants.js'
import { createRoute, type Route, routed } from '../route.js'

export interface SenderDsnParts {
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

const causeOf = ({ reason, detail }: OwedRecipient): string | null =>
  reason === 'suppressed'
    ? 'The address is on the suppression list: mail to it failed before, or its owner complained'
    : (textOf(detail?.error) ?? textOf(detail?.diagnostic))

const toRecipient = (owed: OwedDsn, one: OwedRecipient, lifetime: number): DsnRecipient => ({
  address: one.address,
  orcpt: one.dsn.orcpt,
  reply: one.reply,
  cause: causeOf(one),
  remoteMta: textOf(one.detail?.remote_mta) ?? one.mta?.host ?? null,
  lastAttempt: one.occurredAt,
  retryUntil: owed.action === 'delayed' ? one.queuedAt + lifetime : null,
})

const toEmail = async (parts: SenderDsnParts, route: Route, owed: OwedDsn): Promise<NewEmail | null> => {
  const { store, config, clock } = parts
  const workspace = await store.workspace(owed.accountId, owed.workspaceId)
  if (workspace === null) return null
  const now = clock.now()
  const id = newId('em', now)
  const messageId = `<${id}@${config.hostname}>`
  // what may not travel without TLS is not sent around whole (RFC 8689, section 5)
  const mayBeWhole = owed.ret === 'FULL' && !owed.requireTls && owed.size <= LARGEST_RETURNED
  const whole = owed.action === 'failed' && mayBeWhole
  const { subject } = owed
  const raw = writeDsn({
    messageId,
    hostname: config.hostname,
    now,
    action: owed.action,
    sender: owed.mailFrom,
    envid: owed.envid,
    arrivedAt: owed.createdAt,
    recipients: owed.recipients.map((one) => toRecipient(owed, one, config.relay.lifetime)),
    original: { messageId: owed.messageId, subject, raw: await store.body(owed.emailId), whole },
  })
  const recipient = {
    id: newRecipientId(now),
    address: owed.mailFrom,
    kind: 'to',
    suppressed: false,
    // a report on a report is nobody's wish (RFC 3461, section 6.2)
    dsn: { notify: 'NEVER', orcpt: null },
  } as const
  return {
    id,
    accountId: owed.accountId,
    workspaceId: owed.workspaceId,
    mode: owed.mode,
    source: 'system',
    from: `Mail Delivery System <MAILER-DAEMON@${config.hostname}>`,
    to: [owed.mailFrom],
    cc: [],
    bcc: [],
    replyTo: [],
    subject: dsnSubject(owed.action, subject),
    tags: [{ name: DSN_TAG, value: owed.emailId }],
    attachments: [],
    messageId,
    scheduledAt: null,
    createdAt: now,
    ...routed(await route(workspace, owed.mode), [recipient]),
    raw,
    needsSmtpUtf8: !isAscii(owed.mailFrom),
    content: null,
    envid: null,
    ret: null,
    mailFrom: '',
    requireTls: owed.requireTls,
  }
}

/** Writes one report and pays for it; what another process paid meanwhile is left alone. */
const pay = async (parts: SenderDsnParts, route: Route, owed: OwedDsn): Promise<void> => {
  const { store, clock, log } = parts
  const mail = await toEmail(parts, route, owed)
  if (mail === null) return
  const { emailId, action } = owed
  const pays = { emailId, action, recipientIds: owed.recipients.map(({ recipientId }) => recipientId) }
  const result = await store.accept({ mails: [mail], idempotency: null, pays, now: clock.now() })
  if (result === 'accepted') log.info({ event: 'sender_dsn', email: emailId, action, dsn: mail.id })
}

/** Looks for what is owed until there is no more. */
const payOwed = async (parts: SenderDsnParts, route: Route, before: number): Promise<void> => {
  const tried = new Set<string>()
  for (;;) {
    const owed = parts.accepting() ? await parts.store.owedDsns(before, AT_ONCE) : []
    const fresh = owed.filter(({ emailId, action }) => !tried.has(`${emailId} ${action}`))
    if (fresh.length === 0) return
    for (const one of fresh) {
      tried.add(`${one.emailId} ${one.action}`)
      await pay(parts, route, one)
    }
  }
}

export const createSenderDsns = (parts: SenderDsnParts): Service => {
  const { clock, log, every = EVERY_MS } = parts
  const route = createRoute(parts.store)
  let timer: NodeJS.Timeout | null = null
  let round: Promise<void> | null = null
  const look = (): void => {
    round ??= payOwed(parts, route, clock.now() - every)
      .catch((error: Error) => log.error({ event: 'sender_dsn_failed', error: error.message }))
      .finally(() => {
        round = null
      })
  }
  return {
    name: 'sender-dsn',
    async start() {
      timer ??= setInterval(look, every).unref()
    },
    async stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
      await round
    },
  }
}
