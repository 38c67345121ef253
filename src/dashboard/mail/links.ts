/**
 * NAME      links - what somebody who tests a mail wants out of it
 * DESCRIPTION
 *   Its links with their hosts, its pictures without words, and the link and the code of a mail that asks to confirm or
 *   to sign in. Read by patterns of bounded length from a part of the text: a hint for people, no parser.
 */
const MOST = 100
const ANCHOR = /<a\b[^>]{0,2000}?\bhref\s*=\s*(?:"([^"]{1,2000})"|'([^']{1,2000})'|([^\s>"']{1,2000}))/gi
const IMAGE = /<img\b[^>]{0,4000}>/gi
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

const unique = (texts: readonly string[]): readonly Link[] =>
  [...new Set(texts)].slice(0, MOST).flatMap((text) => linkOf(text) ?? [])

export const linksIn = (html: string | null, text: string | null): readonly Link[] =>
  html === null
    ? unique([...(text ?? '').matchAll(PLAIN)].map(([url]) => url.replace(/[.,;:!?]+$/, '')))
    : unique([...html.matchAll(ANCHOR)].map(([, a, b, c]) => plain(a ?? b ?? c ?? '').trim()))

/** Remote pictures, and those without a word for people who do not see them. */
export const picturesIn = (
  html: string,
): { readonly remote: number; readonly silent: number; readonly all: number } => {
  const all = [...html.matchAll(IMAGE)].map(([tag]) => tag)
  return {
    all: all.length,
    remote: all.filter((tag) => /\bsrc\s*=\s*["']?\s*(?:https?:)?\/\//i.test(tag)).length,
    silent: all.filter((tag) => !/\balt\s*=/i.test(tag)).length,
  }
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
export const roughText = (html: string): string =>
  plain(
    html.replace(/<(style|script)\b[\s\S]{0,50000}?<\/\1\s*>/gi, ' ').replace(/<[^>]{0,4000}>/g, ' '),
  ).replace(/\s+/g, ' ')
