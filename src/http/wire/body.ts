/**
 * NAME      body - request bytes to a JSON value
 * DESCRIPTION
 *   Strict where a lenient reader would hide a mistake or an attack: only
 *   application/json (or no type at all) in UTF-8, plain, gzip or deflate; invalid
 *   UTF-8, lone surrogates and `__proto__` keys are refused instead of mended. The
 *   limit holds for the bytes as declared, as received and as unpacked, so a small
 *   archive of a large nothing ends early. No body at all is undefined.
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

export const isUrlencoded = (type: string): boolean => URLENCODED.test(type)

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
