/**
 * NAME      login - AUTH PLAIN and AUTH LOGIN, word by word
 * DESCRIPTION
 *   Each with and without an initial response (RFC 4954, RFC 4616; LOGIN by
 *   custom), because clients in use need all four. PLAIN's user is the
 *   authentication identity, or the authorization identity when a client put
 *   the name there. `*` takes an exchange back. Nothing here is ever logged.
 */
import { Refusal } from './reply.js'

export interface Credentials {
  readonly user: string
  readonly password: string
}

/** What to say next, or who asks to come in. */
export type LoginStep =
  | { readonly challenge: string }
  | { readonly credentials: Credentials }
  | { readonly external: true }

export interface Login {
  /** Takes a response of the client; throws Refusal when it makes no sense. */
  next(response: string): LoginStep
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/
const UNPRINTABLE = /[\x00-\x1f\x7f]/
const CANCELED = '501 5.7.0 Authentication canceled'
const UNKNOWN = '504 5.5.4 Unrecognized authentication mechanism'
const UNREADABLE = '501 5.5.2 Cannot decode the response'

const decode = (response: string): string => {
  const text = response.trim()
  if (text === '*') throw new Refusal(CANCELED)
  if (!BASE64.test(text)) throw new Refusal(UNREADABLE)
  return Buffer.from(text, 'base64').toString('utf8')
}

const plain = (): Login => ({
  next(response) {
    const parts = decode(response).split('\0')
    const [authorize = '', authenticate = '', password = ''] = parts
    const user = authenticate === '' ? authorize : authenticate
    if (parts.length !== 3 || UNPRINTABLE.test(user)) throw new Refusal(UNREADABLE)
    return { credentials: { user, password } }
  },
})

const login = (): Login => {
  let user: string | null = null
  return {
    next(response) {
      const text = decode(response)
      if (user === null) {
        if (UNPRINTABLE.test(text)) throw new Refusal(UNREADABLE)
        user = text
        return { challenge: 'UGFzc3dvcmQ6' }
      }
      return { credentials: { user, password: text } }
    },
  }
}

/** By what TLS has shown already (RFC 4422, appendix A); the identity that it asks for is left unread. */
const EXTERNAL: Login = {
  next(response) {
    decode(response)
    return { external: true }
  },
}

export const MECHANISMS = 'PLAIN LOGIN'

/** Begins an exchange from the words after AUTH. */
export const beginLogin = (
  words: readonly string[],
  mayBeExternal = false,
): { login: Login; step: LoginStep } => {
  const [mechanism = '', given, ...rest] = words
  // how a client writes that it is empty (RFC 4954, section 4)
  const initial = given === '=' ? '' : given
  if (rest.length > 0 || mechanism === '') throw new Refusal('501 5.5.4 Syntax: AUTH mechanism [response]')
  switch (mechanism.toUpperCase()) {
    case 'PLAIN': {
      const exchange = plain()
      return { login: exchange, step: initial === undefined ? { challenge: '' } : exchange.next(initial) }
    }
    case 'LOGIN': {
      const exchange = login()
      const step = initial === undefined ? { challenge: 'VXNlcm5hbWU6' } : exchange.next(initial)
      return { login: exchange, step }
    }
    case 'EXTERNAL': {
      if (!mayBeExternal) throw new Refusal(UNKNOWN)
      return { login: EXTERNAL, step: initial === undefined ? { challenge: '' } : EXTERNAL.next(initial) }
    }
    default:
      throw new Refusal(UNKNOWN)
  }
}
