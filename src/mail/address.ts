/**
 * NAME      address - mailboxes as people and servers write them
 *   `parseAddress` is strict and reads one mailbox that somebody asked us to
 *   write to: `a@b.c` or `Name <a@b.c>`, quoted and UTF-8 local parts
 *   (RFC 5321, 6531), IDN and literal domains. What it accepts can go into an
 *   SMTP command and a header without harm. `parseAddressList` is lenient and
 *   reads what stands in the headers of a mail that was made elsewhere
 *   (RFC 5322 with groups, comments and encoded words).
 * NOTES
 *   An unquoted name may hold dots and brackets, but no comma, semicolon, `@`
 *   or quote: `a@b.c, Ann <d@e.f>` is two people, not one with an odd name.
 *   A recipient may have dots where RFC 5321 allows none (`x.@`, `.x@`, `a..b@`): such
 *   mailboxes exist, and their servers want the address as it is, without quotes.
 *   Local parts are compared without case. RFC 5321 would let `Ann` and `ann`
 *   be two people; no server that we know does.
 */
import { isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import addressparser from 'nodemailer/lib/addressparser'
import { decodeWords, encodeWords } from './encoding.js'

export interface Mailbox {
  readonly name: string | null
  readonly address: string
}

const MAX_ADDRESS = 254
const MAX_LOCAL = 64
const MAX_DOMAIN = 255
const MAX_TEXT = 1000
/** Of a header in which somebody else wrote addresses; no honest one is longer. */
const MAX_LIST = 65_536

/** Controls (C0, DEL, C1), line and paragraph separators, half surrogates. */
const UNSAFE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\p{Cs}]/u
/** Further characters that no address holds: blanks, zero-width and bidirectional controls, soft hyphens, dots that are none, and what stands for octets that were no UTF-8. */
const UNSAFE_IN_ADDRESS =
  /[\p{Zs}\u00ad\u3002\uff0e\uff61\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufffd]/u
const ATEXT = "A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-"
const DOT_ATOM = new RegExp(`^[${ATEXT}\\u{80}-\\u{10ffff}]+(?:\\.[${ATEXT}\\u{80}-\\u{10ffff}]+)*$`, 'u')
const DOTS_ANYWHERE = new RegExp(
  `^[${ATEXT}.\\u{80}-\\u{10ffff}]*[${ATEXT}\\u{80}-\\u{10ffff}][${ATEXT}.\\u{80}-\\u{10ffff}]*$`,
  'u',
)
const QUOTED = /^"(?:[^"\\]|\\.)+"$/u
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
/** Hosts with an underscore have no right to it, and mail servers all the same. */
const LOOSE_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i
const NON_ASCII = /[^\x00-\x7f]/
const LONGEST_PLAIN = 64
const PLAIN = /^[a-z0-9_+-]+(?:\.[a-z0-9_+-]+)*@(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)+[a-z]{2,}$/

/** As most are: short, in lower case, without anything odd. It is valid everywhere, and its own form for comparisons. */
export const isPlainAddress = (address: string): boolean =>
  address.length <= LONGEST_PLAIN && PLAIN.test(address)

/** True when an SMTP server without SMTPUTF8 can be given it. */
export const isAscii = (text: string): boolean => !NON_ASCII.test(text)

const isLiteral = (domain: string): boolean => {
  const inside = domain.slice(1, -1)
  return /^IPv6:/i.test(inside) ? isIPv6(inside.slice(5)) : isIPv4(inside)
}

/** A domain in A-labels and lower case, or null when it is none. */
const asciiDomain = (domain: string, label = LABEL): string | null => {
  if (domain.startsWith('[')) return domain.endsWith(']') && isLiteral(domain) ? domain.toLowerCase() : null
  const ascii = isAscii(domain) ? domain.toLowerCase() : domainToASCII(domain)
  if (ascii === '' || ascii.length > MAX_DOMAIN) return null
  const labels = ascii.split('.')
  if (/^\d+$/.test(labels.at(-1) ?? '')) return null
  return labels.every((one) => label.test(one)) ? ascii : null
}

/** Where the `@` before the domain stands, or -1. An `@` inside a quoted local part is not it. */
const atOf = (address: string): number => {
  if (!address.startsWith('"')) return address.lastIndexOf('@')
  for (let i = 1; i < address.length; i++) {
    if (address[i] === '\\') i++
    else if (address[i] === '"') return address[i + 1] === '@' ? i + 1 : -1
  }
  return -1
}

const isLocal = (local: string, atoms: RegExp): boolean =>
  local.startsWith('"') ? QUOTED.test(local) : atoms.test(local) && !UNSAFE_IN_ADDRESS.test(local)

