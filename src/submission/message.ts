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
import { Fault, type FieldError, invalid } from '../base/fault.js'
import { newId, newRecipientId } from '../base/id.js'
import { isAscii, type Mailbox, normalizeAddress, wireAddress } from '../mail/address.js'
import { asBuffer, isHeaderTooLarge, MOST_HEADER_FIELDS, MOST_HEADER_OCTETS } from '../mail/header.js'
import { submissionFingerprint } from '../mail/parse.js'
import { formatDate, receivedLine } from '../mail/received.js'
import { normalizeLineEnds, prepareForRelay, readSubmitted, type Submitted } from '../mail/submitted.js'
import type { DsnRequest, NewEmail, NewRecipient, RecipientKind } from '../store/port.js'
import type { Login } from '../tenant/principal.js'
import { newRecipient } from './addresses.js'
import { toRecord } from './composed.js'
import {
  demandAccepting,
  demandActive,
  demandSender,
  demandSize,
  type SubmissionGround,
  suppressedOf,
} from './ground.js'
import { checkIdempotencyKey, once } from './idempotency.js'
import { readSchedule } from './schedule.js'
import { MOST_TAGS } from './validate.js'

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

const MOST_RECEIVED = 50
const MOST_OWN_PASSES = 2

interface Read {
  readonly raw: Uint8Array
  readonly submitted: Submitted
  readonly from: Mailbox
  readonly scheduledAt: number | null
}

const HEADER_TOO_LARGE = (): Fault => {
  const most = `${MOST_HEADER_OCTETS / 1024} KiB and ${MOST_HEADER_FIELDS} fields`
  const error = { field: 'header', kind: 'too_many', message: `the header may have at most ${most}` } as const
  return new Fault('validation.request_invalid', { ...invalid([error]).options, detail: error.message })
}

/** Reads and judges a message; throws what a client must be told. */
const read = (
  ground: SubmissionGround,
  { workspace }: Login,
  message: EnvelopedMessage,
  now: number,
): Read => {
  const token = `by ${ground.config.hostname} with `
  let { raw } = message
  if (isHeaderTooLarge(asBuffer(raw))) throw HEADER_TOO_LARGE()
  let submitted = readSubmitted(raw, token)
  const errors: FieldError[] = []
  if (submitted.hasBareCr || submitted.hasBareLf || submitted.hasNul) {
    if (workspace.lineEndings === 'strict') {
      errors.push({
        field: 'body',
        kind: 'format',
        message: 'lines must end in CRLF, and there must be no NUL',
      })
    } else {
      raw = normalizeLineEnds(raw)
      submitted = readSubmitted(raw, token)
    }
  }
  const { from } = submitted
  if (from === null)
    errors.push({
      field: 'header.from',
      kind: 'missing',
      message: 'a From field with an address is required',
    })
  if (submitted.repeated.includes('from')) {
    errors.push({ field: 'header.from', kind: 'not_unique', message: 'there must be one From field' })
  }
  for (const message of submitted.unheeded) errors.push({ field: 'header', kind: 'unsupported', message })
  const scheduledAt = readSchedule(submitted.scheduledAt, now, 'header.x-postern-scheduled-at', errors)
  if (errors.length > 0 || from === null) {
    const detail = errors.map(({ message: text }) => text).join('; ')
    throw new Fault('validation.request_invalid', { ...invalid(errors).options, detail })
  }
  if (submitted.received > MOST_RECEIVED || submitted.loops >= MOST_OWN_PASSES)
    throw new Fault('email.loop_detected')
  return { raw, submitted, from, scheduledAt }
}

interface Listed {
  readonly address: string
  readonly normal: string
  readonly kind: RecipientKind
  readonly text: string
  readonly dsn: DsnRequest | null
}

/** A mailbox as one would write it, undisturbed by encoded words. */
const show = ({ name, address }: Mailbox): string => {
  if (name === null) return address
  return `${/[<>@,;:"\\()]/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : name} <${address}>`
}

/** The envelope's recipients, once each, with the kind and the name that the header gives them. */
const listRecipients = (message: EnvelopedMessage, { to, cc }: Submitted): readonly Listed[] => {
  const named = new Map<string, { kind: RecipientKind; text: string }>()
  const note = (kind: RecipientKind) => (mailbox: Mailbox) => {
    const normal = normalizeAddress(mailbox.address)
    if (!named.has(normal)) named.set(normal, { kind, text: show(mailbox) })
  }
  to.forEach(note('to'))
  cc.forEach(note('cc'))
  const listed = new Map<string, Listed>()
  for (const { address, dsn } of message.recipients) {
    const normal = normalizeAddress(address)
    if (listed.has(normal)) continue
    const { kind, text } = named.get(normal) ?? { kind: 'bcc', text: address }
    listed.set(normal, { address: wireAddress(address), normal, kind, text, dsn })
  }
  return [...listed.values()]
}

