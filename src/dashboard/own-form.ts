/**
 * NAME      own-form - is a posted form one of ours?
 * DESCRIPTION
 *   It carries a token that belongs to the session, or, before there is one, to a
 *   cookie of the browser; and it comes from our own origin, which is that of
 *   base_url. A page that sends no referrer sends `Origin: null` with its forms:
 *   then the browser's own word about the site counts.
 */
import { keyedHash, sameBytes } from '../base/secret.js'

type Headers = Readonly<Record<string, string | string[] | undefined>>

export const isOwnOrigin = (headers: Headers, baseUrl: string): boolean => {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin === 'null') return site === 'same-origin'
  if (origin !== undefined) return origin === new URL(baseUrl).origin
  return site === undefined || site === 'same-origin' || site === 'none'
}

/** What each form of this session carries. */
export const formTokenOf = (pepper: Uint8Array, session: string): string =>
  keyedHash(pepper, 'dashboard form', session).toString('base64url')

/** The same before anybody signed in. */
export const guestTokenOf = (pepper: Uint8Array, guest: string): string =>
  keyedHash(pepper, 'sign-in form', guest).toString('base64url')

export const sameToken = (given: string, expected: string): boolean =>
  sameBytes(Buffer.from(given), Buffer.from(expected))
