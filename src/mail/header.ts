/**
 * NAME      header - the header section of a message, its dates and trace lines, and how lines end
 *   Two directions. Writing: which names and values a caller may add, and lines folded at 78 (RFC 5322, section
 *   2.1.1). Reading: where each field begins and ends, as offsets into the octets, so that a field can be taken out or
 *   signed while all others stay as they came. The scanner ends lines at LF with or without CR, and takes any case.
 *   The date form of RFC 5322, section 3.3, in UTC, and the Received field that we put on top of a mail that came
 *   whole: by SMTP (RFC 5321, section 4.4; the `with` words are those of RFC 3848 and 6531), or over HTTP, where it
 *   names nobody, and only shows a mail that comes round again.
 *   RFC 5322 knows CRLF alone. A bare CR or LF is a line end to some and content to others, which is how one message
 *   smuggles in another; nobody takes a NUL.
 */
import { encodeWords } from './encoding.js'

/** Fields that Postern writes itself, that servers on the way add, or that speak to a gateway; a caller may not (422 `forbidden`). */
const FORBIDDEN_HEADERS: ReadonlySet<string> = new Set([
  'from',
  'to',
  'cc',
  'bcc',
  'subject',
  'sender',
  'return-path',
  'received',
  'dkim-signature',
  'message-id',
  'date',
  'mime-version',
  'authentication-results',
  'delivered-to',
  'idempotency-key',
  'resend-idempotency-key',
])
const FORBIDDEN_PREFIXES: readonly string[] = ['content-', 'arc-', 'resent-', 'x-postern-']

/** True for what a caller may not set; any case. */
export const isForbiddenHeader = (name: string): boolean => {
  const lower = name.toLowerCase()
  return FORBIDDEN_HEADERS.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix))
}

/** RFC 5322 ftext: printable ASCII without the colon. */
export const isHeaderName = (name: string): boolean => /^[!-9;-~]{1,126}$/.test(name)

/** A value on one line: no CR, LF, NUL or other control but the tab. */
export const isHeaderValue = (value: string): boolean => !/[\x00-\x08\x0a-\x1f\x7f]/.test(value)

/**
 * RFC 8058: with List-Unsubscribe-Post there must be an https URI to post to,
 * and the value is fixed. True when the rule is kept, or does not apply.
 */
export const keepsUnsubscribeRule = (headers: Readonly<Record<string, string>>): boolean => {
  const named = (wanted: string): string | undefined =>
    Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1]
  const post = named('list-unsubscribe-post')
  if (post === undefined) return true
  return (
    post === 'List-Unsubscribe=One-Click' &&
    /<\s*https:\/\/[^>\s]+\s*>/i.test(named('list-unsubscribe') ?? '')
  )
}

/** True for plain text without a blank for so long that no line could hold it. */
export const lacksFoldPoint = (value: string): boolean =>
  /^[\t -~]*$/.test(value) && value.split(/[ \t]+/).some((word) => word.length > LONGEST_TOKEN)

const PREFERRED = 78
const LONGEST_LINE = 998
/** RFC 5322 allows 998 octets; less, since the line may begin with a field name. */
const LONGEST_TOKEN = 900

/** One field with its CRLF, folded before blanks where the line would pass 78. `value` is on one line already. */
export const foldField = (name: string, value: string): string => {
  const line = `${name}: ${value}`
  if (line.length <= PREFERRED) return `${line}\r\n`
  const pieces = line.match(/[ \t]*[^ \t]+/g) ?? []
  let out = ''
  let column = 0
  for (const [i, piece] of pieces.entries()) {
    // the first word stays beside the name: a line with nothing after the colon upsets some readers
    if (column + piece.length > (i > 1 ? PREFERRED : LONGEST_LINE)) {
      out += '\r\n'
      column = 0
    }
    out += piece
    column += piece.length
  }
  return `${out}\r\n`
}

/** True when a word, or a run of blanks, is too long for a line. One pass: a regex would go back over it again and again. */
const hasLongToken = (text: string): boolean => {
  if (text.length <= LONGEST_TOKEN) return false
  let run = 0
  let blanks = false
  for (const char of text) {
    const blank = char === ' ' || char === '\t'
    run = blank === blanks ? run + 1 : 1
    blanks = blank
    if (run > LONGEST_TOKEN) return true
  }
  return false
}

/** An unstructured field (Subject, a caller's own header): folded when ASCII, encoded words otherwise. */
export const textField = (name: string, value: string, literal = true): string => {
  const line = value.replace(/[\r\n]+[ \t]*/g, ' ').trim()
  // `=?` in a literal text would be decoded by readers; a caller's own header may hold encoded words already
  const encode = /[^\t\x20-\x7e]/.test(line) || (literal && line.includes('=?')) || hasLongToken(line)
  return foldField(name, encode ? encodeWords(line) : line)
}

