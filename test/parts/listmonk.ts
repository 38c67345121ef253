/**
 * A receiver in the shape of listmonk's (`/webhooks/service/{sendgrid,postmark,mailgun}`), of our own making after the members
 * that it reads: what it demands of login and signature, of which type a member must be, and what it makes of a bounce.
 * A member of another type is 400, as for a reader that knows its types; so is a Postmark type that it does not know.
 */
import { createHmac, createPublicKey, verify } from 'node:crypto'
import type { Received } from './receiver.js'

export interface Bounce {
  readonly email: string
  readonly type: 'hard' | 'soft' | 'complaint'
  readonly at: number
}

export interface ListmonkSettings {
  /** base64 of the DER. */
  readonly sendgridKey?: string
  readonly postmark?: { readonly user: string; readonly password: string }
  readonly mailgunKey?: string
}

export interface Heard {
  readonly status: number
  readonly bounces: readonly Bounce[]
}

type Members = Readonly<Record<string, unknown>>
type Shape = Readonly<Record<string, 'string' | 'number' | 'int' | 'boolean' | 'time' | 'map'>>

const REFUSED: Heard = { status: 400, bounces: [] }
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

const isOf = (value: unknown, type: Shape[string]): boolean => {
  if (type === 'int') return Number.isSafeInteger(value)
  if (type === 'time') return typeof value === 'string' && TIME.test(value)
  if (type !== 'map') return typeof value === type
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((one) => typeof one === 'string')
  )
}

/** A member that is absent is empty. */
const fits = (value: unknown, shape: Shape): value is Members =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(shape).every(([name, type]) => {
    const one = (value as Members)[name]
    return one === undefined || isOf(one, type)
  })

const sendgrid = ({ headers, body }: Received, key: string): Heard => {
  const signature = String(headers['x-twilio-email-event-webhook-signature'] ?? '')
  const at = String(headers['x-twilio-email-event-webhook-timestamp'] ?? '')
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
  if (!verify('sha256', Buffer.from(at + body), publicKey, Buffer.from(signature, 'base64'))) return REFUSED
  const all: unknown = JSON.parse(body)
  const shape: Shape = {
    ...{ email: 'string', timestamp: 'int', event: 'string' },
    ...{ bounce_classification: 'string', XListmonkCampaign: 'string' },
  }
  if (!Array.isArray(all) || !all.every((one) => fits(one, shape))) return REFUSED
  const bounces = (all as readonly Members[])
    .filter(({ event }) => event === 'bounce')
    .map(({ email, timestamp, bounce_classification: classification }): Bounce => {
      const isSoft = classification === 'technical' || classification === 'content'
      return {
        email: String(email).toLowerCase(),
        type: isSoft ? 'soft' : 'hard',
        at: Number(timestamp) * 1000,
      }
    })
  return { status: 200, bounces }
}

const KNOWN: Readonly<Record<string, Bounce['type']>> = {
  ...{ HardBounce: 'hard', BadEmailAddress: 'hard', ManuallyDeactivated: 'hard' },
  ...{ SoftBounce: 'soft', Transient: 'soft', DnsError: 'soft', SpamNotification: 'soft' },
  ...{ VirusNotification: 'soft', DMARCPolicy: 'soft', SpamComplaint: 'complaint' },
}

const postmark = (
  { headers, body }: Received,
  { user, password }: { user: string; password: string },
): Heard => {
  const wanted = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  if (headers.authorization !== wanted) return { status: 401, bounces: [] }
  const one: unknown = JSON.parse(body)
  const shape: Shape = {
    ...{ RecordType: 'string', MessageStream: 'string', ID: 'int', Type: 'string', TypeCode: 'int' },
    ...{ Name: 'string', Tag: 'string', MessageID: 'string', Metadata: 'map', ServerID: 'int' },
    ...{ Description: 'string', Details: 'string', Email: 'string', From: 'string', BouncedAt: 'time' },
    ...{ DumpAvailable: 'boolean', Inactive: 'boolean', CanActivate: 'boolean' },
    ...{ Subject: 'string', Content: 'string' },
  }
  if (!fits(one, shape)) return REFUSED
  if (one.RecordType !== 'Bounce' && one.RecordType !== 'SpamComplaint') return { status: 200, bounces: [] }
  const type = KNOWN[String(one.Type)]
  if (type === undefined) return REFUSED
  const at = Date.parse(String(one.BouncedAt))
  return { status: 200, bounces: [{ email: String(one.Email).toLowerCase(), type, at }] }
}

const mailgun = ({ body }: Received, key: string): Heard => {
  const { signature, 'event-data': data } = JSON.parse(body) as Readonly<Record<string, Members>>
  const said: Shape = { timestamp: 'string', token: 'string', signature: 'string' }
  const shape: Shape = {
    ...{ event: 'string', timestamp: 'number', id: 'string', recipient: 'string' },
    ...{ severity: 'string', reason: 'string', 'log-level': 'string', 'user-variables': 'map' },
  }
  if (!fits(signature, said) || !fits(data, shape)) return REFUSED
  const mac = createHmac('sha256', key).update(`${signature.timestamp}${signature.token}`).digest('hex')
  if (mac !== signature.signature) return REFUSED
  const { event, severity, recipient, timestamp } = data
  if (event !== 'failed' && event !== 'complained') return { status: 200, bounces: [] }
  const failed = severity === 'permanent' ? 'hard' : 'soft'
  const at = Math.floor(Number(timestamp)) * 1000
  return {
    status: 200,
    bounces: [
      { email: String(recipient).toLowerCase(), type: event === 'complained' ? 'complaint' : failed, at },
    ],
  }
}

/** What it answers to a post, and the bounces that it notes; a service that is not set up is unknown to it. */
export const hear = (settings: ListmonkSettings, received: Received): Heard => {
  const [, service = ''] = /^\/webhooks\/service\/([a-z]+)$/.exec(received.path) ?? []
  const { sendgridKey, postmark: login, mailgunKey } = settings
  if (service === 'sendgrid' && sendgridKey !== undefined) return sendgrid(received, sendgridKey)
  if (service === 'postmark' && login !== undefined) return postmark(received, login)
  if (service === 'mailgun' && mailgunKey !== undefined) return mailgun(received, mailgunKey)
  return REFUSED
}
