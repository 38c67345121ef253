/**
 * NAME      downgrade - a header section in ASCII, for a server without SMTPUTF8
 * DESCRIPTION
 *   Old programs put raw 8-bit text into Subject and names. A server that takes
 *   SMTPUTF8 (RFC 6531) takes that as it is; for any other, the fields concerned
 *   are written anew: names and texts as encoded words (RFC 2047), parameters in
 *   the form of RFC 2231. All other octets stay.
 *   An address that is itself not ASCII cannot be written in another way: then
 *   the answer is null, and the mail cannot go there (5.6.7).
 * NOTES
 *   A signature over a field that is changed breaks, which is why nobody calls
 *   this without need. 8-bit text in the headers of inner parts is left alone.
 */
import { formatMailbox, isAscii, parseAddressList, wireAddress } from '../../mail/address.js'
import { fromRaw } from '../../mail/encoding.js'
import { asBuffer, type Field, fieldValue, foldField, scanHeader, textField } from '../../mail/header.js'

const ADDRESSES = /^(?:resent-)?(?:from|sender|to|cc|bcc|reply-to)$/
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

/** One field in ASCII with its CRLF, or null. */
const rewrite = (raw: Buffer, field: Field): string | null => {
  const name = raw.toString('latin1', field.start, field.start + field.name.length)
  const text = fromRaw(fieldValue(raw, field))
  if (field.name === '' || IDENTIFIERS.test(field.name)) return null
  if (ADDRESSES.test(field.name)) {
    const list = parseAddressList(text)
    const sendable = list.length > 0 && list.every(({ address }) => isAscii(wireAddress(address)))
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
  for (const field of scanHeader(raw).fields) {
    if (!raw.subarray(field.start, field.end).some(isHigh)) continue
    const written = rewrite(raw, field)
    if (written === null) return null
    pieces.push(raw.subarray(kept, field.start), Buffer.from(written, 'latin1'))
    kept = field.end
  }
  return pieces.length === 0 ? message : Buffer.concat([...pieces, raw.subarray(kept)])
}
