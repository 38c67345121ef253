/**
 * NAME      commands - MAIL FROM and RCPT TO as values, and what the doors reply
 *   Reads a path and its parameters (RFC 5321 section 4.1.2, 3461, 1870, 6152, 6531, 4954, 8689). Case of verbs and
 *   keywords is free, a space after the colon and a missing pair of angle brackets are forgiven, since old software
 *   does both; a source route is read and dropped. ENVID and ORCPT stay in xtext, as they came. An unknown or repeated
 *   parameter is refused.
 *   A reply is one line of text that begins with its basic code and, but for greetings, EHLO and 3xx, exactly one
 *   enhanced code (RFC 2034, RFC 3463). A Fault says its table row's codes, its dotted code, one sentence and the
 *   request id, in at most 512 octets with CRLF (RFC 5321 section 4.5.3.1.5). What is thrown and is no Fault is a bug:
 *   its text stays in the log.
 */
import { isIP } from 'node:net'
import { Fault, OutageError, outageOf } from '../base/fault.js'
import { isPlainAddress } from '../mail/address.js'
import { XTEXT } from '../mail/encoding.js'

/** A path with its parameters: keyword in upper case → value, '' when it had none. */
export interface EnvelopePath {
  readonly address: string
  readonly params: ReadonlyMap<string, string>
}

export interface EnvelopeSender {
  readonly address: string
  /** What SIZE= declared, or null. */
  readonly size: number | null
  readonly ret: 'FULL' | 'HDRS' | null
  /** xtext, as received. */
  readonly envid: string | null
  /** RFC 8689. */
  readonly requireTls: boolean
}

export interface EnvelopeRecipient {
  readonly address: string
  /** Upper case, comma separated. */
  readonly notify: string | null
  /** `addr-type;xtext`, as received. */
  readonly orcpt: string | null
}

const LONGEST_PATH = 254
const HEAD = /^(?:MAIL FROM|RCPT TO)\s*:\s*/i
const SOURCE_ROUTE = /^@[^\s,:@]+(?:,@[^\s,:@]+)*:/
/** With U+FFFD: octets that were no UTF-8. */
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ufffd]/
const ATOMS = /^[^\s()<>[\]:;@\\,."]+(?:\.[^\s()<>[\]:;@\\,."]+)*$/
const QUOTED = /^"(?:[^"\\]|\\.)*"$/
const LABEL = /^(?!-)[a-z0-9_\-\u0080-\u{10ffff}]{1,63}(?<!-)$/iu
const KEYWORD = /^[A-Za-z0-9][A-Za-z0-9-]*$/
const ADDRESS_TYPE = /^[a-z0-9!#$%&'*+/?^_`{|}~-]+$/i
/** RFC 6533 section 3: `\x{F6}` for what is not ASCII, or the character itself. */
const UTF8_XTEXT = /^(?:[!-*,-<>-[\]-~\u0080-\u{10ffff}]|\\x\{[0-9A-F]+\})+$/u
const NOTIFY = /^(?:NEVER|(?:SUCCESS|FAILURE|DELAY)(?:,(?:SUCCESS|FAILURE|DELAY))*)$/

/** `addr-type;address`, the address encoded as its type wants it. */
const ORCPT = {
  test(value: string): boolean {
    const [type = '', ...rest] = value.split(';')
    const address = type.toLowerCase() === 'utf-8' ? UTF8_XTEXT : XTEXT
    return ADDRESS_TYPE.test(type) && address.test(rest.join(';'))
  },
}

const isDomain = (domain: string): boolean => {
  if (domain.startsWith('[') && domain.endsWith(']'))
    return isIP(domain.slice(1, -1).replace(/^IPv6:/i, '')) !== 0
  return domain.split('.').every((label) => LABEL.test(label))
}

/** True for `local@domain` as an envelope may carry it; UTF-8 is fine (RFC 6531). */
export const isMailbox = (address: string): boolean => {
  if (isPlainAddress(address)) return true
  if (Buffer.byteLength(address) > LONGEST_PATH || UNPRINTABLE.test(address)) return false
  const at = address.lastIndexOf('@')
  if (at < 1) return false
  const local = address.slice(0, at)
  return (ATOMS.test(local) || QUOTED.test(local)) && isDomain(address.slice(at + 1))
}

/** Where the path ends: at `>` outside a quoted string, or at the first space when there are no brackets. */
const splitPath = (text: string): { path: string; rest: string } | null => {
  if (!text.startsWith('<')) {
    const space = text.indexOf(' ')
    return space === -1 ? { path: text, rest: '' } : { path: text.slice(0, space), rest: text.slice(space) }
  }
  let quoted = false
  for (let i = 1; i < text.length; i++) {
    const char = text[i]
    if (quoted && char === '\\') i++
    else if (char === '"') quoted = !quoted
    else if (char === '>' && !quoted) {
      const rest = text.slice(i + 1)
      return rest === '' || rest.startsWith(' ') ? { path: text.slice(1, i), rest } : null
    }
  }
  return null
}

const readParams = (rest: string): Map<string, string> => {
  const params = new Map<string, string>()
  for (const part of rest.split(/\s+/)) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const key = (equals === -1 ? part : part.slice(0, equals)).toUpperCase()
    const value = equals === -1 ? '' : part.slice(equals + 1)
    if (!KEYWORD.test(key) || (equals !== -1 && value === ''))
      throw new Refusal('501 5.5.4 Bad parameter syntax')
    if (params.has(key)) throw new Refusal(`501 5.5.4 ${key} given twice`)
    params.set(key, value)
  }
  return params
}

