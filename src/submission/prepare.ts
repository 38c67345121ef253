/**
 * NAME      prepare - from what a door hands in to a mail that can be stored, and its pool
 *   Checks it and makes its octets, its record and its recipients, by nothing but what stands here: no row is read, and
 *   nobody is waited for, but the composer of attachments. Drafts, batches and messages of SMTP come through here,
 *   large ones in the bodies' thread (http/thread/); what must be asked of others is asked before, or with what came of
 *   it. Of a message that came whole the envelope says who receives it; the header is only read, for the record: a
 *   recipient that To or Cc names is of that kind, any other is a Bcc. The bytes are relayed as they came, but for a
 *   Received line, a missing Date or Message-ID, and the fields that speak to the gateway (mail/submitted.ts).
 *   The answer to a send with a key must be written before the send is stored, because both are stored together. So the
 *   record of any new mail is worked out here, by the same rules by which the store sets the first status.
 *   Test mail goes to the sandbox of its account, whatever its workspace says; live mail to the pool that its workspace
 *   has for the domain of the recipient, or to that of the workspace, where it waits while there is no upstream for it:
 *   mail that was acknowledged is never thrown away for want of a route. The id of a sandbox never changes, so it is
 *   remembered.
 */
import { type FieldError, invalid } from '../base/fault.js'
import { newId, newRecipientId } from '../base/id.js'
import type { Extras } from '../lifecycle/extras.js'
import type { DsnRequest, EmailFacts, NewEmail, NewRecipient, RecipientKind } from '../lifecycle/facts.js'
import type { Mode } from '../lifecycle/page.js'
import { isAscii, type Mailbox, normalizeAddress, wireAddress } from '../mail/address.js'
import { composeMessage } from '../mail/compose.js'
import { UNSUBSCRIBE_FIELD } from '../mail/control-headers.js'
import { receivedLine, receivedOverHttp } from '../mail/header.js'
import { aggregate, emptyCounts, type Status } from '../mail/status.js'
import type { Submitted } from '../mail/submitted.js'
import { SANDBOX_POOL } from '../store/pools.js'
import type { EmailRecord } from '../store/port/mail.js'
import { poolFor, type Routing, type Tenants, type WorkspaceRow } from '../store/port/tenants.js'
import type { Principal } from '../tenant/principal.js'
import { type Draft, demandSize, readSchedule, summarize } from './draft.js'
import {
  extrasIn,
  type Finished,
  headerNames,
  headOf,
  type MessagePlaces,
  needsSmtpUtf8,
  octetsOf,
  readFinished,
  show,
} from './finished-message.js'
import { checkUnsubscribe } from './unsubscribe.js'
import {
  type CheckedDraft,
  type CheckedMime,
  checkExtras,
  checkSend,
  type DraftRules,
  type Listed,
  listIn,
  MOST_TAGS,
  newRecipient,
  type Party,
  type Recipient,
} from './validate.js'

/** A message with its envelope and where it came from. */
export interface EnvelopedMessage {
  readonly mailFrom: string
  readonly recipients: readonly { readonly address: string; readonly dsn: DsnRequest | null }[]
  readonly ret: string | null
  /** xtext, as received. */
  readonly envid: string | null
  /** It may go on under verified TLS only (RFC 8689). */
  readonly requireTls?: boolean
  readonly raw: Uint8Array
  /** Octets before `raw`, in the same memory, that may be overwritten; `raw` itself may be, then. */
  readonly headroom?: number
  /** The traceparent of the span that took it in, when somebody traces. */
  readonly trace?: string | null | undefined
  readonly received: {
    readonly ip: string
    readonly hello: string
    /** RFC 3848: ESMTPSA and the like. */
    readonly protocol: string
    readonly tls: string | null
  }
}

export interface Prepared
  extends Omit<EmailFacts, 'accountId' | 'workspaceId' | 'mode' | 'submittedBy' | 'createdAt'>,
    Pick<NewEmail, 'raw' | 'content' | 'needsSmtpUtf8' | 'envid' | 'ret' | 'mailFrom' | 'requireTls'> {
  /** The addresses alone of those who have written it, for the question whether they may send. */
  readonly senders: readonly string[]
  readonly ignoreSuppressions: boolean
  readonly recipients: readonly Recipient[]
  /** The idempotency key that a message names, and what came with it. */
  readonly keyed?: { readonly key: string; readonly raw: Uint8Array } | undefined
}

