/**
 * NAME      dsn - a DSN is accepted as a mail, and owed no more
 * DESCRIPTION
 *   The event of the timeline has a dedupe key for each recipient and action, which is how we know later what was told.
 */
import type { SentDsn } from '../../../lifecycle/facts.js'
import { toldKey } from '../../../lifecycle/pending-dsn.js'
import { NOTHING } from '../../sql/log/codec.js'
import { plainEvent } from '../../sql/log/draft.js'
import { type Asking, all, run } from '../../sql/query.js'
import type { AddEvent } from '../write/events.js'

const OWED = 'FROM owed_dsns WHERE email_id = ? AND action = ? AND recipient_id = ANY (CAST(? AS TEXT[]))'

/** False when not all of it was owed any more; nothing has changed then. */
export const dsnIsSent = (addEvent: AddEvent) =>
  function* ({ emailId, action, recipientIds }: SentDsn, dsnId: string, now: number): Asking<boolean> {
    const which = [emailId, action, recipientIds]
    const owed = yield* all(`SELECT recipient_id ${OWED} ORDER BY recipient_id FOR UPDATE`, ...which)
    if (owed.length < recipientIds.length) return false
    yield* run(`DELETE ${OWED}`, ...which)
    for (const recipientId of recipientIds)
      yield* addEvent({
        ...plainEvent(emailId, recipientId, 'sender_notified', 'system', now),
        change: false,
        dedupe: toldKey(recipientId, action),
        more: { ...NOTHING, detail: { action, dsn: dsnId } },
      })
    return true
  }
