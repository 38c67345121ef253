/**
 * NAME      mime - the top level of a mail and no deeper, its bytes as readable text, and the addresses in it
 *   Splits a mail into its header and the direct children of its top multipart. A part inside a returned message is never
 *   looked at: hoisting it is how a forged status part gets in. The top is the outermost multipart, except that a mixed
 *   or signed wrapper whose first child is a multipart/report (list footers, signatures) gives way to it. A boundary in
 *   the header that does not occur in the body (gateways rewrite it) is replaced by the one that the body uses.
 *   Reads at most 1 MB, 60 parts and depth 5, in linear time; nothing throws. Attachments are for unpack.ts.
 *   Transfer encodings, charsets, encoded words and HTML are reduced to plain text: an unknown charset is read as UTF-8
 *   and, where that fails, as Windows-1252. Inputs are "binary strings", one character per byte, because most of a report
 *   is ASCII and never needs decoding.
 *   An address is found by walking outward from each `@`, so the cost is linear whatever the text. Quoted local parts and
 *   non-ASCII letters count (RFC 6531), but only of alphabets that put spaces between words: in Chinese or Japanese text
 *   nothing else would end the address. Wrappers such as <>, '' and `SMTP:` are not part of it.
 */
/** One pattern out of several, so that a long list can be read line by line. */
export const anyOf = (...some: readonly RegExp[]): RegExp =>
  new RegExp(some.map((one) => one.source).join('|'), some[0]?.flags)

const ascii = (text: string): boolean => !/[^\x00-\x7f]/.test(text)

const bytesOf = (binary: string): Buffer => Buffer.from(binary, 'latin1')

/** UTF-16 of either order: by its mark, or by the half that is empty in Western text. */
const wideName = (name: string, binary: string): string => {
  if (!/^utf-?16(?:le|be)?$/.test(name)) return name
  const big = binary.startsWith('\xfe\xff') || (!binary.startsWith('\xff\xfe') && binary.startsWith('\0'))
  return big || name.endsWith('be') ? 'utf-16be' : 'utf-16le'
}

/** Bytes to text in a named charset; a wrong or missing name falls back. */
export const decodeCharset = (binary: string, charset: string): string => {
  const name = wideName(charset.toLowerCase(), binary)
  if (name === 'utf-16le' || name === 'utf-16be') return new TextDecoder(name).decode(bytesOf(binary))
  if (ascii(binary) && !(name.startsWith('iso-2022') && binary.includes('\x1b'))) return binary
  for (const label of [name, 'utf-8']) {
    if (label === '' || label === 'us-ascii') continue
    try {
      return new TextDecoder(label, { fatal: true }).decode(bytesOf(binary))
    } catch {
      // not this one
    }
  }
  return new TextDecoder('windows-1252').decode(bytesOf(binary))
}

const unquote = (body: string): string =>
  body
    .replace(/=[ \t]{0,9}\n/g, '')
    .replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/** Undoes base64 or quoted-printable; anything else is returned as it is. */
export const decodeTransfer = (body: string, encoding: string): string => {
  const name = encoding.toLowerCase()
  if (name === 'quoted-printable') return unquote(body)
  if (name === 'base64') return Buffer.from(body, 'base64').toString('latin1').replace(/\r\n?/g, '\n')
  return body
}

const WORD = /=\?([\w.:-]{1,40})(?:\*[\w-]{1,20})?\?([bq])\?([^?\s]{0,400})\?=(?:\s+(?==\?))?/gi

/** RFC 2047 encoded words in a header value. */
export const decodeWords = (value: string): string => {
  if (!value.includes('=?')) return decodeCharset(value, 'utf-8')
  return value.replace(WORD, (_, charset: string, kind: string, text: string) =>
    decodeCharset(
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('latin1')
        : unquote(text.replace(/_/g, ' ')),
      charset,
    ),
  )
}

