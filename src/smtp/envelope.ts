/**
 * NAME      envelope - MAIL FROM and RCPT TO as values
 * DESCRIPTION
 *   Reads a path and its parameters (RFC 5321 section 4.1.2, 3461, 1870, 6152,
 *   6531, 4954, 8689). Case of verbs and keywords is free, a space after the colon
 *   and a missing pair of angle brackets are forgiven, since old software does
 *   both; a source route is read and dropped. ENVID and ORCPT stay in xtext, as
 *   they came. An unknown or repeated parameter is refused.
 */
import { isIP } from 'node:net'
import { isPlainAddress } from '../mail/address.js'
import { XTEXT } from '../mail/encoding.js'
import { Refusal } from './reply.js'

/** A path with its parameters: keyword in upper case → value, '' when it had none. */
export interface Path {
  readonly address: string
  readonly params: ReadonlyMap<string, string>
}

export interface Sender {
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
    if (!KEYWORD.test(key) || (equals !== -1 && value === '')) {
      throw new Refusal('501 5.5.4 Bad parameter syntax')
    }
    if (params.has(key)) throw new Refusal(`501 5.5.4 ${key} given twice`)
    params.set(key, value)
  }
  return params
}

/** Reads `MAIL FROM:<...> ...` or `RCPT TO:<...> ...`; throws `syntax` when there is no path in it. */
export const readPath = (line: string, syntax: string): Path => {
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
export const readSender = ({ address, params }: Path): Sender => {
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
export const readRecipient = ({ address, params }: Path): EnvelopeRecipient => {
  refuseUnknown(params, RCPT_PARAMS)
  const notify = params.get('NOTIFY')?.toUpperCase() ?? null
  if (notify !== null && !NOTIFY.test(notify)) throw new Refusal('501 5.5.4 Bad value of NOTIFY')
  return { address, notify, orcpt: matching(params, 'ORCPT', ORCPT, 500) }
}
