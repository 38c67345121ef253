/**
 * NAME      downgrade - a header section whose text is ASCII
 * DESCRIPTION
 *   Old programs put raw 8-bit text into Subject and names. The next server may take
 *   that under SMTPUTF8 (RFC 6531), and one behind it may not and would send the mail
 *   back. So such fields are written anew: names and texts as encoded words
 *   (RFC 2047), parameters in the form of RFC 2231. All other octets stay.
 *   An address that is itself not ASCII cannot be written in another way: then
 *   the answer is null, and the mail needs SMTPUTF8 on its whole way.
 * NOTES
 *   A field that a signature in the message covers stays raw, since the signature would break;
 *   so does an identifier, and a line that is no field. 8-bit text in the headers of inner parts is left alone.
 */
import { formatMailbox, isAscii, parseAddressList, wireAddress } from '../../mail/address.js'
import { fromRaw } from '../../mail/encoding.js'
import { asBuffer, type Field, fieldValue, foldField, scanHeader, textField } from '../../mail/header.js'
import { signedNames } from '../../mail/submitted.js'

const ADDRESSES = /^(?:resent-)?(?:from|sender|to|cc|bcc|reply-to)$/
const SIGNATURES = /^(?:dkim|arc-message)-signature$/
const PARAMETERS = /^content-(?:type|disposition)$/
const IDENTIFIERS = /^(?:(?:resent-)?message-id|in-reply-to|references|content-id|return-path)$/
const PARAMETER = /([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]+)/g

const inPercent = (value: string): string =>
  encodeURIComponent(Buffer.from(value).toString()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const encodeParameters = (value: string): string =>
  value.replace(PARAMETER, (whole, name: string, quoted: string) => {
    if (isAscii(quoted)) return whole
    const bare = quoted.startsWith('"') ? quoted.slice(1, -1).replace(/\\(.)/g, '$1') : quoted
    return `${name}*=UTF-8''${inPercent(bare)}`
  })

/** The names of all fields that a signature of somebody else covers (RFC 6376, 8617). */
const signedIn = (raw: Buffer, fields: readonly Field[]): ReadonlySet<string> =>
  new Set(
    fields
      .filter(({ name }) => SIGNATURES.test(name))
      .flatMap((field) => signedNames(fieldValue(raw, field))),
  )

/** One field in ASCII with its CRLF, or null. */
const rewrite = (raw: Buffer, field: Field): string | null => {
  const name = raw.toString('latin1', field.start, field.start + field.name.length)
  const text = fromRaw(fieldValue(raw, field))
  const list = ADDRESSES.test(field.name) ? parseAddressList(text) : []
  if (list.length > 0) {
    const sendable = list.every(({ address }) => isAscii(wireAddress(address)))
    return sendable ? foldField(name, list.map(formatMailbox).join(', ')) : null
  }
  const value = PARAMETERS.test(field.name) ? encodeParameters(text) : text
  return textField(name, value, false)
}

const isHigh = (octet: number): boolean => octet > 0x7f

/** The message with an ASCII header section, or null when that cannot be. A message that needs nothing comes back as it is. */
export const downgradeHeader = (message: Uint8Array): Uint8Array | null => {
  const raw = asBuffer(message)
  const pieces: Uint8Array[] = []
  let kept = 0
  const { fields } = scanHeader(raw)
  const signed = signedIn(raw, fields)
  for (const field of fields) {
    if (!raw.subarray(field.start, field.end).some(isHigh)) continue
    if (field.name === '' || IDENTIFIERS.test(field.name)) continue
    const written = rewrite(raw, field)
    if (written === null) return null
    if (signed.has(field.name)) continue
    pieces.push(raw.subarray(kept, field.start), Buffer.from(written, 'latin1'))
    kept = field.end
  }
  return pieces.length === 0 ? message : Buffer.concat([...pieces, raw.subarray(kept)])
}