/** True for an address alone, without a name, that may go into MAIL FROM or RCPT TO. */
export const isAddress = (text: string): boolean => {
  if (isPlainAddress(text)) return true
  if (text.length > MAX_ADDRESS || UNSAFE.test(text)) return false
  const at = atOf(text)
  if (at < 1 || !isLocal(text.slice(0, at), DOT_ATOM)) return false
  const domain = UNSAFE_IN_ADDRESS.test(text.slice(at + 1)) ? null : asciiDomain(text.slice(at + 1))
  if (domain === null) return false
  const local = Buffer.byteLength(text.slice(0, at))
  return local <= MAX_LOCAL && local + 1 + domain.length <= MAX_ADDRESS
}

/** True for an address that mail can be sent to: also with odd dots, an underscore in its domain, or a long local part. */
export const isRecipient = (text: string): boolean => {
  if (isPlainAddress(text)) return true
  if (Buffer.byteLength(text) > MAX_ADDRESS || UNSAFE.test(text)) return false
  const at = atOf(text)
  if (at < 1 || !isLocal(text.slice(0, at), DOTS_ANYWHERE)) return false
  const domain = text.slice(at + 1)
  return !UNSAFE_IN_ADDRESS.test(domain) && asciiDomain(domain, LOOSE_LABEL) !== null
}

/** The domain of a valid address in A-labels and lower case. */
export const domainOf = (address: string): string => {
  if (isPlainAddress(address)) return address.slice(address.indexOf('@') + 1)
  const domain = address.slice(atOf(address) + 1)
  return asciiDomain(domain) ?? domain.toLowerCase()
}

/** The domain of an address that is stored, and so in A-labels already. */
export const storedDomain = (address: string): string =>
  address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** The form for the wire: the domain in A-labels, so that only a non-ASCII local part needs SMTPUTF8. */
export const wireAddress = (address: string): string => {
  if (isAscii(address)) return address
  const at = atOf(address)
  return `${address.slice(0, at)}@${asciiDomain(address.slice(at + 1)) ?? address.slice(at + 1)}`
}

/** The form for comparisons: lower case, A-labels, no needless quotes. */
export const normalizeAddress = (address: string): string => {
  if (isPlainAddress(address)) return address
  const at = atOf(address)
  if (at < 0) return address.toLowerCase()
  let local = address.slice(0, at)
  if (local.startsWith('"')) {
    const bare = local.slice(1, -1).replace(/\\(.)/g, '$1')
    if (DOTS_ANYWHERE.test(bare)) local = bare
  }
  // on a list of suppressions `*@` is a whole domain
  if (local === '*') local = '"*"'
  return `${local.normalize('NFC').toLowerCase()}@${domainOf(address)}`
}

/** Words before the `<`: quoted strings and runs without specials. */
const NAMED = /^((?:"(?:[^"\\]|\\.)*"|[^<>@,;"\\])*)<(.*)>$/u
const unquote = (phrase: string): string =>
  phrase
    .replace(/"((?:[^"\\]|\\.)*)"/g, (_, inside: string) => inside.replace(/\\(.)/g, '$1'))
    .replace(/ {2,}/g, ' ')
    .trim()

const parse = (text: string, isValid: (address: string) => boolean): Mailbox | null => {
  const trimmed = text.trim()
  if (!trimmed.endsWith('>')) return isValid(trimmed) ? { name: null, address: trimmed } : null
  if (trimmed.length > MAX_TEXT || UNSAFE.test(trimmed)) return null
  const found = NAMED.exec(trimmed)
  if (found === null) return null
  const [, phrase = '', address = ''] = found
  if (!isValid(address)) return null
  return { name: unquote(phrase) || null, address }
}

/** Reads one mailbox, or null when `text` is not exactly one. */
export const parseAddress = (text: string): Mailbox | null => parse(text, isAddress)

/** The same for somebody who is to get mail. */
export const parseRecipient = (text: string): Mailbox | null => parse(text, isRecipient)

/** Reads the mailboxes of an address header, groups and comments included; what has no address is left out. */
export const parseAddressList = (value: string): Mailbox[] => {
  if (!value.includes(',') && !value.includes('=?')) {
    const one = parseAddress(value)
    if (one !== null) return [one]
  }
  return addressparser(value.slice(0, MAX_LIST), { flatten: true }).flatMap(({ name, address }) =>
    address ? [{ name: decodeWords(name ?? '').trim() || null, address }] : [],
  )
}

const ATOMS = new RegExp(`^[${ATEXT}]+(?: [${ATEXT}]+)*$`)

/** A mailbox as a header shows it, on one line: plain, quoted or encoded as the name needs it (RFC 5322, 2047). */
export const formatMailbox = ({ name, address }: Mailbox): string => {
  const wire = wireAddress(address)
  if (name === null || name.trim() === '') return wire
  const clean = name.replace(/[\x00-\x1f\x7f]+/g, ' ').trim()
  if (!isAscii(clean) || clean.includes('=?') || clean.length > 200) return `${encodeWords(clean)} <${wire}>`
  return ATOMS.test(clean) ? `${clean} <${wire}>` : `"${clean.replace(/["\\]/g, '\\$&')}" <${wire}>`
}
