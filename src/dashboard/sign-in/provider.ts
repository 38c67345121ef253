/**
 * NAME      provider - one provider of OpenID Connect, and what goes wrong with it
 *   Authorization code with PKCE, state and nonce; the ID token's issuer, audience, times, algorithm and signature are
 *   checked, also where it came over TLS. What is discovered is kept for an hour, and used further when the provider does
 *   not answer then. Every call ends within 10 seconds. Whatever goes wrong is thrown as ProviderTrouble: the person who
 *   signs in reads one sentence; the operator also reads what to check, on the page, in the log and in doctor. No token,
 *   code or secret ever stands in one of these.
 *   A logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6) is signed with a key of the provider (never none,
 *   never HMAC), its issuer, for us, recent, with the event and a jti, with sid or sub, and without a nonce, so that no ID
 *   token passes. That a jti counts once is for the caller, who can remember it.
 * NOTES
 *   Nothing is asked of a provider before somebody wants to sign in there: one that is down keeps no other person out. A
 *   failure is remembered for 5 seconds, so that a crowd does not wait in turns. Loaded with its packages at first use.
 */
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import type { Clock } from '../../base/clock.js'
import { createFetch, type PlainFetch } from '../../base/fetch.js'
import { labelOf, readCa, readSecret, type SignInProvider as Settings } from '../../config/identity.js'
import { ConfigError } from '../../config/problem.js'
import type { Claims, ToldPerson } from './admission.js'

type TroubleKind = keyof typeof SAYS

export class ProviderTrouble extends Error {
  override readonly name = 'ProviderTrouble'
  readonly kind: TroubleKind
  /** For the log and doctor: what happened, without secrets. */
  readonly detail: string

  constructor(kind: TroubleKind, detail: string) {
    super(`${kind}: ${detail}`)
    this.kind = kind
    this.detail = detail
  }
}

const SAYS = {
  down: (label: string) => `${label} does not answer. Use another way, or try again in a minute.`,
  slow: (label: string) => `${label} takes too long to answer. Use another way, or try again in a minute.`,
  certificate: (label: string) => `The certificate of ${label} is not one that Postern believes.`,
  metadata: (label: string) =>
    `${label} is not set up right: what it says of itself does not fit the settings here.`,
  client: (label: string) => `${label} does not know Postern, or refused its secret.`,
  keys: (label: string) => `The keys of ${label} could not be read, so its word cannot be checked.`,
  token: (label: string) => `What ${label} said of you does not hold, so nobody was signed in.`,
  clock: (label: string) => `The clocks of ${label} and of this server do not agree.`,
  code: (label: string) => `This sign-in at ${label} was used already, or took too long. Start again.`,
  refused: (label: string) => `${label} did not let you in.`,
  files: (label: string) => `${label} is not set up: a file that its settings name cannot be used.`,
}

const CHECKS: Readonly<Record<TroubleKind, string>> = {
  down: 'see that its issuer URL can be reached from this server, with the right name and port',
  slow: 'see that its issuer URL can be reached from this server, and that it is not overloaded',
  certificate: 'set ca_file when it has a CA of its own; else renew its certificate',
  metadata: 'compare issuer with the "issuer" in {issuer}/.well-known/openid-configuration, letter by letter',
  client:
    'compare client_id and client_secret_file with the client there; it must allow the authorization code flow with PKCE',
  keys: 'see that the jwks_uri of its discovery document can be reached, and holds the key that signs',
  token:
    'see that the client there is the one in the settings, and signs its ID tokens with RS256, PS256, ES256 or EdDSA',
  clock: 'timedatectl set-ntp true, here and there',
  code: 'nothing, unless it happens each time: then see that its answers are not cached or fetched twice',
  refused: 'its own log says why; the redirect address must be allowed there, and the scopes',
  files: 'postern config check',
}

export const saysOf = (trouble: ProviderTrouble, label: string): string => SAYS[trouble.kind](label)
export const checkOf = (trouble: ProviderTrouble): string => CHECKS[trouble.kind]

/** Errors hide the one that tells under `cause`. */
const chainOf = (error: unknown): readonly unknown[] => {
  const chain: unknown[] = []
  for (let one = error; one !== undefined && one !== null && chain.length < 6; ) {
    chain.push(one)
    one = one instanceof Error || 'cause' in Object(one) ? (one as { cause?: unknown }).cause : undefined
  }
  return chain
}

