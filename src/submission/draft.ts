/**
 * NAME      draft - what a door hands in
 * DESCRIPTION
 *   The words of an email before anything about them has been judged. A door
 *   has checked types only; validate.ts checks meaning, and reports fields by
 *   their names on the wire (`body.reply_to`).
 */
import type { FaultCode } from '../base/fault/table.js'
import { Fault } from '../base/fault.js'
import type { EmailRecord } from '../store/port/mail.js'

export type Content =
  | string
  | readonly number[]
  | { readonly type: 'Buffer'; readonly data: readonly number[] }

export interface DraftAttachment {
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
}

type OneOrMany = string | readonly string[] | null | undefined

/** A send as JSON has it: many things may be left out, be null, or be one instead of a list. */
export interface WireDraft {
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
  readonly raw?: string | null | undefined
}

/** snake_case is ours; camelCase is what resend 4 passes on. */
interface WireAttachment extends DraftAttachment {
  readonly content_type?: string | null | undefined
  readonly content_id?: string | null | undefined
}

const list = (value: OneOrMany): readonly string[] =>
  value == null ? [] : typeof value === 'string' ? [value] : value

/** The draft in a type-checked JSON body. */
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

export interface Answer extends Rendered {
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
  /** Counts the sends beyond the first into the rate window, or throws; called once validation is over. */
  readonly charge: (n: number) => Promise<void>
  readonly render: (records: readonly EmailRecord[], failures: readonly BatchFailure[]) => Rendered
}

/** Throws request.body_too_large; `bytes` as MIME. */
export const demandSize = (most: number, bytes: number): void => {
  if (bytes > most) {
    throw new Fault('request.body_too_large', {
      detail: `A message has at most ${most} bytes, found ${bytes}`,
    })
  }
}
