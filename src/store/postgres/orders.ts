/**
 * NAME      orders - what operators do to the queue and to workspaces
 */
import type { Outcome, Settled } from '../../lifecycle/facts.js'
import { lotWrites } from '../sql/carry.js'
import { eraseWrites } from '../sql/erase.js'
import { orderWrites, suspendWrites, type UpdateWorkspace, updateMoving } from '../sql/orders.js'
import { type Asking, run } from '../sql/query.js'
import { createSuppressionEvents } from '../suppression-events.js'
import { carryVerbs } from './carry/in.js'
import { createQueueWrites, standingHolds } from './operate/queue-writes.js'
import { unindex } from './search/write.js'
import { createAddNotice } from './write/notices.js'
import type { Writer } from './write/writer.js'

/** `updateWorkspace` without the mail of the workspace. */
export const orderVerbs = (
  writer: Pick<Writer, 'places' | 'effects'>,
  updateWorkspace: UpdateWorkspace,
  settleAll: (outcomes: readonly Outcome[]) => Asking<readonly (Settled | null)[]>,
) => {
  const { places } = writer
  const queue = createQueueWrites(writer, settleAll)
  const { addHold: _, beginHolding, ...orders } = orderWrites(places, queue, standingHolds)
  return {
    ...orders,
    ...suspendWrites(queue, standingHolds, beginHolding),
    ...lotWrites(places, queue),
    ...carryVerbs(places, queue),
    ...eraseWrites({
      ...{ places, holds: standingHolds, tell: createSuppressionEvents(createAddNotice(places)) },
      ...{ recipients: 'recipient_rows', lockMails: queue.lockMails },
      *dropBody(body) {
        yield* run('DELETE FROM bodies WHERE n = ?', body)
        return false
      },
      unindex: (place) => unindex.remove([place]),
    }),
    updateWorkspace: updateMoving(updateWorkspace, orders.beginOrder),
  }
}