const codesOf = (chain: readonly unknown[]): readonly string[] =>
  chain.flatMap((one) => {
    const { code, name } = Object(one) as { code?: unknown; name?: unknown }
    return [code, name].filter((part): part is string => typeof part === 'string')
  })

const NETWORK =
  /^(?:ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE|UND_ERR_SOCKET|UND_ERR_RES\w+|HPE_\w+)$/
const TIMEOUT = /^(?:TimeoutError|OAUTH_TIMEOUT|ETIMEDOUT|UND_ERR_\w*TIMEOUT|ABORT_ERR|AbortError)$/
const TLS = /^(?:ERR_TLS\w*|ERR_SSL\w*|CERT_\w+|DEPTH_ZERO\w*|SELF_SIGNED\w*|UNABLE_TO\w+|HOSTNAME_MISMATCH)$/

/** Words that a provider said, as far as they may be shown. */
const quoted = (text: unknown): string =>
  typeof text === 'string' ? text.replace(/[^\u0020-\u007e]/g, ' ').slice(0, 200) : ''

const CLIENT_ERRORS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope']

const ofResponse = (error: AuthorizationResponseError | ResponseBodyError): ProviderTrouble => {
  const said = [quoted(error.error), quoted(error.error_description)].filter((part) => part !== '').join(': ')
  if (CLIENT_ERRORS.includes(error.error)) return new ProviderTrouble('client', `it said ${said}`)
  if (error instanceof ResponseBodyError && error.error === 'invalid_grant')
    return new ProviderTrouble('code', `it said ${said}`)
  return new ProviderTrouble('refused', `it said ${said}`)
}

/** The step that failed tells what an error without a better name means. */
type ProviderStep = 'discovery' | 'answer' | 'userinfo' | 'keys'

const OF_STEP: Readonly<Record<ProviderStep, TroubleKind>> = {
  discovery: 'metadata',
  answer: 'token',
  userinfo: 'token',
  keys: 'keys',
}

