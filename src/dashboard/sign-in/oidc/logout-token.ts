/**
 * NAME      logout-token - a provider says that somebody signed out there
 * DESCRIPTION
 *   OpenID Connect Back-Channel Logout 1.0, section 2.6: signed with a key of the
 *   provider (never none, never HMAC), its issuer, for us, recent, with the event
 *   and a jti, with sid or sub, and without a nonce, so that no ID token passes.
 *   That a jti counts once is for the caller, who can remember it.
 */
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose'
import { ProviderTrouble, troubleOf } from './trouble.js'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const MOST_OCTETS = 16_384
/** A token without exp counts for so long; nobody needs it later. */
const LOGOUT_SECONDS = 600

export interface LogoutClaims {
  readonly issuer: string
  readonly subject: string | null
  readonly sid: string | null
  readonly jti: string
  /** Epoch milliseconds after which it would be refused anyway. */
  readonly until: number
}

interface Expected {
  readonly issuer: string
  readonly audience: string
  /** jwks_uri. */
  readonly keys: string
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= 500

const refuse = (what: string): ProviderTrouble => new ProviderTrouble('token', `logout token: ${what}`)

const claimsOf = (
  { iss, sub, sid, jti, iat = 0, exp, events, nonce }: JWTPayload,
  tolerance: number,
): LogoutClaims => {
  if (nonce !== undefined) throw refuse('it has a nonce')
  const event =
    typeof events === 'object' && events !== null ? (events as Record<string, unknown>)[EVENT] : undefined
  if (typeof event !== 'object' || event === null) throw refuse('it has no logout event')
  if (!isText(jti)) throw refuse('it has no jti')
  if (sub !== undefined && !isText(sub)) throw refuse('its sub is no text')
  if (sid !== undefined && !isText(sid)) throw refuse('its sid is no text')
  if (sub === undefined && sid === undefined) throw refuse('it names neither sub nor sid')
  const last = Math.min(exp ?? Number.POSITIVE_INFINITY, iat + LOGOUT_SECONDS)
  return {
    issuer: iss ?? '',
    subject: sub ?? null,
    sid: (sid as string | undefined) ?? null,
    jti,
    until: (last + 2 * tolerance) * 1_000,
  }
}

export class LogoutTokens {
  readonly #fetch: typeof fetch
  readonly #tolerance: number
  readonly #timeoutMs: number
  #keys: { readonly uri: string; readonly get: ReturnType<typeof createRemoteJWKSet> } | null = null

  constructor(call: typeof fetch, toleranceSeconds: number, timeoutMs: number) {
    this.#fetch = call
    this.#tolerance = toleranceSeconds
    this.#timeoutMs = timeoutMs
  }

  /** Throws ProviderTrouble unless all of it holds. */
  async check(token: string, { issuer, audience, keys }: Expected): Promise<LogoutClaims> {
    if (token.length > MOST_OCTETS) throw refuse('it is too long')
    if (this.#keys?.uri !== keys) {
      const options = {
        [customFetch]: this.#fetch,
        timeoutDuration: this.#timeoutMs,
        cooldownDuration: 5_000,
      }
      this.#keys = { uri: keys, get: createRemoteJWKSet(new URL(keys), options) }
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#keys.get, {
        issuer,
        audience,
        algorithms: ALGORITHMS,
        clockTolerance: this.#tolerance,
        maxTokenAge: LOGOUT_SECONDS,
        requiredClaims: ['iat', 'jti', 'events'],
      })
      // its own type is only recommended; that of an access token is refused
      const typ = protectedHeader.typ?.toLowerCase().replace(/^application\//, '')
      if (typ !== undefined && typ !== 'jwt' && typ !== 'logout+jwt')
        throw refuse(`its type is ${typ.slice(0, 40)}`)
      return claimsOf(payload, this.#tolerance)
    } catch (error) {
      if (error instanceof errors.JWTExpired)
        throw new ProviderTrouble('clock', `logout token: ${error.message}`)
      if (error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout))
        throw refuse(error.message)
      throw troubleOf(error, 'keys')
    }
  }
}
