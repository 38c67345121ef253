/**
 * NAME      pick - leasing the oldest due of some workspaces, in one fenced statement
 * DESCRIPTION
 *   What another writer has locked is passed over. What must not simply leave is picked and not leased: what is
 *   scheduled, and what a hold or a list may be about (stopped.ts).
 *   Rows are found by the elements of an array, which no planner takes for a reason to read the whole queue.
 */
import type { Query } from '../../sql/query.js'
import { IS_HELD, MAY_BE_SUPPRESSED } from '../operate/standing.js'
import type { Plan } from './waiting.js'

export interface Picked {
  readonly id: string
  readonly email_ord: number
  readonly workspace: number
  readonly due_at: number
  readonly is_leased: boolean
}

export const LEASE = 'UPDATE queue SET due_at = NULL, boot = ?, lease_until = ?, gen = gen + 1'

const PICK = `
wanted AS (SELECT w.n, w.share FROM fence, unnest(CAST(? AS BIGINT[]), CAST(? AS INT[])) AS w (n, share)),
picked AS MATERIALIZED (
  SELECT d.* FROM wanted w CROSS JOIN LATERAL (
    SELECT q.recipient_id, q.email_ord, q.workspace, q.pool, q.due_at FROM queue q
    WHERE q.pool = ? AND q.workspace = w.n AND q.due_at <= ? AND q.due_at >= ? ORDER BY q.due_at
    LIMIT w.share FOR UPDATE SKIP LOCKED) d),
free AS MATERIALIZED (
  SELECT q.recipient_id FROM picked q JOIN workspaces w ON w.n = q.workspace
  JOIN LATERAL (SELECT * FROM recipient_rows r WHERE r.id = q.recipient_id OFFSET 0) r ON true
  WHERE r.status <> 'scheduled' AND NOT ${IS_HELD} AND NOT ${MAY_BE_SUPPRESSED}),
leased AS (
  ${LEASE} WHERE recipient_id = ANY (ARRAY(SELECT f.recipient_id FROM free f)) RETURNING recipient_id)
SELECT p.recipient_id AS id, p.email_ord, p.workspace, p.due_at,
  p.recipient_id IN (SELECT l.recipient_id FROM leased l) AS is_leased
FROM fence LEFT JOIN picked p ON true`

export interface Round {
  readonly pool: number
  readonly boot: number
  readonly leaseUntil: number
  readonly now: number
  /** What was due before it is passed over. */
  readonly floor: number
}

/** What follows the fence; a row of nulls says that nothing was due any more. */
export const pickQuery = (
  { workspaces, shares }: Pick<Plan, 'workspaces' | 'shares'>,
  { pool, boot, leaseUntil, now, floor }: Round,
): Query => ({ text: PICK, values: [workspaces, shares, pool, now, floor, boot, leaseUntil] })
