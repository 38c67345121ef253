/**
 * NAME      secret-hash - how the secret of an SMTP login is kept
 * DESCRIPTION
 *   What a person may have chosen is kept as bcrypt over base64(SHA-256). A secret
 *   that another provider's machine made is as long and as random as an API key of
 *   ours, and is kept as those are: one HMAC under the pepper, with the row's id so
 *   that equal secrets do not look equal. Guessing it is hopeless at any speed, and
 *   bcrypt would only make moving in, and each first login, slow. When in doubt a
 *   secret counts as chosen.
 */
import bcrypt from 'bcrypt'
import { keyedHash, sameBytes } from '../../base/secret.js'
import type { CredentialRow } from '../../store/port/tenants.js'
import { COST, digest, NOBODY } from '../identity/password.js'

const KEYED = 'hmac-sha256$'

/** Version 4 is the random one; others hold a time and a network card. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-(.)[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const kindOf = (char: string): string =>
  /[0-9]/.test(char) ? 'digit' : /[a-z]/.test(char) ? 'small' : /[A-Z]/.test(char) ? 'capital' : 'sign'

/** In people's texts letters stand with letters and digits with digits; here the next one is often of another kind. */
const isMixed = (text: string): boolean => {
  const kinds = [...text].map(kindOf)
  const changes = kinds.filter((kind, i) => i > 0 && kind !== kinds[i - 1]).length
  return changes >= 0.4 * (kinds.length - 1)
}

/** No four characters stand twice, and few are the alphabet's or the keyboard's next. */
const isIrregular = (text: string): boolean => {
  const fours = Array.from({ length: text.length - 3 }, (_, i) => text.slice(i, i + 4))
  const steps = [...text].filter(
    (_, i) => i > 0 && Math.abs(text.charCodeAt(i) - text.charCodeAt(i - 1)) <= 1,
  )
  return new Set(fours).size >= fours.length - 1 && steps.length <= 0.4 * text.length
}

/** True for a text of 120 random bits or more that no person made up: 32 characters at least. */
export const isMachineMade = (secret: string): boolean => {
  if (!/^[A-Za-z0-9._+/=-]{32,}$/.test(secret)) return false
  const version = UUID.exec(secret)?.[1]
  if (version !== undefined && version !== '4') return false
  const text = secret.replace(/[^A-Za-z0-9]/g, '').slice(0, 256)
  if (text.length < 32 || new Set(text).size < 10 || !isIrregular(text)) return false
  return /^([0-9a-f]+|[0-9A-F]+)$/.test(text) ? /\d/.test(text) && /[a-f]/i.test(text) : isMixed(text)
}

const keyed = (pepper: Uint8Array, id: string, secret: string): Buffer =>
  keyedHash(pepper, 'credential-secret', id, secret)

export const hashChosen = (secret: string): Promise<string> => bcrypt.hash(digest(secret), COST)

/** Of a secret that was brought along, for the row with this id. */
export const hashImported = async (pepper: Uint8Array, id: string, secret: string): Promise<string> =>
  isMachineMade(secret) ? KEYED + keyed(pepper, id, secret).toString('base64url') : hashChosen(secret)

/** Whether a row that is kept keyed has this secret; takes no time, and is false for every other row. */
export const isKeyedSecret = (
  pepper: Uint8Array,
  { id, hash }: Pick<CredentialRow, 'id' | 'hash'>,
  secret: string,
): boolean =>
  hash?.startsWith(KEYED) === true &&
  sameBytes(Buffer.from(hash.slice(KEYED.length), 'base64url'), keyed(pepper, id, secret))

/** Slow; as slow for a row that is kept keyed or is not there, so that the time tells nothing. */
export const isChosenSecret = async (hash: string | null, secret: string): Promise<boolean> => {
  const isSlow = hash !== null && !hash.startsWith(KEYED)
  return (await bcrypt.compare(digest(secret), isSlow ? hash : NOBODY)) && isSlow
}
