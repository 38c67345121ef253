/**
 * NAME      bounced - what mail and lists say of an address that bounced
 */
import { kindOf } from '../log/codec.js'
import type { MailTables } from '../mails/tables.js'
import { first, run } from '../query.js'
import { SUPPRESSIONS } from '../tenants/tables.js'
import { answersOf } from './answers.js'
import type { IncidentParts } from './hard-bounces.js'
import type { SoftBounceParts } from './soft-bounces.js'

const LIVING = `UPDATE hard_bounces SET living = CASE WHEN EXISTS (
    SELECT 1 FROM recipients me JOIN recipients r ON r.workspace = me.workspace AND r.address_lc = me.address_lc
    JOIN emails e ON e.ord = r.email_ord AND e.test = 0
    WHERE me.id = hard_bounces.recipient AND r.email_ord <> me.email_ord AND r.updated_at > ?
      AND (r.status = 'delivered' OR r.status = 'sent' AND r.updated_at < ?)) THEN 1 ELSE 0 END
  WHERE cause = ? AND living IS NULL`

const BOUNCES = `SELECT count(*) AS bounces, min(r.updated_at) AS first FROM recipients r
  JOIN emails e ON e.ord = r.email_ord AND e.test = 0 AND e.source <> 'system'
  WHERE r.workspace = ? AND r.address_lc = ? AND r.status = 'bounced' AND r.reason = ?
    AND r.updated_at > coalesce((
      SELECT max(d.updated_at) FROM recipients d JOIN emails m ON m.ord = d.email_ord AND m.test = 0
      WHERE d.workspace = r.workspace AND d.address_lc = r.address_lc
        AND (d.status = 'delivered' OR d.status = 'sent' AND d.updated_at < ?)), 0)`

type Parts = Pick<IncidentParts, 'takenBy' | 'noteLiving' | 'answersOf' | 'listed'> &
  Pick<SoftBounceParts, 'bouncesOf'>

const takenBy = ({ mtaOfEvent }: MailTables): Parts['takenBy'] => {
  const text = `SELECT m.upstream_id AS upstream, e.occurred_at AS at FROM recipients r
    JOIN events e ON e.email = r.email_ord AND e.recipient = r.id JOIN mtas m ON m.n = ${mtaOfEvent}
    WHERE r.id = ? AND e.kind = ${kindOf('email.sent')} ORDER BY e.ord DESC LIMIT 1`
  return function* (recipientId) {
    const row = yield* first(text, recipientId)
    return row === null ? null : { upstreamId: row.upstream as string, at: row.at as number }
  }
}

export const bounced = (tables: MailTables): Parts => ({
  takenBy: takenBy(tables),
  answersOf: answersOf(tables),
  noteLiving: (cause, after, before) => run(LIVING, after, before, cause),
  *listed(list, email) {
    const text = `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id = ? AND email = ?`
    const row = yield* first(text, list, email)
    return row === null ? null : SUPPRESSIONS.decode(row)
  },
  *bouncesOf({ workspace, address }, reason, settled) {
    const row = yield* first(BOUNCES, workspace, address.toLowerCase(), reason, settled)
    return (row as { bounces: number; first: number | null } | null) ?? { bounces: 0, first: null }
  },
})
