/**
 * NAME      login - AUTH at an upstream (RFC 4954), the access tokens for it (RFC 6749), and texts without its secrets
 *   Only by a mechanism that the server offers on the connection as it now is: a password by PLAIN, LOGIN or, where that
 *   alone is offered or asked for, CRAM-MD5; a token by XOAUTH2 (Microsoft 365, Gmail) or OAUTHBEARER (RFC 7628). A
 *   server that offers none of these hears nothing. A token that the server refuses is asked for anew, once.
 *   Tokens come from a file that another program keeps fresh, read at each login, or from a token endpoint: by a refresh
 *   token, by the client's own credentials, or by the key of a Google service account, which signs who it is (RFC 7523)
 *   and for whom it acts. Then a token is kept until shortly before its end, many that need one share one call, and an
 *   endpoint that fails is left alone for a while that doubles.
 * NOTES
 *   AUTH with an initial response keeps to the 512 octets of a command line (RFC 4954, section 4); a longer one, which
 *   tokens are, goes out after the server's 334.
 *   Servers repeat what was said to them, or a piece of it: as it was, in base64, or as a form has it. What they say is
 *   shown to people and kept with events, so it is put on one line, and secrets are cut out.
 *   A token endpoint may give a new refresh token with every answer and forget the old one: it is handed to `rotated`,
 *   and used from then on although the row says another.
 */
import { createHmac, createPrivateKey, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Dialler } from '../../base/dial.js'
import type { Reply } from '../../mail/reply.js'
import type { AuthMechanism, OauthRow } from '../../store/port/tenants.js'

const NOT_ON_A_LINE = /[\s\p{Cc}]+/gu
const ENCODED = /[A-Za-z0-9+/_-]{8,}={0,2}/g

/** Each with its spaces as they are on one line; no word of it is the empty one. */
const exactly = (secrets: readonly string[]): RegExp | null => {
  const all = secrets.flatMap((one) => [
    one,
    encodeURIComponent(one),
    `${new URLSearchParams({ '': one })}`.slice(1),
  ])
  const words = all.map((one) => one.replace(NOT_ON_A_LINE, ' ').trim()).filter((one) => one !== '')
  if (words.length === 0) return null
  const escaped = words.map((one) => one.replace(/[^\w\s]/gu, '\\$&'))
  return new RegExp(escaped.join('|'), 'gi')
}

export const hiding = (secrets: readonly string[]): ((text: string) => string) => {
  const bytes = secrets.map((one) => Buffer.from(one))
  const encoded = bytes.flatMap((one) => [one.toString('base64'), one.toString('base64url')]).join(' ')
  const exact = exactly(secrets)
  return (text) => {
    const shown = text.replace(ENCODED, (word) => (encoded.includes(word) ? '…' : word))
    return (exact === null ? shown : shown.replace(exact, '…')).replace(NOT_ON_A_LINE, ' ').trim()
  }
}

/** Where tokens come from. Both reject with a sentence. */
export interface TokenSource {
  token(): Promise<string>
  /** Another one in place of a refused one; null when there is none. */
  insteadOf(refused: string): Promise<string | null>
}

export interface UpstreamLogin {
  readonly user: string
  /** A password, or where tokens come from. */
  readonly secret: string | TokenSource
  /** The only one that may be used; null: what fits the secret. */
  readonly mechanism?: AuthMechanism | null | undefined
}

type Say = (line: string) => Promise<Reply>

export class LoginError extends Error {
  readonly reply: Reply | null

  constructor(message: string, reply: Reply | null = null) {
    super(message)
    this.reply = reply
  }
}

/** In order of preference. */
const PASSWORD_MECHANISMS = ['PLAIN', 'LOGIN', 'CRAM-MD5'] as const
const TOKEN_MECHANISMS = ['XOAUTH2', 'OAUTHBEARER'] as const

const MOST_LINE = 510