const toEmail = async (
  ground: SubmissionGround,
  login: Login,
  message: EnvelopedMessage,
  parts: Read,
  recipients: readonly NewRecipient[],
  listed: readonly Listed[],
  now: number,
): Promise<NewEmail> => {
  const { workspace, mode } = login
  const { raw, submitted } = parts
  const { hostname } = ground.config
  const { ip, hello, protocol, tls } = message.received
  const id = newId('em', now)
  const messageId = submitted.messageId ?? `<${id}@${hostname}>`
  const line = receivedLine({
    helo: hello,
    ip,
    host: hostname,
    id,
    tls: tls !== null,
    authenticated: protocol.endsWith('A'),
    smtpUtf8: protocol.startsWith('UTF8'),
    recipients: recipients.map(({ address }) => address),
    now,
  })
  const textsOf = (wanted: RecipientKind) =>
    listed.filter(({ kind }) => kind === wanted).map(({ text }) => text)
  return {
    id,
    accountId: workspace.accountId,
    workspaceId: workspace.id,
    mode,
    source: 'smtp',
    from: show(parts.from),
    to: textsOf('to'),
    cc: textsOf('cc'),
    bcc: textsOf('bcc'),
    replyTo: submitted.replyTo.map(show),
    subject: submitted.subject,
    tags: submitted.tags.slice(0, MOST_TAGS),
    attachments: [],
    messageId,
    scheduledAt: parts.scheduledAt,
    createdAt: now,
    poolId: await ground.route(workspace, mode),
    recipients,
    raw: prepareForRelay(raw, submitted, {
      messageId,
      date: formatDate(now),
      receivedLine: line,
      // a key may have the work done again, and then the message must be as it was
      headroom: submitted.idempotencyKey === null && raw === message.raw ? (message.headroom ?? 0) : 0,
    }),
    ignoreSuppressions: submitted.ignoreSuppressions,
    needsSmtpUtf8: submitted.needsSmtpUtf8 || recipients.some(({ address }) => !isAscii(address)),
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
  ground: SubmissionGround,
  session: Login,
  message: EnvelopedMessage,
): Promise<MessageAnswer> => {
  demandAccepting(ground)
  demandSize(ground.config.limits.message_size, message.raw.length)
  const { store, clock } = ground
  // the session may have begun before its workspace got another pool: its mail must not wait in the old one
  const current = await store.workspace(session.accountId, session.workspace.id)
  const workspace = { ...session.workspace, poolId: (current ?? session.workspace).poolId }
  const login: Login = { ...session, workspace }
  const { mode } = login
  const now = clock.now()
  const parts = read(ground, login, message, now)
  for (const { address } of parts.submitted.authors) await demandSender(ground, workspace, address)
  const listed = listRecipients(message, parts.submitted)
  const most = ground.config.limits.recipients
  if (listed.length === 0 || listed.length > most) {
    throw invalid([
      { field: 'body.to', kind: 'too_many', message: `1 to ${most} recipients, found ${listed.length}` },
    ])
  }
  const key = parts.submitted.idempotencyKey
  const wish =
    key === null
      ? null
      : {
          key: checkIdempotencyKey(key),
          fingerprint: await submissionFingerprint(
            parts.raw,
            listed.map(({ normal }) => normal),
          ),
        }
  const answer = await once(store, wish, { workspaceId: workspace.id, mode }, clock.now, async (ticket) => {
    await demandActive(ground, workspace)
    const minded = parts.submitted.ignoreSuppressions ? [] : listed
    const suppressed = await suppressedOf(
      ground,
      { workspaceId: workspace.id, mode },
      minded.map(({ normal }) => normal),
      now,
    )
    const recipients = listed.map((one) => newRecipient(one, newRecipientId(now), suppressed, one.dsn))
    const mail = await toEmail(ground, login, message, parts, recipients, listed, now)
    const done = { status: 250, body: mail.id }
    const result = await store.accept({
      mails: [mail],
      idempotency: ticket === null ? null : { ...ticket, ...done },
      now,
    })
    return result === 'lock_lost' ? null : { ...done, replayed: false, records: [toRecord(mail)] }
  })
  return { id: answer.body, replayed: answer.replayed }
}