/** All that is wrong with a send. */
export interface Wrong {
  readonly errors: readonly FieldError[]
  readonly omitted?: number
}

/** One item of a batch: a draft, one that is prepared already, or what the door found wrong with its types. */
export type BatchItem = Draft | Prepared | Wrong

const textOf = ({ text }: Party): string => text
const mailboxOf = ({ mailbox }: Party) => mailbox

const isBeyondAscii = (checked: CheckedDraft): boolean =>
  !(
    checked.recipients.every(({ address }) => isAscii(address)) &&
    [checked.from, ...checked.replyTo].every(({ mailbox }) => isAscii(wireAddress(mailbox.address)))
  )

/** What the API says of a mail, however it is made. */
const saidOf = (checked: CheckedDraft | CheckedMime) => ({
  source: 'api' as const,
  to: checked.to.map(textOf),
  cc: checked.cc.map(textOf),
  bcc: checked.bcc.map(textOf),
  tags: checked.tags,
  scheduledAt: checked.scheduledAt,
  ignoreSuppressions: checked.ignoreSuppressions,
  recipients: checked.recipients,
  extras: checked.extras,
  envid: null,
  ret: null,
})

/** What needs no composing: the message is there, and gets what it lacks. */
const complete = (checked: CheckedMime, rules: DraftRules): Prepared => {
  const { finished, recipients } = checked
  const { hostname, now } = rules
  const id = newId('em', now)
  const line = receivedOverHttp({ host: hostname, id, now })
  return {
    id,
    ...saidOf(checked),
    ...headOf(finished),
    ...octetsOf(finished, { id, hostname, now, receivedLine: line }),
    senders: finished.authors.map(({ address }) => address),
    attachments: [],
    needsSmtpUtf8: needsSmtpUtf8(finished, recipients),
    content: null,
  }
}

const compose = (checked: CheckedDraft, rules: DraftRules): Prepared | Promise<Prepared> => {
  const { from, subject, html, text, headers, attachments } = checked
  const id = newId('em', rules.now)
  const messageId = `<${id}@${rules.hostname}>`
  const made = composeMessage({
    messageId,
    date: rules.now,
    from: from.mailbox,
    to: checked.to.map(mailboxOf),
    cc: checked.cc.map(mailboxOf),
    replyTo: checked.replyTo.map(mailboxOf),
    subject,
    html,
    text,
    headers,
    attachments,
  })
  const composed = (raw: Uint8Array): Prepared => {
    demandSize(rules.messageSize, raw.length)
    return { ...facts, raw }
  }
  const facts = {
    id,
    messageId,
    ...saidOf(checked),
    senders: [from.mailbox.address],
    from: from.text,
    replyTo: checked.replyTo.map(textOf),
    subject,
    attachments: attachments.map(summarize),
    needsSmtpUtf8: isBeyondAscii(checked),
    content: JSON.stringify({ html, text, headers }),
  }
  return made instanceof Promise ? made.then(composed) : composed(made)
}

/** Where each mistake stands. */
const PLACES: MessagePlaces = { header: 'header', from: 'header.from', body: 'body' }

interface Named extends Recipient {
  readonly text: string
}

/** The envelope's recipients, once each, with the kind and the name that the header gives them. */
const listRecipients = (message: EnvelopedMessage, { to, cc }: Submitted): readonly Named[] => {
  const named = new Map<string, { kind: RecipientKind; text: string }>()
  const note = (kind: RecipientKind) => (mailbox: Mailbox) => {
    const normal = normalizeAddress(mailbox.address)
    if (!named.has(normal)) named.set(normal, { kind, text: show(mailbox) })
  }
  to.forEach(note('to'))
  cc.forEach(note('cc'))
  const listed = new Map<string, Named>()
  for (const { address, dsn } of message.recipients) {
    const normal = normalizeAddress(address)
    if (listed.has(normal)) continue
    const { kind, text } = named.get(normal) ?? { kind: 'bcc', text: address }
    listed.set(normal, { address: wireAddress(address), normal, kind, text, dsn })
  }
  return [...listed.values()]
}

const traceOf = (
  { received: { ip, hello, protocol, tls } }: EnvelopedMessage,
  recipients: readonly Recipient[],
  at: { readonly id: string; readonly host: string; readonly now: number },
): string =>
  receivedLine({
    id: at.id,
    host: at.host,
    now: at.now,
    helo: hello,
    ip,
    tls: tls !== null,
    authenticated: protocol.endsWith('A'),
    smtpUtf8: protocol.startsWith('UTF8'),
    recipients: recipients.map(({ address }) => address),
  })