/** Throws LoginError, in words, when nothing that is offered will do. */
export const chooseMechanism = (
  offered: readonly string[],
  { secret, mechanism }: UpstreamLogin,
): AuthMechanism => {
  const byPassword = typeof secret === 'string'
  const usable = mechanism ? [mechanism] : byPassword ? PASSWORD_MECHANISMS : TOKEN_MECHANISMS
  const found = usable.find((one) => offered.includes(one))
  if (found !== undefined) return found
  if (offered.length === 0) throw new LoginError('the server offers no AUTH: take the login away')
  const wanted = mechanism ? `${mechanism} is set` : byPassword ? 'there is a password' : 'there is a token'
  throw new LoginError(`the server offers ${offered.join(', ')} only, and ${wanted}`)
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const fromBase64 = (text: string): string => Buffer.from(text, 'base64').toString()

/** A user name as GS2 has it (RFC 5801, section 4). */
const saslName = (user: string): string => user.replaceAll('=', '=3D').replaceAll(',', '=2C')

interface Place {
  readonly host: string
  readonly port: number
}

/** The first thing that the client says; null where the server begins. */
const firstOf = (mechanism: AuthMechanism, user: string, secret: string, place: Place): string | null => {
  if (mechanism === 'PLAIN') return `\0${user}\0${secret}`
  if (mechanism === 'XOAUTH2') return `user=${user}\x01auth=Bearer ${secret}\x01\x01`
  if (mechanism === 'OAUTHBEARER')
    return `n,a=${saslName(user)},\x01host=${place.host}\x01port=${place.port}\x01auth=Bearer ${secret}\x01\x01`
  return null
}

/** The answers to challenges, one after another, when the first thing is said. */
const answersOf = (mechanism: AuthMechanism, user: string, secret: string) => {
  if (mechanism === 'LOGIN') return [() => user, () => secret]
  if (mechanism === 'CRAM-MD5')
    return [(said: string) => `${user} ${createHmac('md5', secret).update(said).digest('hex')}`]
  // the server tells in JSON why the token will not do, and wants to be answered before it refuses
  return mechanism === 'XOAUTH2' ? [() => ''] : mechanism === 'OAUTHBEARER' ? [() => '\x01'] : []
}

/** What a server says of a token that it refuses: `status 401, scope https://mail.google.com/`. */
const inWords = (challenge: string): string => {
  try {
    const { status, scope } = JSON.parse(challenge) as { status?: unknown; scope?: unknown }
    const words = [status && `status ${status}`, scope && `scope ${scope}`].filter(Boolean).join(', ')
    return words === '' ? '' : `(${words})`
  } catch {
    return ''
  }
}

const converse = async (
  mechanism: AuthMechanism,
  user: string,
  secret: string,
  place: Place,
  say: Say,
): Promise<string> => {
  const first = firstOf(mechanism, user, secret, place)
  const line = first === null ? '' : `AUTH ${mechanism} ${base64(first)}`
  const atOnce = first !== null && line.length <= MOST_LINE
  let reply = await say(atOnce ? line : `AUTH ${mechanism}`)
  const answers: ((challenge: string) => string)[] = answersOf(mechanism, user, secret)
  if (first !== null && !atOnce) answers.unshift(() => first)
  let about = ''
  for (const answer of answers) {
    if (reply.code !== 334) break
    const challenge = fromBase64(reply.text)
    if (answer === answers.at(-1)) about = inWords(challenge)
    const said = answer(challenge)
    reply = await say(base64(said))
  }
  if (reply.code === 235) return mechanism
  const hide = hiding([secret, first ?? ''])
  if (reply.code === 334)
    throw new LoginError(`${mechanism}: the server asks once more (${hide(fromBase64(reply.text))})`)
  const text = hide(reply.text)
  const said = [`${mechanism} refused: ${reply.code}`, reply.enhanced, text, hide(about)]
  throw new LoginError(said.filter(Boolean).join(' '), { ...reply, text })
}

const byToken = async (
  mechanism: AuthMechanism,
  { user }: UpstreamLogin,
  source: TokenSource,
  place: Place,
  say: Say,
) => {
  const token = await source.token()
  try {
    return await converse(mechanism, user, token, place, say)
  } catch (error) {
    const refused = error instanceof LoginError && (error.reply?.code ?? 0) >= 500
    const other = refused ? await source.insteadOf(token) : null
    if (other === null) throw error
    return converse(mechanism, user, other, place, say)
  }
}

/** Signs in, and gives the mechanism. Rejects with LoginError, or with what the token source says. */
export const signIn = async (
  login: UpstreamLogin,
  offered: readonly string[],
  place: Place,
  say: Say,
): Promise<string> => {
  const mechanism = chooseMechanism(offered, login)
  const { secret, user } = login
  return typeof secret === 'string'
    ? converse(mechanism, user, secret, place, say)
    : byToken(mechanism, login, secret, place, say)
}

interface Granted {
  readonly token: string
  /** Seconds that it lives, as far as one can believe it. */
  readonly life: number
  /** In place of the refresh token that was used. */
  readonly refreshToken: string | null
}

/** Fields of the form; those of `secrets` are never shown. */
interface GrantForm {
  readonly fields: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
}

/** Of servers that do not say. */
const USUAL_LIFE_S = 300
const LONGEST_LIFE_S = 86_400
const TOKEN = /^[\x21-\x7e]{1,12000}$/

type Json = Readonly<Record<string, unknown>>

const parse = (body: Uint8Array): Json | null => {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString())
    return typeof value === 'object' && value !== null ? (value as Json) : null
  } catch {
    return null
  }
}

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

