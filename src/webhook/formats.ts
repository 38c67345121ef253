/**
 * NAME      formats - the words of other services for what we post
 *   Receivers that were written for another service read our events unchanged: an endpoint may have its format. A
 *   format is a translation: which types have a counterpart there, the text that is posted of one, and the signature
 *   that its receivers check. Order, retries, health and lists are those of every endpoint, and so are the headers of
 *   Standard Webhooks 1.0.0, symmetric: HMAC-SHA-256 over id, time and body. While a rotation is under way there are
 *   two secrets, and a signature under each, the newer first; a receiver that knows either is content.
 *   What services say of a bounce is made of `provider_types` (mail/report/category.ts). Tags named `tag` are plain
 *   ones, the others say something.
 */
import {
  createECDH,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { toRfc3339 } from '../base/clock.js'
import { domainOf, parseAddress } from '../mail/address.js'
import { CHANGE_TYPES, type EventType, readEventType } from '../mail/event-type.js'
import type { Reply } from '../mail/reply.js'
import { bounceTypesOf, type Category } from '../mail/report/category.js'
import type { Subscription, WebhookFormat } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'

export interface Signed {
  /** The id of the event, the same at each try. */
  readonly id: string
  /** When it is posted, epoch milliseconds. */
  readonly at: number
  readonly body: string
}

export interface SignedPost {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

interface Format {
  /** As people call the service. */
  readonly service: string
  /** What it calls our types; the others are not posted. */
  readonly counterparts: Partial<Readonly<Record<EventType, string>>>
  /** False: its posts name address and subject, and mean nothing without. */
  readonly mayBeThin: boolean
  /** Whether its receivers ask for a login, since its posts have no signature. */
  readonly hasLogin: boolean
  /** base64 of the DER of the key by which receivers check what this secret signs. */
  publicKey?(secret: string): string
  /** Of a type that has a counterpart; the same text at each try. Absent: our own text, in which the type has its name. */
  body?(row: LogRow): unknown
  /** What one try adds to the text; `secret` is the newer one of a rotation. */
  sign?(secrets: readonly [string, ...string[]], post: Signed): SignedPost
}

const PLAIN = 'tag'
/** What /v1/as/sendgrid answered to the request that brought the mail. */
const REQUEST = 'x-message-id'

/** Whom and what an event is about; empty where its mail is no longer kept. */
const aboutOf = ({ recipient, mail, emailId }: LogRow) => {
  const tags = mail?.tags ?? []
  return {
    recipient: recipient ?? '',
    emailId: emailId ?? '',
    from: mail?.from ?? '',
    to: mail?.to ?? [],
    subject: mail?.subject ?? '',
    messageId: mail?.messageId ?? '',
    request: tags.find(({ name }) => name === REQUEST)?.value ?? null,
    tags: tags.filter(({ name }) => name === PLAIN).map(({ value }) => value),
    said: Object.fromEntries(
      tags.filter(({ name }) => name !== PLAIN && name !== REQUEST).map(({ name, value }) => [name, value]),
    ),
  }
}

/** As it came over the wire: `550 5.1.1 no such user`. */
const lineOf = ({ code, enhanced, text }: Reply): string =>
  [code, enhanced, text].filter((part) => part !== null && part !== '').join(' ')

/** What was said of a recipient; where nobody said anything, why it ended. */
const saidOf = ({ reply, reason }: LogRow): string => (reply === null ? (reason ?? '') : lineOf(reply))

const secondsOf = (at: number): number => Math.floor(at / 1000)

/** `whsec_` and the base64 of 32 random bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** The three headers; `secrets` holds one or two. */
export const signatureHeaders = (
  secrets: readonly string[],
  { id, at, body }: Signed,
): Readonly<Record<string, string>> => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, new Date(at), body)).join(' '),
})

/*
 * SendGrid's Event Webhook: a list of one event. `sg_message_id` begins with the X-Message-Id that /v1/as/sendgrid
 * answered, and ends with the id of the mail. Custom arguments stand beside the members, and never in their place.
 * Signed by ECDSA on P-256 over timestamp and octets. The private key is made of the signing secret, so it is kept, given
 * by a setup and rotated as that is; the public one is shown. There is one signature: after a rotation it is the new key's.
 */

