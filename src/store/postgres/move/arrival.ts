/**
 * NAME      arrival - a database that a store has moved into, or is moving into
 * DESCRIPTION
 *   A row of `settings`. Where it is, and the move is not at its end, nobody may serve.
 */
import type { Arrival } from '../../move.js'
import { type Asking, first, run } from '../../sql/query.js'
import { DatabaseRefusedError } from '../servers.js'

export function* arrival(): Asking<Arrival | null> {
  const found = yield* first("SELECT value FROM settings WHERE name = 'moved_in'")
  return found === null ? null : (JSON.parse(String(found.value)) as Arrival)
}

export function* setArrival(to: Arrival): Asking<void> {
  yield* run(
    `INSERT INTO settings (name, value) VALUES ('moved_in', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    JSON.stringify(to),
  )
}

/** For whoever wants to serve, once it is a writer: from then on a move back sees it. */
export function* refuseHalfMoved(): Asking<void> {
  const found = yield* arrival()
  if (found === null || found.state === 'in') return
  throw new DatabaseRefusedError(
    found.state === 'undone'
      ? `the mail of this database went back to ${found.from}: serve it there, after postern store move --to FILE --undo there if that was cut off; or name another database`
      : `the move from ${found.from} into this database is not finished: run postern store move there again`,
  )
}
