/**
 * NAME      end-suppressed - mail that waited while its address was put on the list
 * DESCRIPTION
 *   Suppressions are asked at accept; between then and an attempt a scheduled or
 *   deferred mail may wait for weeks. So they are asked again when a recipient is claimed, and one
 *   that must not be written to any more ends there, bounced as `suppressed`. A mail that was
 *   sent with the override goes on, and so do reports that we write ourselves. What is freshly accepted
 *   never comes this way.
 */

import type { Outcome, Settled } from '../../../lifecycle/facts.js'
import { observed } from '../../../lifecycle/observed.js'
import { normalizeAddress } from '../../../mail/address.js'
import type { Db } from '../connect.js'

export type Silence = (
  recipient: { readonly id: string; readonly email_id: string; readonly address_lc: string },
  now: number,
) => boolean

const LISTED = `SELECT 1 FROM emails e JOIN workspaces w ON w.n = e.workspace
  JOIN suppressions s ON s.email = ? AND (s.expires_at IS NULL OR s.expires_at > ?)
    AND s.workspace_id IN (CASE WHEN e.test THEN w.id || '/test' ELSE w.id END, CASE WHEN e.test THEN NULL ELSE w.account_id END)
  WHERE e.id = ? AND e.source != 'system' AND json_extract(e.lists, '$.insists') IS NULL`

const silenced = (recipientId: string, now: number): Outcome =>
  observed({ recipientId, seen: 'suppressed', at: now, source: 'system', reason: 'suppressed' })

/** Ends a recipient whose address is on a list by now; true when it did. */
export const createEndSuppressed = (db: Db, settle: (outcome: Outcome) => Settled | null): Silence => {
  const listed = db.prepare<[string, number, string], number>(LISTED).pluck()
  return ({ id, email_id, address_lc }, now) =>
    listed.get(normalizeAddress(address_lc), now, email_id) !== undefined &&
    (settle(silenced(id, now))?.applied ?? false)
}
