/**
 * NAME      body - the octets of a request to a JSON value, or to the parts of a form
 *   Strict where a lenient reader would hide a mistake or an attack: UTF-8 alone, plain, gzip or deflate; invalid UTF-8, lone
 *   surrogates, `__proto__` keys, a form that was cut off and a part without a name are refused instead of mended. The limit
 *   holds for the bytes as declared, as received and as unpacked, so a small archive of a large nothing ends early. No body at
 *   all is undefined.
 *   Forms are multipart/form-data (RFC 7578) and application/x-www-form-urlencoded. Files are given as base64, as JSON has
 *   them; names may repeat, and the order stays. The readers of hapi and undici are not used: the one breaks letters where two
 *   pieces meet, the other ends a file where the boundary stands in a line of it.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Fault, invalid } from '../../base/fault.js'
import { Growing } from '../../base/memory.js'

const malformed = (detail: string): Fault => new Fault('request.body_malformed', { detail })

const OTHER_CHARSET = /^charset\s*=(?!\s*"?utf-?8"?$)/i

/** `application/json`, whatever its parameters, except for a charset that is not ours. */
const isJson = (type: string): boolean => {
  const [name = '', ...parameters] = type.split(';').map((part) => part.trim())
  return name.toLowerCase() === 'application/json' && !parameters.some((one) => OTHER_CHARSET.test(one))
}

const MULTIPART = /^multipart\/form-data[ \t]*(?:;|$)/i
const URLENCODED =
  /^application\/x-www-form-urlencoded[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?utf-8"?[ \t]*)?$/i

const isUrlencoded = (type: string): boolean => URLENCODED.test(type)

export const isForm = (type: string): boolean => MULTIPART.test(type) || isUrlencoded(type)

const ENCODINGS = new Set(['gzip', 'deflate', 'identity'])

const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const tooLarge = (maxBytes: number): Fault =>
  new Fault('request.body_too_large', { detail: `A body of this endpoint has at most ${maxBytes} bytes` })

const JSON_ONLY = 'application/json in UTF-8'
const FORMS_ONLY = 'multipart/form-data or application/x-www-form-urlencoded'

/** What the headers alone can tell, before a byte of the body is asked for. */
export const checkDeclared = (headers: IncomingHttpHeaders, maxBytes: number, forms = false): void => {
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (!hasBody(headers)) return
  const type = headers['content-type']
  const encoding = headers['content-encoding']
  const isOurs = forms ? isForm(type ?? '') : !type || isJson(type)
  if (!isOurs || (encoding && !ENCODINGS.has(encoding))) {
    const detail = `Send ${forms ? FORMS_ONLY : JSON_ONLY}: plain, or with a Content-Encoding of gzip or deflate`
    throw new Fault('request.media_type_unsupported', { detail })
  }
}

/** From here on a body has memory of its own, which is given back at once. */
const LARGE = 64 * 1024

/** Collects a stream, already unpacked, up to a limit. `grown` is told each size and what came, and may throw a Fault. */
export const collect = (
  source: Readable,
  maxBytes: number,
  grown: (size: number, chunk: Buffer) => void,
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let large: Growing | null = null
    let size = 0
    const refuse = (fault: Fault): void => {
      large?.free()
      reject(fault)
    }
    source.on('data', (chunk: Buffer) => {
      size += chunk.length
      try {
        if (size > maxBytes) throw tooLarge(maxBytes)
        grown(size, chunk)
      } catch (fault) {
        source.removeAllListeners('data').pause()
        refuse(fault as Fault)
        return
      }
      if (size <= LARGE) chunks.push(chunk)
      else {
        if (large === null) {
          large = new Growing(maxBytes)
          for (const one of chunks.splice(0)) large.append(one)
        }
        large.append(chunk)
      }
    })
    source.once('end', () =>
      resolve(large?.whole() ?? ((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) as Buffer)),
    )
    source.once('error', () => refuse(malformed('The body could not be unpacked, or was cut off')))
    // Every stream closes in the end; only one that closes early was cut off.
    source.once('close', () => {
      if (!source.readableEnded) refuse(new Fault('request.malformed'))
    })
  })

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Our deepest shape has five levels. */
const DEEPEST = 20
/**
 * Texts (names too), lists and objects: each takes twenty times its octets, where a number takes four
 * times its own. The fullest batch of a hundred mails with a thousand files each comes near.
 */
