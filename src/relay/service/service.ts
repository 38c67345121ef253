/**
 * NAME      service - what a service that takes mail by HTTPS is to the relay: Amazon SES, Mailgun
 *   How a mail is asked for there, and what an answer means: taken, refused for good, not now, nothing that this mail is
 *   to blame for, or unclear. Only words of the service itself refuse a mail: what stands before it (a proxy, a gateway, a
 *   page of HTML) says nothing about one. Unclear is what may have come after the mail was taken.
 *   Both send with a return path of their own.
 */
import { randomBytes } from 'node:crypto'
import type { Reply } from '../../mail/reply.js'
import { sign } from '../../tenant/key.js'

interface ServiceMail {
  /** The address of its From field. */
  readonly from: string
  readonly recipient: string
  /** Where reports are wanted; null where the service is to keep them. */
  readonly reportsTo: string | null
  readonly message: Uint8Array
}

interface Login {
  readonly user: string
  readonly secret: string
}

/** Where it is asked, and as whom. */
export interface ServicePlace {
  /** Of a service: a region, or a domain. */
  readonly name: string
  /** What its host may have before the path. */
  readonly prefix: string
  /** As the field Host has it. */
  readonly host: string
  readonly login: Login
}

export interface ServiceRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface ServiceAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Null when it was too long to be read. */
  readonly body: string | null
}

export type Meaning =
  | { readonly kind: 'taken'; readonly id: string }
  /** This mail is refused, for good. */
  | { readonly kind: 'refused'; readonly reply: Reply }
  /** It does not take mail from us, whichever. */
  | { readonly kind: 'failing'; readonly stage: 'auth' | 'greeting'; readonly text: string }
  /** We are too fast for it. */
  | { readonly kind: 'busy'; readonly text: string; readonly waitMs: number }
  | { readonly kind: 'unclear'; readonly text: string }

export interface MailService {
  /** As people know it. */
  readonly title: string
  /** The largest message that it takes, in bytes. */
  readonly maxSize: number
  /** Fields of a message that it writes anew. */
  readonly rewrites: readonly string[]
  ask(mail: ServiceMail, place: ServicePlace, now: number): ServiceRequest
  /** A request that lacks everything, so that nothing is sent: its answer shows whether we are let in. */
  knock(place: ServicePlace, now: number): ServiceRequest
  read(answer: ServiceAnswer): Meaning
}

/** When a service that is too busy does not say. */
const USUAL_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

/** Of an id that may be stored and shown. */
const idOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[\x21-\x7e]{1,200}$/.test(value) ? value : null

