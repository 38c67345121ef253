/**
 * NAME      values - addresses and words inside a delivery-status part
 * DESCRIPTION
 *   RFC 3464 allows printable ASCII only, so an international address goes in as
 *   `utf-8;` with `\x{F6}` for what is not (RFC 6533 section 3). A report that
 *   travels as SMTPUTF8 itself (message/global-delivery-status) shows it as it
 *   is. A client chose ENVID and ORCPT, and xtext can hide a line end: what
 *   would not stay on its line goes in as it came, still encoded.
 */
import { isAscii } from '../address.js'
import { decodeXtext, encodeUtf8Xtext } from '../encoding.js'

const LONGEST = 900

/** Words of some server on one line; beyond ASCII only where that is allowed. */
export const oneLine = (text: string, unicode: boolean): string => {
  const line = text.replace(/[\x00-\x20\x7f-\x9f\u2028\u2029]+/g, ' ').trim()
  return (unicode ? line : line.replace(/[^\x20-\x7e]/g, '?')).slice(0, LONGEST)
}

const printable = (text: string): boolean => /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/.test(text)

/** An xtext parameter as a field shows it. */
export const shownXtext = (given: string): string => {
  const text = decodeXtext(given)
  return printable(text) ? text : oneLine(given, false)
}

/** `rfc822; ann@example.com`. */
export const addressField = (address: string, unicode: boolean): string => {
  if (isAscii(address)) return `rfc822; ${oneLine(address, false)}`
  return `utf-8; ${unicode ? oneLine(address, true) : encodeUtf8Xtext(address)}`
}

/** `Original-Recipient` from the ORCPT that the client gave. */
export const originalField = (orcpt: string): string => {
  const semicolon = orcpt.indexOf(';')
  const type = oneLine(orcpt.slice(0, semicolon), false)
  return `${type}; ${shownXtext(orcpt.slice(semicolon + 1))}`
}

/** A host's name, or null when it is none. */
export const hostField = (host: string | null): string | null => {
  const name = host?.replace(/^[\w.-]+\s*;\s*/, '').trim() ?? ''
  return /^[\x21-\x7e]{1,255}$/.test(name) ? `dns; ${name}` : null
}