/** On one line, short, and without a secret. */
const shown = (words: string, { secrets }: GrantForm): string =>
  hiding(Object.values(secrets))(words).slice(0, 200)

const refusal = (status: number, answer: Json | null, form: GrantForm): string => {
  const words = [text(answer?.error), text(answer?.error_description)].filter((one) => one !== null)
  if (words.length > 0) return `answered ${status} ${shown(words.join(': '), form)}`
  return status >= 300 && status < 400
    ? `answered ${status}: it redirects, which is not followed`
    : `answered ${status}`
}

const lifeOf = (seconds: unknown): number => {
  const life = Number(seconds)
  return life > 0 ? Math.min(life, LONGEST_LIFE_S) : USUAL_LIFE_S
}

/** A token that may stand in a line of SMTP, or null. */
const sendable = (token: string): string | null => (TOKEN.test(token) ? token : null)

/** Rejects with a sentence. */
const requestToken = async (dialler: Dialler, url: string, form: GrantForm): Promise<Granted> => {
  const { host } = new URL(url)
  const { status, body } = await dialler.request({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams({ ...form.fields, ...form.secrets }).toString(),
  })
  const answer = parse(body)
  if (status !== 200) throw new Error(`${host} ${refusal(status, answer, form)}`)
  if (answer === null) throw new Error(`${host} answered 200, but not in JSON`)
  const token = sendable(text(answer.access_token) ?? '')
  const kind = text(answer.token_type) ?? 'bearer'
  if (token === null) throw new Error(`${host} answered without a usable access_token`)
  if (kind.toLowerCase() !== 'bearer') throw new Error(`${host} gives a token of another kind than Bearer`)
  return { token, life: lifeOf(answer.expires_in), refreshToken: text(answer.refresh_token) }
}

interface Request {
  readonly url: string
  readonly form: GrantForm
}

const GOOGLE_MAIL = 'https://mail.google.com/'
const ASSERTION_S = 3_600

const SAID: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'the daemon may not read it',
  EISDIR: 'is a folder',
}

