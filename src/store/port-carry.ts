/**
 * NAME      port-carry - mail that moves from one store to another
 * DESCRIPTION
 *   A mail is carried whole: its record, all its recipients with their states,
 *   its timeline and its bytes, under the ids that it has. Where it comes from it
 *   is marked as exported in one commit and never sent again from there, unless
 *   it is taken back; where it goes, an id that is known is refused. So however
 *   often either half is repeated or cut off, nothing is sent twice.
 */
import type { QueueScope } from './port-operations.js'

/** In `held`: it has left for another store. */
export const EXPORTED = 'exported'

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

/** `known`: a mail with this id is here already, and nothing was changed. */
export type CarryResult = 'accepted' | 'known'

export interface Carry {
  /** Ids of exported mails of a scope, oldest first; after the id of a recipient. */
  exported(
    scope: QueueScope,
    after: string,
  ): Promise<{ readonly ids: readonly string[]; readonly next: string | null }>
  carried(emailId: string): Promise<CarriedMail | null>
  /** Which of these mails are here. */
  knownEmails(ids: readonly string[]): Promise<readonly string[]>
  /** Stores it, due when it was due, in this workspace and this pool. */
  carryIn(
    mail: CarriedMail,
    to: { readonly workspaceId: string; readonly poolId: string },
    now: number,
  ): Promise<CarryResult>
}
