/**
 * NAME      compose - from a model of a mail to its octets
 *     One header writer; two builders for the body: plain.ts for text and html,
 *     nodemailer's composer when there are attachments. The same model gives the
 *     same octets each time: Message-ID, Date and boundaries all come from it.
 *     Lines end in CRLF and stay within 998 octets, and there is no Bcc.
 *     The composer sees only what is listed here, never a client's JSON: its
 *     `path`, `href`, `raw` and prepared headers would read files for strangers.
 *   NOTES
 *     Only the local part of an address can make a header non-ASCII (RFC 6532);
 *     whoever relays the mail then needs SMTPUTF8.
 *   Most transactional mail is a text, an html, or both. Building that by hand costs a few microseconds,
 *   where a general composer takes hundreds. Each part goes out as 7bit when it is safe as it stands; else
 *   quoted-printable, or base64 when most of it is not ASCII. A test holds that what comes out reads the
 *   same as what nodemailer makes.
 */

import { formatMailbox, isAscii, type Mailbox } from './address.js'
import { base64Lines, quotedPrintable } from './encoding.js'
import { foldField, formatDate, isForbiddenHeader, isHeaderName, scanHeader, textField } from './header.js'

/** MIME fields (each with CRLF) and what follows the empty line; ASCII both. */
interface Body {
  readonly fields: string
  readonly content: string
}

/** RFC 5322, section 2.1.1. */
const LONGEST_LINE = 998

/** All line ends become CRLF. */
const toCrlf = (text: string): string => {
  if (!text.includes('\r')) return text.replaceAll('\n', '\r\n')
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? text.replace(/\r\n|\r|\n/g, '\r\n') : text
}

const hasLongLine = (text: string): boolean => {
  if (text.length <= LONGEST_LINE) return false
  let start = 0
  for (;;) {
    const end = text.indexOf('\n', start)
    if ((end < 0 ? text.length : end - 1) - start > LONGEST_LINE) return true
    if (end < 0) return false
    start = end + 1
  }
}

/** Anything but printable ASCII in lines, a blank before a line end, a line that mbox files would change. */
const NEEDS_ENCODING = /[^\t\r\n\x20-\x7e]|[\t ]$|^From /m