/** The order of the group. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const privateKeyOf = (secret: string): KeyObject => {
  const octets = Buffer.from(secret.slice('whsec_'.length), 'base64')
  // twice as long as the order, so that no number is likelier than another
  const wide = BigInt(`0x${createHmac('sha512', octets).update('webhook key on P-256').digest('hex')}`)
  const d = Buffer.from(((wide % (ORDER - 1n)) + 1n).toString(16).padStart(64, '0'), 'hex')
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(d)
  const point = curve.getPublicKey()
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'))
  return createPrivateKey({
    format: 'jwk',
    key: { kty: 'EC', crv: 'P-256', d: d.toString('base64url'), x, y } as never,
  })
}

/** Why mail was not even tried, or no longer; null: it was refused. */
const droppedFor = ({ reason, source }: LogRow): string | null => {
  if (reason === 'suppressed') return 'Suppressed Address'
  return source === 'operator' ? 'Removed From Queue' : null
}

type Classification =
  | 'Invalid Address'
  | 'Mailbox Unavailable'
  | 'Technical'
  | 'Content'
  | 'Reputation'
  | 'Frequency/Volume'
  | 'Unclassified'

const CLASSIFICATIONS: Readonly<Record<Category | 'lifetime', Classification>> = {
  unknown_user: 'Invalid Address',
  unknown_domain: 'Invalid Address',
  moved: 'Invalid Address',
  disabled: 'Mailbox Unavailable',
  suspended: 'Mailbox Unavailable',
  mailbox_full: 'Mailbox Unavailable',
  recipient_rejected: 'Mailbox Unavailable',
  authentication: 'Technical',
  reputation: 'Reputation',
  rate_limited: 'Frequency/Volume',
  relay_denied: 'Technical',
  sender_rejected: 'Reputation',
  policy: 'Reputation',
  spam: 'Content',
  virus: 'Content',
  too_big: 'Content',
  content: 'Content',
  expired: 'Technical',
  lifetime: 'Technical',
  network: 'Technical',
  loop: 'Technical',
  system: 'Technical',
  protocol: 'Technical',
  security: 'Technical',
  unknown: 'Unclassified',
}

const classOf = (reason: string | null): Classification =>
  reason !== null && Object.hasOwn(CLASSIFICATIONS, reason)
    ? CLASSIFICATIONS[reason as keyof typeof CLASSIFICATIONS]
    : 'Unclassified'

const bounced = (row: LogRow) => {
  const dropped = droppedFor(row)
  if (dropped !== null) return { event: 'dropped', reason: dropped }
  const { reply, reason } = row
  const isHard = bounceTypesOf(reason).ses.type === 'Permanent'
  return {
    event: 'bounce',
    type: isHard ? 'bounce' : 'blocked',
    reason: saidOf(row),
    status: reply?.enhanced ?? `${String(reply?.code ?? 500).charAt(0)}.0.0`,
    bounce_classification: classOf(reason),
  }
}

/** Members that a receiver believes to be the service's: no tag has their names. */
const RESERVED: ReadonlySet<string> = new Set([
  ...['email', 'timestamp', 'smtp-id', 'event', 'category', 'sg_event_id', 'sg_message_id', 'type', 'reason'],
  ...['status', 'response', 'attempt', 'bounce_classification', 'ip', 'tls', 'pool', 'url', 'useragent'],
])

const argsOf = (said: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(said).filter(([name]) => !RESERVED.has(name)))

const sendgridOwn = (row: LogRow) => {
  const response = saidOf(row)
  if (row.type === 'email.bounced') return bounced(row)
  const event = sendgrid.counterparts[row.type]
  if (row.type === 'email.delivered') return { event, response }
  if (row.type === 'email.deferred')
    return { event, response, reason: response, attempt: String(row.attempt ?? 1) }
  return { event }
}

const sendgrid: Format = {
  service: 'SendGrid',
  counterparts: {
    'email.queued': 'processed',
    'email.deferred': 'deferred',
    'email.delivered': 'delivered',
    'email.bounced': 'bounce',
    'email.complained': 'spamreport',
  },
  mayBeThin: false,
  hasLogin: false,
  publicKey: (secret) =>
    createPublicKey(privateKeyOf(secret)).export({ type: 'spki', format: 'der' }).toString('base64'),
  body(row) {
    const { recipient, emailId, messageId, request, tags, said } = aboutOf(row)
    return [
      {
        ...argsOf(said),
        email: recipient,
        timestamp: secondsOf(row.occurredAt),
        'smtp-id': messageId,
        ...(tags.length > 0 && { category: tags }),
        sg_event_id: row.id,
        sg_message_id: request === null ? emailId : `${request}.${emailId}`,
        ...sendgridOwn(row),
      },
    ]
  },
  sign([secret], { at, body }) {
    const timestamp = String(secondsOf(at))
    return {
      body,
      headers: {
        'x-twilio-email-event-webhook-signature': sign(
          'sha256',
          Buffer.from(timestamp + body),
          privateKeyOf(secret),
        ).toString('base64'),
        'x-twilio-email-event-webhook-timestamp': timestamp,
      },
    }
  },
}

