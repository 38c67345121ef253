/**
 * NAME      port/log - the store's verbs about the log of events
 *   One log with one order, that of the commits. Readers keep their own place: a
 *   mark lies between two records and names none, and no record ever appears
 *   below a mark that was given out. The first event of a recipient is not
 *   stored but made of its row; nobody outside the store can tell.
 * NOTES
 *   A record is a change (the status differs from before, a first event, a
 *   complaint, anything that has no mail) or a note (one more failed attempt, an
 *   order, a report that was not applied). History that came with its mail
 *   (import, migration) is in the mail's timeline and not in the log.
 */

import type { EventRow, Tag } from '../../lifecycle/facts.js'
import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import type { EventType } from '../../mail/event-type.js'

/** What a reader of an event wants to know of its mail. */
export interface MailOfEvent {
  readonly id: string
  readonly poolId: string
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  /** With angle brackets. */
  readonly messageId: string
  readonly tags: readonly Tag[]
  /** When it was accepted. */
  readonly createdAt: number
  /** Its appointment, if it had one. */
  readonly scheduledAt: number | null
}

export interface LogRow extends Omit<EventRow, 'emailId' | 'type'> {
  readonly type: EventType
  /** Right after it: following goes on from here. Begins with a whole number that no later record is below. */
  readonly mark: string
  readonly accountId: string
  /** null: of the whole account. */
  readonly workspaceId: string | null
  readonly mode: Mode
  readonly change: boolean
  /** False where the first event of its recipient is none of this log: it was suppressed at once, or came with its history. */
  readonly begunHere: boolean
  /** null: it is about no mail; then `data` says what it is about. */
  readonly emailId: string | null
  readonly mail: MailOfEvent | null
  readonly data: Readonly<Record<string, unknown>> | null
}

export interface LogFilter {
  readonly accountId: string
  /** null: all workspaces of the account. */
  readonly workspaceId: string | null
  /** Also the events of the whole account; for platform callers. */
  readonly accountWide: boolean
  readonly mode: Mode | null
  /** null: all. */
  readonly types: readonly EventType[] | null
  readonly emailId: string | null
  /** Compared case-insensitively. */
  readonly recipient: string | null
  readonly change: boolean | null
  readonly createdAfter: number | null
  readonly createdBefore: number | null
}

/** Of all accounts. */
export interface WholeLog {
  /** Unsaid: both. */
  readonly mode?: Mode
  /** Only of these, none of them a first one; null: all of them. */
  readonly types: readonly Exclude<EventType, 'email.queued' | 'email.scheduled'>[] | null
}

export interface Followed {
  /** Oldest first. */
  readonly rows: readonly LogRow[]
  /** Everything up to here was looked at, also what the filter leaves out. */
  readonly mark: string
  /** True when nothing more is there now. */
  readonly isEnd: boolean
}

/** An event without a mail. */
export interface EventNotice {
  readonly type: EventType
  readonly accountId: string
  /** null: of the whole account. */
  readonly workspaceId: string | null
  readonly mode: Mode
  readonly now: number
  /** JSON-able; names the thing by its id first. */
  readonly data: Readonly<Record<string, unknown>>
  /** A second notice with this key is not stored. */
  readonly dedupe?: string | null
}

export interface EventLog {
  /** A page, newest first. `page.anchor` may also be any mark of the log. */
  log(filter: LogFilter, page: Page): Promise<Rows<LogRow>>
  /**
   * What comes after a mark (null: from the oldest that can be followed), looking at no more than `limit` records.
   * A mark that is older than the log can be followed answers 'gone': go on from `logEnds().oldest`.
   */
  follow(filter: LogFilter | WholeLog, after: string | null, limit: number): Promise<Followed | 'gone'>
  /** The oldest mark that can be followed, and the one right now. A few microseconds. */
  logEnds(): Promise<{ readonly oldest: string; readonly newest: string }>
  /** Whether a text is a mark of this log's form. */
  isMark(text: string): boolean
  /** By its id, null when there is none or it is not in the account. */
  loggedEvent(accountId: string, id: string): Promise<LogRow | null>
  /** Adds an event without a mail. Resolves with its id; null when its dedupe key was there. */
  addNotice(notice: EventNotice): Promise<string | null>
}
