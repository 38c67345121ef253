/**
 * NAME      message - a finished message, as SMTP brings it, into the queue
 * DESCRIPTION
 *   The envelope says who receives it; the header is only read, for the record:
 *   a recipient that To or Cc names is of that kind, any other is a Bcc. The bytes
 *   are relayed as they came, but for a Received line, a missing Date or
 *   Message-ID, and the fields that speak to the gateway (mail/submitted.ts).
 *   MIME is parsed only for an idempotency key, whose fingerprint must not depend
 *   on what clients make anew on each try.
 */
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { newId, newRecipientId } from '../../base/id.js'
import type { DsnRequest, NewEmail, NewRecipient, RecipientKind } from '../../lifecycle/facts.js'
import { type Mailbox, normalizeAddress, wireAddress } from '../../mail/address.js'
import { submissionFingerprint } from '../../mail/parse.js'
import { receivedLine } from '../../mail/received.js'
import type { Submitted } from '../../mail/submitted.js'
import type { Routing } from '../../store/port/tenants/routes.js'
import type { Login } from '../../tenant/principal.js'
import { type Listed, newRecipient, type Recipient } from '../addresses.js'
import { submitterOf } from '../composed.js'
import { decide, demand, demandAccepting, type SubmissionDeps } from '../deps.js'
import { demandSize } from '../draft.js'
import { checkIdempotencyKey } from '../idempotency.js'
import { routed } from '../route.js'
import { readSchedule } from '../schedule.js'
import { demandSenders, storeMails } from '../store-mails.js'
import { MOST_TAGS } from '../validate.js'
import { type Finished, headOf, needsSmtpUtf8, octetsOf, type Places, readFinished, show } from './read.js'

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

export interface MessageAnswer {
  /** The email id for `250 … queued as`. */
  readonly id: string
  readonly replayed: boolean
}

/** Where each mistake stands. */
const PLACES: Places = { header: 'header', from: 'header.from', body: 'body' }

interface Read extends Finished {
  readonly scheduledAt: number | null
}

/** Reads and judges a message; throws what a client must be told. */
const read = (
  { config }: SubmissionDeps,
  { workspace }: Login,
  { raw }: EnvelopedMessage,
  now: number,
): Read => {
  const errors: FieldError[] = []
  const { hostname } = config
  const defaultFrom = workspace.defaultFrom ?? config.default_from
  const rules = { hostname, defaultFrom, lineEndings: workspace.lineEndings }
  const finished = readFinished(raw, rules, PLACES, errors)
  const schedule = finished?.submitted.scheduledAt ?? null
  const scheduledAt = readSchedule(schedule?.text ?? null, now, `header.${schedule?.field}`, errors)
  if (errors.length > 0 || finished === null) {
    const detail = errors.map(({ message: text }) => text).join('; ')
    throw new Fault('validation.request_invalid', { ...invalid(errors).options, detail })
  }
  return { scheduledAt, ...finished }
}

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
  recipients: readonly NewRecipient[],
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

const toEmail = (
  { config: { hostname } }: SubmissionDeps,
  { workspace, mode, via, id: by }: Login,
  message: EnvelopedMessage,
  parts: Read,
  named: readonly Named[],
  routing: Routing,
  listed: Listed,
  now: number,
): NewEmail => {
  const { submitted } = parts
  const minding = { mode, ignored: submitted.ignoreSuppressions, listed }
  const recipients = named.map((one) => newRecipient(one, newRecipientId(now), minding))
  const id = newId('em', now)
  const textsOf = (wanted: RecipientKind) =>
    named.filter(({ kind }) => kind === wanted).map(({ text }) => text)
  return {
    id,
    accountId: workspace.accountId,
    workspaceId: workspace.id,
    mode,
    submittedBy: submitterOf({ via, id: by }),
    source: 'smtp',
    ...headOf(parts),
    to: textsOf('to'),
    cc: textsOf('cc'),
    bcc: textsOf('bcc'),
    tags: submitted.tags.slice(0, MOST_TAGS),
    attachments: [],
    scheduledAt: parts.scheduledAt,
    createdAt: now,
    ...routed(routing, recipients),
    ...octetsOf(parts, {
      id,
      hostname,
      now,
      receivedLine: traceOf(message, recipients, { id, host: hostname, now }),
      // a key may have the work done again, and then the message must be as it was
      headroom: submitted.idempotencyKey === null && parts.raw === message.raw ? (message.headroom ?? 0) : 0,
    }),
    ignoreSuppressions: submitted.ignoreSuppressions,
    needsSmtpUtf8: needsSmtpUtf8(parts, recipients),
    content: null,
    envid: message.envid,
    ret: message.ret,
    trace: message.trace,
    mailFrom: message.mailFrom,
    requireTls: message.requireTls ?? false,
  }
}

/** Resolves when the mail is on disk, or was there before under the same key; throws the Fault to answer with. */
export const submitMessage = async (
  deps: SubmissionDeps,
  session: Login,
  message: EnvelopedMessage,
): Promise<MessageAnswer> => {
  demandAccepting(deps)
  demandSize(deps.config.limits.message_size, message.raw.length)
  // the session may have begun before its workspace got another pool, or took mail of its own senders alone
  const decided = decide(deps, session, session.workspace)
  const standing = decided instanceof Promise ? await decided : decided
  const workspace = standing instanceof Fault ? session.workspace : standing.workspace
  const login: Login = { ...session, workspace }
  const parts = read(deps, login, message, deps.clock.now())
  const senders = parts.authors.map(({ address }) => address)
  if (workspace.restrictSenders) await demandSenders(deps, workspace, senders)
  const named = listRecipients(message, parts.submitted)
  const most = deps.config.limits.recipients
  if (named.length === 0 || named.length > most) {
    throw invalid([
      { field: 'body.to', kind: 'too_many', message: `1 to ${most} recipients, found ${named.length}` },
    ])
  }
  const normals = named.map(({ normal }) => normal)
  const { idempotencyKey: key, ignoreSuppressions } = parts.submitted
  const idempotency =
    key === null
      ? null
      : { key: checkIdempotencyKey(key), fingerprint: await submissionFingerprint(parts.raw, normals) }
  const { body: id, replayed } = await storeMails(deps, {
    ...{ principal: login, workspace, idempotency, senders },
    standing: idempotency === null ? demand(standing) : null,
    asked: ignoreSuppressions ? [] : normals,
    make: (routing, listed, now) => [toEmail(deps, login, message, parts, named, routing, listed, now)],
    render: ([mail]) => ({ status: 250, body: mail?.id ?? '', records: [] }),
  })
  return { id, replayed }
}
