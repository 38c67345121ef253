/**
 * NAME      queue-writes - what is done to one recipient that waits, in the way of each database
 */
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import type { OrderKind, Status } from '../../../mail/status.js'
import type { MailTables } from '../mails/tables.js'
import type { Asking } from '../query.js'
import type { Found } from './walk.js'

export interface Holdable {
  readonly id: string
  readonly email_id: string
  readonly status: Status
  readonly due_at: number | null
}

export type Freeable = Omit<Holdable, 'due_at'>

export interface Note {
  /** What was ordered; also what an order did to the mail, where that has the same name. */
  readonly action: string
  readonly did: OrderKind
  readonly reason: string
  readonly now: number
  readonly more?: Readonly<Record<string, string>>
}

export interface QueueWrites extends Pick<MailTables, 'recipients' | 'waiting'> {
  hold(one: Holdable, hold: { readonly id: string; readonly reason: string }, now: number): Asking<void>
  free(one: Freeable, note: Note): Asking<void>
  /** An event of the operator that changes no status. */
  note(one: Freeable, note: Note): Asking<void>
  /** It is due at this time. */
  due(id: string, at: number): Asking<void>
  /** To another pool, of this number, with its mail. */
  move(one: Found, to: number, now: number): Asking<void>
  /** Ends its lease. */
  unlease(id: string, now: number): Asking<void>
  settle(outcome: Outcome): Asking<Settled | null>
}

/** The holds that stand, and the suspended workspaces, as the writer knows them. */
export interface StandingHolds {
  has(id: string | null): Asking<boolean>
  /** They were changed. */
  look(): Asking<void>
}