const MOST_PARTS = 2_000_000

interface Weight {
  /** How many values there are, about: what a reader of them takes time for. */
  readonly values: number
  /** Those that are dear: texts, lists and objects. */
  readonly parts: number
  readonly tooDeep: boolean
}

/** A body of more than one of these takes longer than others should wait: a thread reads it. */
const LONGEST = 256 * 1024
const MOST_VALUES = 2_000

/** null for such a body, which is weighed no further. */
export const weighLight = (bytes: Uint8Array): Weight | null => {
  const weight = bytes.length > LONGEST ? null : weigh(bytes)
  return weight === null || weight.values > MOST_VALUES ? null : weight
}

/** A look at the octets before anybody reads them as JSON. It ends at the first level too deep. */
export const weigh = (bytes: Uint8Array): Weight => {
  let values = 0
  let parts = 0
  let depth = 0
  const { length } = bytes
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      parts++
      while (++i < length && bytes[i] !== QUOTE) if (bytes[i] === BACKSLASH) i++
    } else if (byte === 0x5b || byte === 0x7b) {
      values++
      parts++
      if (++depth > DEEPEST) return { values, parts, tooDeep: true }
    } else if (byte === 0x5d || byte === 0x7d) depth--
    else if (byte === 0x2c || byte === 0x3a) values++
  }
  return { values, parts, tooDeep: false }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
/** Texts in which a `__proto__` key or half a surrogate pair might hide. */
const SUSPECT = /__proto__|\\u(?:005[fF]|00[67]|[dD][89a-fA-F])/

const LONE_SURROGATE = /\p{Surrogate}/u

const checkKeysAndText = (root: unknown): void => {
  const open: unknown[] = [root]
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value === 'string' && LONE_SURROGATE.test(value)) {
      throw malformed('A text has half of a surrogate pair')
    }
    if (typeof value !== 'object' || value === null) continue
    if (Array.isArray(value)) {
      // Files may come as arrays of bytes, millions of them.
      for (const inner of value) if (typeof inner !== 'number') open.push(inner)
      continue
    }
    if (Object.hasOwn(value, '__proto__')) throw malformed('No member may be named __proto__')
    for (const key of Object.keys(value)) open.push(key, (value as Record<string, unknown>)[key])
  }
}

const read = <T>(reader: () => T, detail: string): T => {
  try {
    return reader()
  } catch {
    throw malformed(detail)
  }
}

/** What is wrong with a body as a whole, whatever stands in it. */
export const tooMany = (most: number, what: string): Fault =>
  invalid([{ field: 'body', kind: 'too_many', message: `must have at most ${most} ${what}` }])

/** The value, undefined for no bytes; throws request.body_malformed, or that there is too much in it. */
export const parseJson = (bytes: Uint8Array, { parts, tooDeep }: Weight = weigh(bytes)): unknown => {
  if (bytes.length === 0) return undefined
  if (tooDeep) throw malformed(`The body is nested deeper than ${DEEPEST} levels`)
  if (parts > MOST_PARTS) throw tooMany(MOST_PARTS, 'texts, lists and objects')
  const text = read(() => utf8.decode(bytes), 'The body is not well-formed UTF-8')
  const value: unknown = read(() => JSON.parse(text), 'The body is not well-formed JSON')
  if (SUSPECT.test(text)) checkKeysAndText(value)
  return value
}

export interface FormPart {
  readonly name: string
  /** A text, or the octets of a file as base64. */
  readonly value: string
  readonly file: { readonly filename: string; readonly type: string | null } | null
}

