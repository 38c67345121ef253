/**
 * NAME      draft - what a door hands in, its files, and when it is to go
 *   The words of an email before anything about them has been judged. A door has checked types only; validate.ts checks
 *   meaning, and reports fields by their names on the wire (`body.reply_to`).
 *   Content comes as base64 text, as an array of bytes, or as what JSON makes of a Node Buffer; some SDKs only know one
 *   of them. Base64 is read strictly: Node would skip what it does not know, and a file would arrive damaged. Line
 *   breaks in it are taken, since many encoders write them. `path` is refused: we fetch nothing for a client from
 *   places that it names.
 *   ISO 8601 with a zone, or a few words (base/moments.ts), at most 30 days ahead. A time that has just passed (60 s:
 *   clocks differ, requests travel) means now.
 */
import { Fault, type FaultCode, type FieldError, wrongIn } from '../base/fault.js'
import { parseTime, readTimeInWords, TIME_FORMS } from '../base/moments.js'
import { type Extras, type GivenExtra, givenExtras } from '../lifecycle/extras.js'
import type { AttachmentSummary, Tag } from '../lifecycle/facts.js'
import type { MessageAttachment } from '../mail/compose.js'
import type { EmailRecord } from '../store/port/mail.js'

type Content = string | readonly number[] | { readonly type: 'Buffer'; readonly data: readonly number[] }

interface DraftAttachment {
  readonly filename?: string | null | undefined
  /** Base64 text, an array of bytes, or what JSON makes of a Node Buffer. */
  readonly content?: Content | null | undefined
  readonly contentType?: string | null | undefined
  readonly contentId?: string | null | undefined
  /** A remote file. Never fetched: refused, with a reason. */
  readonly path?: string | null | undefined
}

export interface Draft {
  readonly from: string | null
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: readonly string[]
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly tags: readonly { readonly name: string; readonly value: string }[]
  readonly attachments: readonly DraftAttachment[]
  readonly scheduledAt: string | null
  /** The whole message as base64, in place of all that one is composed of. */
  readonly mime?: string | null
  /** Also to addresses that are suppressed, this once. */
  readonly ignoreSuppressions?: boolean
  readonly extras?: Extras | null
  /** As control fields of a header make them: names may repeat, and those that are too many are left out. */
  readonly foundTags?: readonly Tag[]
  /** Of a whole message: its control fields count as at the SMTP door, and `from` where it has no From. */
  readonly heedsHeader?: boolean
  /** Cc or Bcc alone will do. */
  readonly needsNoTo?: boolean
}

type OneOrMany = string | readonly string[] | null | undefined

/** A send as JSON has it: many things may be left out, be null, or be one instead of a list. */
export interface WireDraft extends Partial<Readonly<Record<GivenExtra['name'], unknown>>> {
  readonly from?: string | null | undefined
  readonly to?: OneOrMany
  readonly cc?: OneOrMany
  readonly bcc?: OneOrMany
  readonly reply_to?: OneOrMany
  readonly subject?: string | null | undefined
  readonly html?: string | null | undefined
  readonly text?: string | null | undefined
  /** Some clients send an empty list for "none". */
  readonly headers?: Readonly<Record<string, string>> | readonly never[] | null | undefined
  readonly tags?: readonly { readonly name: string; readonly value: string }[] | null | undefined
  readonly attachments?: readonly WireAttachment[] | null | undefined
  readonly scheduled_at?: string | null | undefined
  readonly ignore_suppressions?: boolean | null | undefined
  readonly unsubscribe?: { readonly list: string } | null | undefined
  readonly raw?: string | null | undefined
}

/** snake_case is ours; camelCase is what resend 4 passes on. */
interface WireAttachment extends DraftAttachment {
  readonly content_type?: string | null | undefined
  readonly content_id?: string | null | undefined
}

const list = (value: OneOrMany): readonly string[] =>
  value == null ? [] : typeof value === 'string' ? [value] : value

export const toDraft = (body: WireDraft): Draft => ({
  from: body.from ?? null,
  to: list(body.to),
  cc: list(body.cc),
  bcc: list(body.bcc),
  replyTo: list(body.reply_to),
  subject: body.subject ?? '',
  html: body.html ?? null,
  text: body.text ?? null,
  headers:
    body.headers == null || Array.isArray(body.headers) ? {} : (body.headers as Record<string, string>),
  tags: body.tags ?? [],
  attachments: (body.attachments ?? []).map((one) => ({
    filename: one.filename,
    content: one.content,
    contentType: one.content_type ?? one.contentType,
    contentId: one.content_id ?? one.contentId,
    path: one.path,
  })),
  scheduledAt: body.scheduled_at ?? null,
  ignoreSuppressions: body.ignore_suppressions ?? false,
  extras: givenExtras(
    ({ name }) => body[name],
    body.unsubscribe == null ? {} : { unsubscribe_list: body.unsubscribe.list },
  ),
  mime: body.raw ?? null,
})

