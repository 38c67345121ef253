/**
 * NAME      attachments - files in a draft
 * DESCRIPTION
 *   Content comes as base64 text, as an array of bytes, or as what JSON makes of
 *   a Node Buffer; some SDKs only know one of them. Base64 is read strictly: Node
 *   would skip what it does not know, and a file would arrive damaged. Line breaks
 *   in it are taken, since many encoders write them.
 *   `path` is refused: we fetch nothing for a client from places that it names.
 */
import type { FieldError } from '../base/fault.js'
import type { AttachmentSummary } from '../lifecycle/facts.js'
import type { MessageAttachment } from '../mail/compose.js'
import type { Content, DraftAttachment } from './draft.js'

/** The bytes of strict base64, or null. */
export const decodeBase64 = (given: string): Buffer | null => {
  const text = /[\r\n]/.test(given) ? given.replace(/[\r\n]+/g, '') : given
  if (text.length % 4 !== 0) return null
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = Buffer.from(text, 'base64')
  // Node skips foreign characters and takes the URL alphabet too: both show here
  const whole = bytes.length === (text.length / 4) * 3 - padding
  return whole && !text.includes('-') && !text.includes('_') ? bytes : null
}

const isByte = (value: number): boolean => Number.isInteger(value) && value >= 0 && value <= 255

const readContent = (content: Content): Buffer | null => {
  if (typeof content === 'string') return decodeBase64(content)
  const bytes = 'data' in content ? content.data : content
  return bytes.every(isByte) ? Buffer.from(bytes) : null
}

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:\s*;[\x20-\x7e]*)?$/

const readOne = (given: DraftAttachment, field: string, errors: FieldError[]): MessageAttachment | null => {
  const before = errors.length
  const wrong = (name: string, kind: FieldError['kind'], message: string) =>
    errors.push({ field: `${field}.${name}`, kind, message })
  const contentId = given.contentId?.replace(/^<|>$/g, '') ?? null
  if (given.path != null) {
    wrong('path', 'unsupported', 'remote files are not fetched; send the bytes as content')
  } else if (given.content == null) wrong('content', 'missing', '"content" is required')
  if (given.filename != null && /[\x00-\x1f\x7f]/.test(given.filename)) {
    wrong('filename', 'format', 'must not contain control characters')
  }
  if (given.contentType != null && /^multipart\//i.test(given.contentType)) {
    wrong('content_type', 'unsupported', 'a file is no multipart; send its parts as attachments')
  } else if (given.contentType != null && !MEDIA_TYPE.test(given.contentType)) {
    wrong('content_type', 'format', 'must be a media type such as application/pdf')
  }
  if (contentId !== null && !/^[!-;=?-~]{1,250}$/.test(contentId)) {
    wrong('content_id', 'format', 'must be printable ASCII without blanks')
  }
  const content = given.content == null ? null : readContent(given.content)
  if (given.content != null && content === null) {
    wrong('content', 'format', 'must be base64 with padding, or an array of bytes')
  }
  if (content === null || errors.length > before) return null
  return { filename: given.filename ?? null, contentType: given.contentType ?? null, contentId, content }
}

/** Reads all attachments of a draft, adding to `errors` what is wrong. */
export const readAttachments = (
  given: readonly DraftAttachment[],
  at: string,
  errors: FieldError[],
): readonly MessageAttachment[] =>
  given.flatMap((one, i) => readOne(one, `${at}.attachments[${i}]`, errors) ?? [])

export const summarize = (one: MessageAttachment): AttachmentSummary => ({
  filename: one.filename,
  content_type: one.contentType ?? 'application/octet-stream',
  size: one.content.length,
  content_id: one.contentId,
})
