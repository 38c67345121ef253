/**
 * NAME      plain - the body of a mail without attachments, quickly
 * DESCRIPTION
 *   Most transactional mail is a text, an html, or both. Building that by hand
 *   costs a few microseconds, where a general composer takes hundreds. Each part
 *   goes out as 7bit when it is safe as it stands; else quoted-printable, or
 *   base64 when most of it is not ASCII. A test holds that what comes out reads
 *   the same as what nodemailer makes.
 */
import { base64Lines, quotedPrintable } from './encoding.js'

/** MIME fields (each with CRLF) and what follows the empty line; ASCII both. */
interface Body {
  readonly fields: string
  readonly content: string
}

/** RFC 5322, section 2.1.1. */
const LONGEST_LINE = 998

/** All line ends become CRLF. */
export const toCrlf = (text: string): string => {
  if (!text.includes('\r')) return text.replaceAll('\n', '\r\n')
  return /\r(?!\n)|(?<!\r)\n/.test(text) ? text.replace(/\r\n|\r|\n/g, '\r\n') : text
}

export const hasLongLine = (text: string): boolean => {
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
