/**
 * NAME      envelope - what an upstream offers, and what of a mail is fitted to it: MAIL, RCPT and the header
 *   Reads the EHLO reply (RFC 5321, 4.1.1.1) that was given on the connection as it now is: after STARTTLS only the
 *   second EHLO counts (RFC 3207, 4.2). Builds the commands from what the mail needs and what the upstream offers
 *   (RFC 5321, 4.1.1.2-3; DSN: RFC 3461; SMTPUTF8: RFC 6531; SIZE: RFC 1870; REQUIRETLS: RFC 8689). What is needed and
 *   not offered is refused here, with the reply that an honest MTA would give, and never sent as something else: an 8-bit
 *   body is not passed to a 7-bit upstream (5.6.3), nor an internationalised address to one without SMTPUTF8 (5.6.7),
 *   nor what requires TLS to one that is not verified or does not promise to require it in turn (5.7.30). Another member
 *   of the pool may still take it.
 *   Old programs put raw 8-bit text into Subject and names. A server may take that under SMTPUTF8, and one behind it may
 *   not and would send the mail back. So such fields are written anew: names and texts as encoded words (RFC 2047),
 *   parameters in the form of RFC 2231. An address that is itself not ASCII can not be written in another way: such a
 *   mail needs SMTPUTF8 on its whole way.
 * NOTES
 *   We do not re-encode 8-bit bodies (RFC 6152, 3): it would change signed content, and no MTA of this century lacks
 *   8BITMIME. A field that a signature in the message covers stays raw, since the signature would break; so does an
 *   identifier, and a line that is no field. 8-bit text in the headers of inner parts is left alone.
 */
import type { Claimed } from '../../lifecycle/facts.js'
import { formatMailbox, isAscii, parseAddressList, wireAddress } from '../../mail/address.js'
import { encodeUtf8Xtext, encodeXtext, fromRaw } from '../../mail/encoding.js'
import {
  asBuffer,
  fieldValue,
  foldField,
  type HeaderField,
  scanHeader,
  textField,
} from '../../mail/header.js'
import type { Reply } from '../../mail/reply.js'
import { signedIn } from '../../mail/submitted.js'

export interface Offers {
  readonly pipelining: boolean
  readonly dsn: boolean
  readonly smtpUtf8: boolean
  readonly eightBitMime: boolean
  readonly requireTls: boolean
  readonly size: boolean
  /** The largest message it takes, in bytes; 0 when it names none. */
  readonly maxSize: number
  /** Mechanisms of AUTH, in upper case. */
  readonly auth: readonly string[]
}

/** From the whole reply to EHLO, all its lines. */
export const parseOffers = (ehlo: string): Offers => {
  const words = new Map<string, string>()
  const auth = new Set<string>()
  for (const line of ehlo.split(/\r?\n/).slice(1)) {
    const [word = '', ...rest] = line
      .replace(/^\d{3}[ -]/, '')
      .trim()
      .split(/[ =]+/)
    words.set(word.toUpperCase(), rest.join(' '))
    // old servers say AUTH= beside it
    if (word.toUpperCase() === 'AUTH') for (const one of rest) auth.add(one.toUpperCase())
  }
  return {
    pipelining: words.has('PIPELINING'),
    dsn: words.has('DSN'),
    smtpUtf8: words.has('SMTPUTF8'),
    eightBitMime: words.has('8BITMIME'),
    requireTls: words.has('REQUIRETLS'),
    size: words.has('SIZE'),
    maxSize: Number(words.get('SIZE')) || 0,
    auth: [...auth].filter((one) => one !== ''),
  }
}

export interface Envelope {
  readonly mail: string
  /** A command for each recipient. */
  readonly rcpt: readonly string[]
}

export interface EnvelopeNeeds {
  readonly claimed: Claimed
  /** Further recipients of the same message, whose addresses are plain ASCII. */
  readonly others?: readonly Claimed[]
  /** The envelope sender, without angle brackets; empty for the null sender. */
  readonly returnPath: string
  /** Our signed reference, used when the client gave no ENVID of its own. */
  readonly envid: () => string
  readonly notifySuccess: boolean
  readonly size: number
  readonly eightBit: boolean
  /** An address in its header is not ASCII. */
  readonly needsSmtpUtf8: boolean
  /** The connection is under TLS, and we know with whom. */
  readonly verified: boolean
}

const CONTROL = /[\x00-\x1f\x7f]/
const QUOTED = /^"(?:[^"\\]|\\.)*"/

/** True for what could end a command or its path early; inside a quoted local part a space or bracket can not. */
const isUnsafe = (path: string): boolean =>
  CONTROL.test(path) || /[ <>]/.test(path.startsWith('"') ? path.replace(QUOTED, '') : path)

/** True for an address that any upstream can be given, whatever it offers. */
export const isPlain = (address: string): boolean =>
  /^[\x21-\x7e]+@[\x21-\x7e]+$/.test(address) && !isUnsafe(address)

