/**
 * NAME      own-mail - mails that we write ourselves: invitations, links, and reports to senders
 *   No key or credential submits them, so they are of no caller's rate and no suppression is looked up when they are
 *   made. They go through the pool of a workspace.
 *   An invitation goes from its default sender, tagged `invitation` with the id of the link. The link is in the octets
 *   of this mail and nowhere else: its content is not kept beside them, who reads mail is shown neither its source nor
 *   a report about it (`isInvitation`), and an upstream is asked to return no body.
 *   An SMTP client expects what RFC 3461 promises: a DSN at its MAIL FROM when a recipient failed, is long delayed, or
 *   was reached and NOTIFY asked to know. A workspace turns it on (`senderDsn`). The report is a mail of its own, from
 *   the null sender: listed like any other, tagged `dsn_for` with the id of the mail that it is about, whose timeline
 *   names it. Exactly once: the transaction that changes a status notes that a report is pending, the one that accepts
 *   the report strikes it off (store/port/mail.ts). No loop: a mail from the null sender never has one, and its refusal
 *   puts no address on a suppression list. It goes to a suppressed address too, for it is an answer and no mailing.
 * NOTES
 *   Who runs the upstreams can read what goes through them, and members may change these. So the link of an owner is
 *   not mailed: a member who mails one could be making an owner of somebody else.
 *   What is pending is looked up every two seconds, in a table that is nearly always empty; recipients of one mail that
 *   fail in the same moment share a report.
 */