/** A finished answer, as it will be stored and replayed. */
export interface Rendered {
  readonly status: number
  /** The exact bytes of the body, as text. */
  readonly body: string
}

/** Makes the door's answer from what was accepted. It runs before the commit, because both are stored in one verb. */
export type Render = (records: readonly EmailRecord[]) => Rendered

export interface IdempotencyWish {
  /** 1 to 256 bytes (`checkIdempotencyKey`). */
  readonly key: string
  /** From `requestFingerprint`. */
  readonly fingerprint: string
}

export interface SubmitAnswer extends Rendered {
  /** True when this is the stored answer of an earlier request. */
  readonly replayed: boolean
  /** What was accepted now; empty on a replay. */
  readonly records: readonly EmailRecord[]
}

export interface SubmitOptions {
  readonly idempotency: IdempotencyWish | null
  /** The traceparent of the request's span, when somebody traces. */
  readonly trace?: string | null | undefined
  readonly render: Render
}

export interface BatchFailure {
  readonly index: number
  readonly message: string
  readonly code: FaultCode
}

export interface BatchOptions {
  readonly idempotency: IdempotencyWish | null
  readonly trace?: string | null | undefined
  /** True accepts the valid ones and reports the others; false accepts all or none. */
  readonly permissive: boolean
  /** Of a permissive batch of which nothing is good: whether it is answered all the same, by `render`. */
  readonly mayBeEmpty?: boolean
  /** Mails that it may hold; 100 unless it says so. */
  readonly most?: number
  /** Counts the sends beyond the first into the rate window, or throws; called once validation is over. */
  readonly charge: (n: number) => Promise<void>
  readonly render: (records: readonly EmailRecord[], failures: readonly BatchFailure[]) => Rendered
}

/** Throws request.body_too_large; `bytes` as MIME. */
export const demandSize = (most: number, bytes: number): void => {
  if (bytes > most)
    throw new Fault('request.body_too_large', {
      detail: `A message has at most ${most} bytes, found ${bytes}`,
    })
}

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
  const wrong = wrongIn(errors, `${field}.`)
  const contentId = given.contentId?.replace(/^<|>$/g, '') ?? null
  if (given.path != null) {
    wrong('path', 'unsupported', 'remote files are not fetched; send the bytes as content')
  } else if (given.content == null) wrong('content', 'missing', '"content" is required')
  if (given.filename != null && /[\x00-\x1f\x7f]/.test(given.filename))
    wrong('filename', 'format', 'must not contain control characters')
  if (given.contentType != null && /^multipart\//i.test(given.contentType)) {
    wrong('content_type', 'unsupported', 'a file is no multipart; send its parts as attachments')
  } else if (given.contentType != null && !MEDIA_TYPE.test(given.contentType)) {
    wrong('content_type', 'format', 'must be a media type such as application/pdf')
  }
  if (contentId !== null && !/^[!-;=?-~]{1,250}$/.test(contentId))
    wrong('content_id', 'format', 'must be printable ASCII without blanks')
  const content = given.content == null ? null : readContent(given.content)
  if (given.content != null && content === null)
    wrong('content', 'format', 'must be base64 with padding, or an array of bytes')
  if (content === null || errors.length > before) return null
  return { filename: given.filename ?? null, contentType: given.contentType ?? null, contentId, content }
}

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

const MOST_AHEAD_MS = 30 * 86_400_000
const JUST_PAST_MS = 60_000

/** When to send: null is now. Adds to `errors` what is wrong. */
export const readSchedule = (
  text: string | null,
  now: number,
  field: string,
  errors: FieldError[],
): number | null => {
  if (text === null) return null
  const time = parseTime(text) ?? readTimeInWords(text, now)
  if (time === null) {
    const message = `must be an ISO 8601 time with a zone, or one of ${TIME_FORMS}`
    errors.push({ field, kind: 'format', message })
    return null
  }
  if (time < now - JUST_PAST_MS) errors.push({ field, kind: 'past', message: 'must not lie in the past' })
  if (time > now + MOST_AHEAD_MS)
    errors.push({ field, kind: 'range', message: 'must lie within the next 30 days' })
  return time > now ? time : null
}