/** Some clients write each of a thousand recipients as one. */
const MOST_FORM_PARTS = 2_000
const MOST_PART_HEAD = 8 * 1024

/** A BOM is a letter of the text. */
const asSent = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const textOf = (bytes: Uint8Array, what: string): string => {
  try {
    return asSent.decode(bytes)
  } catch {
    throw malformed(`${what} is not well-formed UTF-8`)
  }
}

/** `; name="value"`; the star is of RFC 8187. */
const PARAMETER = /;[ \t]*([!#$%&'+.^_`|~\w-]+?)(\*?)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))[ \t]*/y

/** Browsers write %22 for a quote, others a backslash before it. */
const unquoted = (text: string): string =>
  text
    .replace(/\\(["\\])/g, '$1')
    .replace(/%22/g, '"')
    .replace(/%0D/gi, '\r')
    .replace(/%0A/gi, '\n')

const extended = (text: string): string => {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(text) ?? []
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded)
  } catch {
    // told below
  }
  throw malformed('A parameter with a star is not in percent-encoded UTF-8')
}

/** What stands behind the first word of a field of a part. */
const parametersOf = (value: string, from: number): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  // some end with one that is empty
  const end = value.endsWith(';') ? value.length - 1 : value.length
  PARAMETER.lastIndex = from
  while (PARAMETER.lastIndex < end) {
    const [, name = '', star, quoted, token = ''] = PARAMETER.exec(value) ?? [undefined]
    if (name === '') throw malformed('A field of a part has parameters that are none')
    const key = `${name.toLowerCase()}${star}`
    if (found.has(key)) throw malformed(`A part has two values for ${key}`)
    found.set(key, star ? extended(quoted ?? token) : quoted === undefined ? token : unquoted(quoted))
  }
  return found
}

const boundaryOf = (type: string): string => {
  const boundary = parametersOf(type.trimEnd(), type.indexOf(';') < 0 ? type.length : type.indexOf(';'))
  const text = boundary.get('boundary') ?? ''
  if (/^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(text)) return text
  throw malformed('Content-Type names no boundary of 1 to 70 letters')
}

const FIELDS = new Set(['content-disposition', 'content-type', 'content-transfer-encoding'])

/** Fields by their names in lower case. */
const headOf = (bytes: Uint8Array): ReadonlyMap<string, string> => {
  const fields = new Map<string, string>()
  for (const line of textOf(bytes, 'The head of a part').split('\r\n')) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*)$/.exec(line) ?? []
    const key = name.toLowerCase()
    if (key === '') throw malformed('The head of a part has a line that is no field')
    if (FIELDS.has(key) && fields.has(key)) throw malformed(`A part has ${name} twice`)
    fields.set(key, value.trimEnd())
  }
  return fields
}

/** Refuses what would be read otherwise than it was meant. */
const demandPlain = (type: string | undefined, encoding: string | undefined, isFile: boolean): void => {
  if (encoding !== undefined && !/^(?:binary|8bit|7bit)$/i.test(encoding))
    throw malformed('Parts of a form are sent as they are, without a Content-Transfer-Encoding')
  if (type === undefined) return
  if (/^multipart\//i.test(type)) throw malformed('A part of a form must not be multipart itself')
  const [, charset] = /;[ \t]*charset[ \t]*=[ \t]*"?([^\s;"]*)/i.exec(type) ?? []
  if (!isFile && charset !== undefined && !/^(?:utf-?8|us-ascii)$/i.test(charset))
    throw malformed('Texts of a form are UTF-8')
}

const partOf = (head: Uint8Array, content: Buffer): FormPart => {
  const fields = headOf(head)
  const disposition = fields.get('content-disposition') ?? ''
  const [begin] = /^form-data[ \t]*(?=;)/i.exec(disposition) ?? []
  if (begin === undefined) throw malformed('A part has no Content-Disposition: form-data')
  const said = parametersOf(disposition, begin.length)
  const name = said.get('name*') ?? said.get('name') ?? ''
  if (name === '') throw malformed('A part has no name')
  const filename = said.get('filename*') ?? said.get('filename')
  const type = fields.get('content-type')
  demandPlain(type, fields.get('content-transfer-encoding'), filename !== undefined)
  return filename === undefined
    ? { name, value: textOf(content, `The text of ${JSON.stringify(name.slice(0, 80))}`), file: null }
    : { name, value: content.toString('base64'), file: { filename, type: type || null } }
}

