/**
 * A browser without a screen: keeps cookies, follows no redirect by itself unless asked, knows forms. It looks at the
 * dashboard of a running Postern as a person with scripts off does.
 */
import assert from 'node:assert/strict'
import type { Postern } from './postern.js'

export interface Seen {
  readonly status: number
  readonly headers: Headers
  readonly html: string
  /** Where a redirect leads, as a path of ours; null without one. */
  readonly to: string | null
}

type Fields = Readonly<Record<string, string | readonly string[]>>

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (all, name: string) => ENTITIES[name] ?? all)

const attribute = (tag: string, name: string): string | null =>
  plain(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '\u0000').replace(/^\u0000$/, '') || null

export class Browser {
  readonly url: string
  readonly #cookies = new Map<string, string>()

  constructor(url: string) {
    this.url = url.replace(/\/+$/, '')
  }

  cookie(name: string): string | null {
    return this.#cookies.get(name) ?? null
  }

  /** As a server of this host would; null forgets it. */
  setCookie(name: string, value: string | null): void {
    if (value === null) this.#cookies.delete(name)
    else this.#cookies.set(name, value)
  }

  /** One request; cookies go along and are kept. */
  async request(method: string, path: string, init: RequestInit = {}): Promise<Seen> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = new Headers(init.headers)
    if (cookie !== '') headers.set('cookie', cookie)
    const answer = await fetch(new URL(path, `${this.url}/`), {
      redirect: 'manual',
      ...init,
      method,
      headers,
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = '', ...rules] = line.split('; ')
      const at = pair.indexOf('=')
      const gone = rules.includes('Max-Age=0') || pair.length === at + 1
      this.setCookie(pair.slice(0, at), gone ? null : pair.slice(at + 1))
    }
    const location = answer.headers.get('location')
    const to = location === null ? null : new URL(location, `${this.url}/`)
    return {
      status: answer.status,
      headers: answer.headers,
      html: await answer.text(),
      to: to === null ? null : to.origin === new URL(this.url).origin ? to.pathname + to.search : to.href,
    }
  }

  /** Looks at a page, and goes where redirects of ours lead. */
  async visit(path: string): Promise<Seen> {
    let seen = await this.request('GET', path)
    for (let hops = 0; seen.to?.startsWith('/') && hops < 5; hops++) seen = await this.request('GET', seen.to)
    return seen
  }

  /** Posts fields; the answer as it came, mostly a redirect. */
  post(path: string, fields: Fields, headers: Record<string, string> = {}): Promise<Seen> {
    const body = new URLSearchParams()
    for (const [name, value] of Object.entries(fields)) {
      for (const one of [value].flat()) body.append(name, one as string)
    }
    return this.request('POST', path, { body, headers: { origin: new URL(this.url).origin, ...headers } })
  }

  /**
   * Fills the page's form of this action, with what already stands in it, and sends it. `about` picks one of many by
   * its hidden fields.
   */
  async submit(
    seen: Seen,
    action: string,
    fields: Fields = {},
    about: Readonly<Record<string, string>> = {},
  ) {
    const form = formOf(seen.html, action, about)
    assert.ok(form, `the page has a form for ${action}`)
    return this.post(form.path, { ...form.fields, ...fields })
  }

  /** As submit, and then looks at what it leads to. */
  async send(seen: Seen, action: string, fields: Fields = {}, about: Readonly<Record<string, string>> = {}) {
    const done = await this.submit(seen, action, fields, about)
    return done.to === null ? done : this.visit(done.to)
  }
}

export interface PageForm {
  readonly path: string
  readonly fields: Record<string, string | string[]>
}

const valuesIn = (html: string): Record<string, string | string[]> => {
  const fields: Record<string, string | string[]> = {}
  const put = (name: string | null, value: string): void => {
    if (name === null) return
    const before = fields[name]
    fields[name] = before === undefined ? value : [before, value].flat()
  }
  for (const [tag] of html.matchAll(/<input\b[^>]*>/g)) {
    const type = attribute(tag, 'type')
    if ((type === 'checkbox' || type === 'radio') && !/ checked\b/.test(tag)) continue
    put(attribute(tag, 'name'), attribute(tag, 'value') ?? (type === 'checkbox' ? 'on' : ''))
  }
  for (const [, tag = '', text = ''] of html.matchAll(/(<textarea\b[^>]*>)([^<]*)/g)) {
    put(attribute(tag, 'name'), plain(text))
  }
  for (const [, tag = '', inner = ''] of html.matchAll(/(<select\b[^>]*>)([\s\S]*?)<\/select>/g)) {
    const options = [...inner.matchAll(/<option\b[^>]*>/g)].map(([option]) => option)
    const chosen = options.find((option) => / selected\b/.test(option)) ?? options[0]
    if (chosen !== undefined) put(attribute(tag, 'name'), attribute(chosen, 'value') ?? '')
  }
  return fields
}

/** The first form with this action, and these hidden fields; null where there is none. */
export const formOf = (
  html: string,
  action: string,
  about: Readonly<Record<string, string>> = {},
): PageForm | null => {
  for (const [, tag = '', inner = ''] of html.matchAll(/(<form\b[^>]*>)([\s\S]*?)<\/form>/g)) {
    const fields = valuesIn(inner)
    if (fields._action !== action) continue
    if (Object.entries(about).some(([name, value]) => fields[name] !== value)) continue
    return { path: attribute(tag, 'action') ?? '/', fields }
  }
  return null
}

/** A browser with a session of an owner, or of somebody less, made by the CLI. */
export const signedIn = async (postern: Postern, role = 'owner'): Promise<Browser> => {
  const browser = new Browser(postern.url)
  const { token } = await postern.json('session', 'create', '--role', role)
  browser.setCookie('postern_session', token as string)
  return browser
}