const ENTITIES: Record<string, string> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  '#39': "'",
  '#64': '@',
}
const BREAKING = /^<\/?(?:br|p|div|tr|td|table|li|ul|ol|h[1-6]|pre|hr|blockquote)\b/i
const ADDRESS_TAG = /^<[^\s"'=<>]+@[^\s"'=<>]+>$/

/** Cuts `<style>…</style>` and its like by searching forward only, so the cost is linear. */
const withoutBlocks = (html: string): string => {
  let text = html
  for (const name of ['style', 'script', 'head']) {
    const kept: string[] = []
    const lower = text.toLowerCase()
    let at = 0
    for (let open = lower.indexOf(`<${name}`); open >= 0; open = lower.indexOf(`<${name}`, at)) {
      const close = lower.indexOf(`</${name}`, open)
      if (close < 0) break
      kept.push(text.slice(at, open))
      at = close
    }
    kept.push(text.slice(at))
    text = kept.join(' ')
  }
  return text
}

/** HTML as lines of text. `<user@example.com>` is kept: careless notices do not escape it. */
export const htmlToText = (html: string): string => {
  const body = withoutBlocks(html)
  const lines = body.split('\n')
  const lined = /<(?:br|p|div|tr)\b/i.test(body) ? lines.map((line) => line.trim()).join(' ') : body
  return lined
    .replace(/<[/!a-z][^<>]{0,2000}>/gi, (tag) =>
      ADDRESS_TAG.test(tag) ? tag : BREAKING.test(tag) ? '\n' : '',
    )
    .replace(/&(#?\w{1,8});/g, (all, name: string) => ENTITIES[name.toLowerCase()] ?? all)
}

export interface FoundAddress {
  readonly address: string
  readonly start: number
  readonly end: number
}

const LOCAL = /[A-Za-z0-9.!#$%&'*+/=?^_`{|}~\-\u00c0-\u052f]/
const DOMAIN = /[A-Za-z0-9.\-_\u00c0-\u052f]/
const MAX_LOCAL = 128
const MAX_DOMAIN = 255
const MAX_FOUND = 200

const localStart = (line: string, at: number): number => {
  if (line[at - 1] === '"') {
    const open = line.lastIndexOf('"', at - 2)
    return open >= 0 && at - open <= MAX_LOCAL ? open : at
  }
  let start = at
  while (start > 0 && at - start < MAX_LOCAL && LOCAL.test(line[start - 1] ?? '')) start--
  return start
}

const domainEnd = (line: string, at: number): number => {
  let end = at + 1
  if (line[end] === '[') {
    const close = line.indexOf(']', end)
    return close > 0 && close - end < 60 ? close + 1 : at + 1
  }
  while (end < line.length && end - at < MAX_DOMAIN && DOMAIN.test(line[end] ?? '')) end++
  while (end > at + 1 && /[.\-_]/.test(line[end - 1] ?? '')) end--
  return end
}

export const findAddresses = (line: string): FoundAddress[] => {
  const found: FoundAddress[] = []
  let done = 0
  for (let at = line.indexOf('@'); at >= 0 && found.length < MAX_FOUND; at = line.indexOf('@', at + 1)) {
    let start = Math.max(localStart(line, at), done)
    const end = domainEnd(line, at)
    const prefix = /^(?:smtp|rfc-?822|to|mailto|address)=/i.exec(line.slice(start, at))
    if (prefix !== null) start += prefix[0].length
    while (start < at && /['`*|=?]/.test(line[start] ?? '') && line[start] !== '"') start++
    if (line[start] === '/') start = line.lastIndexOf('/', at) + 1
    if (start >= at || end <= at + 1) continue
    done = end
    found.push({ address: line.slice(start, end), start, end })
  }
  return found
}

/** The same mailbox, whatever the case. */
export const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** The first of each mailbox, in order. */
export const uniqueBy = <T>(list: readonly T[], addressOf: (one: T) => string): T[] => {
  const seen = new Map<string, T>()
  for (const one of list) {
    const key = addressOf(one).toLowerCase()
    if (!seen.has(key)) seen.set(key, one)
  }
  return [...seen.values()]
}

const MAX_BYTES = 1 << 20
const MAX_PARTS = 60
/** Of one part, but for a status part, which may name thousands: far more than any notice needs. */
const MAX_TEXT = 200_000
const MAX_DEPTH = 5
const MAX_FIELDS = 2_000
const MAX_VALUE = 8_000
const MAX_WORDS = 1_000

export type Headers = ReadonlyMap<string, readonly string[]>

export interface MimePart {
  readonly headers: Headers
  /** `text/plain` in lower case; empty when the header names none. */
  readonly type: string
  readonly body: string
}

/** The bytes as a binary string with LF line ends. */
export const toBinary = (raw: Uint8Array): string => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MAX_BYTES))
  const text = bytes.toString('latin1')
  const unmarked = text.startsWith('\xef\xbb\xbf') ? text.slice(3) : text
  return unmarked.includes('\r') ? unmarked.replaceAll('\r\n', '\n') : unmarked
}

const FIELD = /^([!-9;-~]{1,100})[ \t]*:[ \t]*(.*)\r?$/

/** Header fields by lower-case name, unfolded, and where the body starts; lines may end in CRLF, too. */
export const readHeaders = (text: string, from = 0): { headers: Headers; bodyAt: number } => {
  const headers = new Map<string, string[]>()
  let last: string[] | null = null
  let at = from
  for (let count = 0; at < text.length && count < MAX_FIELDS; count++) {
    const end = text.indexOf('\n', at)
    const next = end < 0 ? text.length : end + 1
    const line = text.slice(at, end < 0 ? text.length : end)
    if (line.trim() === '') return { headers, bodyAt: next }
    const folded = line[0] === ' ' || line[0] === '\t'
    const field = folded ? null : FIELD.exec(line)
    if (folded && last !== null) {
      const value = last[last.length - 1] ?? ''
      if (value.length < MAX_VALUE) last[last.length - 1] = `${value} ${line.trim().slice(0, MAX_VALUE)}`
    } else if (field !== null) {
      const name = (field[1] ?? '').toLowerCase()
      last = headers.get(name) ?? []
      last.push((field[2] ?? '').trim().slice(0, MAX_VALUE))
      headers.set(name, last)
    } else if (!(count === 0 && /^>?From /.test(line))) {
      return { headers, bodyAt: at }
    }
    at = next
  }
  return { headers, bodyAt: at }
}

export const header = (headers: Headers, name: string): string => headers.get(name)?.[0] ?? ''

export const words = (headers: Headers, name: string): string =>
  decodeWords(header(headers, name).slice(0, MAX_WORDS))

const parameter = (value: string, name: string): string => {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]{0,300})"|([^\\s;]{1,300}))`, 'i').exec(
    value.slice(0, 2000),
  )
  return found?.[1] ?? found?.[2] ?? ''
}

