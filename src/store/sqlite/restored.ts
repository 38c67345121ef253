/**
 * NAME      restored - a copy that is about to be the database again
 * DESCRIPTION
 *   What was under way is treated as after a crash first; then all of it is put to rest (sql/rewound.ts), in one
 *   transaction. Rows stored from now on stand above all that the lost time had given out.
 */
import type { Resting, Restored } from '../port/upkeep.js'
import type { QueueWrites } from '../sql/orders.js'
import { atOnce } from '../sql/query.js'
import { rewinding, skipPosts } from '../sql/rewound.js'
import { Database } from './driver.js'
import { createHoldRecipients } from './operate/hold-recipient.js'
import { createWriteContext } from './write/context.js'
import { createAddEvent } from './write/events.js'
import { createLeases } from './write/lease.js'

/** Makes the database file at `path` safe to start on, and writes down who did it. */
export const putToRest = (path: string, { send, now, actor, copy }: Resting): Restored => {
  const db = new Database(path)
  try {
    const context = createWriteContext(db)
    const addEvent = createAddEvent(context)
    const holdRecipients = createHoldRecipients(context, addEvent)
    const hold: QueueWrites['hold'] = (rows, hold, now) =>
      atOnce(() => {
        for (const one of rows) holdRecipients.hold(one, hold, now)
      })
    const { holdSome, end } = rewinding({ places: context.order, waiting: 'recipients', hold })
    const { ask } = context.sql
    return db.transaction((): Restored => {
      context.order.begin()
      context.order.follow()
      createLeases(context, addEvent, true).recover('earlier', now)
      let held = 0
      for (let some = send ? 0 : ask(holdSome(now)); some > 0; some = ask(holdSome(now))) held += some
      if (!send) ask(skipPosts(now))
      const restored = ask(end({ actor, copy, held }, Date.now()))
      context.order.keep()
      return restored
    })()
  } finally {
    db.close()
  }
}
