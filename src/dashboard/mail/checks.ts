/**
 * NAME      checks - what might keep a mail from being read, and what a tester of it looks for
 *   Looked at without one request to the outside: the size, the parts, links with their hosts, pictures without words,
 *   List-Unsubscribe; and the link and the code of a mail that asks to confirm or to sign in. HTML is read by patterns
 *   of bounded length from a part of the text: a hint for people, no parser.
 */
import { fromRaw } from '../../mail/encoding.js'
import { fieldValue, scanHeader } from '../../mail/header.js'
import { type MailContent, MOST_HTML, readPart } from './content.js'

const MOST = 100
const TAG = /<(?:a|img)\b[^<>]{0,4000}>/gi
const HREF = /\bhref\s*=\s*(?:"([^"]{1,2000})"|'([^']{1,2000})'|([^\s>"']{1,2000}))/i
const PLAIN = /https?:\/\/[^\s<>"')\]]{3,2000}/g

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (all, name: string) => ENTITIES[name] ?? all)

interface Link {
  readonly url: string
  readonly host: string
}

const linkOf = (text: string): Link | null => {
  try {
    const { protocol, host } = new URL(text)
    if (protocol === 'http:' || protocol === 'https:') return { url: text, host }
    return { url: text, host: protocol.slice(0, -1) }
  } catch {
    return null
  }
}

const unique = (texts: Iterable<string>): readonly Link[] => {
  const found = new Set<string>()
  for (const text of texts) if (found.add(text).size >= MOST) break
  return [...found].flatMap((text) => linkOf(text) ?? [])
}

const plainUrls = function* (text: string): Generator<string> {
  for (const [url] of text.matchAll(PLAIN)) yield url.replace(/[.,;:!?]+$/, '')
}

const hrefs = function* (html: string): Generator<string> {
  for (const [tag] of html.matchAll(TAG)) {
    const [all, a, b, c] = HREF.exec(tag) ?? []
    if (all !== undefined && !/^<i/i.test(tag)) yield plain(a ?? b ?? c ?? '').trim()
  }
}

export const linksIn = (html: string | null, text: string | null): readonly Link[] =>
  unique(html === null ? plainUrls(text ?? '') : hrefs(html))

