/**
 * NAME      events - writing the log
 * DESCRIPTION
 *   For verbs that write some events in a transaction; what settles many at once has a statement of its own
 *   (settle.ts).
 */

import { flagsOf, kindOf, packMore } from '../../sql/log/codec.js'
import type { EventDraft } from '../../sql/log/draft.js'
import { type Asking, run } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import { numbersFor } from '../settle/numbers.js'

const COLUMNS = 'ord, kind, flags, recipient, occurred_at, late, attempt, reason, dedupe, more, email, scope'
const VALUES = `CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT),
  CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT)`
const BY_PLACE = `INSERT INTO events (${COLUMNS}) VALUES (${VALUES}, ?, ?)`
const BY_ID = `INSERT INTO events (${COLUMNS}) SELECT ${VALUES}, ord, workspace * 2 + test FROM emails WHERE id = ? FOR KEY SHARE`

/** Answers with the event's place. */
export type AddEvent = (draft: EventDraft) => Asking<number>

export const createAddEvent = (places: Places): AddEvent =>
  function* (draft) {
    const { mail, source, applied, change, occurredAt } = draft
    const ord = places.next()
    const more = packMore(draft.more, yield* numbersFor([draft.more]))
    const values = [
      ...[ord, kindOf(`email.${draft.status}`), flagsOf(source, applied, change), draft.recipientId],
      ...[occurredAt, draft.now - occurredAt, draft.attempt, draft.reason, draft.dedupe, more],
    ]
    const added =
      typeof mail === 'string'
        ? yield* run(BY_ID, ...values, mail)
        : yield* run(BY_PLACE, ...values, mail.ord, mail.scope)
    if (added === 0) throw new Error(`no email ${String(mail)}`)
    return ord
  }
