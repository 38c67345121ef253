/**
 * NAME      tables - mail as each database keeps it
 * DESCRIPTION
 *   Where the tables of mail are not the same in all databases, what is shared asks these.
 */
import type { Frontier } from '../pages/frontiers.js'
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
  /** All recipients, without when they are due. */
  readonly record: string
  /** The domain of a recipient `r`. */
  readonly domainOf: string
  /** After the name of a table, where a planner must be told: this index, or none. */
  by(index: string | null): string
  /** How far several writers are that store mail side by side; null: mail comes in above all that is there. */
  readonly frontiers: (() => Asking<readonly Frontier[]>) | null
}