const jsonOf = (body: string | null): Readonly<Record<string, unknown>> | null => {
  try {
    const value: unknown = JSON.parse(body ?? '')
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

const waitOf = (asked: unknown): number => {
  if (typeof asked !== 'string') return USUAL_WAIT_MS
  const ms = /^\d{1,9}$/.test(asked) ? Number(asked) * 1_000 : Date.parse(asked) - Date.now()
  return ms > 0 ? Math.min(ms, LONGEST_WAIT_MS) : USUAL_WAIT_MS
}

const busy = ({ headers }: ServiceAnswer, text: string): Meaning => {
  const waitMs = waitOf(headers['retry-after'])
  return { kind: 'busy', waitMs, text: `${text} (retry after ${Math.ceil(waitMs / 1_000)} s)` }
}

/** Of an answer that is none of the service's own. */
const strange = (answer: ServiceAnswer, title: string): Meaning => {
  const { status } = answer
  const text = `answered ${status}, and not as ${title} does`
  if (status === 429) return busy(answer, text)
  if (status === 401 || status === 403) return { kind: 'failing', stage: 'auth', text }
  // 303 tells where the outcome of something done is to be seen
  if (status >= 300 && status < 400 && status !== 303)
    return {
      kind: 'failing',
      stage: 'greeting',
      text: `answered ${status}: it redirects, which is not followed`,
    }
  return status >= 400 && status < 500
    ? { kind: 'failing', stage: 'greeting', text }
    : { kind: 'unclear', text }
}

/*
 * Amazon SES, API version 2: SendEmail with Content.Raw. Destination says who receives it, whatever the header does. Where
 * reports shall go is asked for by FeedbackForwardingEmailAddress, whose domain must be verified there.
 * Errors are told from each other by `x-amzn-errortype`, or `__type` in the body.
 */

const SES = 'Amazon SES'

const sesRequest = (
  { name, prefix, host, login }: ServicePlace,
  body: Uint8Array,
  now: number,
): ServiceRequest => {
  const path = `${prefix}/v2/email/outbound-emails`
  const signer = { accessKey: login.user, secret: login.secret, region: name, service: 'ses' }
  const headers = sign(
    { method: 'POST', target: path, body },
    { host, 'content-type': 'application/json' },
    signer,
    now,
  )
  return { path, headers, body }
}

const BUSY = /^(?:TooManyRequests|Throttl|LimitExceeded|RequestLimitExceeded|SlowDown)/
/** Our keys and our account, whoever the mail is for. */
const SES_OURS =
  /^(?:AccountSuspended|SendingPaused|NotFound|OptInRequired|NotAuthorized|RequestExpired|AccessDenied|ExpiredToken)/
const POLICY = /^(?:MessageRejected|MailFromDomainNotVerified)/

const typeOf = ({ headers }: ServiceAnswer, body: ReturnType<typeof jsonOf>): string => {
  const said = [headers['x-amzn-errortype'], body?.__type, body?.code].find((one) => typeof one === 'string')
  const [type = ''] = textOf(said).split(':')
  return type.slice(type.lastIndexOf('#') + 1)
}

const sesRefusal = (type: string, status: number, text: string): Meaning => {
  if (status === 413) return { kind: 'refused', reply: { code: 552, enhanced: '5.3.4', text } }
  const enhanced = POLICY.test(type) ? '5.7.1' : '5.6.0'
  return { kind: 'refused', reply: { code: 554, enhanced, text } }
}

export const ses: MailService = {
  title: SES,
  maxSize: 40_000_000,
  rewrites: ['date', 'message-id'],

  ask({ from, recipient, reportsTo, message }, place, now) {
    const envelope = {
      FromEmailAddress: from,
      Destination: { ToAddresses: [recipient] },
      ...(reportsTo !== null && { FeedbackForwardingEmailAddress: reportsTo }),
    }
    const head = `${JSON.stringify(envelope).slice(0, -1)},"Content":{"Raw":{"Data":"`
    const content = Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString('base64')
    return sesRequest(place, Buffer.from(`${head}${content}"}}}`), now)
  },

  knock: (place, now) => sesRequest(place, Buffer.from('{}'), now),

  read(answer) {
    const { status } = answer
    const body = jsonOf(answer.body)
    if (status === 200) {
      const id = idOf(body?.MessageId)
      return id === null ? strange(answer, SES) : { kind: 'taken', id }
    }
    const type = typeOf(answer, body)
    if (type === '' || status < 400) return strange(answer, SES)
    const text = [type, textOf(body?.message ?? body?.Message)].filter((part) => part !== '').join(': ')
    if (status === 429 || BUSY.test(type)) return busy(answer, text)
    if (status === 401 || status === 403 || status === 404 || SES_OURS.test(type))
      return { kind: 'failing', stage: 'auth', text }
    if (status === 503 || status === 408) return { kind: 'failing', stage: 'greeting', text }
    return status < 500
      ? sesRefusal(type, status, text)
      : { kind: 'unclear', text: `answered ${status} ${text}` }
  },
}

/*
 * Mailgun: POST /v3/DOMAIN/messages.mime as a form, in which `to` says who receives the message, whatever its header
 * does. It keeps the reports, and speaks JSON with a `message`, but for 401.
 */

const MAILGUN = 'Mailgun'

const mailgunRequest = (
  { name, prefix, host, login }: ServicePlace,
  type: string,
  body: Uint8Array,
): ServiceRequest => ({
  path: `${prefix}/v3/${name}/messages.mime`,
  headers: {
    host,
    'content-type': type,
    authorization: `Basic ${Buffer.from(`${login.user}:${login.secret}`).toString('base64')}`,
  },
  body,
})

const part = (name: string, more: string): string =>
  `Content-Disposition: form-data; name="${name}"${more}\r\n\r\n`

/** It refuses our key, our domain or our account. */
const MAILGUN_OURS: ReadonlySet<number> = new Set([401, 402, 403, 404])

const mailgunRefusal = (status: number, text: string): Meaning => ({
  kind: 'refused',
  reply: status === 413 ? { code: 552, enhanced: '5.3.4', text } : { code: 554, enhanced: '5.6.0', text },
})

export const mailgun: MailService = {
  title: MAILGUN,
  maxSize: 25_000_000,
  rewrites: [],

  ask({ recipient, message }, place) {
    const boundary = randomBytes(18).toString('hex')
    const file = part('message', '; filename="message.mime"\r\nContent-Type: message/rfc822')
    const head = `--${boundary}\r\n${part('to', '')}${recipient}\r\n--${boundary}\r\n${file}`
    const body = Buffer.concat([Buffer.from(head), message, Buffer.from(`\r\n--${boundary}--\r\n`)])
    return mailgunRequest(place, `multipart/form-data; boundary=${boundary}`, body)
  },

  knock: (place) => mailgunRequest(place, 'application/x-www-form-urlencoded', Buffer.alloc(0)),

  read(answer) {
    const { status } = answer
    const body = jsonOf(answer.body)
    if (status === 200) {
      const id = idOf(typeof body?.id === 'string' ? body.id.replace(/^<(.*)>$/, '$1') : null)
      return id === null ? strange(answer, MAILGUN) : { kind: 'taken', id }
    }
    const text = status === 401 ? 'Forbidden' : textOf(body?.message)
    if (text === '' || status < 400) return strange(answer, MAILGUN)
    if (status === 429) return busy(answer, text)
    if (MAILGUN_OURS.has(status)) return { kind: 'failing', stage: 'auth', text }
    if (status === 503 || status === 408) return { kind: 'failing', stage: 'greeting', text }
    return status < 500
      ? mailgunRefusal(status, text)
      : { kind: 'unclear', text: `answered ${status} ${text}` }
  },
}
