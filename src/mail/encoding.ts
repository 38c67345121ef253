/**
 * NAME      encoding - text as mail can carry it
 *   Encoded words for headers (RFC 2047) and the two body encodings (RFC 2045). Words are cut between characters,
 *   never inside one, and stay at 64 octets,
 *   so that the first fits beside its field name on a line of 78. Quoted-printable also hides a leading "From " and
 *   trailing blanks, which mailers on the way like to change (and break signatures with).
 *   Decoding is lenient: what is not a well-formed word, or names a character
 *   set that nobody knows, stays as it is written. So does a broken escape in xtext, the encoding of DSN parameters:
 *   bounces quote what others encoded.
 */
import { TextDecoder } from 'node:util'

const HEX = '0123456789ABCDEF'
const HEX_BYTES = Buffer.from(HEX, 'latin1')
/** 64 less `=?UTF-8?Q?` and `?=`. */
const PAYLOAD = 52

/** The letters a Q word may hold bare even inside a phrase (RFC 2047, section 5, rule 3). */
const Q_BARE = new Uint8Array(256)
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!*+-/') {
  Q_BARE[char.charCodeAt(0)] = 1
}

/** The length in octets of the UTF-8 character that starts with `lead`. */
const widthOf = (lead: number): number => (lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4)

const qByte = (byte: number): string =>
  Q_BARE[byte] === 1 ? String.fromCharCode(byte) : byte === 0x20 ? '_' : `=${HEX[byte >> 4]}${HEX[byte & 15]}`

const qWords = (bytes: Buffer): string[] => {
  const words: string[] = []
  let word = ''
  for (let i = 0; i < bytes.length; ) {
    const next = Math.min(i + widthOf(bytes[i]!), bytes.length)
    let char = ''
    while (i < next) char += qByte(bytes[i++]!)
    if (word.length + char.length > PAYLOAD) {
      words.push(word)
      word = ''
    }
    word += char
  }
  return [...words, word].map((text) => `=?UTF-8?Q?${text}?=`)
}

const bWords = (bytes: Buffer): string[] => {
  const words: string[] = []
  const most = (PAYLOAD / 4) * 3
  for (let start = 0; start < bytes.length; ) {
    let end = start
    while (end < bytes.length) {
      const next = end + widthOf(bytes[end]!)
      if (next - start > most) break
      end = next
    }
    words.push(`=?UTF-8?B?${bytes.toString('base64', start, Math.min(end, bytes.length))}?=`)
    start = end
  }
  return words
}

/** Text as encoded words, separated by one space each (the header writer folds there). */
export const encodeWords = (text: string): string => {
  const bytes = Buffer.from(text, 'utf8')
  let bare = 0
  for (const byte of bytes) if (Q_BARE[byte] === 1 || byte === 0x20) bare++
  // a hidden octet costs three in Q; base64 costs a third of everything
  const words = (bytes.length - bare) * 2 > bytes.length / 3 + 4 ? bWords(bytes) : qWords(bytes)
  return words.join(' ')
}

const WORD = /=\?([^\s?*]{1,40})(?:\*[^\s?]*)?\?([BbQq])\?([^?\r\n]*)\?=/g
const ESCAPED = /=([0-9A-Fa-f]{2})/g

