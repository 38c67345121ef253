/**
 * NAME      tables - mail as each database keeps it
 * DESCRIPTION
 *   Where the tables of mail are not the same in all databases, what is shared asks these.
 */
import type { Asking } from '../query.js'

export interface MailTables {
  /** All recipients, with the columns that tell when they are due and who has them. */
  readonly recipients: string
  /** Those of them that wait, are under way or are held. */
  readonly waiting: string
  /** The account of an event `v` that is not about a mail. */
  readonly accountOfNotice: string
  /** The number of the server that an event `e` of a mail tells of. */
  readonly mtaOfEvent: string
  /** After the name of a table, where a planner must be told: this index, or none. */
  by(index: string | null): string
  /** Mail and events may still come in at this place and above it, out of order; null: only above all that are there. */
  readonly end: (() => Asking<number>) | null
}
