/**
 * NAME      sendgrid - posts as SendGrid's Event Webhook makes them
 * DESCRIPTION
 *   A list of one event. `sg_message_id` begins with the X-Message-Id that /v1/as/sendgrid answered, and ends with the id of
 *   the mail. Custom arguments stand beside the members, and never in their place.
 *   Signed by ECDSA on P-256 over timestamp and octets. The private key is made of the signing secret, so it is kept, given by
 *   a setup and rotated as that is; the public one is shown. There is one signature: after a rotation it is the new key's.
 */
import { createECDH, createHmac, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { bounceTypesOf, type Category } from '../../mail/report/category.js'
import type { LogRow } from '../../store/port/log.js'
import { aboutOf, type Format, saidOf, secondsOf } from './format.js'

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
const TAKEN: ReadonlySet<string> = new Set([
  ...['email', 'timestamp', 'smtp-id', 'event', 'category', 'sg_event_id', 'sg_message_id', 'type', 'reason'],
  ...['status', 'response', 'attempt', 'bounce_classification', 'ip', 'tls', 'pool', 'url', 'useragent'],
])

const argsOf = (said: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(said).filter(([name]) => !TAKEN.has(name)))

const ownOf = (row: LogRow) => {
  const response = saidOf(row)
  if (row.type === 'email.bounced') return bounced(row)
  const event = sendgrid.counterparts[row.type]
  if (row.type === 'email.delivered') return { event, response }
  if (row.type === 'email.deferred')
    return { event, response, reason: response, attempt: String(row.attempt ?? 1) }
  return { event }
}

export const sendgrid: Format = {
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
        ...ownOf(row),
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
