/**
 * NAME      queue-writes - what is done to recipients that wait, in the way of each database
 */
import type { Outcome } from '../../../lifecycle/facts.js'
import type { Note } from '../../../lifecycle/orders.js'
import type { Status } from '../../../mail/status.js'
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

export interface QueueWrites extends Pick<MailTables, 'recipients' | 'waiting'> {
  /** The same as they are now; nobody else is at them until the verb is done. Those that wait no more are gone. */
  locked(rows: readonly Found[]): Asking<readonly Found[]>
  /** Nobody else is at what waits of these mails until the verb is done. */
  lockMails(places: readonly number[]): Asking<void>
  hold(
    rows: readonly Holdable[],
    hold: { readonly id: string; readonly reason: string },
    now: number,
  ): Asking<void>
  free(rows: readonly Freeable[], note: Note): Asking<void>
  /** An event of the operator that changes no status. */
  note(rows: readonly Freeable[], note: Note): Asking<void>
  /** They are due at this time. */
  due(rows: readonly Freeable[], at: number): Asking<void>
  /** To another pool, of this number, with their mails. */
  move(rows: readonly Found[], to: number, now: number): Asking<void>
  /** Ends their leases. */
  unlease(rows: readonly Freeable[], now: number): Asking<void>
  /** Whether each was applied. */
  settle(outcomes: readonly Outcome[]): Asking<readonly boolean[]>
}

/** The holds that stand, and the suspended workspaces, as the writer knows them. */
export interface StandingHolds {
  /** Which of these stand. */
  among(ids: readonly string[]): Asking<ReadonlySet<string>>
  /** They were changed. */
  look(): Asking<void>
}