/** The content of a file; rejects with its name and the reason. */
const readNamed = async (what: string, path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'cannot be read' } = error as NodeJS.ErrnoException
    throw new Error(`${what} ${path}: ${SAID[code] ?? code}`)
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The request of a service account's key file. `seconds`: now. */
const accountRequest = async (
  file: string,
  user: string,
  { tokenUrl, scope }: OauthRow,
  seconds: number,
): Promise<Request> => {
  const content = await readNamed('service_account_file', file)
  try {
    const key = JSON.parse(content) as Record<'client_email' | 'private_key' | 'token_uri', string>
    const url = tokenUrl ?? key.token_uri
    const claims = {
      ...{ iss: key.client_email, sub: user, scope: scope ?? GOOGLE_MAIL, aud: url },
      ...{ iat: seconds, exp: seconds + ASSERTION_S },
    }
    const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`
    const proof = sign('sha256', Buffer.from(signed), createPrivateKey(key.private_key)).toString('base64url')
    const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    new URL(url)
    return { url, form: { fields: { grant_type }, secrets: { assertion: `${signed}.${proof}` } } }
  } catch {
    // the parsers' own words would show a piece of the key
    throw new Error(`service_account_file ${file}: is no key file of a service account`)
  }
}

/** Secrets unsealed. */
const clientRequest = (
  { tokenUrl, clientId, scope }: OauthRow,
  secret: string | null,
  refreshToken: string | null,
): Request => ({
  url: tokenUrl ?? '',
  form: {
    fields: {
      grant_type: refreshToken === null ? 'client_credentials' : 'refresh_token',
      client_id: clientId ?? '',
      ...(scope !== null && { scope }),
    },
    secrets: {
      ...(secret !== null && { client_secret: secret }),
      ...(refreshToken !== null && { refresh_token: refreshToken }),
    },
  },
})

export interface TokenParts {
  readonly dialler: Dialler
  readonly unseal: (sealed: string) => string
  readonly seal: (text: string) => string
  /** To be stored in place of the sealed refresh token that it was made from. */
  readonly rotated: (was: string, is: string) => void
  readonly now: () => number
  readonly tick: () => number
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** So long a token is used though it says that it ends sooner: else every login would cost a call. */
const SHORTEST_USE_S = 10
const MARGIN_S = 60

interface Kept {
  readonly token: string
  readonly until: number
}

interface Pause {
  readonly error: Error
  readonly ms: number
  readonly until: number
}

const unsealed = (sealed: string | null, unseal: TokenParts['unseal']): string | null => {
  try {
    return sealed === null ? null : unseal(sealed)
  } catch {
    throw new Error('the stored secret can not be read: set it again')
  }
}

class Endpoint implements TokenSource {
  readonly #row: () => OauthRow
  readonly #user: string
  readonly #parts: TokenParts
  #kept: Kept | null = null
  #pause: Pause | null = null
  #asking: Promise<string> | null = null
  /** The newest refresh token, sealed, and the stored one that it stands for. */
  #newest: { readonly stored: string; readonly sealed: string } | null = null

  constructor(row: () => OauthRow, user: string, parts: TokenParts) {
    this.#row = row
    this.#user = user
    this.#parts = parts
  }

  async token(): Promise<string> {
    const now = this.#parts.tick()
    if (this.#kept !== null && now < this.#kept.until) return this.#kept.token
    if (this.#pause !== null && now < this.#pause.until) throw this.#pause.error
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async insteadOf(refused: string): Promise<string | null> {
    if (this.#kept?.token === refused) this.#kept = null
    const other = await this.token()
    return other === refused ? null : other
  }

  async #ask(): Promise<string> {
    try {
      const { request, sealed } = await this.#request()
      const { token, life, refreshToken } = await requestToken(this.#parts.dialler, request.url, request.form)
      const use = Math.max(SHORTEST_USE_S, life - Math.min(MARGIN_S, life / 10))
      this.#kept = { token, until: this.#parts.tick() + use * 1_000 }
      this.#pause = null
      if (sealed !== null && refreshToken !== null && refreshToken !== request.form.secrets.refresh_token)
        this.#rotate(sealed, refreshToken)
      return token
    } catch (error) {
      const ms = Math.min((this.#pause?.ms ?? FIRST_PAUSE_MS / 2) * 2, LONGEST_PAUSE_MS)
      const said = new Error(`no token: ${(error as Error).message}`)
      this.#pause = { error: said, ms, until: this.#parts.tick() + ms }
      throw said
    }
  }

  /** `sealed`: the refresh token that it uses. */
  async #request(): Promise<{ readonly request: Request; readonly sealed: string | null }> {
    const row = this.#row()
    const { unseal, now } = this.#parts
    const file = row.serviceAccountFile
    if (file !== null) {
      const request = await accountRequest(file, this.#user, row, Math.floor(now() / 1_000))
      return { request, sealed: null }
    }
    const stored = row.sealedRefreshToken
    const sealed = this.#newest?.stored === stored ? this.#newest.sealed : stored
    return {
      request: clientRequest(row, unsealed(row.sealedSecret, unseal), unsealed(sealed, unseal)),
      sealed,
    }
  }

  #rotate(was: string, refreshToken: string): void {
    const is = this.#parts.seal(refreshToken)
    const stored = this.#row().sealedRefreshToken
    if (stored !== null) this.#newest = { stored, sealed: is }
    this.#parts.rotated(was, is)
  }
}

const fromFile = (path: string): TokenSource => {
  const token = async (): Promise<string> => {
    const found = sendable((await readNamed('token_file', path)).trim())
    if (found === null) throw new Error(`token_file ${path}: holds no token, or more than one`)
    return found
  }
  return {
    token,
    async insteadOf(refused) {
      const other = await token()
      return other === refused ? null : other
    },
  }
}

/** `row` is asked at each call, since a refresh token in it may change. */
export const createTokens = (row: () => OauthRow, user: string, parts: TokenParts): TokenSource => {
  const { tokenFile } = row()
  return tokenFile === null ? new Endpoint(row, user, parts) : fromFile(tokenFile)
}
