/**
 * NAME      claims - what a provider says of a person
 * DESCRIPTION
 *   Reads the claims of an ID token and of userinfo. Every value is a stranger's:
 *   of any type, of any length, and nothing is believed that is not asked for.
 */
import { domainToASCII } from 'node:url'

export type Claims = Readonly<Record<string, unknown>>

/** Of one person, as told by one provider. */
export interface Told {
  readonly issuer: string
  readonly subject: string
  readonly idToken: Claims
  /** Empty where the provider has none. */
  readonly userinfo: Claims
}

const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A name may hold dots itself (`https://example.com/roles`): the longest that is there leads on. */
const valueAt = (claims: unknown, path: string): unknown => {
  if (!isObject(claims)) return undefined
  if (Object.hasOwn(claims, path)) return claims[path]
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot)
    if (Object.hasOwn(claims, name)) return valueAt(claims[name], path.slice(dot + 1))
  }
  return undefined
}

/** Lists as Keycloak has them, a single word, or the keys of an object as Zitadel has them. */
const wordsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string')
  return isObject(value) ? Object.keys(value) : []
}

/** What stands at this path in the ID token, else in userinfo. */
export const valuesOf = ({ idToken, userinfo }: Told, path: string): readonly string[] =>
  wordsOf(valueAt(idToken, path) ?? valueAt(userinfo, path))

const textOf = ({ idToken, userinfo }: Told, name: string, most: number): string | null => {
  const value = idToken[name] ?? userinfo[name]
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' || text.length > most || /[\u0000-\u001f\u007f\p{Surrogate}]/u.test(text) ? null : text
}

const ADDRESS = /^[^\s@<>"(),;:\\]+@[^\s@<>"(),;:\\]+$/

/** The person's address in lower case; null when there is none, or nothing that looks like one. */
export const addressIn = (told: Told): string | null => {
  const text = textOf(told, 'email', 254)?.toLowerCase() ?? null
  return text !== null && ADDRESS.test(text) ? text : null
}

/** Some say it as text. It must come from where the address came from. */
export const isVerified = ({ idToken, userinfo }: Told): boolean => {
  const source = idToken.email === undefined ? userinfo : idToken
  return source.email_verified === true || source.email_verified === 'true'
}

export const nameIn = (told: Told): string | null => textOf(told, 'name', 200)

/** In ASCII and lower case, so that two spellings of a domain are one. */
export const domainOf = (address: string): string =>
  domainToASCII(address.slice(address.lastIndexOf('@') + 1))
