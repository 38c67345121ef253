/**
 * NAME      tokens - the access tokens of one upstream
 * DESCRIPTION
 *   From a file that somebody else keeps fresh, read at each login, or from a token endpoint:
 *   then a token is kept until shortly before its end, many that need one share one call, and an
 *   endpoint that fails is left alone for a while that doubles. What fails is a
 *   sentence without a secret in it.
 * NOTES
 *   A server may give a new refresh token with every answer and forget the old one: it
 *   is handed to `rotated`, and used from then on although the row says another.
 */
import type { Dialler } from '../../base/dial/dial.js'
import type { OauthRow } from '../../store/port/tenants.js'
import type { TokenSource } from '../dialogue/login.js'
import { accountRequest, clientRequest, type Request, readNamed } from './forms.js'
import { requestToken, sendable } from './grant.js'

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
