/**
 * NAME      facts - what is known of a mail, its recipients, its timeline and an outcome
 *   The rows that the law of the queue reads and that the store keeps, as plain data (structured clone): a mail to
 *   accept, a recipient under lease, what was seen of it and what that changed. Times are epoch milliseconds. What was
 *   seen of a recipient says that much; the rest is empty.
 */
import type { Reply } from '../mail/reply.js'
import type { Action } from '../mail/report/report.js'
import type { Observation, Status } from '../mail/status.js'
import type { Extras } from './extras.js'
import type { Mode } from './page.js'

export interface Tag {
  readonly name: string
  readonly value: string
}

/** Stores keep their numbers: new ones go to the end. */
export const EVENT_SOURCES = ['api', 'smtp', 'dsn', 'arf', 'operator', 'system'] as const
export type EventSource = (typeof EVENT_SOURCES)[number]

export interface MtaRef {
  readonly poolId: string
  readonly upstreamId: string | null
  readonly host: string | null
}

export interface EventRow {
  readonly id: string
  /** An EventType of a mail; of what was not applied the one that it would have been. */
  readonly type: string
  readonly emailId: string
  readonly recipientId: string | null
  readonly recipient: string | null
  readonly source: EventSource
  readonly occurredAt: number
  readonly createdAt: number
  readonly reply: Reply | null
  readonly mta: MtaRef | null
  readonly attempt: number | null
  /** It changed what is told of the recipient; else it only notes something. */
  readonly change: boolean
  readonly applied: boolean
  readonly reason: string | null
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
}

/** The store neither reads nor packs it. */
export interface KeptReport {
  /** The same report of a mail is kept once. */
  readonly name: string
  readonly octets: Uint8Array
}

/** How many reports of one mail are kept: whoever was written to may send as many as he likes. */
export const MAX_REPORTS = 100

/** `system`: reports that we write ourselves. */
export type Source = 'api' | 'smtp' | 'system'
export type RecipientKind = 'to' | 'cc' | 'bcc'

/** What the submitting client asked of DSNs for one recipient (RFC 3461), kept as received. */
export interface DsnRequest {
  readonly notify: string | null
  readonly orcpt: string | null
}

export interface NewRecipient extends Partial<Pick<NewEmail, 'poolId'>> {
  readonly id: string
  readonly address: string
  readonly kind: RecipientKind
  /** True starts this recipient as bounced with reason `suppressed`; it is never due. */
  readonly suppressed: boolean
  /** The narrowest entry of lists of suppressions that would be against it: accept looks, and that counts. Unsaid, nobody looks. */
  readonly normal?: string | undefined
  /** What stands on a list against it. */
  readonly entry?: string | null
  readonly dsn: DsnRequest | null
}

export interface AttachmentSummary {
  readonly filename: string | null
  readonly content_type: string
  readonly size: number
  readonly content_id: string | null
}

/** What an email is, apart from its body and what became of it. */
export interface EmailFacts {
  readonly id: string
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly source: Source
  readonly from: string
  readonly to: readonly string[]
  readonly cc: readonly string[]
  readonly bcc: readonly string[]
  readonly replyTo: readonly string[]
  readonly subject: string
  readonly tags: readonly Tag[]
  readonly attachments: readonly AttachmentSummary[]
  /** With angle brackets. */
  readonly messageId: string
  readonly scheduledAt: number | null
  readonly createdAt: number
  /** What few mails have; null or absent: nothing of it. */
  readonly extras?: Extras | null
  /** The key or credential that submitted it; a session is not told. */
  readonly submittedBy?: string | null
}

export interface NewEmail extends EmailFacts {
  readonly poolId: string
  readonly recipients: readonly NewRecipient[]
  /** The RFC 5322 bytes to relay, CRLF lines, without Bcc. */
  readonly raw: Uint8Array
  /** True when an address or header needs SMTPUTF8 upstream. */
  readonly needsSmtpUtf8: boolean
  /** JSON {html, text, headers} of an API mail; null for SMTP mail (read from raw on demand). Octets of UTF-8 where it is large. */
  readonly content: string | Uint8Array | null
  /** True: also to addresses that are suppressed, now or by the time it is sent. */
  readonly ignoreSuppressions?: boolean
  /** ENVID and RET of the submitting client (SMTP door), else null. */
  readonly envid: string | null
  readonly ret: string | null
  /** The W3C traceparent of the request that brought it, kept for the spans of its attempts; absent when nobody traces. */
  readonly trace?: string | null | undefined
  /** True when the client said REQUIRETLS: it travels under verified TLS, or not at all (RFC 8689). */
  readonly requireTls?: boolean
  /** MAIL FROM of the submitting client; '' goes out from the null sender, and is never reported on. */
  readonly mailFrom?: string | null
}

/** The finished answer of an idempotent request, stored with the mail that it answers. */
export interface IdempotentAnswer {
  readonly workspaceId: string
  readonly mode: Mode
  readonly key: string
  readonly token: string
  readonly status: number
  /** The exact response bytes, replayed as they are. */
  readonly body: string
}

