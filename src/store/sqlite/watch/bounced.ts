/**
 * NAME      bounced - what mail and lists say of an address that bounced
 */

import { kindOf } from '../../sql/log/codec.js'
import { first, run } from '../../sql/query.js'
import { SUPPRESSIONS } from '../../sql/tenants/tables.js'
import type { IncidentParts } from '../../sql/watch/hard-bounces.js'
import type { SoftBounceParts } from '../../sql/watch/soft-bounces.js'

const TAKEN = `SELECT m.upstream_id AS upstream, e.occurred_at AS at FROM recipients r
  JOIN events e ON e.email = r.email_ord AND e.recipient = r.id JOIN mtas m ON m.n = json_extract(e.more, '$[1]')
  WHERE r.id = ? AND e.kind = ${kindOf('email.sent')} ORDER BY e.ord DESC LIMIT 1`

const LIVING = `UPDATE hard_bounces SET living = EXISTS (
    SELECT 1 FROM recipients me JOIN recipients r ON r.workspace = me.workspace AND r.address_lc = me.address_lc
    JOIN emails e ON e.ord = r.email_ord AND e.test = 0
    WHERE me.id = hard_bounces.recipient AND r.email_ord <> me.email_ord AND r.updated_at > ?
      AND (r.status = 'delivered' OR r.status = 'sent' AND r.updated_at < ?))
  WHERE cause = ? AND living IS NULL`

const BOUNCES = `SELECT count(*) AS bounces, min(r.updated_at) AS first FROM recipients r
  JOIN emails e ON e.ord = r.email_ord AND e.test = 0 AND e.source <> 'system'
  WHERE r.workspace = ? AND r.address_lc = ? AND r.status = 'bounced' AND r.reason = ?
    AND r.updated_at > coalesce((
      SELECT max(d.updated_at) FROM recipients d JOIN emails m ON m.ord = d.email_ord AND m.test = 0
      WHERE d.workspace = r.workspace AND d.address_lc = r.address_lc
        AND (d.status = 'delivered' OR d.status = 'sent' AND d.updated_at < ?)), 0)`

type Parts = Pick<IncidentParts, 'takenBy' | 'noteLiving' | 'listed'> & Pick<SoftBounceParts, 'bouncesOf'>

export const bounced: Parts = {
  *takenBy(recipientId) {
    const row = yield* first(TAKEN, recipientId)
    return row === null ? null : { upstreamId: row.upstream as string, at: row.at as number }
  },
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
}
