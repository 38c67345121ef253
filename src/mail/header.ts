/**
 * NAME      header - the header section of a message
 * DESCRIPTION
 *   Two directions. Writing: which names and values a caller may add, and lines
 *   folded at 78 (RFC 5322, section 2.1.1). Reading: where each field begins
 *   and ends, as offsets into the octets, so that a field can be taken out or
 *   signed while all others stay as they came.
 *   The scanner ends lines at LF with or without CR, and takes any case.
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

export interface Field {
  /** Lower case; empty for a line that is no field. */
  readonly name: string
  /** Offsets: of the name, after the colon, and after the line end of the last line. */
  readonly start: number
  readonly value: number
  readonly end: number
}

export interface HeaderSection {
  readonly fields: readonly Field[]
  /** Where the fields end (the empty line begins here) and where the body begins. */
  readonly end: number
  readonly body: number
}

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
export const fieldValue = (raw: Buffer, field: Field): string => {
  const text = trimBlanks(raw.toString('latin1', field.value, field.end))
  return text.includes('\n') ? text.replace(/\r?\n(?=[ \t])/g, '') : text
}

/** The same memory as a Buffer, for its fast searches. */
export const asBuffer = (raw: Uint8Array): Buffer =>
  Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