export interface Acceptance {
  readonly mails: readonly NewEmail[]
  readonly idempotency: IdempotentAnswer | null
  /** The pending DSN that the first of the mails is: pending no more with it, or nothing is stored. */
  readonly dsn?: SentDsn | null
  /** The rules (port/upkeep.ts, Known) by which it was decided; unsaid, nobody compares. */
  readonly rules?: number | null
  readonly now: number
}

/**
 * `lock_lost`: another request holds or finished this idempotency key, or sent the DSN. `stale`: the rules are others by
 * now, or with an idempotent answer, lists say something else of a recipient. Nothing was stored then.
 * Else it was, and with `suppressed` these recipients were found on a list.
 */
export type AcceptResult = 'accepted' | 'lock_lost' | 'stale' | { readonly suppressed: readonly string[] }

export const isStored = (result: AcceptResult): boolean => result !== 'lock_lost' && result !== 'stale'

export interface IdempotencyClaim {
  readonly workspaceId: string
  readonly mode: Mode
  readonly key: string
  readonly fingerprint: string
  readonly token: string
  readonly now: number
  readonly lockedUntil: number
}

export type IdempotencyState =
  | { readonly state: 'claimed' }
  | { readonly state: 'in_progress' }
  | { readonly state: 'mismatch' }
  | { readonly state: 'done'; readonly status: number; readonly body: string }

/** One recipient, leased to the caller. Everything that one SMTP transaction needs but the body. */
export interface Claimed {
  readonly recipientId: string
  readonly emailId: string
  readonly workspaceId: string
  readonly poolId: string
  readonly mode: Mode
  readonly address: string
  readonly dsn: DsnRequest | null
  readonly envid: string | null
  readonly ret: string | null
  readonly messageId: string
  /** The From address of the header, for DKIM and for choosing a domain. */
  readonly from: string
  readonly needsSmtpUtf8: boolean
  /** Attempts made before this one. */
  readonly attempts: number
  readonly createdAt: number
  /** Since when, with rests and pauses left out. */
  readonly queuedAt: number
  /** When the last of them ended. */
  readonly freedAt?: number | null
  readonly leaseGen: number
  readonly size: number
  /** What the workspace wants done when a broken connection hides whether the mail was taken; retry when absent. */
  readonly ambiguous?: 'retry' | 'hold'
  /** True for a report of our own: it leaves from `<>`. */
  readonly nullSender?: boolean
  /** True when only verified TLS, to a server that goes on like this, is good enough. */
  readonly requireTls?: boolean
  /** The bytes, when they are small or still at hand; else fetch them with body(). */
  readonly raw: Uint8Array | null
}

export interface LeaseRef {
  readonly recipientId: string
  readonly leaseGen: number
}

export interface AttemptMark extends LeaseRef {
  readonly attempt: number
  readonly upstreamId: string
  readonly at: number
}

/** Something seen about one recipient. settle() folds it into a status by mail/status.ts. */
export interface Outcome {
  readonly recipientId: string
  readonly seen: Observation
  readonly at: number
  readonly source: EventSource
  /** Ours when it comes from a lease: a stale one (wrong generation) is recorded, never applied. */
  readonly leaseGen: number | null
  readonly attempt: number | null
  /** When to try again; only with `postponed`. */
  readonly retryAt: number | null
  /** Deadline by which a mail that others hold (deferred by a report) counts as expired; else null. */
  readonly deadline: number | null
  readonly reply: Reply | null
  readonly mta: MtaRef | null
  /** Same key, same fact: a second outcome with it changes and records nothing. */
  readonly dedupe: string | null
  /** Why, in a word (`suppressed`, `lifetime`, `spam`, `mailbox_full`...), else null. */
  readonly reason: string | null
  /** More for the timeline: stage, TLS version, milliseconds, verbatim diagnostic. Small, JSON-able. */
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
  /** False records the event with applied:false whatever the table says (unverified reports); its detail says why. */
  readonly trusted: boolean
  /** The report that tells it, kept beside the event whose detail gives its name (`report`). */
  readonly report?: KeptReport
}

export interface Settled {
  readonly recipientId: string
  readonly emailId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly address: string
  readonly applied: boolean
  readonly from: Status
  readonly to: Status
  readonly emailStatus: Status
}
export interface SentDsn {
  readonly emailId: string
  readonly action: Action
  readonly recipientIds: readonly string[]
}

/** What every outcome must say; the rest is empty unless given. */
type Seen = Pick<Outcome, 'recipientId' | 'seen' | 'at' | 'source'> & Partial<Outcome>

/** `trusted` unless it says otherwise; `leaseGen: null` makes it a report, not the end of an attempt. */
export const observed = (seen: Seen): Outcome => {
  // field by field: one is made for each attempt, and a spread costs several times as much
  const outcome: Outcome = {
    recipientId: seen.recipientId,
    seen: seen.seen,
    at: seen.at,
    source: seen.source,
    leaseGen: seen.leaseGen ?? null,
    attempt: seen.attempt ?? null,
    retryAt: seen.retryAt ?? null,
    deadline: seen.deadline ?? null,
    reply: seen.reply ?? null,
    mta: seen.mta ?? null,
    dedupe: seen.dedupe ?? null,
    reason: seen.reason ?? null,
    detail: seen.detail ?? null,
    trusted: seen.trusted ?? true,
  }
  return seen.report === undefined ? outcome : { ...outcome, report: seen.report }
}
