/**
 * NAME      links - what somebody who tests a mail wants out of it
 * DESCRIPTION
 *   Its links with their hosts, its pictures without words, and the link and the code of a mail that asks to confirm or
 *   to sign in. Read by patterns of bounded length from a part of the text: a hint for people, no parser.
 */
const MOST = 100
const TAG = /<(?:a|img)\b[^<>]{0,4000}>/gi
const HREF = /\bhref\s*=\s*(?:"([^"]{1,2000})"|'([^']{1,2000})'|([^\s>"']{1,2000}))/i
const PLAIN = /https?:\/\/[^\s<>"')\]]{3,2000}/g

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (all, name: string) => ENTITIES[name] ?? all)

export interface Link {
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
