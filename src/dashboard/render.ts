/**
 * NAME      render - a view as an HTML document
 *   preact makes text of it and escapes every string. An element of preact is an object that is made, walked and thrown
 *   away; of a row of a table the text is joined at once instead (`html`), escaped in the same way, in attributes too,
 *   which stand in double quotes. Components, which know where they stand, are left to preact.
 *   Who looks, and which form was refused, is set while a page is rendered and read by its parts. A page is rendered in
 *   one go, so one place is enough. What a page asks of /v1 comes before that: there the visit is an argument.
 *   Pages write paths from the root; where base_url has a path of its own (`https://example.com/mail`), it is put
 *   before each of them here. That is safe on the finished text, because a quote inside a string has become `&quot;` by
 *   then. What turns the direction of text is shown by its number instead, so that no subject or reply of a stranger
 *   turns a sentence of ours; what is typed into a field stays as it is.
 */
import type { ComponentChildren, VNode } from 'preact'
import { jsxEscape, jsxTemplate } from 'preact/jsx-runtime'
import { renderToString } from 'preact-render-to-string'
import type { RefusedForm, Visit } from './visit.js'

interface Template {
  readonly tpl?: readonly string[]
}

/** Null where something is left for preact to render. An object out of JSON has a constructor. */
const textOf = (value: ComponentChildren): string | null => {
  if (value == null || typeof value === 'boolean') return ''
  if (typeof value !== 'object') return jsxEscape(value) as string
  if (Array.isArray(value)) {
    let all = ''
    for (const one of value) {
      const text = textOf(one)
      if (text === null) return null
      all += text
    }
    return all
  }
  if (value.constructor !== undefined) return null
  const { tpl } = (value as VNode<Template>).props ?? {}
  return tpl?.length === 1 ? (tpl[0] ?? null) : null
}

/** Nothing in it is left for preact to render. */
export const isText = (value: ComponentChildren): boolean => textOf(value) !== null

export const html = (texts: TemplateStringsArray, ...values: readonly ComponentChildren[]): VNode => {
  const parts: string[] = []
  const rest: ComponentChildren[] = []
  let text = texts[0] ?? ''
  for (let i = 0; i < values.length; i++) {
    const known = textOf(values[i])
    if (known !== null) text += known
    else {
      parts.push(text)
      rest.push(values[i])
      text = ''
    }
    text += texts[i + 1]
  }
  parts.push(text)
  return jsxTemplate(parts, ...rest)
}

type Value = string | number | boolean | null | undefined

/** Those that have a value; of what is true, the name alone. */
export const attrs = (of: Readonly<Record<string, Value>>): VNode => {
  let text = ''
  for (const name in of) {
    const value = of[name]
    if (value == null || value === false) continue
    text += value === true ? ` ${name}` : ` ${name}="${jsxEscape(value)}"`
  }
  return jsxTemplate([text])
}

/** What stands on many pages and is the same on each, as text. */
export const fixed = (of: VNode): VNode => jsxTemplate([renderToString(of)])

interface Shown {
  readonly visit: Visit
  readonly refused: RefusedForm | null
  /** Called by the form that says why it was refused; one that is gone meanwhile cannot. */
  readonly onTold: () => void
}

let current: Shown | null = null

/** Null for whoever has no session. */
export const whileShown = (shown: Shown | null, render: () => string): string => {
  current = shown
  try {
    return render()
  } finally {
    current = null
  }
}

export const visitIfAny = (): Visit | null => current?.visit ?? null

export const useShown = (): Shown => {
  if (current === null) throw new Error('a part that needs a visit stands on a page without one')
  return current
}

export const useVisit = (): Visit => useShown().visit

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
