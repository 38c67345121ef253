/**
 * NAME      xtext - the encoding of DSN parameters (RFC 3461, section 4)
 * DESCRIPTION
 *   Printable ASCII but `+` and `=` stands for itself; any other octet is `+`
 *   and two upper-case hex digits. Decoding is lenient: a broken escape stays
 *   as it is written, since bounces quote what somebody else encoded.
 */
const HIDDEN = /[^!-*,-<>-~]/g

/** Encodes text by its UTF-8 octets. */
export const encodeXtext = (text: string): string =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(HIDDEN, (char) => `+${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** Decodes xtext; octets that are no UTF-8 become U+FFFD. */
export const decodeXtext = (xtext: string): string => {
  if (!xtext.includes('+')) return xtext
  const bytes = Buffer.from(xtext, 'utf8')
    .toString('latin1')
    .replace(/\+([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** True for text that may stand as an xtext parameter without being changed. */
export const isXtext = (text: string): boolean => /^(?:[!-*,-<>-~]|\+[0-9A-F]{2})*$/.test(text)
