/**
 * NAME      letter - a message as programs pipe it to sendmail
 * DESCRIPTION
 *   CRLF lines, an address with a domain in From (cron writes `From: root`, PHP
 *   often nothing), and the recipients that its header names. Every other octet
 *   stays as it came; Bcc is taken out by the door.
 */
import { formatMailbox, parseAddressList } from '../mail/address.js'
import { fieldValue, type HeaderSection, scanHeader } from '../mail/header.js'

export interface Letter {
  readonly sender: string
  readonly recipients: readonly string[]
  readonly raw: Buffer
}

export interface LetterOptions {
  readonly qualify: (address: string) => string
  readonly sender: string
  readonly fullName: string | null
  /** What stands for this machine when there is nothing better. */
  readonly host: string
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

const repairFrom = (raw: Buffer, options: LetterOptions): Buffer => {
  const section = scanHeader(raw)
  const field = section.fields.find(({ name }) => name === 'from')
  const text = field === undefined ? '' : fieldValue(raw, field)
  if (text.includes('@')) return raw
  const bare = bareFrom(text)
  const mailbox =
    bare === null
      ? { name: options.fullName, address: options.sender }
      : { name: bare.name, address: options.qualify(bare.word) }
  const line = Buffer.from(`From: ${octets(formatMailbox(mailbox))}\r\n`, 'latin1')
  if (field === undefined) return Buffer.concat([line, raw])
  return Buffer.concat([raw.subarray(0, field.start), line, raw.subarray(field.end)])
}

/** Addresses with or without a domain, one after another. */
const addressesIn = (text: string, qualify: LetterOptions['qualify']): string[] => {
  const bare = text.split(',').map(bareFrom)
  if (!text.includes('@') || bare.every((one) => one !== null)) {
    return bare.flatMap((one) => (one === null ? [] : [qualify(one.word)]))
  }
  return parseAddressList(text).map(({ address }) => qualify(address))
}

export const prepareLetter = (stdin: Buffer, options: LetterOptions): Letter => {
  const raw = repairFrom(withHeader(toCrlf(stdin)), options)
  const named = values(raw, scanHeader(raw), 'to', 'cc', 'bcc')
  return {
    sender: options.sender,
    recipients: named.flatMap((text) => addressesIn(text, options.qualify)),
    raw,
  }
}
