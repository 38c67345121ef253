/**
 * NAME      draft - an event that is to be written
 */
import type { EventSource } from '../../../lifecycle/event.js'
import type { EventKind } from '../../../mail/status.js'
import { type More, NOTHING } from './codec.js'

/** A mail as the log knows it. */
export interface MailPlace {
  readonly ord: number
  readonly scope: number
}

export interface EventDraft {
  /** Its id, where nobody has its place at hand. */
  readonly mail: MailPlace | string
  readonly recipientId: string | null
  readonly status: EventKind
  /** Whether it changes what is told of the recipient, or only notes something. */
  readonly change: boolean
  readonly source: EventSource
  readonly occurredAt: number
  readonly now: number
  readonly attempt: number | null
  readonly applied: boolean
  readonly reason: string | null
  readonly dedupe: string | null
  readonly more: More
}

/** A change that nobody said anything about. */
export const plainEvent = (
  mail: MailPlace | string,
  recipientId: string | null,
  status: EventKind,
  source: EventSource,
  now: number,
  reason: string | null = null,
): EventDraft => ({
  mail,
  recipientId,
  status,
  change: true,
  source,
  occurredAt: now,
  now,
  attempt: null,
  applied: true,
  reason,
  dedupe: null,
  more: NOTHING,
})
