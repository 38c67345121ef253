/**
 * NAME      ses - Amazon SES, API version 2
 * DESCRIPTION
 *   SendEmail with Content.Raw: Destination says who receives it, whatever the header does. SES sends with a return path
 *   of its own; where reports shall go is asked for by FeedbackForwardingEmailAddress, whose domain must be verified there.
 *   It writes Message-ID and Date anew. Errors are told from each other by `x-amzn-errortype`, or `__type` in the body.
 */
import { sign } from '../../tenant/signature.js'
import {
  busy,
  idOf,
  jsonOf,
  type Meaning,
  type Place,
  type Service,
  type ServiceAnswer,
  type ServiceRequest,
  strange,
  textOf,
} from './service.js'

const TITLE = 'Amazon SES'

const request = ({ name, prefix, host, login }: Place, body: Uint8Array, now: number): ServiceRequest => {
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
const OURS =
  /^(?:AccountSuspended|SendingPaused|NotFound|OptInRequired|NotAuthorized|RequestExpired|AccessDenied|ExpiredToken)/
const POLICY = /^(?:MessageRejected|MailFromDomainNotVerified)/

const typeOf = ({ headers }: ServiceAnswer, body: ReturnType<typeof jsonOf>): string => {
  const said = [headers['x-amzn-errortype'], body?.__type, body?.code].find((one) => typeof one === 'string')
  const [type = ''] = textOf(said).split(':')
  return type.slice(type.lastIndexOf('#') + 1)
}

const refusal = (type: string, status: number, text: string): Meaning => {
  if (status === 413) return { kind: 'refused', reply: { code: 552, enhanced: '5.3.4', text } }
  const enhanced = POLICY.test(type) ? '5.7.1' : '5.6.0'
  return { kind: 'refused', reply: { code: 554, enhanced, text } }
}

export const ses: Service = {
  title: TITLE,
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
    return request(place, Buffer.from(`${head}${content}"}}}`), now)
  },

  knock: (place, now) => request(place, Buffer.from('{}'), now),

  read(answer) {
    const { status } = answer
    const body = jsonOf(answer.body)
    if (status === 200) {
      const id = idOf(body?.MessageId)
      return id === null ? strange(answer, TITLE) : { kind: 'taken', id }
    }
    const type = typeOf(answer, body)
    if (type === '' || status < 400) return strange(answer, TITLE)
    const text = [type, textOf(body?.message ?? body?.Message)].filter((part) => part !== '').join(': ')
    if (status === 429 || BUSY.test(type)) return busy(answer, text)
    if (status === 401 || status === 403 || status === 404 || OURS.test(type))
      return { kind: 'failing', stage: 'auth', text }
    if (status === 503 || status === 408) return { kind: 'failing', stage: 'greeting', text }
    return status < 500
      ? refusal(type, status, text)
      : { kind: 'unclear', text: `answered ${status} ${text}` }
  },
}
