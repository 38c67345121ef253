/**
 * NAME      message - a mail as programs pipe it to sendmail
 * DESCRIPTION
 *   CRLF lines, addresses with a domain (cron writes `From: root` and `To: root`,
 *   PHP often no From at all), and the recipients that its header names. Every other octet
 *   stays as it came; Bcc is taken out by the door.
 */
import { formatMailbox, parseAddressList } from '../mail/address.js'
import { type Field, fieldValue, type HeaderSection, scanHeader } from '../mail/header.js'

export interface Message {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly raw: Buffer
}

interface MessageOptions {
  readonly qualify: (address: string) => string
  readonly sender: string
  readonly fullName: string | null
}

const toCrlf = (raw: Buffer): Buffer =>
  Buffer.from(raw.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1')

/** A message without any header is all body. */
const withHeader = (raw: Buffer): Buffer => {
  const { fields, end } = scanHeader(raw)
  const first = fields[0]
  return first !== undefined && first.name === '' && end > 0 ? Buffer.concat([Buffer.from('\r\n'), raw]) : raw
}

const octets = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

const values = (raw: Buffer, section: HeaderSection, ...names: readonly string[]): string[] =>
  section.fields
    .filter(({ name }) => names.includes(name))
    .map((field) => Buffer.from(fieldValue(raw, field), 'latin1').toString('utf8'))

/** `root (Cron Daemon)` and `"A" <b>`: the bare word before the domain that is missing. */
const bareFrom = (text: string): { name: string | null; word: string } | null => {
  const [, quoted, inner] = /^\s*(.*?)\s*<([^<>@\s]+)>\s*$/.exec(text) ?? []
  if (inner !== undefined) return { name: quoted?.replace(/^"|"$/g, '') || null, word: inner }
  const [, word, comment] = /^\s*([^\s<>@(),;]+)\s*(?:\(([^()]*)\))?\s*$/.exec(text) ?? []
  return word === undefined ? null : { name: comment ?? null, word }
}

const line = (name: string, value: string): Buffer => Buffer.from(`${name}: ${octets(value)}\r\n`, 'latin1')

const replace = (raw: Buffer, field: Field, by: Buffer): Buffer =>
  Buffer.concat([raw.subarray(0, field.start), by, raw.subarray(field.end)])

/** A From that is missing is added; one without a domain gets ours. */
const repairFrom = (raw: Buffer, { fullName, sender, qualify }: MessageOptions): Buffer => {
  const field = scanHeader(raw).fields.find(({ name }) => name === 'from')
  const text = field === undefined ? '' : fieldValue(raw, field)
  if (text.includes('@')) return raw
  const bare = bareFrom(text)
  const mailbox =
    bare === null ? { name: fullName, address: sender } : { name: bare.name, address: qualify(bare.word) }
  const fresh = line('From', formatMailbox(mailbox))
  return field === undefined ? Buffer.concat([fresh, raw]) : replace(raw, field, fresh)
}

/** `To: root` gets our domain as well; a field that holds any whole address stays as it is. */
const repairTo = (raw: Buffer, name: 'To' | 'Cc', { qualify }: MessageOptions): Buffer => {
  const field = scanHeader(raw).fields.find((one) => one.name === name.toLowerCase())
  const text = field === undefined ? '' : fieldValue(raw, field)
  const bare = text.split(',').map(bareFrom)
  if (field === undefined || text.includes('@') || bare.includes(null)) return raw
  const mailboxes = bare.flatMap((one) =>
    one === null ? [] : [{ name: one.name, address: qualify(one.word) }],
  )
  return replace(raw, field, line(name, mailboxes.map(formatMailbox).join(', ')))
}

/** Addresses with or without a domain, one after another. */
const addressesIn = (text: string, qualify: MessageOptions['qualify']): string[] => {
  const bare = text.split(',').map(bareFrom)
  if (!text.includes('@') || bare.every((one) => one !== null)) {
    return bare.flatMap((one) => (one === null ? [] : [qualify(one.word)]))
  }
  return parseAddressList(text).map(({ address }) => qualify(address))
}

export const prepareMessage = (stdin: Buffer, options: MessageOptions): Message => {
  const whole = repairFrom(withHeader(toCrlf(stdin)), options)
  const raw = repairTo(repairTo(whole, 'To', options), 'Cc', options)
  const named = values(raw, scanHeader(raw), 'to', 'cc', 'bcc')
  return {
    sender: options.sender,
    recipients: named.flatMap((text) => addressesIn(text, options.qualify)),
    raw,
  }
}