/** Reads `MAIL FROM:<...> ...` or `RCPT TO:<...> ...`; throws `syntax` when there is no path in it. */
export const readPath = (line: string, syntax: string): EnvelopePath => {
  const head = HEAD.exec(line)
  const split = head === null ? null : splitPath(line.slice(head[0].length).trimEnd())
  if (split === null || (split.path === '' && !line.includes('<'))) throw new Refusal(syntax)
  return { address: split.path.trim().replace(SOURCE_ROUTE, ''), params: readParams(split.rest) }
}

const refuseUnknown = (params: ReadonlyMap<string, string>, known: readonly string[]): void => {
  for (const key of params.keys()) {
    if (!known.includes(key)) throw new Refusal(`555 5.5.4 Parameter ${key} is not supported`)
  }
}

const matching = (
  params: ReadonlyMap<string, string>,
  key: string,
  shape: Pick<RegExp, 'test'>,
  longest: number,
): string | null => {
  const value = params.get(key)
  if (value === undefined) return null
  if (value.length > longest || !shape.test(value)) throw new Refusal(`501 5.5.4 Bad value of ${key}`)
  return value
}

const MAIL_PARAMS = ['SIZE', 'BODY', 'SMTPUTF8', 'AUTH', 'RET', 'ENVID', 'REQUIRETLS']
const RCPT_PARAMS = ['NOTIFY', 'ORCPT']

/** The meaning of MAIL FROM's parameters. BODY, SMTPUTF8 and AUTH= are checked and forgotten: the bytes tell what they are. */
export const readSender = ({ address, params }: EnvelopePath): EnvelopeSender => {
  refuseUnknown(params, MAIL_PARAMS)
  matching(params, 'BODY', /^(?:7BIT|8BITMIME)$/i, 8)
  matching(params, 'AUTH', /^\S+$/, 500)
  matching(params, 'SMTPUTF8', /^$/, 0)
  matching(params, 'REQUIRETLS', /^$/, 0)
  const size = matching(params, 'SIZE', /^\d{1,20}$/, 20)
  return {
    address,
    size: size === null ? null : Number(size),
    ret:
      matching(params, 'RET', /^(?:FULL|HDRS)$/i, 4)?.toUpperCase() === 'HDRS'
        ? 'HDRS'
        : params.has('RET')
          ? 'FULL'
          : null,
    envid: matching(params, 'ENVID', XTEXT, 100),
    requireTls: params.has('REQUIRETLS'),
  }
}

/** Address, NOTIFY and ORCPT of an RCPT; throws Refusal for what RFC 3461 does not know. */
export const readRecipient = ({ address, params }: EnvelopePath): EnvelopeRecipient => {
  refuseUnknown(params, RCPT_PARAMS)
  const notify = params.get('NOTIFY')?.toUpperCase() ?? null
  if (notify !== null && !NOTIFY.test(notify)) throw new Refusal('501 5.5.4 Bad value of NOTIFY')
  return { address, notify, orcpt: matching(params, 'ORCPT', ORCPT, 500) }
}

