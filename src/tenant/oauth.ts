/**
 * NAME      oauth - where the tokens of an upstream's login come from
 * DESCRIPTION
 *   One of three: a file that holds a token, the key file of a Google service account, or a client at a token
 *   endpoint, with its secret, a refresh token or both. Secrets are sealed, and kept
 *   only for the endpoint and the client that they were given for.
 */

import { readTarget } from '../base/dial/dial.js'
import type { FieldError } from '../base/fault.js'
import type { AuthMechanism, OauthRow, UpstreamRow } from '../store/port/tenants.js'

export interface OauthWish {
  readonly tokenFile?: string | undefined
  readonly serviceAccountFile?: string | undefined
  readonly tokenUrl?: string | undefined
  readonly clientId?: string | undefined
  /** Left out, the stored one stays. */
  readonly clientSecret?: string | undefined
  readonly refreshToken?: string | undefined
  readonly scope?: string | null | undefined
}

export const MECHANISMS: readonly AuthMechanism[] = ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2', 'OAUTHBEARER']

const isOfTokens = (mechanism: AuthMechanism): boolean =>
  mechanism === 'XOAUTH2' || mechanism === 'OAUTHBEARER'

type Wrong = (field: string, kind: FieldError['kind'], message: string) => void

/** By itself; whether a secret is there shows when it meets the stored one. */
export const checkOauth = (wish: OauthWish, wrong: Wrong): void => {
  const { tokenUrl, clientId, tokenFile, serviceAccountFile } = wish
  const named = [tokenFile, serviceAccountFile].filter((file) => file !== undefined).length
  const client = tokenUrl !== undefined || clientId !== undefined
  if (named === 2 || (tokenFile !== undefined && client))
    wrong('token_file', 'forbidden', 'names the token: nothing else may say where it comes from')
  if (tokenUrl !== undefined) {
    const target = readTarget(tokenUrl)
    if (typeof target === 'string') wrong('token_url', 'format', target)
  } else if (named === 0) wrong('token_url', 'missing', 'tells where tokens are to be had')
  if (named === 0 && clientId === undefined) wrong('client_id', 'missing', 'goes with token_url')
}

/** The row of a wish beside the stored one. */
export const oauthRow = (
  seal: (secret: string) => string,
  wish: OauthWish,
  old: OauthRow | null,
): OauthRow => {
  const { tokenUrl = null, clientId = null, clientSecret, refreshToken, scope } = wish
  const known = old !== null && old.tokenUrl === tokenUrl && old.clientId === clientId ? old : null
  const sealed = (secret: string | undefined, before: string | null | undefined): string | null =>
    secret === undefined ? (before ?? null) : seal(secret)
  return {
    tokenFile: wish.tokenFile ?? null,
    serviceAccountFile: wish.serviceAccountFile ?? null,
    tokenUrl,
    clientId,
    sealedSecret: sealed(clientSecret, known?.sealedSecret),
    sealedRefreshToken: sealed(refreshToken, known?.sealedRefreshToken),
    scope: scope === undefined ? (known?.scope ?? null) : scope,
  }
}

/** What a login lacks, as the end of a field's path and a sentence; null when it is whole. */
export const lacks = ({
  user,
  sealedPassword,
  oauth,
  authMechanism,
}: UpstreamRow): [string, string] | null => {
  if (user === null) return null
  if (oauth == null) {
    if (authMechanism != null && isOfTokens(authMechanism)) return ['oauth', `${authMechanism} needs it`]
    return sealedPassword === null
      ? ['pass', 'a user name needs a password (in a URL: password_file=PATH), or oauth']
      : null
  }
  if (authMechanism != null && !isOfTokens(authMechanism))
    return ['pass', `${authMechanism} needs it, and no oauth`]
  const { tokenFile, serviceAccountFile, sealedSecret, sealedRefreshToken } = oauth
  const secret = tokenFile ?? serviceAccountFile ?? sealedSecret ?? sealedRefreshToken
  return secret === null ? ['oauth.client_secret', 'a client needs its secret, or a refresh token'] : null
}
