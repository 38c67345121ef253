/**
 * NAME      content - what was written in a mail, read from its octets, and its HTML with nothing in it that acts
 *   One request for the source serves every tab. The leaves of a message are found by searching its octets for boundaries;
 *   nothing is decoded until a part is asked for. Linear in the size of the message, bounded in depth and number, and nothing
 *   throws: what is broken is read as far as it goes. Texts are bounded: a page shows the beginning, and the file has the rest.
 *   A file is saved (Content-Disposition, RFC 6266, 8187) under a name without folders, control and direction characters: a
 *   sender must not choose where it lands, nor hide what it is.
 *   HTML is read by a real parser, with a turn for other work after each piece, and written anew from a list of elements and
 *   attributes that only show. What is not listed is left out: scripts, forms, frames, `meta`, `base`, `link`, SVG, event
 *   attributes. Links lead nowhere and say where they would; `cid:` pictures become `data:`; remote ones only stay when the
 *   reader asks for them. The sandbox and the policy of the route would stop all of it as well: none of the three needs the others.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { Parser } from 'htmlparser2'
import { orElse } from '../../base/fault.js'
import { decodeWords, fromRaw } from '../../mail/encoding.js'
import { fieldValue, scanHeader } from '../../mail/header.js'
import { decodeCharset } from '../../mail/report/mime.js'
import { AskError, type Problem } from '../ask.js'
import type { Visit } from '../visit.js'

const SHOWN = new Set(
  `a abbr address area article aside b bdi bdo big blockquote body br caption center cite code col colgroup dd del dfn div
  dl dt em fieldset figcaption figure font footer h1 h2 h3 h4 h5 h6 head header hgroup hr html i img ins kbd label legend li
  main map mark nav ol p pre q s samp section small span strike strong style sub summary sup table tbody td tfoot th thead
  time tr tt u ul var wbr`.split(/\s+/),
)
/** Left out with all that is in them. */
const SWALLOWED = new Set(
  `script template iframe object embed applet noembed noframes svg math title textarea select audio video canvas plaintext
  noscript frameset`.split(/\s+/),
)
const VOID = new Set(['area', 'br', 'col', 'hr', 'img', 'wbr'])
const ATTRIBUTES = new Set(
  `abbr align alt bgcolor border cellpadding cellspacing char class clear color colspan coords datetime dir face headers
  height hspace id lang media name noshade nowrap role rowspan rules scope shape size span start style summary title type
  usemap valign value vspace width`.split(/\s+/),
)

/** Read on this thread without a pause. */
const PIECE = 16 * 1024
/** Of elements in one another; browsers stop at as many. The parser's time grows with the square of it. */
const DEEPEST = 512

export interface CleanOptions {
  /** Remote pictures stay. */
  readonly images: boolean
  /** The `data:` URL of a part by its Content-ID; null when there is none. */
  readonly picture: (contentId: string) => string | null
  /** Hosts that no picture may be fetched from: our own. */
  readonly never: readonly string[]
}

interface Cleaned {
  readonly html: string
  /** Remote pictures that it has, shown or not. */
  readonly remote: number
}

const text = (value: string): string =>
  value.replace(/[&<>]/g, (one) => (one === '&' ? '&amp;' : one === '<' ? '&lt;' : '&gt;'))
const attribute = (value: string): string => text(value).replaceAll('"', '&quot;')

const withoutBlanks = (url: string): string => url.replace(/[\p{Cc}\s]/gu, '')

const isRemote = (url: string): boolean => /^(?:https?:)?\/\//i.test(url)

const hostOf = (url: string): string | null => orElse(() => new URL(url, 'http://none.invalid').host, null)

