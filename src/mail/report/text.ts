/**
 * NAME      text - bytes of a mail to readable text, and the addresses in it
 * DESCRIPTION
 *   Transfer encodings, charsets, encoded words and HTML, each reduced to plain text. Nothing here throws:
 *   an unknown charset is read as UTF-8 and, where that fails, as Windows-1252. Inputs are "binary strings",
 *   one character per byte, because most of a report is ASCII and never needs decoding.
 *   Finds each `local@domain` in a line by walking outward from the `@`, so the cost is linear whatever the
 *   text. Quoted local parts and non-ASCII letters count (RFC 6531), but only of alphabets that put spaces
 *   between words: in Chinese or Japanese text nothing else would end the address. Wrappers such as <>, ''
 *   and `SMTP:` are not part of it.
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
