/**
 * NAME      provider - one provider of OpenID Connect
 * DESCRIPTION
 *   Authorization code with PKCE, state and nonce; the ID token's issuer,
 *   audience, times, algorithm and signature are checked, also where it came over
 *   TLS. What is discovered is kept for an hour, and used further when the
 *   provider does not answer then. Every call ends within 10 seconds.
 *   Whatever goes wrong is thrown as ProviderTrouble.
 * NOTES
 *   Nothing is asked of a provider before somebody wants to sign in there: one
 *   that is down keeps nobody else out. A failure is remembered for 5 seconds,
 *   so that a crowd does not wait in turns.
 */
import * as oidc from 'openid-client'
import type { Clock } from '../../../base/clock.js'
import { createFetch, type PlainFetch } from '../../../base/dial/fetch.js'
import { labelOf, readCa, readSecret, type Provider as Settings } from '../../../config/identity.js'
import { ConfigError } from '../../../config/problem.js'
import type { Claims, Told } from './claims.js'
import { type LogoutClaims, LogoutTokens } from './logout-token.js'
import { ProviderTrouble, type Step, troubleOf } from './trouble.js'

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

/** What a successful sign-in, or a refresh, brings. */
export interface Granted {
  readonly told: Told
  /** As it came, to end the session there one day. */
  readonly idToken: string | null
  readonly refreshToken: string | null
}

interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** New ones for each sign-in. */
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

/** The provider's own id of the session, when it gives one. */
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

  /** Where the browser is sent. */
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

  /** Asks again what is true of somebody who signed in earlier. */
  async refresh(refreshToken: string, before: Told): Promise<Granted> {
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

  async #named<T>(step: Step, call: () => Promise<T>): Promise<T> {
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
    before: Told | null,
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
