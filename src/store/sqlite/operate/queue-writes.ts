/**
 * NAME      queue-writes - what orders do to recipients, in the tables of SQLite
 */
import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { moved } from '../../../lifecycle/holds.js'
import type { Note } from '../../../lifecycle/orders.js'
import type { Found, Freeable, Holdable, QueueWrites, StandingHolds } from '../../sql/orders.js'
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
  among: done((ids: readonly string[]) => new Set(ids.filter(holds.has))),
  look: done(() => holds.look()),
})

const UNLEASE = `UPDATE recipients SET boot = NULL, lease_until = NULL, lease_gen = lease_gen + 1,
  due_at = CASE WHEN status IN ('queued', 'deferred') THEN ? END WHERE id = ?`

export const createQueueWrites = (
  { effects, hot, pauses }: WriteContext,
  holdRecipients: HoldRecipients,
  settle: (outcome: Outcome) => Settled | null,
  unindex: Pick<Unindex, 'move'>,
): QueueWrites => ({
  recipients: MAIL.recipients,
  waiting: MAIL.waiting,
  // the writer is alone
  locked: done((rows: readonly Found[]) => rows),
  lockMails: done(() => {}),
  hold: done((rows: readonly Holdable[], hold: Parameters<HoldRecipients['hold']>[1], now: number) => {
    for (const one of rows) holdRecipients.hold(one, hold, now)
  }),
  free: done((rows: readonly Freeable[], note: Note) => {
    for (const one of rows) holdRecipients.free(one, note)
  }),
  note: done((rows: readonly Freeable[], note: Note) => {
    for (const one of rows) holdRecipients.note(one, note)
  }),
  settle: done((outcomes: readonly Outcome[]) => outcomes.map((one) => settle(one)?.applied ?? false)),
  *due(rows, at) {
    for (const { id } of rows) yield* run('UPDATE recipients SET due_at = ? WHERE id = ?', at, id)
    if (rows.length > 0) effects.due = true
  },
  *move(rows, to, now) {
    for (const { id, email_id, email_ord, pool, held, queued_at } of rows) {
      const held_at =
        held === null ? null : (yield* first('SELECT held_at FROM recipients WHERE id = ?', id))?.held_at
      const queuedAt = moved(pauses.list(pool), pauses.list(to), queued_at, (held_at as number | null) ?? now)
      yield* run('UPDATE recipients SET pool = ?, queued_at = ? WHERE id = ?', to, queuedAt, id)
      unindex.move(email_ord, to)
      yield* run('UPDATE emails SET pool = ? WHERE id = ?', to, email_id)
    }
    if (rows.length > 0) effects.due = true
  },
  *unlease(rows, now) {
    for (const { id } of rows) {
      yield* run(UNLEASE, now, id)
      hot.drop(id)
    }
  },
})