const troubleOf = (error: unknown, step: ProviderStep): ProviderTrouble => {
  if (error instanceof ProviderTrouble) return error
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
    return ofResponse(error)
  const chain = chainOf(error)
  const codes = codesOf(chain)
  if (error instanceof WWWAuthenticateChallengeError)
    return new ProviderTrouble(
      error.status === 401 ? 'client' : OF_STEP[step],
      `${step}: it answered ${error.status}`,
    )
  const texts = chain.flatMap((one) => (one instanceof Error ? [quoted(one.message)] : []))
  const detail = [
    ...new Set([...texts, ...codes.filter((code) => NETWORK.test(code) || TLS.test(code))]),
  ].join('; ')
  const trouble = (kind: TroubleKind) => new ProviderTrouble(kind, `${step}: ${detail}`)
  if (codes.some((code) => TLS.test(code))) return trouble('certificate')
  if (codes.some((code) => TIMEOUT.test(code))) return trouble('slow')
  if (codes.some((code) => NETWORK.test(code))) return trouble('down')
  if (codes.includes('OAUTH_JWT_TIMESTAMP_CHECK_FAILED')) return trouble('clock')
  if (codes.includes('OAUTH_MISSING_SERVER_METADATA')) return trouble('metadata')
  if (codes.includes('OAUTH_KEY_SELECTION_FAILED') || /jwks/i.test(detail)) return trouble('keys')
  if (error instanceof ClientError && codes.includes('OAUTH_RESPONSE_IS_NOT_CONFORM')) {
    const { status } = (error.cause ?? {}) as { status?: number }
    const kind = status === 401 ? 'client' : (status ?? 0) >= 500 ? 'down' : OF_STEP[step]
    return new ProviderTrouble(kind, `${step}: it answered ${status ?? 'something else'}`)
  }
  return trouble(OF_STEP[step])
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')
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

class LogoutTokens {
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

const CALL_SECONDS = 10
const TOLERANCE_SECONDS = 60
const KEEP_MS = 3_600_000
const FAILED_MS = 5_000

interface ProviderOptions {
  readonly settings: Settings
  /** Its place in the list, for messages. */
  readonly at: number
  readonly clock: Clock
  /** How long one call may take; 10 s. */
  readonly callSeconds?: number
}

export interface Granted {
  readonly told: ToldPerson
  /** As it came, to end the session there one day. */
  readonly idToken: string | null
  readonly refreshToken: string | null
}

interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export const newChecks = (): Checks => ({
  state: oidc.randomState(),
  nonce: oidc.randomNonce(),
  verifier: oidc.randomPKCECodeVerifier(),
})

/** What it says it takes; where it says nothing, what the standard presumes. */
const authenticate =
  (secret: string | null): oidc.ClientAuth =>
  (server, client, body, headers) => {
    if (secret === null) return oidc.None()(server, client, body, headers)
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const way = methods.includes('client_secret_basic') ? oidc.ClientSecretBasic : oidc.ClientSecretPost
    return way(secret)(server, client, body, headers)
  }

export const sidOf = ({ sid }: Claims): string | null =>
  typeof sid === 'string' && sid.length <= 500 ? sid : null

export class Provider {
  readonly settings: Settings
  readonly label: string
  readonly #options: ProviderOptions
  #found: { readonly configuration: oidc.Configuration; readonly at: number } | null = null
  #failed: { readonly trouble: ProviderTrouble; readonly at: number } | null = null
  #asking: Promise<oidc.Configuration> | null = null
  #net: (PlainFetch & { readonly ca: string | null }) | null = null
  readonly #fetch: typeof fetch = (...call) => (this.#net?.fetch ?? fetch)(...call)
  #logouts: LogoutTokens | null = null

  constructor(options: ProviderOptions) {
    this.#options = options
    this.settings = options.settings
    this.label = labelOf(options.settings)
  }

  get name(): string {
    return this.settings.name
  }

  async begin(checks: Checks, redirectUri: string): Promise<URL> {
    const configuration = await this.#configuration()
    const parameters = {
      redirect_uri: redirectUri,
      scope: this.settings.scopes.join(' '),
      code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      state: checks.state,
      nonce: checks.nonce,
    }
    return oidc.buildAuthorizationUrl(configuration, parameters)
  }

  /** `answer` is the redirect address with what the browser brought back. */
  async finish(answer: URL, checks: Checks): Promise<Granted> {
    const configuration = await this.#configuration()
    const grant = () =>
      oidc.authorizationCodeGrant(configuration, answer, {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier,
        idTokenExpected: true,
      })
    const tokens = await this.#named('answer', grant)
    return this.#granted(configuration, tokens, null)
  }

  async refresh(refreshToken: string, before: ToldPerson): Promise<Granted> {
    const configuration = await this.#configuration()
    const tokens = await this.#named('answer', () => oidc.refreshTokenGrant(configuration, refreshToken))
    return this.#granted(configuration, tokens, before)
  }

  /** Where the browser goes to sign out there, too; null when there is no such place. */
  async signOutUrl(idToken: string, back: string): Promise<URL | null> {
    const configuration = await this.#configuration()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null
    return oidc.buildEndSessionUrl(configuration, { id_token_hint: idToken, post_logout_redirect_uri: back })
  }

  /** What a logout token says, which the provider posts to us; throws ProviderTrouble unless all of it holds. */
  async checkLogout(token: string): Promise<LogoutClaims> {
    const { issuer, jwks_uri } = (await this.#configuration()).serverMetadata()
    if (jwks_uri === undefined) throw new ProviderTrouble('keys', 'its discovery document names no jwks_uri')
    this.#logouts ??= new LogoutTokens(this.#fetch, TOLERANCE_SECONDS, this.#callMs)
    return this.#logouts.check(token, { issuer, keys: jwks_uri, audience: this.settings.client_id })
  }

  /** For doctor: reads what it says of itself, and its keys. */
  async examine(): Promise<{ readonly issuer: string; readonly signsOut: boolean }> {
    const configuration = await this.#configuration()
    const { issuer, jwks_uri, end_session_endpoint, authorization_endpoint } = configuration.serverMetadata()
    if (authorization_endpoint === undefined)
      throw new ProviderTrouble('metadata', 'its discovery document names no authorization_endpoint')
    if (jwks_uri === undefined) throw new ProviderTrouble('keys', 'its discovery document names no jwks_uri')
    const signal = AbortSignal.timeout(this.#callMs)
    const keys = await this.#named('keys', async () => (await this.#fetch(jwks_uri, { signal })).json())
    const found = (keys as { keys?: unknown }).keys
    if (!Array.isArray(found) || found.length === 0)
      throw new ProviderTrouble('keys', 'its jwks_uri holds no key')
    return { issuer, signsOut: end_session_endpoint !== undefined }
  }

  async close(): Promise<void> {
    await this.#net?.close()
    this.#net = null
    this.#found = null
  }

  get #callMs(): number {
    return (this.#options.callSeconds ?? CALL_SECONDS) * 1_000
  }

  async #named<T>(step: ProviderStep, call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      const { url } = Object((error as { cause?: unknown }).cause) as { url?: unknown }
      const keys = this.#found?.configuration.serverMetadata().jwks_uri
      throw troubleOf(error, url !== undefined && url === keys ? 'keys' : step)
    }
  }

  /** The answer of a refresh may leave the ID token out: then the one before stays true. */
  async #granted(
    configuration: oidc.Configuration,
    tokens: oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers,
    before: ToldPerson | null,
  ): Promise<Granted> {
    const claims = tokens.claims()
    const idToken: Claims | undefined = claims ?? before?.idToken
    const issuer = claims?.iss ?? before?.issuer
    const subject = claims?.sub ?? before?.subject
    if (idToken === undefined || issuer === undefined || subject === undefined)
      throw new ProviderTrouble('token', 'answer: it gave no ID token')
    if (before !== null && (before.subject !== subject || before.issuer !== issuer))
      throw new ProviderTrouble('token', 'answer: the refreshed ID token is about somebody else')
    const ask = () => oidc.fetchUserInfo(configuration, tokens.access_token, subject)
    const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined
    const userinfo: Claims = hasUserinfo ? await this.#named('userinfo', ask) : {}
    return {
      told: { issuer, subject, idToken, userinfo },
      idToken: tokens.id_token ?? null,
      refreshToken: tokens.refresh_token ?? null,
    }
  }

  /** Discovered within the hour; older where it can not be discovered anew. */
  async #configuration(): Promise<oidc.Configuration> {
    const now = this.#options.clock.now()
    const isNear = (at: number, ms: number): boolean => now >= at && now - at < ms
    if (this.#found !== null && isNear(this.#found.at, KEEP_MS)) return this.#found.configuration
    if (this.#failed !== null && isNear(this.#failed.at, FAILED_MS)) {
      if (this.#found !== null) return this.#found.configuration
      throw this.#failed.trouble
    }
    this.#asking ??= this.#discover().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #discover(): Promise<oidc.Configuration> {
    try {
      const configuration = await this.#named('discovery', () => this.#ask())
      this.#found = { configuration, at: this.#options.clock.now() }
      this.#failed = null
      return configuration
    } catch (error) {
      this.#failed = { trouble: error as ProviderTrouble, at: this.#options.clock.now() }
      if (this.#found !== null) return this.#found.configuration
      throw error
    }
  }

  async #ask(): Promise<oidc.Configuration> {
    const { settings, at, callSeconds = CALL_SECONDS } = this.#options
    const { secret, ca } = this.#files(settings, at)
    // the one before may be in use
    if (this.#net === null || this.#net.ca !== ca) this.#net = { ...createFetch(ca), ca }
    return oidc.discovery(
      new URL(settings.issuer),
      settings.client_id,
      { [oidc.clockTolerance]: TOLERANCE_SECONDS },
      authenticate(secret),
      {
        timeout: callSeconds,
        [oidc.customFetch]: this.#fetch as unknown as oidc.CustomFetch,
        execute: [
          oidc.enableNonRepudiationChecks,
          // the settings allow that on loopback only
          ...(settings.issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : []),
        ],
      },
    )
  }

  /** Read at each discovery, so that a mended file needs no restart. */
  #files(settings: Settings, at: number): { secret: string | null; ca: string | null } {
    try {
      return { secret: readSecret(settings, at), ca: readCa(settings, at) }
    } catch (error) {
      throw error instanceof ConfigError ? new ProviderTrouble('files', error.message) : error
    }
  }
}
