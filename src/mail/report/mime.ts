/**
 * NAME      mime - the top level of a mail, and no deeper
 * DESCRIPTION
 *   Splits a mail into its header and the direct children of its top multipart.
 *   A part inside a returned message is never looked at: hoisting it is how a
 *   forged status part gets in. The top is the outermost multipart, except that
 *   a mixed or signed wrapper whose first child is a multipart/report (list
 *   footers, signatures) gives way to it.
 *   A boundary in the header that does not occur in the body (gateways rewrite
 *   it) is replaced by the one that the body uses.
 *   Reads at most 1 MB, 60 parts and depth 5, in linear time; nothing throws. Attachments are for attachments.ts.
 */
import { decodeCharset, decodeTransfer, decodeWords, htmlToText } from './text.js'

const MAX_BYTES = 1 << 20
const MAX_PARTS = 60
/** Of one part, but for a status part, which may name thousands: far more than any notice needs. */
const MAX_TEXT = 200_000
const MAX_DEPTH = 5
const MAX_FIELDS = 2_000
const MAX_VALUE = 8_000
const MAX_WORDS = 1_000

export type Headers = ReadonlyMap<string, readonly string[]>

export interface Part {
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

const readPart = (text: string): Part => {
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
const childrenOf = (part: Part): Part[] => {
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
  readonly parts: readonly Part[]
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
export const textOf = (part: Part): string => {
  const encoding = header(part.headers, 'content-transfer-encoding').trim()
  const most = part.type.endsWith('delivery-status') ? MAX_BYTES : MAX_TEXT
  const body = decodeTransfer(part.body.slice(0, most), encoding)
  return decodeCharset(body, parameter(header(part.headers, 'content-type'), 'charset'))
}

/** The readable text of a part: plain text before HTML inside multipart/alternative and its like. */
export const readableOf = (part: Part, depth = 0): string => {
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
export const isReturned = (part: Part, top: Headers): boolean =>
  RETURNED.test(part.type) || (part.type === '' && part.headers !== top && part.headers.has('received'))