export const typeOf = (headers: Headers): string =>
  (/^[\w.+-]+\/[\w.+-]+/.exec(header(headers, 'content-type'))?.[0] ?? '').toLowerCase()

export const boundaryOf = (headers: Headers): string => parameter(header(headers, 'content-type'), 'boundary')

const readPart = (text: string): MimePart => {
  const { headers, bodyAt } = readHeaders(text)
  return { headers, type: typeOf(headers), body: text.slice(bodyAt) }
}

/** A boundary that the body uses although the header does not name it: `--token` above a Content- line. */
export const strayBoundary = (body: string): string =>
  /(?:^|\n)--(\S[^\n]{0,100}?)[ \t]{0,20}\n(?:Content-[A-Za-z-]+|MIME-Version):/i.exec(
    body.slice(0, MAX_TEXT),
  )?.[1] ?? ''

const split = (body: string, boundary: string): string[] => {
  const mark = `--${boundary}`
  const parts: string[] = []
  let start = -1
  let at = body.startsWith(mark) ? 0 : body.indexOf(`\n${mark}`) + 1
  if (at === 0 && !body.startsWith(mark)) return parts
  while (parts.length < MAX_PARTS) {
    const lineEnd = body.indexOf('\n', at)
    const tail = body.slice(at + mark.length, lineEnd < 0 ? body.length : lineEnd).trimEnd()
    if (tail === '' || tail === '--') {
      if (start >= 0) parts.push(body.slice(start, at > 0 ? at - 1 : 0))
      start = lineEnd < 0 ? body.length : lineEnd + 1
      if (tail === '--') return parts
    }
    const next = lineEnd < 0 ? -1 : body.indexOf(`\n${mark}`, lineEnd - 1 < 0 ? 0 : lineEnd)
    if (next < 0) break
    at = next + 1
  }
  if (start >= 0) parts.push(body.slice(start))
  return parts
}