const textPart = (subtype: 'plain' | 'html', text: string): Body => {
  const lines = toCrlf(text)
  let encoding = '7bit'
  let content = lines
  if (NEEDS_ENCODING.test(lines) || hasLongLine(lines)) {
    const bytes = Buffer.from(lines, 'utf8')
    // every character beyond ASCII has at least two octets, and each octet costs three in quoted-printable
    const quoted = bytes.length - lines.length < lines.length / 3
    encoding = quoted ? 'quoted-printable' : 'base64'
    content = quoted ? quotedPrintable(bytes) : base64Lines(bytes)
  }
  return {
    fields: `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    content,
  }
}

/** A boundary that depends on the Message-ID alone, so that every build of one mail is the same. */
export const boundaryOf = (messageId: string): string =>
  `=_${messageId.replace(/[^A-Za-z0-9]/g, '').slice(0, 48)}`

/** text/plain, text/html, or multipart/alternative of both, the plainest first (RFC 2046, section 5.1.4). */
export const plainBody = (text: string | null, html: string | null, boundary: string): Body => {
  if (html === null) return textPart('plain', text ?? '')
  if (text === null) return textPart('html', html)
  const parts = [textPart('plain', text), textPart('html', html)]
  let mark = boundary
  while (parts.some((part) => part.content.includes(mark))) mark += '.'
  const content = parts.map((part) => `--${mark}\r\n${part.fields}\r\n${part.content}\r\n`).join('')
  return {
    fields: `Content-Type: multipart/alternative; boundary="${mark}"\r\n`,
    content: `${content}--${mark}--\r\n`,
  }
}

export interface MessageAttachment {
  readonly filename: string | null
  /** Null lets the file name decide. */
  readonly contentType: string | null
  /** With or without angle brackets. Given one, and an html that can show it, the part goes beside the html. */
  readonly contentId: string | null
  readonly content: Uint8Array
}

export interface MessageModel {
  /** With angle brackets. */
  readonly messageId: string
  /** Epoch milliseconds. */
  readonly date: number
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly MessageAttachment[]
}

const addresses = (name: string, list: readonly Mailbox[]): string =>
  list.length === 0 ? '' : foldField(name, list.map(formatMailbox).join(', '))

const ownHeaders = (model: MessageModel): string => {
  let fields = ''
  for (const [name, value] of Object.entries(model.headers)) {
    // submission refuses these with a 422; to get here is a bug
    if (!isHeaderName(name) || isForbiddenHeader(name)) throw new TypeError('a header that no caller may set')
    // the field of the API wins: two Reply-To would break RFC 5322, section 3.6
    if (model.replyTo.length > 0 && name.toLowerCase() === 'reply-to') continue
    fields += textField(name, value, false)
  }
  return fields
}

const headerOf = (model: MessageModel): string => {
  const to = model.to.length + model.cc.length > 0 ? '' : 'To: undisclosed-recipients:;\r\n'
  return (
    foldField('From', formatMailbox(model.from)) +
    to +
    addresses('To', model.to) +
    addresses('Cc', model.cc) +
    addresses('Reply-To', model.replyTo) +
    (model.subject.trim() === '' ? '' : textField('Subject', model.subject)) +
    foldField('Message-ID', model.messageId) +
    foldField('Date', formatDate(model.date)) +
    ownHeaders(model)
  )
}

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[\x20-\x7e]*)?$/

/** nodemailer names a nameless part after its type, and knows `*` as the ending of bytes of any kind. */
const nameOf = ({ filename }: MessageAttachment, type: string | null, index: number) => {
  if (filename?.trim()) return { filename: filename.replace(/[\x00-\x1f\x7f]+/g, ' ') }
  const untyped = type === null || /^(?:application\/octet-stream|multipart\/)/i.test(type)
  return untyped ? { filename: `attachment-${index + 1}.bin` } : {}
}

const attachmentOf = (one: MessageAttachment, index: number) => {
  const content = Buffer.from(one.content)
  const type = one.contentType !== null && MEDIA_TYPE.test(one.contentType) ? one.contentType : null
  const text = content.toString('latin1')
  // RFC 2046, section 5.2.1: a message inside a message is not encoded, if it can be helped
  const asItIs = type !== null && /^message\//i.test(type) && !/[^\t\r\n\x20-\x7e]/.test(text)
  return {
    content: asItIs ? toCrlf(text) : content,
    contentTransferEncoding: asItIs && !hasLongLine(toCrlf(text)) ? '7bit' : 'base64',
    ...nameOf(one, type, index),
    // a container type would make an empty container of it
    ...(type === null ? {} : { contentType: /^multipart\//i.test(type) ? 'application/octet-stream' : type }),
    // without a word, the composer would show a forwarded mail inline, and readers would run it into the text
    ...(one.contentId === null
      ? { contentDisposition: 'attachment' }
      : { cid: one.contentId.replace(/[^!-~]|[<>]/g, '') }),
  }
}

/** The body as nodemailer builds it: MIME fields and content, without the other fields it adds. */
const composedBody = async (model: MessageModel): Promise<Buffer> => {
  const part = (text: string | null) =>
    text === null ? {} : { content: toCrlf(text), contentTransferEncoding: 'quoted-printable' }
  // loaded with the first attachment
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({
    ...(model.text === null ? {} : { text: part(model.text) }),
    ...(model.html === null ? {} : { html: part(model.html) }),
    attachments: model.attachments.map(attachmentOf),
    messageId: model.messageId,
    date: formatDate(model.date),
    baseBoundary: boundaryOf(model.messageId).slice(2),
    boundaryPrefix: '=_',
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const built = await composer.compile().build()
  const { fields, body } = scanHeader(built)
  const mime = fields
    .filter(({ name }) => name.startsWith('content-'))
    .map((field) => built.subarray(field.start, field.end))
  return Buffer.concat([...mime, Buffer.from('\r\n'), built.subarray(body)])
}

const MIME = 'MIME-Version: 1.0\r\n'

/** Builds the message. */
export const composeMessage = (model: MessageModel): Uint8Array | Promise<Uint8Array> => {
  const head = headerOf(model) + MIME
  const charset = isAscii(head) ? 'latin1' : 'utf8'
  if (model.attachments.length > 0)
    return composedBody(model).then((body) => Buffer.concat([Buffer.from(head, charset), body]))
  const { fields, content } = plainBody(model.text, model.html, boundaryOf(model.messageId))
  const end = content.endsWith('\r\n') ? '' : '\r\n'
  return Buffer.from(`${head}${fields}\r\n${content}${end}`, charset)
}
