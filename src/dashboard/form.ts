/**
 * NAME      form - what a person typed, and whether the form is one of ours
 *   The fields of a posted form (application/x-www-form-urlencoded). Nothing is checked here: /v1 judges it, and its
 *   mistakes are shown beside the fields, with everything that was typed still there.
 *   A form of ours carries a token that belongs to the session, or before there is one to a cookie of the browser, and
 *   it comes from our own origin, which is that of base_url. A page that sends no referrer sends `Origin: null` with
 *   its forms: then the browser's own word about the site counts.
 */
import { keyedHash, sameBytes } from '../base/secret.js'

export class Form {
  readonly #fields: URLSearchParams

  constructor(text: string) {
    this.#fields = new URLSearchParams(text)
  }

  /** Trimmed; null where the field is missing or empty. */
  text(name: string): string | null {
    const value = this.#fields.get(name)?.trim() ?? ''
    return value === '' ? null : value
  }

  raw(name: string): string {
    return this.#fields.get(name) ?? ''
  }

  all(name: string): readonly string[] {
    return this.#fields.getAll(name)
  }

  has(name: string): boolean {
    return this.#fields.has(name)
  }

  /** What is no number stays as it was typed, so that /v1 refuses it; null where it is empty. */
  number(name: string): number | string | null {
    const text = this.text(name)
    return text === null || !Number.isFinite(Number(text)) ? text : Number(text)
  }

  list(name: string): readonly string[] {
    return this.raw(name)
      .split(/[\n,]/)
      .map((one) => one.trim())
      .filter((one) => one !== '')
  }
}

/** How a route takes a form: not as the JSON that the API takes everything for. What is no form has no token either. */
export const formPayload = (maxBytes: number) => ({
  parse: 'gunzip' as const,
  output: 'data' as const,
  maxBytes,
  override: 'application/x-www-form-urlencoded',
})

type Headers = Readonly<Record<string, string | string[] | undefined>>

export const isOwnOrigin = (headers: Headers, baseUrl: string): boolean => {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin === 'null') return site === 'same-origin'
  if (origin !== undefined) return origin === new URL(baseUrl).origin
  return site === undefined || site === 'same-origin' || site === 'none'
}

export const formTokenOf = (pepper: Uint8Array, session: string): string =>
  keyedHash(pepper, 'dashboard form', session).toString('base64url')

export const guestTokenOf = (pepper: Uint8Array, guest: string): string =>
  keyedHash(pepper, 'sign-in form', guest).toString('base64url')

export const sameToken = (given: string, expected: string): boolean =>
  sameBytes(Buffer.from(given), Buffer.from(expected))