/** The direct children of a multipart; none when it is not one or its boundary is nowhere. */
const childrenOf = (part: MimePart): MimePart[] => {
  if (!part.type.startsWith('multipart/')) return []
  const named = boundaryOf(part.headers)
  const texts = named === '' ? [] : split(part.body, named)
  if (texts.length > 0) return texts.map(readPart)
  const stray = strayBoundary(part.body)
  return stray === '' ? [] : split(part.body, stray).map(readPart)
}

export interface Mail {
  readonly headers: Headers
  /** Type of the top multipart after unwrapping, or of the whole mail. */
  readonly type: string
  /** The children that may be believed, or the mail itself as the only part. */
  readonly parts: readonly MimePart[]
  /** True when a multipart was declared and no boundary could be found. */
  readonly broken: boolean
}

export const readMail = (text: string): Mail => {
  const whole = readPart(text)
  let top = whole
  let parts = childrenOf(whole)
  for (let depth = 1; depth < MAX_DEPTH; depth++) {
    const first = parts[0]
    if (first?.type !== 'multipart/report' || !/^multipart\/(?:mixed|signed)$/.test(top.type)) break
    const inner = childrenOf(first)
    if (inner.length === 0) break
    top = first
    parts = inner
  }
  const broken = parts.length === 0 && whole.type.startsWith('multipart/')
  return { headers: whole.headers, type: top.type, parts: parts.length > 0 ? parts : [whole], broken }
}

const RETURNED =
  /^(?:message\/(?:rfc822|global|partial|rfc822-headers|global-headers)|text\/rfc822-headers?)$/

/** A part's body, decoded from its transfer encoding and charset. */
export const textOf = (part: MimePart): string => {
  const encoding = header(part.headers, 'content-transfer-encoding').trim()
  const most = part.type.endsWith('delivery-status') ? MAX_BYTES : MAX_TEXT
  const body = decodeTransfer(part.body.slice(0, most), encoding)
  return decodeCharset(body, parameter(header(part.headers, 'content-type'), 'charset'))
}

/** The readable text of a part: plain text before HTML inside multipart/alternative and its like. */
export const readableOf = (part: MimePart, depth = 0): string => {
  if (part.type.startsWith('multipart/') && depth < MAX_DEPTH) {
    const inner = childrenOf(part)
    const plain = inner.find((one) => one.type === 'text/plain' || one.type === '')
    const chosen = plain ?? inner[0]
    // A multipart whose boundary is nowhere is read as the text that it is.
    return chosen === undefined ? textOf(part) : readableOf(chosen, depth + 1)
  }
  if (part.type === 'text/html') return htmlToText(textOf(part))
  return part.type === '' || part.type.startsWith('text/') ? textOf(part) : ''
}

/** A copy of our mail: never read for what the report says. A child without a type that was received is one too. */
export const isReturned = (part: MimePart, top: Headers): boolean =>
  RETURNED.test(part.type) || (part.type === '' && part.headers !== top && part.headers.has('received'))
