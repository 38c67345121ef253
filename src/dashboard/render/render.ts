/**
 * NAME      render - a view as an HTML document
 * DESCRIPTION
 *   preact makes text of it and escapes every string. Pages write paths from the root; where base_url has a path of its
 *   own (`https://example.com/mail`), it is put before each of them here. That is safe on the finished text, because a
 *   quote inside a string has become `&quot;` by then.
 */
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { type Shown, whileShown } from './context.js'

const OWN_PATH = / (href|action|src|formaction|data-path)="\/(?!\/)/g

/** The path of base_url without its last slash: '' or '/mail'. */
export const prefixOf = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/, '')

export const renderPage = (document: VNode, prefix: string, shown: Shown | null = null): string => {
  const html = whileShown(shown, () => `<!doctype html>${renderToString(document)}`)
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