interface ReadMessage {
  readonly finished: Finished
  readonly recipients: readonly Named[]
  readonly scheduledAt: number | null
  readonly extras: Extras | null
}

/** What stands in it and whom it is for; throws what is wrong with its recipients. */
const readMessage = (message: EnvelopedMessage, rules: DraftRules): Wrong | ReadMessage => {
  const errors: FieldError[] = []
  const finished = readFinished(message.raw, rules, PLACES, errors)
  const schedule = finished?.submitted.scheduledAt ?? null
  const scheduledAt = readSchedule(schedule?.text ?? null, rules.now, `header.${schedule?.field}`, errors)
  if (finished === null) return { errors }
  const extras = extrasIn(finished)
  const recipients = listRecipients(message, finished.submitted)
  const link = { at: `header.${UNSUBSCRIBE_FIELD}`, baseUrl: rules.baseUrl, recipients: recipients.length }
  checkExtras(extras, ({ field }) => `header.${field}`, errors)
  checkUnsubscribe(listIn(extras), { ...link, ...headerNames(finished) }, errors)
  if (errors.length > 0) return { errors }
  if (recipients.length === 0 || recipients.length > rules.recipients) {
    const text = `1 to ${rules.recipients} recipients, found ${recipients.length}`
    throw invalid([{ field: 'body.to', kind: 'too_many', message: text }])
  }
  return { finished, recipients, scheduledAt, extras }
}

/** The mail, or all that is wrong with its header; throws any other Fault. */
const prepareMessage = (message: EnvelopedMessage, rules: DraftRules): Prepared | Wrong => {
  const { hostname, now } = rules
  const read = readMessage(message, rules)
  if ('errors' in read) return read
  const { finished, recipients, scheduledAt, extras } = read
  const { submitted, raw } = finished
  const id = newId('em', now)
  const textsOf = (wanted: RecipientKind) =>
    recipients.filter(({ kind }) => kind === wanted).map(({ text }) => text)
  const head = headOf(finished)
  const { idempotencyKey: key } = submitted
  const octets = octetsOf(finished, {
    ...{ id, hostname, now },
    receivedLine: traceOf(message, recipients, { id, host: hostname, now }),
    // of what has a key the fingerprint is made after this, of what came
    headroom: key === null && raw === message.raw ? (message.headroom ?? 0) : 0,
  })
  return {
    id,
    source: 'smtp',
    from: head.from,
    to: textsOf('to'),
    cc: textsOf('cc'),
    bcc: textsOf('bcc'),
    replyTo: head.replyTo,
    subject: head.subject,
    messageId: octets.messageId,
    raw: octets.raw,
    tags: submitted.tags.slice(0, MOST_TAGS),
    attachments: [],
    scheduledAt,
    senders: finished.authors.map(({ address }) => address),
    ignoreSuppressions: submitted.ignoreSuppressions,
    extras,
    recipients,
    needsSmtpUtf8: needsSmtpUtf8(finished, recipients),
    content: null,
    envid: message.envid,
    ret: message.ret,
    mailFrom: message.mailFrom,
    requireTls: message.requireTls ?? false,
    keyed: key === null ? undefined : { key, raw },
  }
}

/** A mail, or all that is wrong with its fields; throws any other Fault. */
export const prepare = (
  sent: Draft | EnvelopedMessage,
  rules: DraftRules,
  at = 'body',
): Prepared | Wrong | Promise<Prepared> => {
  if ('received' in sent) return prepareMessage(sent, rules)
  const { checked, errors } = checkSend(sent, rules, at)
  if (errors !== null) return { errors }
  return 'finished' in checked ? complete(checked, rules) : compose(checked, rules)
}

/** Whose mail it becomes. */
export interface MailOwner {
  readonly workspace: WorkspaceRow
  readonly mode: Mode
  readonly submittedBy: string | null
  readonly trace?: string | null | undefined
}

/** A key or credential; of a person the audit tells. */
export const submitterOf = ({ via, id }: Pick<Principal, 'via' | 'id'>): string | null =>
  via === 'session' ? null : id