/** Remote pictures, and those without a word for people who do not see them. */
export const picturesIn = (
  html: string,
): { readonly remote: number; readonly silent: number; readonly all: number } => {
  const sum = { all: 0, remote: 0, silent: 0 }
  for (const [tag] of html.matchAll(TAG)) {
    if (!/^<i/i.test(tag)) continue
    sum.all++
    if (/\bsrc\s*=\s*(?:["']\s*)?(?:https?:)?\/\//i.test(tag)) sum.remote++
    if (!/\balt\s*=/i.test(tag)) sum.silent++
  }
  return sum
}

const WANTED = /(?:verif|confirm|sign-?in|log-?in|reset|activate|magic|invite|token|bestaetig|unlock|auth)/i
const UNWANTED = /(?:unsubscribe|preferences|abmeld|privacy|terms|\.(?:png|jpe?g|gif|css)(?:\?|$))/i

/** The link that such a mail is about: one that says so, or else the first. */
export const mainLink = (links: readonly Link[]): Link | null => {
  const web = links.filter(({ url }) => /^https?:/i.test(url) && !UNWANTED.test(url))
  return web.find(({ url }) => WANTED.test(url)) ?? web[0] ?? null
}

const CODE_WORDS = /(?:code|pin|otp|passcode|token|einmal|verification|kod|código|codice)/i
const CODE =
  /(?<![\w\-/#.,:€$£])(\d{3}[ \-\u00a0]\d{3}|\d{4,8}|[A-Z0-9]{3,4}-[A-Z0-9]{3,4})(?![\w\-/.,:]*\w)/g
const NEAR = 80

/** A one-time code: some digits near a word for it. */
export const codeIn = (subject: string, text: string): string | null => {
  for (const where of [subject, text.slice(0, 20_000)]) {
    for (const found of where.matchAll(CODE)) {
      const at = found.index
      if (CODE_WORDS.test(where.slice(Math.max(0, at - NEAR), at + NEAR))) return found[1] ?? null
    }
  }
  return null
}

/** The words of HTML, roughly, for the search of a code. */
export const roughText = (html: string): string => {
  let hidden: string | null = null
  const words = html.split('<').map((piece, at) => {
    if (at === 0) return piece
    const [all, slash, name = ''] = /^(\/?)(style|script)\b/i.exec(piece) ?? []
    if (hidden !== null && (slash !== '/' || name.toLowerCase() !== hidden)) return ''
    hidden = all === undefined || slash === '/' ? null : name.toLowerCase()
    if (hidden !== null) return ''
    const end = piece.indexOf('>')
    return end < 0 ? `<${piece}` : ` ${piece.slice(end + 1)}`
  })
  return plain(words.join('')).replace(/\s+/g, ' ')
}

interface Check {
  readonly name: string
  readonly state: 'ok' | 'look' | 'none'
  readonly says: string
}

/** Gmail cuts what is longer. */
const CLIPPED = 102 * 1024

export const sizeWords = (octets: number): string =>
  octets < 1_024
    ? `${octets} B`
    : octets < 1_048_576
      ? `${(octets / 1_024).toFixed(1)} KiB`
      : `${(octets / 1_048_576).toFixed(1)} MiB`

export const headersOf = (raw: Buffer): readonly (readonly [name: string, value: string])[] => {
  const head = raw.subarray(0, 256 * 1024)
  return scanHeader(head).fields.map((field) => [
    head.toString('latin1', field.start, Math.max(field.start, field.value - 1)).trim(),
    fromRaw(fieldValue(head, field)),
  ])
}

const has = (headers: ReturnType<typeof headersOf>, name: string): string | null =>
  headers.find(([one]) => one.toLowerCase() === name)?.[1] ?? null

const check = (name: string, good: boolean | null, says: string): Check => ({
  ...{ name, says },
  state: good === null ? 'none' : good ? 'ok' : 'look',
})

const ofHtml = (html: string): Check => {
  const size = Buffer.byteLength(html)
  const isWhole = size < CLIPPED
  return check('HTML', isWhole, `${sizeWords(size)}${isWhole ? '.' : ': Gmail cuts it after 102 KiB.'}`)
}

const ofPictures = ({ all, remote, silent }: ReturnType<typeof picturesIn>): Check =>
  all === 0
    ? check('Pictures', null, 'It has none.')
    : check('Pictures', silent === 0, `${all}, ${remote} of them remote; ${silent} without an alt text.`)

const ofLinks = (links: readonly Link[]): Check => {
  if (links.length === 0) return check('Links', null, 'It has none.')
  const isClear = links.some(({ url }) => url.startsWith('http:'))
  const hosts = [...new Set(links.map(({ host }) => host))].slice(0, 5).join(', ')
  return check('Links', !isClear, `${links.length}, to ${hosts}${isClear ? '; some without TLS' : ''}.`)
}

interface Checked {
  readonly checks: readonly Check[]
  readonly links: readonly Link[]
}

export const checksOf = (content: MailContent): Checked => {
  const { raw } = content
  const html = content.html === null ? null : readPart(content, content.html, MOST_HTML).text
  const links = linksIn(html, readPart(content, content.text).text)
  const unsubscribe = has(headersOf(raw), 'list-unsubscribe')
  const noText = 'It has none: some readers see nothing, and filters like it less.'
  return {
    links,
    checks: [
      check('Size', raw.length < 10 * 1_048_576, `${sizeWords(raw.length)} in all.`),
      html === null ? check('HTML', null, 'It has none.') : ofHtml(html),
      check('Text part', content.text !== null, content.text === null ? noText : 'It has one.'),
      ofPictures(picturesIn(html ?? '')),
      ofLinks(links),
      unsubscribe === null
        ? check('List-Unsubscribe', null, 'Not there: needed for mail to many.')
        : check('List-Unsubscribe', true, unsubscribe.slice(0, 300)),
    ],
  }
}
