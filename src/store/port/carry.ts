/**
 * NAME      port/carry - mail that moves from one store to another
 * DESCRIPTION
 *   A mail is carried whole: its record, all its recipients with their states,
 *   its timeline and its bytes, under the ids that it has. What leaves in one go
 *   is a lot: from the mark on, its mails are not sent from here, until the lot is
 *   taken back (due here again) or forgotten (canceled here, reason `moved`), and a
 *   lot can only go one of the two ways. Where it goes, a mail that is known is
 *   passed over, so a file may be imported twice, and by two at once. The one that
 *   is known and taken all the same is a mail that left from here and comes back
 *   in another store's lot.
 * NOTES
 *   A lot's state is written before its mails follow; whoever is cut off in between
 *   gives the same order again.
 */
import type { QueueScope } from './operations.js'

/** In `held` of a recipient in a file: it is the reader's to send. Here its place has the lot's id. */
export const EXPORTED = 'exported'

/** `reason` of mail that was forgotten here. */
export const MOVED = 'moved'

/** What has left from here: being marked, in its file, and how it ended; or what has come here. */
export type LotState = 'marking' | 'exported' | 'taken_back' | 'forgotten' | 'imported'

export interface LotRow {
  readonly id: string
  readonly accountId: string
  /** Where it was written to, or read from. */
  readonly file: string
  readonly state: LotState
  readonly createdAt: number
}

/** A row as its table has it; the numbers of this database replaced by names. */
export type Fields = Readonly<Record<string, string | number | null>>

export interface CarriedMail {
  readonly id: string
  /** Slug. */
  readonly workspace: string
  /** Name. */
  readonly pool: string
  readonly email: Fields
  readonly recipients: readonly Fields[]
  readonly events: readonly Fields[]
  readonly content: string | null
  /** Null when the body is gone. */
  readonly raw: Uint8Array | null
}

export interface CarryTarget {
  readonly workspaceId: string
  readonly poolId: string
  /** The lot of the file; null in files of Postern 0.1. */
  readonly lot: string | null
}

/** `known`: a mail with this id is here already, and nothing was changed. */
export type CarryResult = 'accepted' | 'known'

export interface Carry {
  /** One that is known is left as it is. */
  addLot(lot: LotRow): Promise<void>
  /** Newest first, with the number of recipients that are still with it. */
  lots(accountId: string): Promise<readonly (LotRow & { readonly recipients: number })[]>
  lot(accountId: string, id: string): Promise<LotRow | null>
  /** Marks the mails of a scope of which nothing is under way or held; recipients marked. Fault resource.conflict unless `marking`. */
  markLot(id: string, scope: QueueScope, reason: string, now: number): Promise<number>
  /** The file is about to get its name; false when the lot was ended meanwhile. */
  closeLot(id: string): Promise<boolean>
  /** The recipients changed, or the state that forbids it. Only what is in its file can be forgotten. */
  endLot(id: string, as: 'taken_back' | 'forgotten', now: number): Promise<number | LotState>
  /** Ids of the mails of a lot, oldest first; after the id of a recipient. */
  exported(
    lot: string,
    after: string,
  ): Promise<{ readonly ids: readonly string[]; readonly next: string | null }>
  carried(emailId: string): Promise<CarriedMail | null>
  /** Which of these mails are here. */
  knownEmails(ids: readonly string[]): Promise<readonly string[]>
  /** Stores it, due when it was due, in this workspace and this pool. */
  carryIn(mail: CarriedMail, to: CarryTarget, now: number): Promise<CarryResult>
}
