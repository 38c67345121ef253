/**
 * NAME      out - exported mail, as it will be carried
 * DESCRIPTION
 *   A mail travels in the form of Postern 0.1, since the other store may be an older one:
 *   named fields, events with types and sources in words, first events among them.
 */

import type { EventRow } from '../../../lifecycle/facts.js'
import { isAway } from '../../../lifecycle/holds.js'
import { type CarriedMail, EXPORTED, type Fields, type LotRow } from '../../port/operations.js'
import { timelineOf } from '../log/timeline.js'
import { BESIDE_LISTS, readLists } from '../mails/lists.js'
import { EMAIL_ID, OF_EMAIL } from '../mails/short.js'
import type { MailTables } from '../mails/tables.js'
import { type Asking, all, first, type Row } from '../query.js'
import { LOTS } from './lots.js'

const STEP = 500

/** What means something here alone. */
export const LOCAL: ReadonlySet<string> = new Set([
  'ord',
  'email_ord',
  'workspace',
  'pool',
  'body',
  'boot',
  'lease_until',
  'attempt_upstream',
  'first',
  // made of the fields that are carried
  'message',
  'message_host',
  'written',
  'body_apart',
  'submitter',
  'only_address',
  'submitted_by',
])

const fieldsOf = (row: Row): Fields =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !LOCAL.has(name))) as Fields

/** An older store expects all of the lists. */
const emailOf = (row: Row): Fields => ({ ...fieldsOf(row), lists: JSON.stringify(readLists(row)) })

const recipientOf = (row: Row): Fields => {
  const fields = fieldsOf(row)
  return isAway((fields.held ?? null) as string | null) ? { ...fields, held: EXPORTED } : fields
}

const moreOf = ({ reply, mta, detail }: EventRow): string | null =>
  reply === null && mta === null && detail === null ? null : JSON.stringify({ reply, mta, detail })

const toFields = (event: EventRow, dedupe: string | null): Fields => ({
  email_id: event.emailId,
  id: event.id,
  type: event.type,
  recipient_id: event.recipientId,
  source: event.source,
  occurred_at: event.occurredAt,
  created_at: event.createdAt,
  attempt: event.attempt,
  applied: event.applied ? 1 : 0,
  reason: event.reason,
  dedupe,
  more: moreOf(event),
})

function* timelineFields(emailId: string): Asking<readonly Fields[]> {
  const events: Fields[] = []
  for (const { place, event } of yield* timelineOf(emailId)) {
    const row = place.n > 0 ? null : yield* first('SELECT dedupe FROM events WHERE ord = ?', place.ord)
    events.push(toFields(event, (row?.dedupe ?? null) as string | null))
  }
  return events
}

/** But for its body. */
function* carried(recipients: string, emailId: string): Asking<Omit<CarriedMail, 'raw'> | null> {
  const email = yield* first(`SELECT e.*, ${BESIDE_LISTS} FROM emails e WHERE e.id = ?`, emailId)
  if (email === null) return null
  const content = yield* first('SELECT content FROM bodies WHERE n = ? AND email_id = ?', email.body, emailId)
  const rows = yield* all(`SELECT *, ${EMAIL_ID} FROM ${recipients} WHERE ${OF_EMAIL} ORDER BY id`, emailId)
  const workspace = yield* first('SELECT slug FROM workspaces WHERE n = ?', email.workspace)
  const pool = yield* first('SELECT name FROM pools WHERE n = ?', email.pool)
  return {
    id: emailId,
    workspace: workspace?.slug as string,
    pool: pool?.name as string,
    email: emailOf(email),
    recipients: rows.map(recipientOf),
    events: yield* timelineFields(emailId),
    content: (content?.content ?? null) as string | null,
  }
}

export const carryReads = ({ recipients, waiting }: MailTables) => ({
  *lots(accountId: string): Asking<readonly (LotRow & { readonly recipients: number })[]> {
    const lots: (LotRow & { readonly recipients: number })[] = []
    for (const row of yield* all(
      `SELECT ${LOTS.columns} FROM lots WHERE account_id = ? ORDER BY ord DESC`,
      accountId,
    )) {
      const kept = yield* first(`SELECT count(*) AS n FROM ${waiting} WHERE held = ?`, row.id)
      lots.push({ ...LOTS.decode(row), recipients: Number(kept?.n) })
    }
    return lots
  },

  *lot(accountId: string, id: string): Asking<LotRow | null> {
    const row = yield* first(
      `SELECT ${LOTS.columns} FROM lots WHERE account_id = ? AND id = ?`,
      accountId,
      id,
    )
    return row === null ? null : LOTS.decode(row)
  },

  *exported(
    lot: string,
    after: string,
  ): Asking<{ readonly ids: readonly string[]; readonly next: string | null }> {
    const rows = yield* all(
      `SELECT id, ${EMAIL_ID} FROM ${waiting} WHERE held = ? AND id > ? ORDER BY id LIMIT ? + 0`,
      ...[lot, after, STEP],
    )
    const ids = new Set(rows.map((row) => row.email_id as string))
    return { ids: [...ids], next: (rows.at(-1)?.id ?? null) as string | null }
  },

  carried: (emailId: string): Asking<Omit<CarriedMail, 'raw'> | null> => carried(recipients, emailId),

  *knownEmails(ids: readonly string[]): Asking<readonly string[]> {
    const known: string[] = []
    for (const id of ids) {
      if ((yield* first('SELECT 1 AS found FROM emails WHERE id = ?', id)) !== null) known.push(id)
    }
    return known
  },
})
