/**
 * NAME      login - AUTH at an upstream (RFC 4954), and texts of others without its secrets
 * DESCRIPTION
 *     Only by a mechanism that the server offers on the connection as it now is. A
 *     password goes by PLAIN, LOGIN or, where that alone is offered or asked for, CRAM-MD5;
 *     a token by XOAUTH2 (Microsoft 365, Gmail) or OAUTHBEARER (RFC 7628). Who offers
 *     none of these is told nothing. A token that the server refuses is asked for anew, once.
 *   NOTES
 *     AUTH with an initial response keeps to the 512 octets of a command line (RFC 4954,
 *     section 4); a longer one, which tokens are, goes out after the server's 334.
 *   Some servers repeat what was said to them, or a piece of it: as it was, in base64, or as a form has it.
 *   What they say is shown to people and kept with events, so it is put on one line, and secrets are cut
 *   out.
 */
import { createHmac } from 'node:crypto'
import type { Reply } from '../../mail/reply.js'
import type { AuthMechanism } from '../../store/port/tenants.js'

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

export interface Login {
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
export const chooseMechanism = (offered: readonly string[], { secret, mechanism }: Login): AuthMechanism => {
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
  { user }: Login,
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
  login: Login,
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
