/**
 * NAME      clean-html - the HTML of a mail, with nothing in it that acts
 * DESCRIPTION
 *   Read by a real parser, piece by piece with a turn for everybody else after each, and written anew from a list of
 *   elements and attributes that only show. What is not in the lists is left out: scripts, forms, frames, `meta`, `base`,
 *   `link`, SVG, event attributes. Links lead nowhere and say where they would; `cid:` pictures become `data:`; remote
 *   ones only stay when the reader asks for them.
 * NOTES
 *   The sandbox and the policy of the route would stop all of it as well: three walls, none of which needs the others.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Parser } from 'htmlparser2'

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

const hostOf = (url: string): string | null => {
  try {
    return new URL(url, 'http://none.invalid').host
  } catch {
    return null
  }
}

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

const decodeURIComponentSafe = (value: string): string => {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

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
