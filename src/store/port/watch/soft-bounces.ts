/**
 * NAME      soft-bounces - when an address that is not dead is written to no more
 * DESCRIPTION
 *   Off unless a workspace says so: after so many soft bounces of one kind, the first of which is so many days
 *   older than the last, with no mail taken between. Counted in the mails that are kept, so days beyond
 *   `retention.emails` are never reached.
 */
import { CATEGORIES, type Category } from '../../../mail/report/category.js'

export interface SoftLimit {
  readonly bounces: number
  readonly days: number
}

/** By kind; one that it leaves out suppresses nobody. */
export type SoftLimits = Readonly<Partial<Record<Category, SoftLimit>>>

export const MOST_SOFT_BOUNCES = 1_000
export const MOST_SOFT_DAYS = 365

/** Kinds of soft bounces that say something of the address. */
export const SOFT_KINDS = (Object.keys(CATEGORIES) as Category[]).filter(
  (kind) => CATEGORIES[kind].severity === 'soft' && CATEGORIES[kind].fault === 'recipient',
)
