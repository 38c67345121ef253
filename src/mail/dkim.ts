/**
 * NAME      dkim - signing for a sending domain
 *   A DKIM-Signature field (RFC 6376, relaxed/relaxed) by RSA or Ed25519
 *   (RFC 8463; nodemailer's signer knows only RSA). Identity fields are
 *   over-signed: `h=` names them once more than they occur, so that nobody can
 *   add a second From without breaking the signature. The unsubscribe fields are
 *   signed when present, as RFC 8058 asks.
 * NOTES
 *   Sign last, just before the octets leave: what is signed must not change.
 *   The algorithm follows from the key. The signature itself, 1 ms with RSA-2048, is
 *   made in libuv's pool, so that the caller's thread does not wait for it.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { asBuffer, type HeaderField, scanHeader, trimBlanks } from './header.js'

export interface DkimKey {
  /** `d=`, in A-labels. */
  readonly domain: string
  /** `s=`. */
  readonly selector: string
  /** PEM (PKCS #8 or #1), or the key itself: parsing PEM for each mail is wasteful. */
  readonly privateKey: KeyObject | string
}

const signed = promisify<string | null, Buffer, KeyObject, Buffer>(sign)

class DkimKeyError extends Error {
  override readonly name = 'DkimKeyError'
}

/** Signed always, once more than present. */
const OVERSIGNED = [
  'from',
  'to',
  'cc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
]
/** Signed as often as present. */
const SIGNED = [
  'sender',
  'content-transfer-encoding',
  'content-id',
  'in-reply-to',
  'references',
  'list-id',
  'list-help',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'list-subscribe',
  'list-post',
  'list-owner',
  'list-archive',
  'feedback-id',
]

/** Reads a private key; refuses what DKIM cannot use. Never echoes the key. */
export const loadDkimKey = (pem: string): KeyObject => {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw new DkimKeyError('the DKIM key is no private key in PEM')
  }
  if (key.asymmetricKeyType === 'ed25519') return key
  if (key.asymmetricKeyType !== 'rsa') throw new DkimKeyError('a DKIM key is RSA or Ed25519')
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < 1024) {
    throw new DkimKeyError('an RSA key for DKIM has at least 1024 bits (RFC 8301)')
  }
  return key
}

/** The TXT record for `<selector>._domainkey.<domain>`. */
export const dkimRecord = (privateKey: KeyObject | string): string => {
  const key = typeof privateKey === 'string' ? loadDkimKey(privateKey) : privateKey
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' })
  // RFC 8463: the bare 32 octets of an Ed25519 key, which end its SPKI
  return key.asymmetricKeyType === 'ed25519'
    ? `v=DKIM1; k=ed25519; p=${der.subarray(-32).toString('base64')}`
    : `v=DKIM1; k=rsa; p=${der.toString('base64')}`
}

/** RFC 6376, section 3.4.4: blanks run together, none at a line end, no empty lines at the end. */
export const relaxedBody = (body: string): string => {
  const text = body.replace(/[ \t]+/g, ' ').replace(/ (?=\r\n|$)/g, '')
  let end = text.length
  while (end >= 2 && text.startsWith('\r\n', end - 2)) end -= 2
  return end === 0 ? '' : `${text.slice(0, end)}\r\n`
}

/** RFC 6376, section 3.4.2, without the CRLF. */
const relaxedField = (name: string, value: string): string =>
  `${name}:${trimBlanks(value.replace(/\r?\n/g, '').replace(/[ \t]+/g, ' '))}`

/** The fields to sign in the order of `h=`: of several with one name, the last comes first (section 5.4.2). */
const choose = (
  fields: readonly HeaderField[],
  rewritten: readonly string[],
): { names: string[]; chosen: HeaderField[] } => {
  const names: string[] = []
  const chosen: HeaderField[] = []
  for (const name of [...OVERSIGNED, ...SIGNED]) {
    if (rewritten.includes(name)) continue
    const present = fields.filter((field) => field.name === name).reverse()
    chosen.push(...present)
    names.push(...present.map(() => name))
    if (OVERSIGNED.includes(name)) names.push(name)
  }
  return { names, chosen }
}

const wrapped = (text: string, separator: string): string => {
  let out = ''
  let column = 0
  for (const piece of text.split(separator)) {
    if (column + piece.length > 70) {
      out += '\r\n  '
      column = 0
    }
    out += piece + separator
    column += piece.length + separator.length
  }
  return out.slice(0, -separator.length)
}

/**
 * The DKIM-Signature field, with its CRLF, to be put on top of the message. `now` in ms. `rewritten`: fields that the
 * next hop writes anew, and that are not signed therefore.
 */
export const signMessage = async (
  message: Uint8Array,
  key: DkimKey,
  now: number,
  rewritten: readonly string[] = [],
): Promise<string> => {
  const raw = asBuffer(message)
  const privateKey = typeof key.privateKey === 'string' ? loadDkimKey(key.privateKey) : key.privateKey
  const rsa = privateKey.asymmetricKeyType === 'rsa'
  const section = scanHeader(raw)
  const { names, chosen } = choose(section.fields, rewritten)
  const bodyHash = createHash('sha256')
    .update(relaxedBody(raw.toString('latin1', section.body)), 'latin1')
    .digest('base64')
  const unsigned =
    ` v=1; a=${rsa ? 'rsa' : 'ed25519'}-sha256; c=relaxed/relaxed; d=${key.domain};\r\n` +
    `  s=${key.selector}; t=${Math.floor(now / 1000)};\r\n` +
    `  h=${wrapped(names.join(':'), ':')};\r\n` +
    `  bh=${bodyHash};\r\n` +
    `  b=`
  const lines = chosen.map((field) =>
    relaxedField(field.name, raw.toString('latin1', field.value, field.end)),
  )
  const input = Buffer.from([...lines, relaxedField('dkim-signature', unsigned)].join('\r\n'), 'latin1')
  const signature = rsa
    ? await signed('sha256', input, privateKey)
    : // RFC 8463, section 3: Ed25519 signs the hash
      await signed(null, createHash('sha256').update(input).digest(), privateKey)
  const text = signature.toString('base64').match(/.{1,70}/g) ?? []
  return `DKIM-Signature:${unsigned}${text.join('\r\n  ')}\r\n`
}
