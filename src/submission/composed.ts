/**
 * NAME      composed - a draft that is ready to be stored
 * DESCRIPTION
 *   Composing needs nothing but the draft and what stands here, so it may run in
 *   another thread (http/thread/): what comes back is the octets of the mail and
 *   its record, and the draft itself, with all its text, stays behind.
 *   The answer to a send must be written before the send is stored, because both
 *   are stored together. So the record of any new mail is worked out here, by the
 *   same rules by which the store sets the first status.
 */
import type { FieldError } from '../base/fault.js'
import { newId, newRecipientId } from '../base/id.js'
import type { EmailFacts, NewEmail, NewRecipient } from '../lifecycle/facts.js'
import { isAscii, wireAddress } from '../mail/address.js'
import { composeMessage } from '../mail/compose.js'
import { receivedOverHttp } from '../mail/received.js'
import { aggregate, emptyCounts, type Status } from '../mail/status.js'
import type { EmailRecord } from '../store/port/ledger.js'
import type { Routing } from '../store/port/tenants/routes.js'
import type { WorkspaceRow } from '../store/port/tenants/tenants.js'
import type { Principal } from '../tenant/principal.js'
import { type Listed, newRecipient, type Party, type Recipient } from './addresses.js'
import { summarize } from './attachments.js'
import { type Draft, demandSize } from './draft.js'
import { headOf, needsSmtpUtf8, octetsOf } from './finished/read.js'
import { routed } from './route.js'
import type { Checked, CheckedMime, Rules } from './validate.js'

/** One item of a batch: a draft, one that is composed already, or what the door found wrong with its types. */
export type BatchItem =
  | Draft
  | Composed
  | { readonly errors: readonly FieldError[]; readonly omitted?: number }

/** What composing must know besides the draft. */
type ComposeDeps = Pick<Rules, 'hostname' | 'messageSize' | 'now'>

export interface Composed extends Omit<EmailFacts, 'accountId' | 'workspaceId' | 'mode' | 'source'> {
  /** The addresses alone of those who have written it, for the question whether they may send. */
  readonly senders: readonly string[]
  readonly ignoreSuppressions: boolean
  readonly needsSmtpUtf8: boolean
  readonly recipients: readonly Recipient[]
  readonly raw: Uint8Array
  /** JSON; as octets where it is large. null where it is read from `raw`. */
  readonly content: string | Uint8Array | null
}

const textOf = ({ text }: Party): string => text
const mailboxOf = ({ mailbox }: Party) => mailbox

const isBeyondAscii = (checked: Checked): boolean =>
  !(
    checked.recipients.every(({ address }) => isAscii(address)) &&
    [checked.from, ...checked.replyTo].every(({ mailbox }) => isAscii(wireAddress(mailbox.address)))
  )

/** What needs no composing: the message is there, and gets what it lacks. */
const completed = (checked: CheckedMime, { hostname, now }: ComposeDeps): Composed => {
  const { finished, to, cc, bcc, recipients, tags, scheduledAt, ignoreSuppressions } = checked
  const id = newId('em', now)
  const receivedLine = receivedOverHttp({ host: hostname, id, now })
  return {
    id,
    createdAt: now,
    ...headOf(finished),
    ...octetsOf(finished, { id, hostname, now, receivedLine }),
    senders: finished.authors.map(({ address }) => address),
    to: to.map(textOf),
    cc: cc.map(textOf),
    bcc: bcc.map(textOf),
    tags,
    attachments: [],
    scheduledAt,
    ignoreSuppressions,
    needsSmtpUtf8: needsSmtpUtf8(finished, recipients),
    recipients,
    content: null,
  }
}

/** Throws request.body_too_large. */
export const compose = (checked: Checked | CheckedMime, deps: ComposeDeps): Composed | Promise<Composed> => {
  if ('finished' in checked) return completed(checked, deps)
  const { hostname, messageSize, now } = deps
  const { from, subject, html, text, headers, attachments } = checked
  const id = newId('em', now)
  const messageId = `<${id}@${hostname}>`
  const made = composeMessage({
    messageId,
    date: now,
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
  const composed = (raw: Uint8Array): Composed => {
    demandSize(messageSize, raw.length)
    return { ...facts, raw }
  }
  const facts = {
    id,
    messageId,
    createdAt: now,
    senders: [from.mailbox.address],
    from: from.text,
    to: checked.to.map(textOf),
    cc: checked.cc.map(textOf),
    bcc: checked.bcc.map(textOf),
    replyTo: checked.replyTo.map(textOf),
    subject,
    tags: checked.tags,
    attachments: attachments.map(summarize),
    scheduledAt: checked.scheduledAt,
    ignoreSuppressions: checked.ignoreSuppressions,
    needsSmtpUtf8: isBeyondAscii(checked),
    recipients: checked.recipients,
    content: JSON.stringify({ html, text, headers }),
  }
  return made instanceof Promise ? made.then(composed) : composed(made)
}

/** A key or credential; of a person the audit tells. */
export const submitterOf = ({ via, id }: Pick<Principal, 'via' | 'id'>): string | null =>
  via === 'session' ? null : id

/** The mail as the store takes it. Names come before the spread: after it, V8 takes a hundred times as long. */
export const toEmail = (
  composed: Composed,
  { principal, workspace }: { readonly principal: Principal; readonly workspace: WorkspaceRow },
  routing: Routing,
  listed: Listed,
  trace: string | null | undefined,
): NewEmail => {
  const { senders: _, recipients, ...mail } = composed
  const minding = { mode: principal.mode, ignored: composed.ignoreSuppressions, listed }
  return {
    accountId: workspace.accountId,
    workspaceId: workspace.id,
    mode: principal.mode,
    source: 'api',
    submittedBy: submitterOf(principal),
    envid: null,
    ret: null,
    trace,
    ...mail,
    ...routed(
      routing,
      recipients.map((one) => newRecipient(one, newRecipientId(mail.createdAt), minding)),
    ),
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
    ...(mail.resentFrom != null && { resentFrom: mail.resentFrom }),
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