/** Control characters would split a reply; other non-ASCII needs SMTPUTF8. */
const UNSAFE = /[^\x20-\x7e]+/g
const LONGEST = 510

const oneLine = (text: string): string => text.replace(UNSAFE, ' ').slice(0, LONGEST)

export const faultReply = (fault: Fault, requestId: string): string => {
  const { code, options, row } = fault
  const fields = options.errors?.map((error) => `${error.field}: ${error.message}`).join('; ')
  const human = fields !== undefined && fields !== '' ? fields : fault.message
  const said = options.retryAfter === undefined || human.includes('retry in')
  const retry = said ? '' : `, retry in ${Math.ceil(options.retryAfter)}s`
  const head = `${options.smtp ?? row.smtp} ${code}: `
  const tail = `${retry} (${requestId})`
  return head + oneLine(human).slice(0, LONGEST - head.length - tail.length) + tail
}

/** The same text with other codes: `421 4.7.0` for a fault that ends the session. */
export const recode = (codes: string, reply: string): string => `${codes}${reply.slice(9)}`

/** A refusal with a reply of its own: matters of SMTP grammar that no Fault names. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly reply: string

  /** May repeat what the client said, which can be long. */
  constructor(reply: string) {
    super(reply)
    this.reply = reply.slice(0, LONGEST)
  }
}

/** A reply with what the client gave after the colon, so that the log of the client shows which it was. */
export const naming = (reply: string, line: string): string => {
  const given = oneLine(line.slice(line.indexOf(':') + 1).trim()).slice(0, 300)
  return line.includes(':') && given !== '' ? `${reply}: ${given}` : reply
}

/** The reply to anything thrown; `report` gets what nobody meant to throw. */
export const replyTo = (error: unknown, requestId: string, report: (error: unknown) => void): string => {
  if (error instanceof Refusal) return error.reply
  if (error instanceof Fault) return faultReply(error, requestId)
  const outage = outageOf(error)
  // of a store that is gone the log has heard
  if (!(error instanceof OutageError)) report(error)
  if (outage !== null) return faultReply(outage, requestId)
  return faultReply(new Fault('internal.unexpected'), requestId)
}

const SYNTAX = {
  mail: '553 5.1.7 Bad sender address syntax',
  rcpt: '553 5.1.3 Bad recipient address syntax',
} as const

/** Replies that need no occasion. */
export const SAY = {
  ok: '250 2.0.0 Ok',
  senderOk: '250 2.1.0 Ok',
  recipientOk: '250 2.1.5 Ok',
  goAhead: '354 End data with <CR><LF>.<CR><LF>',
  bye: '221 2.0.0 Bye',
  badSender: SYNTAX.mail,
  badRecipient: SYNTAX.rcpt,
  tooManyRecipients: '452 4.5.3 Too many recipients',
  mailFirst: '503 5.5.1 Need MAIL before RCPT',
  recipientsFirst: '503 5.5.1 Need RCPT before DATA',
  helloFirst: '503 5.5.1 Send EHLO or HELO first',
  nestedMail: '503 5.5.1 A transaction is already open; RSET ends it',
  startTlsFirst: '530 5.7.0 Must issue a STARTTLS command first',
  requireTlsInClear: '555 5.5.4 REQUIRETLS needs TLS on this connection',
  unknown: '500 5.5.2 Command not recognized',
  notImplemented: '502 5.5.1 Command not implemented',
  lineTooLong: '500 5.5.2 Line too long',
  badCharacters: '500 5.5.2 Control characters in a command',
  cannotVerify: '252 2.5.0 Cannot verify; send a message and see',
  tooManyErrors: '421 4.7.0 Too many errors, closing',
  idle: '421 4.4.2 Timeout, closing',
  tooSlow: '421 4.4.2 The message comes too slowly, closing',
  busy: '421 4.3.2 Too many connections, try again later',
  tooManyFromAddress: '421 4.7.0 Too many connections from your address, try again later',
  tooManyOfCredential: '421 4.7.0 Too many connections with this credential, try again later',
  proxiesOnly: '421 4.7.0 This listener is for its proxies, which begin with a PROXY header',
  stopping: '421 4.3.2 Service stopping, try again later',
  noHttp: '421 4.7.0 This is no HTTP server, closing',
  full: '452 4.3.1 Too much mail in flight, try again later',
} as const
