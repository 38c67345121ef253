/**
 * NAME      render - a view as an HTML document
 * DESCRIPTION
 *   preact makes text of it and escapes every string. Pages write paths from the root; where base_url has a path of its
 *   own (`https://example.com/mail`), it is put before each of them here. That is safe on the finished text, because a
 *   quote inside a string has become `&quot;` by then. What turns the direction of text is shown by its number instead,
 *   so that no subject or reply of a stranger turns a sentence of ours; what is typed into a field stays as it is.
 */
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { type Shown, whileShown } from './context.js'

const OWN_PATH = / (href|action|src|formaction|data-path)="\/(?!\/)/g

/** The path of base_url without its last slash: '' or '/mail'. */
export const prefixOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/, '')

const TURNS = /[\u202a-\u202e\u2066-\u2069]/
/** A text or an attribute with one of them; a `<` or a `"` of a string is an entity by now. */
const TURNED = /(?<! value=")(?<=[<>"])[^<>"]*[\u202a-\u202e\u2066-\u2069][^<>"]*/g
const ISOLATES = /[\u2066-\u2069]/g

/** Each isolate that begins also ends: programs that translate put them around names. */
const isClosed = (text: string): boolean => {
  let open = 0
  for (const [mark] of text.matchAll(ISOLATES)) {
    open += mark === '\u2069' ? -1 : 1
    if (open < 0) return false
  }
  return open === 0
}

const numbered = (mark: string): string => `[U+${mark.charCodeAt(0).toString(16).toUpperCase()}]`

const untwist = (html: string): string =>
  TURNS.test(html)
    ? html.replace(TURNED, (text) => {
        const shown = text.replace(/[\u202a-\u202e]/g, numbered)
        return isClosed(shown) ? shown : shown.replace(ISOLATES, numbered)
      })
    : html

export const renderPage = (document: VNode, prefix: string, shown: Shown | null = null): string => {
  const html = untwist(whileShown(shown, () => `<!doctype html>${renderToString(document)}`))
  return prefix === '' ? html : html.replace(OWN_PATH, (_all, name: string) => ` ${name}="${prefix}/`)
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Of everything that is answered here, unless it says its own, as what answers octets of a mail does. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
}

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  ...SAFE_HEADERS,
}
