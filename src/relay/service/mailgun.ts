/**
 * NAME      mailgun - the API of Mailgun
 * DESCRIPTION
 *   POST /v3/DOMAIN/messages.mime as a form: `to` says who receives the message, whatever its header does. Mailgun sends
 *   with a return path of its own and keeps the reports. It speaks JSON with a `message`, but for 401.
 */
import { randomBytes } from 'node:crypto'
import {
  busy,
  idOf,
  jsonOf,
  type Meaning,
  type Place,
  type Service,
  type ServiceRequest,
  strange,
  textOf,
} from './service.js'

const TITLE = 'Mailgun'

const request = ({ name, prefix, host, login }: Place, type: string, body: Uint8Array): ServiceRequest => ({
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
const OURS: ReadonlySet<number> = new Set([401, 402, 403, 404])

const refusal = (status: number, text: string): Meaning => ({
  kind: 'refused',
  reply: status === 413 ? { code: 552, enhanced: '5.3.4', text } : { code: 554, enhanced: '5.6.0', text },
})

export const mailgun: Service = {
  title: TITLE,
  maxSize: 25_000_000,
  rewrites: [],

  ask({ recipient, message }, place) {
    const boundary = randomBytes(18).toString('hex')
    const file = part('message', '; filename="message.mime"\r\nContent-Type: message/rfc822')
    const head = `--${boundary}\r\n${part('to', '')}${recipient}\r\n--${boundary}\r\n${file}`
    const body = Buffer.concat([Buffer.from(head), message, Buffer.from(`\r\n--${boundary}--\r\n`)])
    return request(place, `multipart/form-data; boundary=${boundary}`, body)
  },

  knock: (place) => request(place, 'application/x-www-form-urlencoded', Buffer.alloc(0)),

  read(answer) {
    const { status } = answer
    const body = jsonOf(answer.body)
    if (status === 200) {
      const id = idOf(typeof body?.id === 'string' ? body.id.replace(/^<(.*)>$/, '$1') : null)
      return id === null ? strange(answer, TITLE) : { kind: 'taken', id }
    }
    const text = status === 401 ? 'Forbidden' : textOf(body?.message)
    if (text === '' || status < 400) return strange(answer, TITLE)
    if (status === 429) return busy(answer, text)
    if (OURS.has(status)) return { kind: 'failing', stage: 'auth', text }
    if (status === 503 || status === 408) return { kind: 'failing', stage: 'greeting', text }
    return status < 500 ? refusal(status, text) : { kind: 'unclear', text: `answered ${status} ${text}` }
  },
}
