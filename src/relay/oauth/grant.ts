/**
 * NAME      grant - one call of a token endpoint (RFC 6749)
 * DESCRIPTION
 *   A form goes out, an access token comes back, or a sentence. Servers tell their troubles in
 *   `error` and `error_description`; these are shown, without whatever secret of the form
 *   they may repeat.
 */
import type { Dialler } from '../../base/dial/dial.js'
import { hiding } from '../dialogue/hiding.js'

interface Granted {
  readonly token: string
  /** Seconds that it lives, as far as one can believe it. */
  readonly life: number
  /** In place of the refresh token that was used. */
  readonly refreshToken: string | null
}

/** Fields of the form; those of `secrets` are never shown. */
export interface GrantForm {
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
export const sendable = (token: string): string | null => (TOKEN.test(token) ? token : null)

/** Rejects with a sentence. */
export const requestToken = async (dialler: Dialler, url: string, form: GrantForm): Promise<Granted> => {
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