const wordBytes = (encoding: string, payload: string): Buffer =>
  encoding === 'B' || encoding === 'b'
    ? Buffer.from(payload, 'base64')
    : Buffer.from(
        payload
          .replaceAll('_', ' ')
          .replace(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      )

const decoders = new Map<string, TextDecoder | null>()
const decoderOf = (label: string): TextDecoder | null => {
  const key = label.toLowerCase()
  const known = decoders.get(key)
  if (known !== undefined) return known
  let decoder: TextDecoder | null = null
  try {
    decoder = new TextDecoder(key)
  } catch {
    // an unknown label: the word stays as it is
  }
  if (decoders.size < 100) decoders.set(key, decoder)
  return decoder
}

const NOT_STORED = /[\u0000\p{Surrogate}]/u

/** Text as every database keeps it: without U+0000, and without half of a surrogate pair, such as a cut leaves. */
export const wellFormed = (text: string): string =>
  NOT_STORED.test(text) ? text.replace(new RegExp(NOT_STORED, 'gu'), '\ufffd') : text

/** Decodes the encoded words in a header value. Neighbours of one charset are joined first, since some senders cut inside a character. */
export const decodeWords = (text: string): string => {
  if (!text.includes('=?')) return text
  let out = ''
  let at = 0
  let charset = ''
  let held: Buffer[] = []
  const flush = (): void => {
    if (held.length > 0) out += decoderOf(charset)?.decode(Buffer.concat(held)) ?? ''
    held = []
  }
  for (const match of text.matchAll(WORD)) {
    const [whole, label = '', encoding = '', payload = ''] = match
    if (decoderOf(label) === null) continue
    const between = text.slice(at, match.index)
    const adjacent = held.length > 0 && between.trim() === ''
    if (!adjacent || label.toLowerCase() !== charset) flush()
    if (!adjacent) out += between
    charset = label.toLowerCase()
    held.push(wordBytes(encoding, payload))
    at = match.index + whole.length
  }
  flush()
  return wellFormed(out + text.slice(at))
}

const utf8Strict = new TextDecoder('utf-8', { fatal: true })

/** Octets of a raw 8-bit header, held one per character: UTF-8 when they are that, else Latin-1. */
export const fromRaw = (octets: string): string => {
  if (!/[\x80-\xff]/.test(octets)) return octets
  try {
    return utf8Strict.decode(Buffer.from(octets, 'latin1'))
  } catch {
    return octets
  }
}

const LF = 0x0a
const CR = 0x0d
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09

/** Octets that need no thought in quoted-printable: printable, and neither `=` nor the F of "From ". */
const LITERAL = new Uint8Array(256)
for (let byte = 0x21; byte < 0x7f; byte++) LITERAL[byte] = byte === 0x3d || byte === 0x46 ? 0 : 1

/** Quoted-printable with lines of at most 76. The input has CRLF line ends only. */
export const quotedPrintable = (input: Buffer): string => {
  const size = input.length
  const out = Buffer.allocUnsafe(Math.ceil(size * 3.2) + 16)
  let to = 0
  let column = 0
  for (let i = 0; i < size; i++) {
    const byte = input[i]!
    if (LITERAL[byte] === 1 && column < 75) {
      out[to++] = byte
      column++
      continue
    }
    if (byte === CR && input[i + 1] === LF) {
      out[to++] = CR
      out[to++] = LF
      column = 0
      i++
      continue
    }
    const last = i + 1 === size || (input[i + 1] === CR && input[i + 2] === LF)
    const hidden =
      byte > 0x7e ||
      byte === 0x3d ||
      (byte < 0x20 && byte !== 0x09) ||
      (last && isBlank(byte)) ||
      ((column === 0 || column > 71) && byte === 0x46 && input.toString('latin1', i, i + 5) === 'From ')
    // keep a whole character on one line, with room for the soft break unless the line ends here
    const need = hidden ? (byte >= 0xc0 ? 3 * widthOf(byte) : 3) : 1
    if (column + need > (last ? 76 : 75)) {
      out[to++] = 0x3d
      out[to++] = CR
      out[to++] = LF
      column = 0
    }
    if (hidden) {
      out[to++] = 0x3d
      out[to++] = HEX_BYTES[byte >> 4]!
      out[to++] = HEX_BYTES[byte & 15]!
      column += 3
    } else {
      out[to++] = byte
      column++
    }
  }
  return out.toString('latin1', 0, to)
}

/** Base64 in lines of 76. */
export const base64Lines = (input: Buffer): string => {
  const text = input.toString('base64')
  const lines: string[] = []
  for (let i = 0; i < text.length; i += 76) lines.push(text.slice(i, i + 76))
  return lines.join('\r\n')
}

/** What is not printable ASCII, and `+` and `=`. */
const HIDDEN_IN_XTEXT = /[^!-*,-<>-~]/g

/** Text as a DSN parameter, by its UTF-8 octets (RFC 3461, section 4). */
export const encodeXtext = (text: string): string =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(HIDDEN_IN_XTEXT, (char) => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** Decodes xtext; octets that are no UTF-8 become U+FFFD. */
export const decodeXtext = (xtext: string): string => {
  if (!xtext.includes('+')) return xtext
  const bytes = Buffer.from(xtext, 'utf8')
    .toString('latin1')
    .replace(/\+([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** What may stand as an xtext parameter unchanged; never empty. */
export const XTEXT = /^(?:[!-*,-<>-~]|\+[0-9A-F]{2})+$/

/** An international address in printable ASCII: `\x{F6}` for what is not (RFC 6533, section 3, utf-8-addr-xtext). */
export const encodeUtf8Xtext = (address: string): string =>
  [...address]
    .map((char) => {
      const point = char.codePointAt(0) ?? 0
      const plain = point > 0x20 && point < 0x7f && !'\\+='.includes(char)
      return plain ? char : `\\x{${point.toString(16).toUpperCase()}}`
    })
    .join('')
