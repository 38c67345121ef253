/**
 * NAME      trouble - what goes wrong with a provider, in words
 * DESCRIPTION
 *   Whoever signs in reads one sentence; whoever runs Postern also reads what to
 *   check, on the page, in the log and in doctor. No token, code or secret ever
 *   stands in one of these.
 */
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'

type TroubleKind =
  | 'down'
  | 'slow'
  | 'certificate'
  | 'metadata'
  | 'client'
  | 'keys'
  | 'token'
  | 'clock'
  | 'code'
  | 'refused'
  | 'files'

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

const SAYS: Readonly<Record<TroubleKind, (label: string) => string>> = {
  down: (label) => `${label} does not answer. Use another way, or try again in a minute.`,
  slow: (label) => `${label} takes too long to answer. Use another way, or try again in a minute.`,
  certificate: (label) => `The certificate of ${label} is not one that Postern believes.`,
  metadata: (label) => `${label} is not set up right: what it says of itself does not fit the settings here.`,
  client: (label) => `${label} does not know Postern, or refused its secret.`,
  keys: (label) => `The keys of ${label} could not be read, so its word cannot be checked.`,
  token: (label) => `What ${label} said of you does not hold, so nobody was signed in.`,
  clock: (label) => `The clocks of ${label} and of this server do not agree.`,
  code: (label) => `This sign-in at ${label} was used already, or took too long. Start again.`,
  refused: (label) => `${label} did not let you in.`,
  files: (label) => `${label} is not set up: a file that its settings name cannot be used.`,
}

/** What its admin does about it. */
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
export type Step = 'discovery' | 'answer' | 'userinfo' | 'keys'

const OF_STEP: Readonly<Record<Step, TroubleKind>> = {
  discovery: 'metadata',
  answer: 'token',
  userinfo: 'token',
  keys: 'keys',
}

export const troubleOf = (error: unknown, step: Step): ProviderTrouble => {
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