const CRLF = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const CUT_OFF = 'The form was cut off: its last boundary is missing'

/** Where the line of a boundary goes on, past blanks. */
const past = (bytes: Buffer, from: number): number => {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++
  return at
}

const isDashed = (bytes: Buffer, at: number): boolean => bytes[at] === 0x2d && bytes[at + 1] === 0x2d

/** Whether a line ends there, or all does. */
const isLineEnd = (bytes: Buffer, at: number): boolean =>
  at >= bytes.length || bytes.subarray(at, at + 2).equals(CRLF)

const NOWHERE = -1

/** Where a boundary is, with the CRLF before it; one that goes on behind its last dashes is a line as others. From before the beginning: the
 *  first line has no CRLF before it. */
const delimiterFrom = (bytes: Buffer, delimiter: Buffer, from: number): number => {
  const isHere = (at: number): boolean => {
    const behind = at + delimiter.length
    return !isDashed(bytes, behind) || isLineEnd(bytes, past(bytes, behind + 2))
  }
  const isFirst = bytes.subarray(0, delimiter.length - CRLF.length).equals(delimiter.subarray(CRLF.length))
  if (from < 0 && isFirst && isHere(from)) return from
  let at = bytes.indexOf(delimiter, Math.max(from, 0))
  while (at >= 0 && !isHere(at)) at = bytes.indexOf(delimiter, at + delimiter.length)
  return at
}

const multipart = (bytes: Buffer, boundary: string): readonly FormPart[] => {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const first = delimiterFrom(bytes, delimiter, -CRLF.length)
  if (first === NOWHERE) throw malformed('The body has no part of the boundary that Content-Type names')
  const parts: FormPart[] = []
  for (let at = first + delimiter.length; ; ) {
    if (isDashed(bytes, at)) return parts
    if (parts.length === MOST_FORM_PARTS) throw tooMany(MOST_FORM_PARTS, 'parts')
    const line = past(bytes, at)
    if (line >= bytes.length) throw malformed(CUT_OFF)
    if (!bytes.subarray(line, line + 2).equals(CRLF)) throw malformed('A boundary does not end its line')
    const head = line + 2
    const headEnd = bytes.subarray(head, head + MOST_PART_HEAD).indexOf(HEAD_END)
    if (headEnd < 0) {
      const isCut = bytes.length - head <= MOST_PART_HEAD
      throw malformed(isCut ? CUT_OFF : `The head of a part has at most ${MOST_PART_HEAD} octets`)
    }
    const content = head + headEnd + HEAD_END.length
    const end = delimiterFrom(bytes, delimiter, content)
    if (end === NOWHERE) throw malformed(CUT_OFF)
    parts.push(partOf(bytes.subarray(head, head + headEnd), bytes.subarray(content, end)))
    at = end + delimiter.length
  }
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw malformed('The form is not in percent-encoded UTF-8')
  }
}

const urlencoded = (bytes: Uint8Array): readonly FormPart[] => {
  const pairs = textOf(bytes, 'The form').split('&', MOST_FORM_PARTS + 1)
  if (pairs.length > MOST_FORM_PARTS) throw tooMany(MOST_FORM_PARTS, 'parts')
  return pairs
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=')
      const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)]
      return { name: decoded(name), value: decoded(value), file: null }
    })
}

/** `type` is the Content-Type of the request. Throws request.body_malformed, or that there is too much in it. */
export const parseForm = (bytes: Uint8Array, type: string): readonly FormPart[] => {
  if (bytes.length === 0) return []
  if (isUrlencoded(type)) return urlencoded(bytes)
  return multipart(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), boundaryOf(type))
}