/*
 * Postmark: Delivery, Bounce and SpamComplaint, a record a post. It signs nothing: its receivers ask for a login, which is
 * the `auth` of an endpoint. `MessageID` is what /v1/as/postmark answered, the id of the mail.
 * Types that readers do not know are said by the next one that they do: listmonk answers 400 to `Blocked`, `Unknown` and
 * `AddressChange`, and an endpoint that answers 400 is taken for one that fails.
 */

type PostmarkType = readonly [code: number, name: string, description: string, isInactive: boolean]

const POSTMARK_TYPES = {
  HardBounce: [1, 'Hard bounce', 'The server was unable to deliver your message.', true],
  Transient: [2, 'Message delayed', 'The message was not delivered in time.', false],
  SpamNotification: [512, 'Spam notification', 'The message was taken for spam.', false],
  SoftBounce: [4096, 'Soft bounce', 'The message was not delivered, and may be at another time.', false],
  VirusNotification: [8192, 'Virus notification', 'The message was taken for a virus.', false],
  SpamComplaint: [100001, 'Spam complaint', 'The recipient called the message spam.', true],
  ManuallyDeactivated: [100002, 'Manually deactivated', 'The address is on a list of suppressions.', true],
  DMARCPolicy: [100009, 'DMARC policy', 'The message failed SPF, DKIM or DMARC.', false],
} as const satisfies Readonly<Record<string, PostmarkType>>

const KNOWN_AS: Readonly<Record<string, keyof typeof POSTMARK_TYPES>> = {
  AddressChange: 'HardBounce',
  Blocked: 'SoftBounce',
  Unknown: 'SoftBounce',
}

const postmarkType = ({ type, reason }: LogRow): keyof typeof POSTMARK_TYPES => {
  if (type === 'email.complained') return 'SpamComplaint'
  const { postmark } = bounceTypesOf(reason)
  return KNOWN_AS[postmark] ?? (postmark as keyof typeof POSTMARK_TYPES)
}

const STREAM = 'message_stream'

/** What all records have. */
const headOf = (row: LogRow) => {
  const { emailId, tags, said } = aboutOf(row)
  const { [STREAM]: stream = 'outbound', ...metadata } = said
  return {
    RecordType: postmark.counterparts[row.type],
    MessageStream: stream,
    MessageID: emailId,
    Tag: tags[0] ?? '',
    Metadata: metadata,
    ServerID: 0,
  }
}

/** The address alone, where it is one. */
const bare = (from: string): string => parseAddress(from)?.address ?? from

const postmark: Format = {
  service: 'Postmark',
  counterparts: {
    'email.delivered': 'Delivery',
    'email.bounced': 'Bounce',
    'email.complained': 'SpamComplaint',
  },
  mayBeThin: false,
  hasLogin: true,
  body(row) {
    const { recipient, from, subject } = aboutOf(row)
    const at = toRfc3339(row.occurredAt)
    if (row.type === 'email.delivered')
      return { ...headOf(row), Recipient: recipient, DeliveredAt: at, Details: saidOf(row) }
    const type = postmarkType(row)
    const [code, name, description, isInactive] = POSTMARK_TYPES[type]
    return {
      ...headOf(row),
      ID: Number.parseInt(row.mark, 10),
      Type: type,
      TypeCode: code,
      Name: name,
      Description: description,
      Details: saidOf(row),
      Email: recipient,
      From: bare(from),
      BouncedAt: at,
      DumpAvailable: false,
      Inactive: isInactive,
      CanActivate: isInactive && type !== 'SpamComplaint',
      Subject: subject,
      Content: '',
    }
  },
}

/*
 * Mailgun: `event-data` and, made anew at each try, `signature`: hex of HMAC-SHA-256 of timestamp and a token that is used
 * once. The signing key is the endpoint's signing secret as it stands; after a rotation it is the new one.
 * `permanent` means that nothing more is tried, as it does there; whether an address is dead says `bounce-type`.
 */

const domainIn = (address: string): string => {
  const plain = parseAddress(address)?.address
  return plain === undefined ? '' : domainOf(plain)
}

const failureReason = (reason: string | null, isHard: boolean): string => {
  if (reason === 'suppressed') return 'suppress-bounce'
  if (reason === 'lifetime' || reason === 'expired') return 'old'
  return isHard ? 'bounce' : 'generic'
}

const deliveryStatus = ({ reply, attempt, mta, reason }: LogRow) => ({
  'attempt-no': attempt ?? 1,
  code: reply?.code ?? 0,
  ...(reply?.enhanced != null && { 'enhanced-code': reply.enhanced }),
  message: reply === null ? (reason ?? '') : lineOf(reply),
  description: reply === null ? (reason ?? '') : reply.text,
  ...(mta?.host != null && { 'mx-host': mta.host }),
})

