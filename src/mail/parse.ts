/**
 * NAME      parse - the readable content of a finished message
 *   What GET shows of a mail that came by SMTP, read from its octets on demand. Nothing is invented: no text made of
 *   html, no html made of text, no links. The submission fingerprint says whether two submissions under one
 *   idempotency key are the same mail. It ignores Message-ID, Date, boundaries and encodings, which clients make anew
 *   on each try.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { AddressObject, Attachment, ParsedMail } from 'mailparser'
import { normalizeAddress } from './address.js'
import { isControlHeader } from './control-headers.js'
import { decodeWords, fromRaw } from './encoding.js'
import { asBuffer, fieldValue, isForbiddenHeader, scanHeader } from './header.js'

interface ContentAttachment {
  readonly filename: string | null
  readonly content_type: string
  readonly size: number
  readonly content_id: string | null
}

export interface MessageContent {
  readonly html: string | null
  readonly text: string | null
  /** The fields a caller of the API could have set, decoded; several of one name are joined by a comma. */
  readonly headers: Record<string, string>
  readonly attachments: readonly ContentAttachment[]
}

const PIECE = 32 * 1024

/** The octets in pieces, and a turn for everybody else after each. */
async function* piecesOf(raw: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < raw.length; at += PIECE) {
    yield raw.subarray(at, at + PIECE)
    await nextTurn()
  }
}

/** Of more than a thousand parts the parser reads none. */
const nullWhenTooMany = (error: unknown): null => {
  if (error instanceof Error && 'code' in error && error.code === 'EMAXLEN') return null
  throw error
}

/** The parser is loaded when it is first needed: it takes a tenth of a second, and a start should not wait for it. */
const parseMail = async (raw: Uint8Array): Promise<ParsedMail | null> => {
  const { simpleParser } = await import('mailparser')
  // given one Buffer it would keep the thread to itself until a large message is read
  const mail = simpleParser(
    Readable.from(piecesOf(asBuffer(raw)), { objectMode: false, highWaterMark: PIECE }),
    {
      skipHtmlToText: true,
      skipTextToHtml: true,
      skipTextLinks: true,
      skipImageLinks: true,
      keepCidLinks: true,
    },
  )
  return mail.catch(nullWhenTooMany)
}

const bare = (contentId: string | undefined): string | null => contentId?.replace(/^<|>$/g, '') || null

const summarize = (one: Attachment): ContentAttachment => ({
  filename: one.filename || null,
  content_type: one.contentType,
  size: one.size,
  content_id: bare(one.contentId),
})

/** Fields that the record shows elsewhere, or that only servers read. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['reply-to', 'resent-bcc'])

const ownHeaders = (message: Uint8Array): Record<string, string> => {
  const raw = asBuffer(message)
  const headers = new Map<string, { name: string; value: string }>()
  for (const field of scanHeader(raw).fields) {
    const { name } = field
    if (name === '' || isForbiddenHeader(name) || isControlHeader(name) || SHOWN_ELSEWHERE.has(name)) continue
    const value = decodeWords(fromRaw(fieldValue(raw, field)))
    const before = headers.get(name)
    if (before !== undefined) before.value += `, ${value}`
    else headers.set(name, { name: raw.toString('latin1', field.start, field.start + name.length), value })
  }
  return Object.fromEntries([...headers.values()].map(({ name, value }) => [name, value]))
}

/** Reads a message whole. */
export const parseContent = async (raw: Uint8Array): Promise<MessageContent> => {
  const mail = await parseMail(raw)
  return {
    html: typeof mail?.html === 'string' ? mail.html : null,
    text: mail?.text || null,
    headers: ownHeaders(raw),
    attachments: mail?.attachments.map(summarize) ?? [],
  }
}

const sha256 = (data: Uint8Array | string): string => createHash('sha256').update(data).digest('hex')

const mailboxes = (field: AddressObject | undefined): string[] =>
  (field?.value ?? []).map(({ name, address }) => `${name.trim()} <${normalizeAddress(address ?? '')}>`)

/** Line ends and blanks at the end come and go between client and server. */
const settled = (text: string): string => text.replace(/\r\n?/g, '\n').trimEnd()

/** SHA-256, in hex, over what a person would call the same mail to the same people. */
export const submissionFingerprint = async (
  raw: Uint8Array,
  recipients: readonly string[],
): Promise<string> => {
  const mail = await parseMail(raw)
  const people = [...new Set(recipients.map(normalizeAddress))].sort()
  if (mail === null) return sha256(JSON.stringify([people, sha256(raw)]))
  return sha256(
    JSON.stringify([
      people,
      mailboxes(mail.from),
      (mail.subject ?? '').trim().replace(/\s+/g, ' '),
      settled(mail.text ?? ''),
      typeof mail.html === 'string' ? settled(mail.html) : '',
      mail.attachments.map((one) => [one.filename ?? '', one.contentType, sha256(one.content)]),
    ]),
  )
}
