/**
 * NAME      draft - an event that is to be written
 */
import type { EventSource, Outcome } from '../../../lifecycle/facts.js'
import type { OnAmbiguous } from '../../../lifecycle/lease.js'
import type { Note } from '../../../lifecycle/orders.js'
import type { SettleEvent } from '../../../lifecycle/settle.js'
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

/** What an order did to a recipient; it changes no status. */
export const noteEvent = (mail: MailPlace | string, recipientId: string, note: Note): EventDraft => ({
  ...plainEvent(mail, recipientId, note.did, 'operator', note.now, note.reason),
  change: false,
  more: { ...NOTHING, detail: { action: note.action, ...note.more } },
})

/** What was seen of a recipient. It runs for every mail. */
export const outcomeEvent = (
  mail: MailPlace,
  outcome: Outcome,
  { kind, change, applied, dedupe, detail }: SettleEvent,
  now: number,
): EventDraft & { readonly mail: MailPlace } => ({
  mail,
  recipientId: outcome.recipientId,
  status: kind,
  change,
  source: outcome.source,
  occurredAt: outcome.at,
  now,
  attempt: outcome.attempt,
  applied,
  reason: outcome.reason,
  dedupe,
  more: { reply: outcome.reply, mta: outcome.mta, detail },
})

/** An attempt that nobody knows the end of. */
export interface Begun {
  readonly attempt: number
  readonly at: number | null
  readonly poolId: string
  readonly upstreamId: string | null
  readonly on: OnAmbiguous
}

export const ambiguousEvent = <M extends MailPlace | string>(
  mail: M,
  recipientId: string,
  { attempt, at, poolId, upstreamId, on }: Begun,
  now: number,
): EventDraft & { readonly mail: M } => ({
  ...plainEvent(mail, recipientId, 'sent', 'system', now, 'ambiguous'),
  ...{ mail, change: false, applied: false, attempt, occurredAt: at ?? now },
  more: {
    reply: null,
    mta: { poolId, upstreamId, host: null },
    detail: { ambiguous: true, held: on === 'hold' },
  },
})
