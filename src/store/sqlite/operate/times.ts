/**
 * NAME      times - moving what waits, when the wall clock was set
 * DESCRIPTION
 *   What lifecycle/schedule.ts says of a row, for all rows in a few statements.
 * NOTES
 *   One verb and no small steps: a row that is written in between would be moved by
 *   what it never missed. 200,000 waiting mails hold the writer for a few seconds, once a step.
 */
import { SEEN_WITHIN_MS } from '../../../lifecycle/schedule.js'
import type { WriteContext } from '../write/context.js'
import type { Leases } from '../write/lease.js'

/** What waits, is held, is leased, or has a deadline: each is a partial index. */
const WAITING = `status IN ('queued', 'deferred') AND id IN (
  SELECT id FROM recipients WHERE due_at IS NOT NULL UNION SELECT id FROM recipients WHERE held IS NOT NULL
  UNION SELECT id FROM recipients WHERE boot IS NOT NULL UNION SELECT id FROM recipients WHERE deadline IS NOT NULL)`

/** A time of a row from the future, as long from now as it was from when the row was written. */
const told = (column: string): string =>
  `CASE WHEN updated_at > @now THEN @now + max(0, ${column} - updated_at) ELSE ${column} END`

/** Written by the new clock, so the step is not theirs. */
const SEEN = `(updated_at > @now - ${SEEN_WITHIN_MS} AND updated_at <= @now)`

const SHIFT = `UPDATE recipients SET due_at = due_at + @by, held_due = held_due + @by, held_at = held_at + @by, lease_until = lease_until + @by,
    queued_at = queued_at + @by, deadline = deadline + @by, updated_at = updated_at + @by
  WHERE ${WAITING} AND NOT ${SEEN}`

const PAUSES = 'UPDATE pauses SET resumed_at = resumed_at + @by, paused_at = paused_at + @by'

const clamp = (time: (column: string) => string): string => `UPDATE recipients SET
    due_at = min(${time('due_at')}, @latest), held_due = min(${time('held_due')}, @latest),
    held_at = min(held_at, @now), queued_at = min(queued_at, @now), updated_at = min(updated_at, @now)
  WHERE ${WAITING} AND (due_at > @latest OR held_due > @latest OR held_at > @now OR queued_at > @now OR updated_at > @now)`

export const createTimes = (context: WriteContext, leases: Pick<Leases, 'moved'>) => {
  const shift = context.db.prepare(SHIFT)
  const pauses = context.db.prepare(PAUSES)
  const atStep = context.db.prepare(clamp((column) => column))
  // before the others have moved, so that each row counts once
  const seen = context.db.prepare(`${clamp((column) => column)} AND ${SEEN}`)
  const atStart = context.db.prepare(clamp(told))

  /** How many recipients were moved. */
  return (now: number, by: number, longestWait: number): number => {
    const latest = now + longestWait
    let moved = 0
    if (by === 0) moved = atStart.run({ now, latest }).changes
    else {
      moved = seen.run({ now, latest }).changes + shift.run({ now, by }).changes
      pauses.run({ by })
      atStep.run({ now, latest })
      leases.moved()
    }
    if (moved > 0) context.effects.due = true
    return moved
  }
}
