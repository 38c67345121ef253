/**
 * NAME      port/mail - mails from accepted to settled, and what became of them
 *   Reads: a mail with its recipients, pages of mails, their events and reports, and whose recipient a bounce is about.
 *   The queue: each verb is whole and durable by itself. Times are epoch milliseconds. A lease is a generation: a call
 *   with an older one changes nothing.
 *   DSNs for submitting senders: a DSN is pending from the very transaction that changes a status (`settle`, or `accept`
 *   for a suppressed recipient) to the one that accepts the DSN as a mail (`Acceptance.dsn`), so it is made once, also
 *   over a crash. lifecycle/pending-dsn.ts decides whether there is one.
 *   Jobs: what is done to many mails at once is stored before it begins: which mails, what is done to them, and how far
 *   it is, from the newest mail that was there to the oldest. Place and counts move together, and only from where they
 *   stand, so that after a crash some mails are looked at again and none is counted twice.
 */
import type {
  Acceptance,
  AcceptResult,
  AttemptMark,
  Claimed,
  EmailFacts,
  EventRow,
  IdempotencyClaim,
  IdempotencyState,
  LeaseRef,
  NewEmail,
  Outcome,
  RecipientKind,
  Settled,
  Tag,
} from '../../lifecycle/facts.js'
import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import type { Query, Term } from '../../mail/query.js'
import type { Reply } from '../../mail/reply.js'
import type { Action } from '../../mail/report/report.js'
import type { Counts, Status } from '../../mail/status.js'
import { bool, json, plain, type RowOf } from './row.js'
import type { TimeVerbs } from './upkeep.js'

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

export interface Queue extends TimeVerbs {
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
  /** Status and event together, idempotent by dedupe key and lease generation. Unknown recipients are left out of the answer, which is empty for `quiet`. */
  settle(outcomes: readonly Outcome[], quiet?: boolean): Promise<readonly Settled[]>
  /** Gives leases back unused: no attempt, no event; due again at `dueAt`. */
  release(leases: readonly LeaseRef[], dueAt: number): Promise<void>
  /** The stored message bytes, or null after retention. */
  body(emailId: string): Promise<Uint8Array | null>
  /** Calls back when something may have become due. A hint: polling stays the truth. */
  onDue(wake: () => void): () => void
  /** Calls back when pools, domains or keys of return paths were changed by another daemon. A hint; an engine may never call it. */
  onChanged(reread: () => void): () => void
  /** Freshly accepted mail, already leased to this process, with its bytes. At most one taker; an adapter may never call it. */
  onLeased(take: (claimed: readonly Claimed[]) => void): () => void
  /**
   * The taker names the pools that can carry mail, and how many each would have at hand: only theirs is handed over, and
   * only theirs wakes it. Unsaid: all, and any number.
   */
  ready(poolIds: readonly string[], rooms?: readonly number[]): void
  /** When the next recipient of these pools, or of any, falls due, or null. */
  nextDue(poolIds?: readonly string[]): Promise<number | null>
  /** The pools in which something is due. */
  duePools(now: number): Promise<readonly string[]>
}

export type RescheduleResult = 'done' | 'not_scheduled' | 'not_found'

/** Compare-and-set against the dispatcher: exactly one of them wins. */
export interface Schedule {
  reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): Promise<RescheduleResult>
  /** Repeating a cancel is `done`. */
  cancel(scope: EmailScope, id: string, now: number): Promise<RescheduleResult>
}

/** What happened to one recipient: the event that the DSN tells. */
export interface PendingDsnRecipient {
  readonly recipientId: string
  readonly address: string
  /** What the client asked (RFC 3461), as received. */
  readonly dsn: { readonly notify: string | null; readonly orcpt: string | null }
  readonly reply: Reply | null
  readonly mta: { readonly host: string | null } | null
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
  readonly reason: string | null
  readonly occurredAt: number
  readonly queuedAt: number
}

/** One DSN: an email, an action, and the recipients to which it happened at about the same time. */
export interface PendingDsn {
  readonly emailId: string
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
  readonly action: Action
  /** Who submitted it: where the report goes. */
  readonly mailFrom: string
  readonly envid: string | null
  readonly ret: string | null
  readonly messageId: string
  readonly subject: string
  readonly createdAt: number
  readonly size: number
  readonly requireTls: boolean
  readonly recipients: readonly PendingDsnRecipient[]
}