export interface HeaderField {
  /** Lower case; empty for a line that is no field. */
  readonly name: string
  /** Offsets: of the name, after the colon, and after the line end of the last line. */
  readonly start: number
  readonly value: number
  readonly end: number
}

export interface HeaderSection {
  readonly fields: readonly HeaderField[]
  /** Where the fields end (the empty line begins here) and where the body begins. */
  readonly end: number
  readonly body: number
}

/** As they stand, in lower case. */
export const namesIn = ({ fields }: HeaderSection): readonly string[] => fields.map(({ name }) => name)

const COLON = 0x3a

/** Finds the fields of a message. */
export const scanHeader = (raw: Buffer): HeaderSection => {
  const fields: { name: string; start: number; value: number; end: number }[] = []
  const size = raw.length
  let at = 0
  while (at < size) {
    const lf = raw.indexOf(0x0a, at)
    const end = lf < 0 ? size : lf + 1
    const first = raw[at]
    if (first === 0x0a || (first === 0x0d && lf === at + 1)) return { fields, end: at, body: end }
    const last = fields.at(-1)
    if (last !== undefined && (first === 0x20 || first === 0x09)) {
      last.end = end
    } else {
      let colon = at
      while (colon < end && raw[colon] !== COLON) colon++
      const name = colon < end ? raw.toString('latin1', at, colon).trimEnd().toLowerCase() : ''
      fields.push({ name: isHeaderName(name) ? name : '', start: at, value: colon + 1, end })
    }
    at = end
  }
  return { fields, end: size, body: size }
}

/** What is read of one message: more is an attack, or a mail that no server after us would take either. */
export const MOST_HEADER_OCTETS = 1024 * 1024
export const MOST_HEADER_FIELDS = 10_000
/** A header section of this size can not have too many fields to be looked at twice. */
const FEW_OCTETS = 16 * 1024

/** True when the header section has more octets or fields than that; told without reading further. */
export const isHeaderTooLarge = (raw: Buffer): boolean => {
  if (raw.length <= FEW_OCTETS) return false
  const head = raw.subarray(0, MOST_HEADER_OCTETS + 3)
  const ends = ['\n\r\n', '\n\n'].map((end) => head.indexOf(end)).filter((at) => at >= 0)
  const size = ends.length > 0 ? Math.min(...ends) + 1 : head.length
  if (size <= FEW_OCTETS) return false
  return size > MOST_HEADER_OCTETS || scanHeader(head).fields.length > MOST_HEADER_FIELDS
}

/** Cuts blanks and line ends at both ends. Not `trim`: in octets, its U+00A0 is the end of an "à". */
export const trimBlanks = (octets: string): string => {
  let start = 0
  let end = octets.length
  const isBlank = (at: number): boolean => ' \t\r\n'.includes(octets[at] ?? '')
  while (start < end && isBlank(start)) start++
  while (end > start && isBlank(end - 1)) end--
  return octets.slice(start, end)
}

/** The value of a field on one line, one character per octet. */
export const fieldValue = (raw: Buffer, field: HeaderField): string => {
  const text = trimBlanks(raw.toString('latin1', field.value, field.end))
  return text.includes('\n') ? text.replace(/\r?\n(?=[ \t])/g, '') : text
}

/** The same memory as a Buffer, for its fast searches. */
export const asBuffer = (raw: Uint8Array): Buffer =>
  Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)

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

interface LineEnds {
  readonly hasBareCr: boolean
  readonly hasBareLf: boolean
  readonly hasNul: boolean
}

const NO_WORDS = new Int32Array(0)
const LF = 0x0a
const CR = 0x0d

/** One pass over the octets, four at a time where none of them is as low as CR. */
export const scanLineEnds = (raw: Buffer): LineEnds => {
  let hasBareCr = false
  let hasBareLf = false
  let hasNul = false
  const { length, byteOffset } = raw
  const lead = -byteOffset & 3
  const words = length < 8 ? NO_WORDS : new Int32Array(raw.buffer, byteOffset + lead, (length - lead) >> 2)
  for (let i = 0; i < length; i++) {
    if (((i - lead) & 3) === 0) {
      let word = words[(i - lead) >> 2] ?? 0
      // the highest bit of an octet below 14 turns on, and now and then that of one above such a one
      while (((word - 0x0e0e0e0e) & ~word & 0x80808080) === 0) {
        i += 4
        word = words[(i - lead) >> 2] ?? 0
      }
    }
    const octet = raw[i]
    if (octet === LF) hasBareLf ||= raw[i - 1] !== CR
    else if (octet === CR) hasBareCr ||= raw[i + 1] !== LF
    else if (octet === 0) hasNul = true
  }
  return { hasBareCr, hasBareLf, hasNul }
}

/** Lone CR and LF become CRLF, NUL is dropped. */
export const normalizeLineEnds = (message: Uint8Array): Buffer =>
  Buffer.from(
    asBuffer(message)
      .toString('latin1')
      .replaceAll('\0', '')
      .replace(/\r\n|\r|\n/g, '\r\n'),
    'latin1',
  )
