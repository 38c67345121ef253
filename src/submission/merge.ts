/**
 * NAME      merge - one text for many, with what is each one's own in it
 *   A template has places for variables in its subject, header fields (Reply-To too), tags, text and HTML. What a value may do there is decided by
 *   where it stands, once for all recipients: in HTML a real parser says so, over a text in which each place is a word that
 *   stands nowhere else. Values are escaped, and may stand between elements and in quoted attributes; in scripts, styles,
 *   comments, names and bare attributes nothing makes them safe, and the template is refused. A value that begins a link is
 *   http, https or mailto. There is no raw form, and a value is never read as a template again.
 */
import { randomBytes } from 'node:crypto'
import { Fault, type FieldError } from '../base/fault.js'

interface Template {
  readonly subject: string | null
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly reply_to: readonly string[]
  readonly tags: readonly { readonly name: string; readonly value: string }[]
}

/** With its sender, which is the same for all. */
export interface MergeSource extends Template {
  readonly from: string | null
}

export interface Syntax {
  /** Global, sticky at nothing; its first group is the name. */
  readonly place: RegExp
  /** What looks like one and is none; with what is wrong about it. */
  readonly almost: RegExp | null
  /** As it is shown to people. */
  readonly show: (name: string) => string
}

export const BRACES: Syntax = {
  place: /(?<!\{)\{\{[ \t]*([a-z0-9_]{1,64})[ \t]*\}\}(?!\})/g,
  almost: /\{\{/g,
  show: (name) => `{{${name}}}`,
}

type Write = (value: string) => string

interface Place {
  readonly name: string
  readonly write: Write
}

/** What goes out as it is, and places. */
type Pieces = readonly (string | Place)[]

/** A value that may not stand where it would; the place says why. */
class Unfit extends Error {}

class TooDeep extends Error {}

const AS_IT_IS: Write = (value) => value

const LINE_END = /[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]/

const inLine: Write = (value) => {
  if (LINE_END.test(value)) throw new Unfit('must not contain line breaks or control characters')
  return value
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped: Write = (value) => value.replace(/[&<>"']/g, (one) => ENTITIES[one] as string)

const link: Write = (value) => {
  if (/^(?:https?:\/\/|mailto:)/i.test(value)) return escaped(value)
  throw new Unfit('must begin with https://, http:// or mailto:, since it begins a link')
}

/** Behind a first slash a second one would name another host. */
const path: Write = (value) => {
  if (/^[\x00-\x20]*[/\\]/.test(value))
    throw new Unfit('must not begin with a slash, since it stands behind one')
  return escaped(value)
}

/** The same, with a slash behind it. */
const segment: Write = (value) => {
  if (/^[\x00-\x20]*$/.test(value)) throw new Unfit('must not be empty, since it stands between two slashes')
  return path(value)
}

/** A part of an address stays within it. */
const inMailbox: Write = (value) => {
  if (/[()<>[\]:;,"\\]/.test(value))
    throw new Unfit('must have no ( ) < > [ ] : ; , " or backslash, since it is a part of an address')
  return inLine(value)
}

/** A piece of text cut at its places. */
const cut = (text: string, { place }: Syntax, write: Write): Pieces => {
  const pieces: (string | Place)[] = []
  let at = 0
  for (const { 0: whole, 1: name = '', index } of text.matchAll(place)) {
    pieces.push(text.slice(at, index), { name, write })
    at = index + whole.length
  }
  return at === 0 ? [text] : [...pieces, text.slice(at)]
}

/** What stands alone is a whole address. */
const cutAddress = (text: string, syntax: Syntax): Pieces => {
  const pieces = cut(text, syntax, inMailbox)
  const isAlone = pieces.length === 3 && pieces[0] === '' && pieces[2] === ''
  return isAlone ? cut(text, syntax, inLine) : pieces
}

const placeOf = (text: string, index: number): string => {
  let line = 1
  let begin = 0
  for (let at = text.indexOf('\n'); at >= 0 && at < index; at = text.indexOf('\n', begin)) {
    line++
    begin = at + 1
  }
  return `line ${line}, column ${index - begin + 1}`
}

/** In all parts of a template together: each takes memory many times its letters, and time for every recipient. */
const MOST_PLACES = 10_000

/** What begins like a place and is none; the places of the others are `good`. */
const demandWhole = (
  text: string,
  good: ReadonlySet<number>,
  { almost, show }: Syntax,
  field: string,
  errors: FieldError[],
): void => {
  if (almost === null) return
  for (const { index } of text.matchAll(almost)) {
    if (good.has(index)) continue
    const message = `${placeOf(text, index)}: must be ${show('name')} with a name of a-z 0-9 _ (1 to 64), and nothing else: no raw form, no blocks`
    errors.push({ field, kind: 'format', message })
    return
  }
}

/** False where there are more places than can be kept; then the rest is not read. */
const demandPlaces = (
  parts: readonly (readonly [string, string | null])[],
  syntax: Syntax,
  field: (part: string) => string,
  errors: FieldError[],
): boolean => {
  let count = 0
  for (const [part, text] of parts) {
    if (text === null) continue
    const good = new Set<number>()
    for (const { index } of text.matchAll(syntax.place)) {
      good.add(index)
      if (++count <= MOST_PLACES) continue
      const message = `must have at most ${MOST_PLACES} places for variables, together with the other parts`
      errors.push({ field: field(part), kind: 'too_many', message })
      return false
    }
    demandWhole(text, good, syntax, field(part), errors)
  }
  return true
}

/** Elements in which a value is more than text, or less. */
const RAW = new Set(
  `script style xmp iframe noembed noframes noscript plaintext template svg math object applet listing`.split(
    ' ',
  ),
)
const LINKS = new Set(
  `href src action formaction background cite poster data xlink:href longdesc usemap codebase classid manifest profile lowsrc dynsrc`.split(
    ' ',
  ),
)
/** Attributes that are a language of their own. */
const ACTIVE =
  /^(?:on.*|style|srcdoc|srcset|imagesrcset|ping|http-equiv|is|xmlns.*|sandbox|allow|integrity|nonce)$/
/** Those of SVG that write into attributes of others, too. */
const ACTIVE_ELEMENTS = new Set(
  'meta base link embed param animate animatecolor animatemotion animatetransform set'.split(' '),
)
const SCHEME = /^[a-z][a-z0-9+.-]*:/i
const KNOWN = /^(?:https?|mailto|tel|cid):/i

/** Where a place stands among the others of its text. */
interface Around {
  /** Letters between the place before it, or the beginning, and itself; and those behind it, up to the next. */
  readonly before: string
  readonly after: string
  /** What the place before it does; null of the first. */
  readonly previous: Write | string | null
}

const inPath = ({ after }: Around): Write => (/^[\x00-\x20]*[/\\]/.test(after) ? segment : path)

/** What a value may be in an attribute that names a link; a text says why it may be nothing there. */
const inLink = (around: Around): Write | string => {
  const { before, previous } = around
  const begin = before.replace(/[\x00-\x20]/g, '')
  // until something else than a slash is there for certain, it still is where a path begins
  if (previous !== null)
    return (previous === path || previous === segment) && /^[/\\]*$/.test(begin) ? inPath(around) : escaped
  if (before === '') return link
  if (SCHEME.test(begin))
    return KNOWN.test(begin) ? escaped : 'is in a link that is not http, https, mailto, tel or cid'
  if (/^[/\\]+$/.test(begin)) return inPath(around)
  return /[/?#]/.test(begin)
    ? escaped
    : 'is in the middle of where a link begins: write the whole beginning, or make it one variable'
}

const inAttribute = (
  name: string,
  element: string,
  raw: readonly string[],
  quote: string | null | undefined,
  around: Around,
): Write | string => {
  if (quote !== '"' && quote !== "'") return 'is in an attribute without quotes'
  // the last of them may be the element itself
  if (raw.length > (RAW.has(element) ? 1 : 0)) return `is in <${raw[0]}>, where no value is safe`
  if (ACTIVE.test(name)) return `is in the attribute ${name}, where no value is safe`
  if (ACTIVE_ELEMENTS.has(element)) return `is in <${element}>, where no value is safe`
  return LINKS.has(name) ? inLink(around) : escaped
}

const NOT_SHOWN = 'is in a tag, a comment or a declaration'

/** Browsers stop at as many in one another, and the parser's time grows with the square of it. */
const DEEPEST = 512
/** What would make a letter of a value and what stands before it, such as the first of `javascript:`. */
const OPEN_REFERENCE = /&#?\w*$/
const LONGEST_REFERENCE = 40
const IN_REFERENCE = 'is behind an & that begins a character: write &amp;'

/** Places of one HTML that are refused in one answer, and names that lack. */
const MOST_TOLD = 10

/** HTML in which each place is a word of letters alone, so that nothing ends at it, that stands nowhere else. */
const markedIn = (text: string, { place }: Syntax) => {
  const letters = [...randomBytes(24)].map((octet) => String.fromCharCode(0x61 + (octet % 26)))
  const word = `pn${letters.join('')}`
  let count = 0
  const marked = text.replace(place, () => `${word}${count++}z`)
  const marks = new RegExp(`${word}(\\d+)z`, 'g')
  const within = (value: string) => {
    const all = [...value.matchAll(marks)]
    const endOf = (at: number) => (at < 0 ? 0 : (all[at]?.index ?? 0) + (all[at]?.[0].length ?? 0))
    return all.map(({ 1: n, index }, i) => ({
      n: Number(n),
      before: value.slice(endOf(i - 1), index),
      after: value.slice(endOf(i), all[i + 1]?.index),
    }))
  }
  return { text: marked, count, within }
}

/** What each place of HTML does with its value; a text says why it may have none there. null: too deep. */
const contextsOf = async (text: string, syntax: Syntax): Promise<readonly (Write | string)[] | null> => {
  const marked = markedIn(text, syntax)
  const found: (Write | string)[] = Array.from({ length: marked.count }, () => NOT_SHOWN)
  const seen = new Set<number>()
  const note = (value: string, of: (around: Around) => Write | string): void => {
    let previous: Write | string | null = null
    for (const { n, before, after } of marked.within(value)) {
      previous = of({ before, after, previous })
      // a parser that tells one place twice knows less than it seems
      found[n] = seen.has(n) ? 'is in a place that is read in two ways' : previous
      seen.add(n)
    }
  }
  let element = ''
  let depth = 0
  const raw: string[] = []
  const { Parser } = await import('htmlparser2')
  const parser = new Parser({
    onopentagname(name) {
      element = name
      // a handler cannot stop it otherwise
      if (++depth > DEEPEST) throw new TooDeep()
      if (RAW.has(name)) raw.push(name)
    },
    onattribute(name, value, quote) {
      note(name, () => 'is in the name of an attribute')
      note(value, (around) => inAttribute(name, element, raw, quote, around))
    },
    ontext: (value) =>
      note(value, () => (raw.length === 0 ? escaped : `is in <${raw.at(-1)}>, where no value is safe`)),
    onclosetag(name) {
      depth--
      const at = raw.lastIndexOf(name)
      if (at >= 0) raw.length = at
    },
    oncomment: (value) => note(value, () => 'is in a comment, where no value is safe'),
  })
  try {
    parser.end(marked.text)
  } catch (error) {
    if (error instanceof TooDeep) return null
    throw error
  }
  return found
}

const cutHtml = async (
  text: string,
  syntax: Syntax,
  field: string,
  errors: FieldError[],
): Promise<Pieces> => {
  const pieces = cut(text, syntax, escaped)
  if (pieces.length === 1) return pieces
  const contexts = await contextsOf(text, syntax)
  if (contexts === null) {
    errors.push({ field, kind: 'too_many', message: `must have at most ${DEEPEST} elements in one another` })
    return pieces
  }
  const places = [...text.matchAll(syntax.place)]
  const whyNot = (index: number, context: Write | string | undefined) =>
    OPEN_REFERENCE.test(text.slice(Math.max(0, index - LONGEST_REFERENCE), index)) ? IN_REFERENCE : context
  const bad = places.flatMap((one, i) => {
    const why = whyNot(one.index, contexts[i])
    return typeof why === 'string' ? [{ one, why }] : []
  })
  for (const { one, why } of bad.slice(0, MOST_TOLD)) {
    const message = `${placeOf(text, one.index)}: ${syntax.show(one[1] ?? '')} ${why}`
    errors.push({ field, kind: 'forbidden', message })
  }
  let n = 0
  return pieces.map((one) => (typeof one === 'string' ? one : { ...one, write: contexts[n++] as Write }))
}

export interface Merge {
  readonly names: ReadonlySet<string>
  /** Octets of what goes out, at most. */
  sizeWith(values: ReadonlyMap<string, string>): number
  /** Adds to `errors` what is wrong with values, and what lacks one; `at` is where the values stand. */
  fill(values: ReadonlyMap<string, string>, at: string, errors: FieldError[]): Template
}

/** A letter of a value takes six octets at most: some are escaped, and some are long. */
const DEAREST = 6

/** What it takes to fill a place, as octets: an empty value is not for nothing. */
const EACH_PLACE = 16

const sizeOf = (pieces: Pieces, values: ReadonlyMap<string, string>): number =>
  pieces.reduce(
    (sum, one) =>
      sum +
      (typeof one === 'string' ? one.length : EACH_PLACE + DEAREST * (values.get(one.name)?.length ?? 0)),
    0,
  )

/** Whatever turns letters round ends within the value: what stands behind it keeps its direction. */
const isTurnedBack = (value: string): boolean => {
  let embedded = 0
  let isolated = 0
  for (const one of value.match(/[\u202a-\u202e\u2066-\u2069]/g) ?? []) {
    if (one === '\u202c') embedded--
    else if (one === '\u2069') isolated--
    else if (one < '\u2066') embedded++
    else isolated++
    if (embedded < 0 || isolated < 0) return false
  }
  return embedded === 0 && isolated === 0
}

/** What is wrong with a value wherever it stands. */
const wrongAnywhere = (value: string): string | null =>
  value.includes('\0')
    ? 'must not contain NUL'
    : isTurnedBack(value)
      ? null
      : 'must end what it begins to turn round: bidirectional controls are not in pairs'

class Filling {
  private readonly told = new Set<string>()

  constructor(
    readonly values: ReadonlyMap<string, string>,
    readonly at: string,
    readonly errors: FieldError[],
  ) {}

  wrong(name: string, message: string): string {
    if (!this.told.has(name)) this.errors.push({ field: `${this.at}.${name}`, kind: 'format', message })
    this.told.add(name)
    return ''
  }

  text(pieces: Pieces): string {
    return pieces.map((one) => (typeof one === 'string' ? one : this.value(one))).join('')
  }

  private value({ name, write }: Place): string {
    const value = this.values.get(name)
    if (value === undefined) return ''
    const wrong = wrongAnywhere(value)
    if (wrong !== null) return this.wrong(name, wrong)
    try {
      return write(value)
    } catch (error) {
      if (error instanceof Unfit) return this.wrong(name, error.message)
      throw error
    }
  }
}

interface Cut {
  readonly subject: Pieces | null
  readonly html: Pieces | null
  readonly text: Pieces | null
  readonly headers: readonly (readonly [string, Pieces])[]
  readonly reply_to: readonly Pieces[]
  readonly tags: readonly (readonly [string, Pieces])[]
}

const mergeOf = (made: Cut, { show }: Syntax): Merge => {
  const lines = [...made.headers, ...made.tags].map(([, pieces]) => pieces)
  const all = [made.subject, made.html, made.text, ...made.reply_to, ...lines].filter((one) => one !== null)
  const names = new Set(
    all.flatMap((pieces) => pieces.flatMap((one) => (typeof one === 'string' ? [] : [one.name]))),
  )
  return {
    names,
    sizeWith: (values) => all.reduce((sum, pieces) => sum + sizeOf(pieces, values), 0),
    fill(values, at, errors) {
      const missing = [...names].filter((name) => !values.has(name))
      if (missing.length > 0)
        errors.push({
          field: at,
          kind: 'missing',
          message: `has no value for ${missing.slice(0, MOST_TOLD).map(show).join(', ')}${missing.length > MOST_TOLD ? ` and ${missing.length - MOST_TOLD} more` : ''}`,
        })
      const filling = new Filling(values, at, errors)
      const text = (pieces: Pieces | null) => pieces && filling.text(pieces)
      return {
        subject: text(made.subject),
        html: text(made.html),
        text: text(made.text),
        headers: Object.fromEntries(made.headers.map(([name, pieces]) => [name, filling.text(pieces)])),
        reply_to: made.reply_to.map((pieces) => filling.text(pieces)),
        tags: made.tags.map(([name, pieces]) => ({ name, value: filling.text(pieces) })),
      }
    },
  }
}

/** The template, or all that is wrong with it; `field` says what each part of it is called. */
export const readTemplate = async (
  { from, subject, html, text, headers, reply_to, tags }: MergeSource,
  syntax: Syntax,
  field: (part: string) => string,
): Promise<Merge | { readonly errors: readonly FieldError[] }> => {
  const errors: FieldError[] = []
  const parts: readonly (readonly [string, string | null])[] = [
    ['from', from],
    ['subject', subject],
    ['html', html],
    ['text', text],
    ...Object.entries(headers).map(([name, value]) => [`headers.${name}`, value] as const),
    ...reply_to.map((value) => ['reply_to', value] as const),
    ...tags.map(({ value }, i) => [`tags[${i}].value`, value] as const),
  ]
  if (!demandPlaces(parts, syntax, field, errors)) return { errors }
  const [inFrom] = from?.match(syntax.place) ?? []
  if (inFrom !== undefined)
    errors.push({
      ...{ field: field('from'), kind: 'forbidden' },
      message: `has ${inFrom}: the sender is the same for all`,
    })
  const markup = html === null ? null : await cutHtml(html, syntax, field('html'), errors)
  if (errors.length > 0) return { errors }
  const made: Cut = {
    subject: subject === null ? null : cut(subject, syntax, inLine),
    html: markup,
    text: text === null ? null : cut(text, syntax, AS_IT_IS),
    headers: Object.entries(headers).map(([name, value]) => [name, cut(value, syntax, inLine)]),
    reply_to: reply_to.map((value) => cutAddress(value, syntax)),
    tags: tags.map(({ name, value }) => [name, cut(value, syntax, inLine)]),
  }
  return mergeOf(made, syntax)
}

/** Many times one text takes more than its request did. Throws request.body_too_large. */
export class Room {
  private left: number
  private readonly most: number

  /** `mail`: octets of the largest one. */
  constructor(private readonly mail: number) {
    this.most = 2 * mail
    this.left = this.most
  }

  take(size: number): void {
    this.left -= size
    if (size <= this.mail && this.left >= 0) return
    const detail =
      size > this.mail
        ? `A message has at most ${this.mail} bytes, found ${size}`
        : `The mails of one template have at most ${this.most} bytes together; send it in parts`
    throw new Fault('request.body_too_large', { detail })
  }
}