const mailgunOwn = (row: LogRow) => {
  const { type, reason } = row
  if (type === 'email.delivered') return { 'log-level': 'info', 'delivery-status': deliveryStatus(row) }
  if (type === 'email.deferred')
    return {
      'log-level': 'warn',
      severity: 'temporary',
      reason: 'generic',
      'delivery-status': deliveryStatus(row),
    }
  if (type === 'email.bounced') {
    const isHard = bounceTypesOf(reason).ses.type === 'Permanent'
    return {
      'log-level': 'error',
      severity: 'permanent',
      reason: failureReason(reason, isHard),
      'delivery-status': { ...deliveryStatus(row), 'bounce-type': isHard ? 'hard' : 'soft' },
    }
  }
  return type === 'email.complained'
    ? { 'log-level': 'warn' }
    : { 'log-level': 'info', method: methodOf(row) }
}

const methodOf = ({ source }: LogRow): string => (source === 'smtp' ? 'SMTP' : 'HTTP')

const mailgun: Format = {
  service: 'Mailgun',
  counterparts: {
    'email.queued': 'accepted',
    'email.deferred': 'failed',
    'email.delivered': 'delivered',
    'email.bounced': 'failed',
    'email.complained': 'complained',
  },
  mayBeThin: false,
  hasLogin: false,
  body(row) {
    const { recipient, from, to, subject, messageId, tags, said } = aboutOf(row)
    return {
      'event-data': {
        event: mailgun.counterparts[row.type],
        id: row.id,
        timestamp: row.occurredAt / 1000,
        account: { id: row.workspaceId ?? row.accountId },
        domain: { name: domainIn(from) },
        recipient,
        'recipient-domain': domainIn(recipient),
        envelope: { sender: parseAddress(from)?.address ?? from, targets: recipient, transport: 'smtp' },
        message: {
          headers: { 'message-id': messageId.replace(/^<|>$/g, ''), from, to: to.join(', '), subject },
          attachments: [],
        },
        flags: {
          'is-routed': false,
          'is-authenticated': true,
          'is-system-test': false,
          'is-test-mode': row.mode === 'test',
        },
        campaigns: [],
        tags,
        'user-variables': said,
        ...mailgunOwn(row),
      },
    }
  },
  sign([secret], { at, body }) {
    const timestamp = String(secondsOf(at))
    const token = randomBytes(25).toString('hex')
    const signature = createHmac('sha256', secret)
      .update(timestamp + token)
      .digest('hex')
    const own = JSON.stringify({ signature: { timestamp, token, signature } })
    return { body: `${own.slice(0, -1)},${body.slice(1)}`, headers: {} }
  },
}

/*
 * Resend: our own text has its members already; here types have its names, and the headers of the signature the names that
 * its receivers look for. Secret and signature are those of Standard Webhooks, so a rotation is verified by either.
 */

const resend: Format = {
  service: 'Resend',
  counterparts: {
    'email.scheduled': 'email.scheduled',
    'email.sent': 'email.sent',
    'email.deferred': 'email.delivery_delayed',
    'email.delivered': 'email.delivered',
    'email.bounced': 'email.bounced',
    'email.complained': 'email.complained',
  },
  mayBeThin: true,
  hasLogin: false,
  sign: (secrets, post) => ({
    body: post.body,
    headers: Object.fromEntries(
      Object.entries(signatureHeaders(secrets, post)).map(([name, value]) => [
        name.replace(/^webhook-/, 'svix-'),
        value,
      ]),
    ),
  }),
}

/** null: our own words, which every type has. */
export const FORMATS: Readonly<Record<WebhookFormat, Format | null>> = {
  standard: null,
  sendgrid,
  postmark,
  mailgun,
  resend,
}

const has = (format: Format | null, type: EventType | null): boolean =>
  format === null || type === null || format.counterparts[type] !== undefined

/** Types that are posted in a format; null: all. */
export const typesIn = (name: WebhookFormat): readonly EventType[] | null => {
  const format = FORMATS[name]
  return format === null ? null : CHANGE_TYPES.filter((type) => has(format, type))
}

/** Of what is asked for, the types that the format has no word for: they are not posted. */
export const withoutCounterpart = (
  asked: readonly Subscription[],
  name: WebhookFormat,
): readonly string[] => {
  const format = FORMATS[name]
  const all = asked.includes('*') ? CHANGE_TYPES : asked
  return all.filter((type) => !has(format, readEventType(type)))
}