const NOT_ASCII = /[^\x20-\x7e]/
/** What a client gave was xtext when the door took it; here it must only not end the command. */
const PRINTABLE = /^[\x21-\x7e]{1,500}$/

const originalRecipient = (claimed: Claimed): string => {
  const given = claimed.dsn?.orcpt
  if (given && PRINTABLE.test(given) && given.includes(';')) return given
  return NOT_ASCII.test(claimed.address)
    ? `utf-8;${encodeUtf8Xtext(claimed.address)}`
    : `rfc822;${encodeXtext(claimed.address)}`
}

const refusal = (code: number, enhanced: string, text: string): Reply => ({ code, enhanced, text })

/** What of a mail is beyond ASCII, and so needs SMTPUTF8; null for nothing. */
const beyondAscii = ({ claimed, returnPath, needsSmtpUtf8 }: EnvelopeNeeds): string | null => {
  if (NOT_ASCII.test(claimed.address)) return 'The recipient address'
  if (NOT_ASCII.test(returnPath)) return 'The sender address'
  return needsSmtpUtf8 ? 'An address in the header' : null
}

const requiresTls = (
  { claimed, verified }: EnvelopeNeeds,
  { requireTls }: Offers,
): 'no' | 'kept' | 'broken' => {
  if (claimed.requireTls !== true) return 'no'
  return verified && requireTls ? 'kept' : 'broken'
}

/** Mail for the sandbox stays within this machine; a report is better told than lost (RFC 8689, section 5). */
const mayBreakTls = ({ claimed, returnPath }: EnvelopeNeeds): boolean =>
  claimed.mode === 'test' || returnPath === ''

const refuse = (needs: EnvelopeNeeds, offers: Offers): Reply | null => {
  const { claimed, returnPath } = needs
  if (claimed.address === '' || isUnsafe(claimed.address)) {
    return refusal(553, '5.1.3', 'The recipient address can not be sent')
  }
  if (isUnsafe(returnPath)) return refusal(553, '5.1.7', 'The sender address can not be sent')
  if (requiresTls(needs, offers) === 'broken' && !mayBreakTls(needs)) {
    const lack = needs.verified ? 'does not offer it' : 'is not reached by verified TLS'
    return refusal(550, '5.7.30', `REQUIRETLS support required: the upstream ${lack}`)
  }
  const international = beyondAscii(needs)
  if (international !== null && !offers.smtpUtf8) {
    return refusal(550, '5.6.7', `${international} needs SMTPUTF8, which the upstream does not offer`)
  }
  if (needs.eightBit && !offers.eightBitMime) {
    return refusal(554, '5.6.3', 'The message has 8-bit content, and the upstream does not offer 8BITMIME')
  }
  if (offers.maxSize > 0 && needs.size > offers.maxSize) {
    return refusal(552, '5.3.4', `The upstream takes at most ${offers.maxSize} bytes`)
  }
  return null
}

/**
 * Reports come to our return path, so what to ask is ours: a client's NEVER keeps them from its sender, not from us.
 * About a report nobody wants another (RFC 3461, 6.2).
 */
const notifyOf = ({ returnPath, notifySuccess }: EnvelopeNeeds): string => {
  if (returnPath === '') return 'NEVER'
  return notifySuccess ? 'SUCCESS,FAILURE,DELAY' : 'FAILURE,DELAY'
}

const rcptOf = (claimed: Claimed, needs: EnvelopeNeeds, { dsn }: Offers): string => {
  const rcpt = `RCPT TO:<${claimed.address}>`
  if (!dsn) return rcpt
  return `${rcpt} NOTIFY=${notifyOf(needs)} ORCPT=${originalRecipient(claimed)}`
}

/** The commands without their CRLF, or the refusal. */
export const toEnvelope = (needs: EnvelopeNeeds, offers: Offers): Envelope | Reply => {
  const refused = refuse(needs, offers)
  if (refused !== null) return refused
  const { claimed, returnPath } = needs
  let mail = `MAIL FROM:<${returnPath}>`
  if (offers.size) mail += ` SIZE=${needs.size}`
  const international = beyondAscii(needs) !== null
  if (international) mail += ' SMTPUTF8'
  if (offers.eightBitMime && (needs.eightBit || international)) mail += ' BODY=8BITMIME'
  if (offers.dsn) {
    const envid =
      claimed.envid !== null && PRINTABLE.test(claimed.envid) ? claimed.envid : encodeXtext(needs.envid())
    const whole = claimed.ret?.toUpperCase() === 'FULL' && claimed.requireTls !== true
    mail += ` RET=${whole ? 'FULL' : 'HDRS'} ENVID=${envid}`
  }
  if (requiresTls(needs, offers) === 'kept') mail += ' REQUIRETLS'
  const rcpt = [rcptOf(claimed, needs, offers)]
  for (const other of needs.others ?? []) rcpt.push(rcptOf(other, needs, offers))
  return { mail, rcpt }
}

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
const rewrite = (raw: Buffer, field: HeaderField): string | null => {
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
