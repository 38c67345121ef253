/**
 * NAME      queue-writes - what orders do to recipients, in the tables of SQLite
 */
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { moved } from '../../../lifecycle/waiting/pauses.js'
import type { QueueWrites, StandingHolds } from '../../sql/operate/queue-writes.js'
import { type Asking, first, run } from '../../sql/query.js'
import { MAIL } from '../read/tables.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from '../write/context.js'
import type { HoldRecipients } from './hold-recipient.js'

/** What asks for nothing. */
const done = <Args extends readonly unknown[], T>(verb: (...args: Args) => T) =>
  // biome-ignore lint/correctness/useYield: the writer has prepared what it does
  function* (...args: Args): Asking<T> {
    return verb(...args)
  }

export const standingHolds = ({ holds }: WriteContext): StandingHolds => ({
  has: done((id: string | null) => holds.has(id)),
  look: done(() => holds.look()),
})

export const createQueueWrites = (
  { effects, hot, pauses }: WriteContext,
  holdRecipients: HoldRecipients,
  settle: (outcome: Outcome) => Settled | null,
  unindex: Pick<Unindex, 'move'>,
): QueueWrites => ({
  recipients: MAIL.recipients,
  waiting: MAIL.waiting,
  hold: done(holdRecipients.hold),
  free: done(holdRecipients.free),
  note: done(holdRecipients.note),
  settle: done(settle),
  *due(id, at) {
    yield* run('UPDATE recipients SET due_at = ? WHERE id = ?', at, id)
    effects.due = true
  },
  *move({ id, email_id, email_ord, pool, held, queued_at }, to, now) {
    const heldAt =
      held === null ? null : (yield* first('SELECT held_at FROM recipients WHERE id = ?', id))?.held_at
    const queuedAt = moved(pauses.list(pool), pauses.list(to), queued_at, (heldAt as number | null) ?? now)
    yield* run('UPDATE recipients SET pool = ?, queued_at = ? WHERE id = ?', to, queuedAt, id)
    unindex.move(email_ord, to)
    yield* run('UPDATE emails SET pool = ? WHERE id = ?', to, email_id)
    effects.due = true
  },
  *unlease(id, now) {
    yield* run(
      `UPDATE recipients SET boot = NULL, lease_until = NULL, lease_gen = lease_gen + 1,
         due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END WHERE id = ?`,
      now,
      id,
    )
    hot.drop(id)
  },
})