export interface SenderDsns {
  /** Those to which nothing was added since `before`: recipients that fail together share a report. */
  pendingDsns(before: number, limit: number): Promise<readonly PendingDsn[]>
}

export const JOB_ACTIONS = ['cancel', 'retry', 'release', 'resend', 'suppress'] as const
export type JobAction = (typeof JOB_ACTIONS)[number]
export const JOB_STATES = ['running', 'done', 'canceled'] as const
type JobState = (typeof JOB_STATES)[number]

/** Which mails: all that was asked for, with its times resolved. */
export interface JobFilter extends Omit<EmailFilter, 'accountId'> {
  readonly query: Query
  readonly subjects: boolean
}

export const JOB_ROW = {
  /** `job_...` */
  id: plain<string>(),
  accountId: plain<string>(),
  /** The only one that it is about; null: it may be about several. */
  workspaceId: plain<string | null>(),
  action: plain<JobAction>(),
  reason: plain<string>(),
  filter: json<JobFilter>(),
  /** As it was written; null where only filters were given. */
  q: plain<string | null>(),
  /** How many there were; with `isCapped`, or more. */
  matched: plain<number>(),
  isCapped: bool,
  state: plain<JobState>(),
  /** The mark of searchEmails from which it goes on. */
  place: plain<string>(),
  /** Mails that were changed, that needed no change, and that could not be changed. */
  done: plain<number>(),
  skipped: plain<number>(),
  failed: plain<number>(),
  /** Why the last one could not. */
  lastError: plain<string | null>(),
  /** Who made it: the id of a key, a person or a session; `cli`. */
  createdBy: plain<string>(),
  /** What that is called; null where it has no name. */
  createdByName: plain<string | null>(),
  createdAt: plain<number>(),
  updatedAt: plain<number>(),
  finishedAt: plain<number | null>(),
}
export interface JobRow extends RowOf<typeof JOB_ROW> {}

/** What a step did. */
export interface JobStep {
  readonly place: string
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly lastError: string | null
  /** How many match in all, where that has become known. */
  readonly matched?: number | undefined
  /** True when nothing is left. */
  readonly isLast: boolean
  readonly now: number
}

export interface Jobs {
  addJob(row: JobRow): Promise<void>
  job(accountId: string, id: string): Promise<JobRow | null>
  /** Newest first; of one workspace, when that is named. */
  jobs(accountId: string, page: Page, workspaceId: string | null): Promise<Rows<JobRow>>
  /** Of all accounts. */
  runningJobs(): Promise<readonly JobRow[]>
  /** False, and nothing changes, when it does not stand at `from` any more. A step that was under way when it was canceled counts. */
  advanceJob(id: string, from: string, step: JobStep): Promise<boolean>
  /** Ends one that runs; what it has done stays done. False when it does not run. */
  cancelJob(accountId: string, id: string, now: number): Promise<boolean>
}

// The store's verbs about finding mail by a query. An index of words and addresses is built behind the mail, in the
// order in which it was accepted, and whoever searches is shown the mail up to where the index is: what comes into it
// later stands above every mark that was given out. A page costs 500 ms of work at most. It may hold fewer rows than
// asked for then, even none, and yet say that there are older ones: the next one goes on from where it stopped, and
// it tells how far it looked. What is erased is removed of the index with it; what is old, up to a week later, and
// until then no answer has it.

/** What is looked for, beside the filters of a list. */
interface SearchFor {
  readonly query: Query
  /** False: the caller does not see subjects, and does not find by them. */
  readonly subjects: boolean
}

export interface FoundPage<Row> extends Rows<Row> {
  /** Of the first page: terms, negated ones too, whose key, pool, tag or reason there is not. */
  readonly unknown: readonly Term[]
  /** Where looking ended before the page was full: when the mail there was accepted. null where it did not. */
  readonly searchedTo: number | null
}

/** Of mails as a list has them. */
interface Search<Filter, Row> {
  /** When the oldest mail was accepted that is not in the index yet; null when all are. */
  notIndexedSince(): Promise<number | null>
  /** As `emails`, of mail in the index. The count is null where it would take too long. */
  searchEmails(filter: Filter & SearchFor, page: Page): Promise<FoundPage<Row>>
}
