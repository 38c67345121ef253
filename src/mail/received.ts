/**
 * NAME      received - dates and trace lines
 * DESCRIPTION
 *   The date form of RFC 5322, section 3.3, in UTC, and the Received field that
 *   we put on top of a mail that came whole: by SMTP (RFC 5321, section 4.4; the
 *   `with` words are those of RFC 3848 and 6531), or over HTTP, where it names
 *   nobody, and only shows a mail that comes round again.
 */
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`)

/** `Fri, 20 Nov 2026 10:00:00 +0000`. */
export const formatDate = (epochMs: number): string => {
  const date = new Date(epochMs)
  const time = [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()].map(two).join(':')
  return `${DAYS[date.getUTCDay()]}, ${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()} ${time} +0000`
}

interface Trace {
  /** What the client called itself; any octets, since clients send what they like. */
  readonly helo: string
  readonly ip: string
  /** Our own name. */
  readonly host: string
  readonly id: string
  readonly tls: boolean
  readonly authenticated: boolean
  readonly smtpUtf8?: boolean
  /** Named only when there is one recipient: the field must not betray a Bcc. */
  readonly recipients: readonly string[]
  readonly now: number
}

const protocolOf = ({ tls, authenticated, smtpUtf8 = false }: Trace): string =>
  `${smtpUtf8 ? 'UTF8SMTP' : 'ESMTP'}${tls ? 'S' : ''}${authenticated ? 'A' : ''}`

/** The Received field with its CRLF. */
export const receivedLine = (trace: Trace): string => {
  const helo = trace.helo.replace(/[^!-~]|[()<>;\\",]/g, '?').slice(0, 255) || 'unknown'
  const [only] = trace.recipients
  const whom =
    trace.recipients.length === 1 && only !== undefined && /^[!-~]{1,254}$/.test(only)
      ? `\r\n for <${only}>`
      : ''
  const address = trace.ip.includes(':') ? `IPv6:${trace.ip}` : trace.ip
  return (
    `Received: from ${helo} ([${address}])\r\n` +
    ` by ${trace.host} with ${protocolOf(trace)} id ${trace.id}${whom};\r\n` +
    ` ${formatDate(trace.now)}\r\n`
  )
}

/** The same for a message that an API took whole. */
export const receivedOverHttp = ({ host, id, now }: Pick<Trace, 'host' | 'id' | 'now'>): string =>
  `Received: by ${host} with HTTP id ${id};\r\n ${formatDate(now)}\r\n`
