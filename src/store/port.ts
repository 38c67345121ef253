/**
 * NAME      port - what every store can do, in whole verbs
 * DESCRIPTION
 *   The one contract between the stages and a database. Each verb is complete
 *   and durable by itself: when its promise resolves, its effect is on disk, and
 *   when it rejects, nothing happened. There is no begin and no commit, because a
 *   verb can cross a thread and share an fsync. Its law is test/store/contract.ts.
 * NOTES
 *   Times are epoch milliseconds. Row types are plain data (structured clone).
 *   A rejection that is no Fault (comments name those) is a broken store; the daemon stops acknowledging.
 */
import type { Reply } from '../mail/reply.js'
import type { Counts, Observation, Status } from '../mail/status.js'
import type { Mode, Page, Rows } from './page.js'
import type { Actor, Audit } from './port/audit.js'
import type { EventRow, EventSource, KeptReport, MtaRef, Tag } from './port/event.js'
import type { Identity } from './port/identity.js'
import type { Incidents } from './port/incident.js'
import type { Jobs } from './port/jobs.js'
import type { Search, SearchFor } from './port/search.js'
import type { Statistics } from './port/statistics.js'
import type { Watch } from './port/watch.js'
import type { Carry } from './port-carry.js'
import type { Domains } from './port-domains.js'
import type { Hooks } from './port-hooks.js'
import type { EventLog } from './port-log.js'
import type { Operations, QueueOwner } from './port-operations.js'
import type { DsnPayment, SenderDsns } from './port-sender-dsns.js'
import type { Tenants } from './port-tenants.js'
import type { Copied, Keep, Lifecycle, OrderClock, Times, WriterLoad } from './port-upkeep.js'

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
  /** The mail of which this one is sent again. */
  readonly resentFrom?: string | null
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
  /** The report that the first of the mails is: paid with it, or nothing is stored. */
  readonly pays?: DsnPayment | null
  readonly now: number
}

/** `lock_lost`: another request holds or finished this idempotency key, or paid; nothing was stored. */
export type AcceptResult = 'accepted' | 'lock_lost'

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
  /** Since when, with rests and pauses left out, and when the last of them ended. */
  readonly queuedAt: number
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

export interface Queue extends Times {
  /** Email, body, recipients, idempotent answer and first events: all or nothing. */
  accept(batch: Acceptance): Promise<AcceptResult>
  /** Locks an idempotency key, or says who has it. An expired lock or answer (24 h) is taken over. */
  claimKey(claim: IdempotencyClaim): Promise<IdempotencyState>
  /** Frees a key that this token holds and that has no answer yet. */
  releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): Promise<void>
  /** Leases due recipients of a pool: oldest first, round-robin between workspaces. Who has been suppressed since ends here. */
  claim(poolId: string, limit: number, leaseUntil: number, now: number): Promise<readonly Claimed[]>
  /** Journals attempts before the message is sent. False at a position: that lease is no longer ours, do not send. */
  attempting(marks: readonly AttemptMark[]): Promise<readonly boolean[]>
  /** Status and event together, idempotent by dedupe key and lease generation. Unknown recipients are left out of the answer. */
  settle(outcomes: readonly Outcome[]): Promise<readonly Settled[]>
  /** Gives leases back unused: no attempt, no event; due again at `dueAt`. */
  release(leases: readonly LeaseRef[], dueAt: number): Promise<void>
  /** The stored message bytes, or null after retention. */
  body(emailId: string): Promise<Uint8Array | null>
  /** Calls back when something may have become due. A hint: polling stays the truth. */
  onDue(wake: () => void): () => void
  /** Freshly accepted mail, already leased to this process, with its bytes. At most one taker; an adapter may never call it. */
  onLeased(take: (claimed: readonly Claimed[]) => void): () => void
  /** The taker names the pools that can carry mail: only theirs is handed over, and only theirs wakes it. Unsaid: all. */
  ready(poolIds: readonly string[]): void
  /** When the next recipient of these pools, or of any, falls due, or null. */
  nextDue(poolIds?: readonly string[]): Promise<number | null>
  /** The pools in which something is due. */
  duePools(now: number): Promise<readonly string[]>
}

export interface RecipientRow {
  readonly id: string
  readonly address: string
  readonly kind: RecipientKind
  readonly status: Status
  readonly attempts: number
  readonly lastResponse: string | null
  readonly reason: string | null
  readonly updatedAt: number
  readonly dueAt: number | null
}

export interface EmailRow extends EmailFacts {
  readonly status: Status
  readonly counts: Counts
  readonly updatedAt: number
}

export interface EmailRecord extends EmailRow, Pick<NewEmail, 'requireTls' | 'mailFrom'> {
  readonly recipients: readonly RecipientRow[]
  readonly poolId: string
}

