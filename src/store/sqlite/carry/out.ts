/**
 * NAME      out - exported mail, as it will be carried
 */

import { isAway } from '../../../lifecycle/waiting/holds.js'
import type { CarriedMail, Fields } from '../../port/carry.js'
import { EXPORTED, type LotRow } from '../../port/carry.js'
import { timelineOf } from '../../sql/log/timeline.js'
import { BESIDE_LISTS, readLists } from '../../sql/mails/lists.js'
import { EMAIL_ID, OF_EMAIL } from '../../sql/mails/short.js'
import type { Row } from '../connect.js'
import { toFields } from '../log/carried.js'
import type { Statements } from '../read/statements.js'
import { LOTS } from '../schema/lots.js'

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

export const createCarryReads = (sql: Statements) => {
  const timelineFields = (emailId: string): readonly Fields[] =>
    sql.ask(timelineOf(emailId)).map(({ place, event }) => {
      const dedupe =
        place.n > 0 ? null : sql('SELECT dedupe FROM events WHERE ord = ?').get(place.ord)?.dedupe
      return toFields(event, (dedupe ?? null) as string | null)
    })
  return {
    lots: (accountId: string): readonly (LotRow & { readonly recipients: number })[] => {
      const kept = sql('SELECT count(*) AS n FROM recipients WHERE held = ?')
      return sql(`SELECT ${LOTS.columns} FROM lots WHERE account_id = ? ORDER BY ord DESC`)
        .all(accountId)
        .map(LOTS.decode)
        .map((lot) => ({ ...lot, recipients: Number(kept.get(lot.id)?.n) }))
    },

    lot(accountId: string, id: string): LotRow | null {
      const row = sql(`SELECT ${LOTS.columns} FROM lots WHERE account_id = ? AND id = ?`).get(accountId, id)
      return row === undefined ? null : LOTS.decode(row)
    },

    exported(lot: string, after: string): { readonly ids: readonly string[]; readonly next: string | null } {
      const rows = sql(
        `SELECT id, ${EMAIL_ID} FROM recipients WHERE held = ? AND id > ? ORDER BY id LIMIT ? + 0`,
      ).all(lot, after, STEP)
      const ids = new Set(rows.map((row) => row.email_id as string))
      return { ids: [...ids], next: (rows.at(-1)?.id as string | undefined) ?? null }
    },

    carried(emailId: string): Omit<CarriedMail, 'raw'> | null {
      const email = sql(`SELECT e.*, ${BESIDE_LISTS} FROM emails e WHERE e.id = ?`).get(emailId)
      if (email === undefined) return null
      const content = sql('SELECT content FROM bodies WHERE n = ? AND email_id = ?').get(email.body, emailId)
      return {
        id: emailId,
        workspace: sql('SELECT slug FROM workspaces WHERE n = ?').get(email.workspace)?.slug as string,
        pool: sql('SELECT name FROM pools WHERE n = ?').get(email.pool)?.name as string,
        email: emailOf(email),
        recipients: sql(`SELECT *, ${EMAIL_ID} FROM recipients WHERE ${OF_EMAIL} ORDER BY id`)
          .all(emailId)
          .map(recipientOf),
        events: timelineFields(emailId),
        content: (content?.content as string | null | undefined) ?? null,
      }
    },

    knownEmails: (ids: readonly string[]): readonly string[] =>
      ids.filter((id) => sql('SELECT 1 FROM emails WHERE id = ?').get(id) !== undefined),
  }
}