/** Nothing is fetched for looks; the policy of the route stops what is written so that this does not see it. */
const quietCss = (css: string, images: boolean): string => {
  const alone = css.replace(/@import\b/gi, '@-import')
  return images ? alone : alone.replace(/url\(\s*(["']?)\s*(?!["']?data:)/gi, 'url($1data:,')
}

class Writer {
  readonly out: string[] = []
  remote = 0
  /** Open elements, shown or not. */
  depth = 0
  #swallowed = 0
  #style: string | null = null
  readonly #options: CleanOptions

  constructor(options: CleanOptions) {
    this.#options = options
  }

  /** Where a picture may come from, or null. */
  #source(raw: string): string | null {
    const url = withoutBlanks(raw)
    const { images, picture, never } = this.#options
    if (/^cid:/i.test(url)) return picture(decodeURIComponentSafe(url.slice(4)))
    if (/^data:image\/(?:png|jpe?g|gif|webp|bmp|avif|x-icon)[;,]/i.test(url)) return url
    if (!isRemote(url)) return null
    this.remote++
    const host = hostOf(url)
    return images && host !== null && !never.includes(host) ? url : null
  }

  #attributes(name: string, given: Readonly<Record<string, string>>): string {
    let said = ''
    const add = (key: string, value: string): void => {
      said += ` ${key}="${attribute(value)}"`
    }
    for (const [key, value] of Object.entries(given)) {
      if (key === 'style') add(key, quietCss(value, this.#options.images))
      else if (ATTRIBUTES.has(key)) add(key, value)
      else if ((key === 'src' && name === 'img') || key === 'background') {
        const source = this.#source(value)
        if (source !== null) add(key, source)
      } else if (key === 'href' && (name === 'a' || name === 'area')) {
        const url = withoutBlanks(value)
        add('href', url.startsWith('#') ? url : '#')
        if (given.title === undefined && !url.startsWith('#')) add('title', url.slice(0, 2_000))
      }
    }
    return said
  }

  open(name: string, given: Readonly<Record<string, string>>): void {
    this.depth++
    if (SWALLOWED.has(name)) this.#swallowed++
    if (this.#swallowed > 0 || !SHOWN.has(name)) return
    if (name === 'style') this.#style = ''
    else this.out.push(`<${name}${this.#attributes(name, given)}>`)
  }

  words(value: string): void {
    if (this.#swallowed > 0) return
    if (this.#style !== null) this.#style += value
    else this.out.push(text(value))
  }

  close(name: string): void {
    this.depth--
    if (SWALLOWED.has(name)) {
      this.#swallowed = Math.max(0, this.#swallowed - 1)
    } else if (this.#swallowed === 0 && name === 'style' && this.#style !== null) {
      // no end tag may hide in it, however a browser reads one
      const css = quietCss(this.#style, this.#options.images)
      this.out.push(`<style>${css.replaceAll('<', '\\3c ')}</style>`)
      this.#style = null
    } else if (this.#swallowed === 0 && SHOWN.has(name) && !VOID.has(name)) this.out.push(`</${name}>`)
  }
}

/** Where elements stand too deep in one another, it takes the next one for empty; what is in it goes on in its parent. */
class ShallowParser extends Parser {
  readonly #writer: Writer
  #isClosing = false
  #isDeep = false

  constructor(writer: Writer) {
    super({
      onopentag: (name, given) => writer.open(name, given),
      ontext: (value) => writer.words(value),
      onclosetag: (name) => writer.close(name),
    })
    this.#writer = writer
  }

  override onopentagname(start: number, end: number): void {
    this.#isDeep = this.#writer.depth >= DEEPEST
    super.onopentagname(start, end)
  }

  override onclosetag(start: number, end: number): void {
    this.#isClosing = true
    super.onclosetag(start, end)
    this.#isClosing = false
  }

  protected override isVoidElement(name: string): boolean {
    return super.isVoidElement(name) || (this.#isDeep && !this.#isClosing)
  }
}

const decodeURIComponentSafe = (value: string): string => orElse(() => decodeURIComponent(value), value)

export const cleanHtml = async (html: string, options: CleanOptions): Promise<Cleaned> => {
  const writer = new Writer(options)
  const parser = new ShallowParser(writer)
  for (let at = 0; at < html.length; at += PIECE) {
    parser.write(html.slice(at, at + PIECE))
    await nextTurn()
  }
  parser.end()
  return { html: writer.out.join(''), remote: writer.remote }
}

const MOST_PARTS = 200
const MOST_DEPTH = 8
const HEADER_OCTETS = 16 * 1024
/** What may be a boundary, in all of a message: real ones are a few. */
const MOST_MARKS = 10_000
/** How often all of a message may be searched; parts in parts go through the same octets again. */
const MOST_SEARCHES = 4
const LONGEST_LINE = 4_000

interface Leaf {
  /** `text/plain` in lower case. */
  readonly type: string
  readonly charset: string
  readonly isAttachment: boolean
  readonly filename: string | null
  readonly contentId: string | null
  readonly encoding: string
  readonly start: number
  readonly end: number
}

type Values = ReadonlyMap<string, string>

const headerOf = (raw: Buffer, start: number, end: number): { values: Values; body: number } => {
  const head = raw.subarray(start, Math.min(end, start + HEADER_OCTETS))
  const { fields, body } = scanHeader(head)
  const values = new Map<string, string>()
  for (const field of fields) {
    if (field.name.startsWith('content-') && !values.has(field.name))
      values.set(field.name, fieldValue(head, field).slice(0, 4_000))
  }
  return { values, body: start + body }
}

const percentText = (text: string): string => {
  const [, charset = '', octets = text] = /^([\w.:-]*)'[^']*'(.*)$/s.exec(text) ?? []
  const bytes = octets.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return decodeCharset(bytes, charset)
}

const PARAMETER = /;\s*([\w!#$%&'*+.^`|~-]{1,40})\s*=\s*(?:"((?:[^"\\]|\\.){0,2000})"|([^\s;]{1,2000}))/g

/** One parameter of a structured field, in the ways of RFC 2231 and of those who never read it. */
const parameterOf = (value: string, name: string): string | null => {
  const pieces: string[] = []
  for (const [, key = '', quoted, plain] of value.matchAll(PARAMETER)) {
    const text = quoted?.replace(/\\(.)/g, '$1') ?? plain ?? ''
    const [base, second = ''] = key.toLowerCase().split('*')
    if (base !== name) continue
    if (key === base || key.toLowerCase() === name) return decodeWords(fromRaw(text))
    if (second === '') return percentText(text)
    const at = Number.parseInt(second, 10)
    if (at >= 0 && at < 50) pieces[at] = text
  }
  return pieces.length === 0 ? null : percentText(pieces.join(''))
}

const leafOf = (values: Values, start: number, end: number): Leaf => {
  const type = values.get('content-type') ?? ''
  const disposition = values.get('content-disposition') ?? ''
  return {
    type: (/^[\w.+-]+\/[\w.+-]+/.exec(type.trim())?.[0] ?? 'text/plain').toLowerCase(),
    charset: parameterOf(`;${type.slice(type.indexOf(';') + 1)}`, 'charset') ?? '',
    isAttachment: /^\s*attachment/i.test(disposition),
    filename: parameterOf(disposition, 'filename') ?? parameterOf(type, 'name'),
    contentId: values.get('content-id')?.replace(/^\s*<|>\s*$/g, '') ?? null,
    encoding: (values.get('content-transfer-encoding') ?? '').trim().toLowerCase(),
    ...{ start, end },
  }
}

/** What is left of the search: a message made for it must not keep the thread. */
interface Room {
  marks: number
  octets: number
}

const childrenOf = (
  raw: Buffer,
  boundary: string,
  [from, to]: readonly [from: number, to: number],
  room: Room,
): readonly (readonly [start: number, end: number])[] => {
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  const found: [number, number][] = []
  const within = raw.subarray(0, to)
  let open = -1
  room.octets -= to - from
  let at = room.octets < 0 ? -1 : within.indexOf(mark, from)
  while (at >= 0 && found.length < MOST_PARTS && room.marks-- > 0) {
    const isLine = at === from || raw[at - 1] === 0x0a
    const after = at + mark.length
    const line = within.subarray(after, after + LONGEST_LINE).indexOf(0x0a)
    const next = line < 0 ? to : after + line + 1
    const tail = raw.toString('latin1', after, Math.min(next, after + 80)).trim()
    if (isLine && (tail === '' || tail === '--')) {
      const end = raw[at - 2] === 0x0d ? at - 2 : at - 1
      if (open >= 0) found.push([open, Math.max(open, end)])
      open = next
      if (tail === '--') return found
    }
    at = within.indexOf(mark, after)
  }
  if (open >= 0 && open < to) found.push([open, to])
  return found
}

export const leavesOf = (raw: Buffer): readonly Leaf[] => {
  const leaves: Leaf[] = []
  const room: Room = { marks: MOST_MARKS, octets: raw.length * MOST_SEARCHES }
  const walk = (start: number, end: number, depth: number): void => {
    if (leaves.length >= MOST_PARTS) return
    const { values, body } = headerOf(raw, start, end)
    const type = values.get('content-type') ?? ''
    const boundary = /^\s*multipart\//i.test(type) ? parameterOf(type, 'boundary') : null
    const children = boundary && depth < MOST_DEPTH ? childrenOf(raw, boundary, [body, end], room) : []
    if (children.length === 0) leaves.push(leafOf(values, Math.min(body, end), end))
    for (const [from, to] of children) walk(from, to, depth + 1)
  }
  walk(0, raw.length, 0)
  return leaves
}

const hexOf = (octet: number | undefined): number => {
  const value = octet ?? 0
  if (value >= 0x30 && value <= 0x39) return value - 0x30
  const letter = value | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

const unquoted = (raw: Buffer): Buffer => {
  const out = Buffer.allocUnsafe(raw.length)
  let size = 0
  for (let at = 0; at < raw.length; at++) {
    const octet = raw[at] as number
    const [high, low] = octet === 0x3d ? [hexOf(raw[at + 1]), hexOf(raw[at + 2])] : [-1, -1]
    if (high >= 0 && low >= 0) {
      out[size++] = high * 16 + low
      at += 2
    } else if (octet === 0x3d && raw[at + 1] === 0x0d && raw[at + 2] === 0x0a) at += 2
    else if (octet === 0x3d && raw[at + 1] === 0x0a) at += 1
    else out[size++] = octet
  }
  return out.subarray(0, size)
}

/** The octets of a part, decoded; of a larger one the first `most` or some more. */
export const octetsOf = (raw: Buffer, leaf: Leaf, most = Number.POSITIVE_INFINITY): Buffer => {
  const { encoding, start } = leaf
  const dearest = encoding === 'quoted-printable' ? 3 : encoding === 'base64' ? 1.5 : 1
  const encoded = raw.subarray(start, Math.min(leaf.end, start + Math.ceil(most * dearest)))
  if (encoding === 'base64') return Buffer.from(encoded.toString('latin1'), 'base64')
  return encoding === 'quoted-printable' ? unquoted(encoded) : encoded
}

interface ReadText {
  readonly text: string
  readonly isCut: boolean
}

export const textOf = (raw: Buffer, leaf: Leaf, most: number): ReadText => {
  const octets = octetsOf(raw, leaf, most + 4)
  // a character must not be cut in two; UTF-8 continues with 10xxxxxx
  let end = Math.min(octets.length, most)
  for (let back = 0; back < 3 && end < octets.length && ((octets[end] as number) & 0xc0) === 0x80; back++)
    end--
  return {
    text: decodeCharset(octets.toString('latin1', 0, end), leaf.charset),
    isCut: end < octets.length || octets.length < (leaf.end - leaf.start) / 4,
  }
}

const readable = (type: string) => (leaf: Leaf) => leaf.type === type && !leaf.isAttachment

/** What a mail program would show, and what it would offer to save. */
export const contentOf = (leaves: readonly Leaf[]) => {
  const html = leaves.find(readable('text/html')) ?? null
  const text = leaves.find(readable('text/plain')) ?? null
  return { html, text, attachments: leaves.filter((leaf) => leaf !== html && leaf !== text) }
}

export const MOST_SHOWN = 256 * 1024
export const MOST_HTML = 1024 * 1024

export interface MailContent {
  readonly raw: Buffer
  readonly html: Leaf | null
  readonly text: Leaf | null
  readonly attachments: readonly Leaf[]
}

const contentFrom = (raw: Buffer): MailContent => ({ raw, ...contentOf(leavesOf(raw)) })

/** What /v1 refuses (the body is gone, the role sees none) comes back as its problem. */
export const askContent = async (visit: Visit, id: string): Promise<MailContent | Problem> => {
  const answer = await visit.fetch('GET', `/v1/emails/${encodeURIComponent(id)}/source`)
  if (answer.status >= 400) return JSON.parse(answer.bytes.toString('utf8')) as Problem
  return contentFrom(answer.bytes)
}

/** For routes that have nothing else to show. */
export const demandContent = async (visit: Visit, id: string): Promise<MailContent> => {
  const content = await askContent(visit, id)
  if ('code' in content) throw new AskError(content)
  return content
}

export const readPart = ({ raw }: MailContent, leaf: Leaf | null, most = MOST_SHOWN): ReadText =>
  leaf === null ? { text: '', isCut: false } : textOf(raw, leaf, most)

const LONGEST = 120

/** The last step of a path, in characters that every system takes. */
export const saveName = (name: string | null, otherwise: string): string => {
  const last = (name ?? '').normalize('NFC').split(/[\\/]/).at(-1) ?? ''
  const clean = last
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[<>:"|?*%]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '')
  if (clean === '') return otherwise
  if (clean.length <= LONGEST) return clean
  const ending = /\.[\p{L}\p{N}]{1,10}$/u.exec(clean)?.[0] ?? ''
  return [...clean].slice(0, LONGEST - ending.length).join('') + ending
}

export const asAttachment = (name: string): string => {
  const plain = name.replace(/[^\x20-\x7e]/g, '_').replace(/["\\]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`)
  return plain === name
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