export interface EmailFilter {
  readonly accountId: string
  /** null: all workspaces of the account. */
  readonly workspaceId: string | null
  readonly mode: Mode | null
  readonly status: Status | null
  /** One envelope recipient, compared case-insensitively. */
  readonly to: string | null
  readonly tag: Tag | null
  readonly createdAfter: number | null
  readonly createdBefore: number | null
}

export type SearchFilter = EmailFilter & SearchFor
export type EmailSearch = Search<EmailFilter, EmailRow>

export type EmailScope = Pick<EmailFilter, 'accountId' | 'workspaceId' | 'mode'>

export interface LastWords {
  readonly emailId: string
  readonly lastResponse: string | null
  readonly reason: string | null
}

export interface Ledger {
  email(scope: EmailScope, id: string): Promise<EmailRecord | null>
  /** The stored content of an API mail as JSON text; null for SMTP mail or after retention. */
  content(emailId: string): Promise<string | null>
  emails(filter: EmailFilter, page: Page): Promise<Rows<EmailRow>>
  /** Of each of these mails that bounced or is deferred: what was last said of one such recipient. */
  lastWords(emailIds: readonly string[]): Promise<readonly LastWords[]>
  events(emailId: string, page: Page): Promise<Rows<EventRow>>
  /** What was kept of a report, octets as they were given; null when it is not kept, or no longer. */
  report(emailId: string, name: string): Promise<Uint8Array | null>
  /** The traceparent that came in with an email, or null. */
  trace(emailId: string): Promise<string | null>
  /** For a bounce: whose recipient is this, and what do we think of it? */
  recipient(recipientId: string): Promise<RecipientOwner | null>
  /** Emails by Message-ID (with brackets) or recipient address, newest first; for operators. */
  findEmails(text: string, limit: number): Promise<readonly EmailRow[]>
  /** Committed status changes, as they happen in this process; for tails, logs and pages. A hint, not a log. */
  onSettled(listener: (settled: readonly Settled[]) => void): () => void
}

export interface RecipientOwner {
  readonly recipientId: string
  readonly emailId: string
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly address: string
  /** Whom the submitting client said it was for (RFC 3461), as received. */
  readonly orcpt: string | null
  readonly status: Status
  /** True once a message may have left for it: an attempt has ended, or is past its mark in the journal. */
  readonly tried: boolean
  readonly poolId: string
  readonly messageId: string
  readonly envid: string | null
  /** Its workspace was deleted: what is told of it is counted, and nothing is kept of what was said. */
  readonly isDeleted: boolean
  readonly createdAt: number
}

export type RescheduleResult = 'done' | 'not_scheduled' | 'not_found'

/** Compare-and-set against the dispatcher: exactly one of them wins. */
export interface Schedule {
  reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): Promise<RescheduleResult>
  /** Repeating a cancel is `done`. */
  cancel(scope: EmailScope, id: string, now: number): Promise<RescheduleResult>
}

export interface QueueDepth {
  readonly poolId: string
  readonly workspaceId: string
  readonly due: number
  readonly leased: number
  readonly waiting: number
  readonly oldestDueAt: number | null
}

export interface Upkeep extends OrderClock {
  /** Brings the schema up to date; refuses a newer one. Idempotent. */
  migrate(): Promise<void>
  /** Integrity and durability settings; resolves with the faults found, none is good. */
  check(): Promise<readonly string[]>
  /** Takes over the leases of dead boots. Ambiguous ones (journaled, unsettled) are counted and follow `ambiguous`. */
  recover(now: number): Promise<{ readonly released: number; readonly ambiguous: number }>
  /** Small steps of housekeeping: retention, dead locks, old windows, unused room. Resolves with rows and files removed. */
  sweep(now: number, keep: Keep): Promise<number>
  /** An online copy, consistent and complete but for the bodies that it names as missing. */
  backup(path: string): Promise<Copied>
  depth(of?: QueueOwner): Promise<readonly QueueDepth[]>
  /** Since the store was opened; costs nothing. */
  load(): WriterLoad
}

/** A part of the store, and the same part as somebody. */
export type Acted<Part> = Part & {
  /** What it changes is written down as this one's, in the same commit; with an `entry` (an `aud_` id), all of it as one order. */
  by(actor: Actor, entry?: string | null): Acted<Part>
}

type Verbs = Queue &
  Ledger &
  EventLog &
  Schedule &
  Tenants &
  Incidents &
  Identity &
  Audit &
  Domains &
  Operations &
  Carry &
  SenderDsns &
  Statistics &
  EmailSearch &
  Jobs &
  Hooks &
  Watch &
  Upkeep &
  Lifecycle

export type Store = Acted<Verbs>