/** The mail as the store takes it, made when it does. Every name is said: after a spread, V8 takes a hundred times as long. */
export const toEmail = (
  mail: Prepared,
  owner: MailOwner,
  routing: Routing,
  listed: Listed,
  now: number,
): NewEmail => {
  const { mode, workspace } = owner
  const mailingList = listIn(mail.extras ?? null)
  const minding = { mode, ignored: mail.ignoreSuppressions, listed, mailingList }
  const recipients = mail.recipients.map((one) => newRecipient(one, newRecipientId(now), minding))
  const placed = routed(routing, recipients)
  return {
    id: mail.id,
    accountId: workspace.accountId,
    workspaceId: workspace.id,
    mode,
    source: mail.source,
    submittedBy: owner.submittedBy,
    from: mail.from,
    to: mail.to,
    cc: mail.cc,
    bcc: mail.bcc,
    replyTo: mail.replyTo,
    subject: mail.subject,
    tags: mail.tags,
    attachments: mail.attachments,
    messageId: mail.messageId,
    scheduledAt: mail.scheduledAt,
    createdAt: now,
    extras: mail.extras ?? null,
    poolId: placed.poolId,
    recipients: placed.recipients,
    raw: mail.raw,
    needsSmtpUtf8: mail.needsSmtpUtf8,
    content: mail.content,
    ignoreSuppressions: mail.ignoreSuppressions,
    envid: mail.envid,
    ret: mail.ret,
    trace: owner.trace,
    mailFrom: mail.mailFrom ?? null,
    requireTls: mail.requireTls ?? false,
  }
}

const firstStatus = (mail: NewEmail, { suppressed }: NewRecipient): Status =>
  suppressed ? 'bounced' : mail.scheduledAt === null ? 'queued' : 'scheduled'

/** The record of a mail as it is at birth, so that the answer need not be read back. */
export const toRecord = (mail: NewEmail): EmailRecord => {
  const counts = emptyCounts()
  const recipients = mail.recipients.map((recipient) => {
    const status = firstStatus(mail, recipient)
    counts[status]++
    return {
      id: recipient.id,
      address: recipient.address,
      kind: recipient.kind,
      status,
      attempts: 0,
      lastResponse: null,
      reason: recipient.suppressed ? 'suppressed' : null,
      updatedAt: mail.createdAt,
      dueAt: status === 'queued' ? mail.createdAt : status === 'scheduled' ? mail.scheduledAt : null,
    }
  })
  return {
    id: mail.id,
    accountId: mail.accountId,
    workspaceId: mail.workspaceId,
    mode: mail.mode,
    source: mail.source,
    from: mail.from,
    to: mail.to,
    cc: mail.cc,
    bcc: mail.bcc,
    replyTo: mail.replyTo,
    subject: mail.subject,
    tags: mail.tags,
    attachments: mail.attachments,
    messageId: mail.messageId,
    scheduledAt: mail.scheduledAt,
    ...(mail.extras != null && { extras: mail.extras }),
    ...(mail.submittedBy != null && { submittedBy: mail.submittedBy }),
    createdAt: mail.createdAt,
    updatedAt: mail.createdAt,
    status: aggregate(counts),
    counts,
    recipients,
    poolId: mail.poolId,
    requireTls: mail.requireTls ?? false,
  }
}

export type Route = (
  workspace: Routing & { readonly accountId: string },
  mode: Mode,
) => Routing | Promise<Routing>

export const createRoute = (store: Pick<Tenants, 'pool'>): Route => {
  const sandboxes = new Map<string, Routing>()
  return (workspace, mode) => {
    const { accountId } = workspace
    if (mode === 'live') return workspace
    return (
      sandboxes.get(accountId) ??
      store.pool(accountId, SANDBOX_POOL).then((pool) => {
        if (pool === null) throw new Error(`account ${accountId} has lost its sandbox`)
        const routing = { poolId: pool.id, routes: [] }
        sandboxes.set(accountId, routing)
        return routing
      })
    )
  }
}

/** Each recipient in its pool. The mail's is that of all of them, or where they differ that of the workspace. */
export const routed = (
  routing: Routing,
  recipients: readonly NewRecipient[],
): Pick<NewEmail, 'poolId' | 'recipients'> => {
  const { poolId, routes } = routing
  if (routes.length === 0) return { poolId, recipients }
  const placed = recipients.map((one) => ({ ...one, poolId: poolFor(routing, one.address) }))
  const [first] = placed
  const isOne = placed.every((one) => one.poolId === first?.poolId)
  return { poolId: isOne ? (first?.poolId ?? poolId) : poolId, recipients: placed }
}
