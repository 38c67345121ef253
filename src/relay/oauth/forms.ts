/**
 * NAME      forms - what is asked of a token endpoint
 * DESCRIPTION
 *   By a refresh token, by the client's own credentials, or by the key of a Google service account,
 *   which signs who it is (RFC 7523) and for whom it acts: the user of the login.
 */
import { createPrivateKey, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { OauthRow } from '../../store/port/tenants.js'
import type { GrantForm } from './grant.js'

export interface Request {
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
export const readNamed = async (what: string, path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'cannot be read' } = error as NodeJS.ErrnoException
    throw new Error(`${what} ${path}: ${SAID[code] ?? code}`)
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The request of a service account's key file. `seconds`: now. */
export const accountRequest = async (
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
export const clientRequest = (
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