import type { Clock } from '../base/clock.js'
import { Fault, type FieldError, invalid, orFault, wrongIn } from '../base/fault.js'
import { newId, newRecipientId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { overIn, repeated, type Service } from '../base/service.js'
import type { Config } from '../config/config.js'
import type { NewEmail, NewRecipient } from '../lifecycle/facts.js'
import { isAscii, parseAddress } from '../mail/address.js'
import { composeMessage } from '../mail/compose.js'
import { type DsnRecipient, dsnSubject, writeDsn } from '../mail/dsn.js'
import type { LinkRow } from '../store/port/identity.js'
import type { PendingDsn, PendingDsnRecipient, Queue, SenderDsns } from '../store/port/mail.js'
import type { KnownPool, Routing, Tenants, WorkspaceRow } from '../store/port/tenants.js'
import type { createLink } from '../tenant/people.js'
import { createRoute, type Route, routed } from './prepare.js'

interface OwnMail extends Pick<NewEmail, 'id' | 'messageId' | 'from' | 'subject' | 'raw'> {
  readonly workspace: Pick<WorkspaceRow, 'id' | 'accountId'>
  readonly routing: Routing
  readonly recipients: readonly Pick<NewRecipient, 'address' | 'kind' | 'dsn'>[]
  readonly tag: NewEmail['tags'][number]
  readonly now: number
}

export const ownMail = ({ workspace, routing, recipients, tag, now, ...mail }: OwnMail): NewEmail => ({
  ...mail,
  accountId: workspace.accountId,
  workspaceId: workspace.id,
  mode: 'live',
  source: 'system',
  to: recipients.map(({ address }) => address),
  cc: [],
  bcc: [],
  replyTo: [],
  tags: [tag],
  attachments: [],
  scheduledAt: null,
  createdAt: now,
  ...routed(
    routing,
    recipients.map((one) => ({ ...one, id: newRecipientId(now), suppressed: false })),
  ),
  needsSmtpUtf8: !recipients.every(({ address }) => isAscii(address)),
  content: null,
  envid: null,
  ret: null,
})

export const defaultWorkspace = async (
  store: Pick<Tenants, 'workspaces'>,
  accountId: string,
): Promise<WorkspaceRow | null> => {
  const page = { limit: 100, direction: 'newer', anchor: null, countUpTo: 0 } as const
  return (await store.workspaces(accountId, page)).rows.find(({ isDefault }) => isDefault) ?? null
}

const TAG = 'invitation'

const isInvitation = ({ source, tags }: { source: string; tags: readonly { name: string }[] }): boolean =>
  source === 'system' && tags.some(({ name }) => name === TAG)

/** Throws resource.conflict for such a mail. */
export const demandReadable = (record: Parameters<typeof isInvitation>[0]): void => {
  if (!isInvitation(record)) return
  const detail = 'it has the link of an invitation in it, which is for its recipient alone'
  throw new Fault('resource.conflict', { reason: 'invitation', detail })
}

interface InvitationMailParts {
  readonly store: Pick<Queue, 'accept'> & Pick<Tenants, 'workspace' | 'pool'>
  readonly config: Pick<Config, 'hostname' | 'default_from'>
  readonly clock: Clock
  readonly baseUrl: string
}

interface Wish {
  readonly accountId: string
  /** Whose pool and sender, by id or slug. */
  readonly workspace: string
  readonly email: string | null | undefined
  readonly role: string
  /** Makes the link, once all else is well. */
  readonly make: () => ReturnType<typeof createLink>
  readonly urlOf: (row: LinkRow, token: string) => string
  /** Takes back what was made, where its mail could not be stored. */
  readonly unmake: (row: LinkRow) => Promise<unknown>
}

const hasUpstream = async (
  { store }: InvitationMailParts,
  { accountId, poolId }: WorkspaceRow,
): Promise<boolean> => {
  const own = await store.pool(accountId, poolId)
  const used: KnownPool | null = own?.follows == null ? own : await store.pool(accountId, own.follows)
  return used !== null && used.upstreams.length > 0
}

/** The workspace, and the sender that it has; throws what keeps the mail from leaving. */
const senderOf = async (parts: InvitationMailParts, { accountId, email, role, ...wish }: Wish) => {
  const errors: FieldError[] = []
  const wrong = wrongIn(errors, 'body.')
  if (email == null) wrong('email', 'missing', 'is needed where the link is mailed')
  if (role === 'owner')
    wrong('role', 'forbidden', 'the link of an owner is not mailed: hand it on by a way that you trust')
  const workspace = orFault(await parts.store.workspace(accountId, wish.workspace), 'workspace.not_found')
  if (workspace.suspendedAt !== null) throw new Fault('workspace.suspended')
  const from = workspace.defaultFrom ?? parts.config.default_from
  const sender = from === null ? null : parseAddress(from)
  if (sender === null) wrong('workspace_id', 'forbidden', 'has no default sender: set one, or default_from')
  if (!(await hasUpstream(parts, workspace)))
    wrong('workspace_id', 'forbidden', 'its pool has no upstream, so the mail would not leave')
  if (errors.length > 0 || sender === null || from === null) throw invalid(errors)
  return { workspace, sender, from }
}

const textOf = (row: LinkRow, url: string, baseUrl: string): string =>
  [
    `You are invited to the pages of Postern at ${baseUrl}, as ${row.role}.`,
    '',
    'Open this link, and press the button there. It lets one person in, once,',
    `until ${new Date(row.expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC:`,
    '',
    url,
    '',
    'Whoever holds the link may use it: do not hand it on. If you did not expect',
    'this, do nothing, and nobody gets in.',
    '',
  ].join('\n')

/** Makes the link and mails it: both, or neither. */
export const mailInvitation = async (
  parts: InvitationMailParts,
  wish: Wish,
): Promise<{ readonly row: LinkRow; readonly email: NewEmail }> => {
  const { store, config, clock, baseUrl } = parts
  const { workspace, sender, from } = await senderOf(parts, wish)
  const { row, token } = await wish.make()
  try {
    const now = clock.now()
    const id = newId('em', now)
    const messageId = `<${id}@${config.hostname}>`
    const subject = `You are invited to Postern at ${new URL(baseUrl).host}`
    const address = row.email ?? ''
    const raw = await composeMessage({
      ...{ messageId, date: now, from: sender, to: [{ address, name: null }], cc: [], replyTo: [], subject },
      ...{ attachments: [], html: null, text: textOf(row, wish.urlOf(row, token), baseUrl) },
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const own = ownMail({
      ...{ id, messageId, workspace, now, routing: workspace, from, subject, raw },
      recipients: [{ address, kind: 'to', dsn: null }],
      tag: { name: TAG, value: row.id },
    })
    const email = { ...own, ret: 'HDRS' }
    await store.accept({ mails: [email], idempotency: null, now })
    return { row, email }
  } catch (error) {
    await wish.unmake(row)
    throw error
  }
}

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

const wordsOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

const causeOf = ({ reason, detail }: PendingDsnRecipient): string | null =>
  reason === 'suppressed'
    ? 'The address is on the suppression list: mail to it failed before, or its owner wants none'
    : (wordsOf(detail?.error) ?? wordsOf(detail?.diagnostic))

const toRecipient = (pending: PendingDsn, one: PendingDsnRecipient, lifetime: number): DsnRecipient => ({
  address: one.address,
  orcpt: one.dsn.orcpt,
  reply: one.reply,
  cause: causeOf(one),
  remoteMta: wordsOf(one.detail?.remote_mta) ?? one.mta?.host ?? null,
  lastAttempt: one.occurredAt,
  retryUntil: pending.action === 'delayed' ? one.queuedAt + lifetime : null,
})

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
