/**
 * NAME      events - reading the timeline of an email
 * DESCRIPTION
 *   Events lie together by email, the newest last; the address comes from the
 *   recipient's row, so that an event holds no copy of it.
 */
import type { Page, Rows } from '../../page.js'
import type { EventRow } from '../../port.js'
import type { Row } from '../connect.js'
import { listOfStrands, pageOf } from './pages.js'
import type { Statements } from './statements.js'

type More = Pick<EventRow, 'reply' | 'mta' | 'detail'>
const NOTHING: More = { reply: null, mta: null, detail: null }

const toEvent = (row: Row): EventRow => ({
  id: row.id as string,
  type: row.type as string,
  emailId: row.email_id as string,
  recipientId: row.recipient_id as string | null,
  recipient: row.address as string | null,
  source: row.source as EventRow['source'],
  occurredAt: row.occurred_at as number,
  createdAt: row.created_at as number,
  attempt: row.attempt as number | null,
  applied: row.applied === 1,
  reason: row.reason as string | null,
  ...(row.more === null ? NOTHING : (JSON.parse(row.more as string) as More)),
})

export const createEventReads = (sql: Statements) => ({
  events(emailId: string, page: Page): Rows<EventRow> {
    const strand = {
      from: 'events v',
      ord: 'v.ord',
      where: 'v.email_id = ?',
      params: [emailId],
    }
    const ids = { from: 'events WHERE email_id = ?', params: [emailId] }
    return pageOf(sql, listOfStrands([strand], ids), page, (ord: number) => {
      const row = sql(
        `SELECT v.*, r.address FROM events v LEFT JOIN recipients r ON r.id = v.recipient_id
         WHERE v.email_id = ? AND v.ord = ?`,
      ).get(emailId, ord)
      return row === undefined ? null : toEvent(row)
    })
  },
})
