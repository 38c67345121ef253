/**
 * NAME      counts - the recipients of a mail by status, and what they make of its own status
 * DESCRIPTION
 *   A mail with one recipient has the status of that one, so nobody need read its counts.
 */
import { invariant } from '../base/fault/invariant.js'
import { aggregate, type Counts, STATUSES, type Status } from '../mail/status.js'

export interface CountedEmail {
  readonly status: Status
  /** How many recipients it has. */
  readonly total: number
  /** Null for one with a single recipient. */
  readonly counts: Counts | null
}

export const sumOf = (counts: Counts): number => STATUSES.reduce((sum, status) => sum + counts[status], 0)

export const movedCounts = (counts: Counts, from: Status, to: Status): Counts => {
  invariant(counts[from] > 0, `nobody is ${from}, so nobody becomes ${to}`)
  const after = { ...counts, [from]: counts[from] - 1 }
  return { ...after, [to]: after[to] + 1 }
}

/** The status of a mail when one of its recipients has gone `from` one status `to` another. */
export const statusAfter = ({ status, total, counts }: CountedEmail, from: Status, to: Status): Status => {
  if (from === to) return status
  if (counts === null) {
    invariant(total === 1, 'only a mail with one recipient moves without its counts')
    return to
  }
  invariant(sumOf(counts) === total, 'the counts of a mail add up to its recipients')
  return aggregate(movedCounts(counts, from, to))
}
