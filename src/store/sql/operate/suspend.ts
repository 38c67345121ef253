/**
 * NAME      suspend - a workspace whose mail rests, and goes on as if no time had passed
 * DESCRIPTION
 *   From the commit that suspends it nothing of a workspace is leased or begun: it is among
 *   the holds that stand. Resumed, each mail is due when it would have been, and what it has
 *   of its lifetime is what it had when it came to rest. A resume that was cut off is
 *   finished by the sweep.
 */
import type { HoldRow } from '../../port/operations.js'
import { EMAIL_ID } from '../mails/short.js'
import { type Asking, all, first, run } from '../query.js'
import type { BegunOrder } from './orders.js'
import type { Freeable, QueueWrites, StandingHolds } from './queue-writes.js'

const STEP = 100

const SUSPENDED = 'the workspace is suspended'

const holdOf = (accountId: string, id: string, reason: string | null, now: number): HoldRow => ({
  ...{ accountId, workspaceId: id, poolId: null, domain: null, emailId: null },
  ...{ id, reason: reason ?? SUSPENDED, owner: 'operator', createdAt: now },
})

/** `beginHolding` puts to rest what waits of it. */
export const suspendWrites = (
  queue: QueueWrites,
  holds: StandingHolds,
  beginHolding: (hold: HoldRow) => Asking<BegunOrder>,
) => ({
  *suspendWorkspace(id: string, reason: string | null, now: number): Asking<BegunOrder> {
    yield* run(
      'UPDATE workspaces SET suspended_at = coalesce(suspended_at, ?), suspended_reason = ? WHERE id = ?',
      ...[now, reason, id],
    )
    yield* holds.look()
    const row = yield* first('SELECT account_id FROM workspaces WHERE id = ?', id)
    return yield* beginHolding(holdOf((row?.account_id ?? '') as string, id, reason, now))
  },

  *resumeWorkspace(id: string, now: number): Asking<void> {
    yield* run(
      `INSERT INTO resumes (workspace_id, suspended_at, resumed_at)
       SELECT id, suspended_at, CAST(? AS BIGINT) FROM workspaces WHERE id = ? AND suspended_at IS NOT NULL
       ON CONFLICT (workspace_id) DO UPDATE SET suspended_at = excluded.suspended_at, resumed_at = excluded.resumed_at`,
      ...[now, id],
    )
    yield* run(
      'UPDATE workspaces SET suspended_at = NULL, suspended_reason = NULL WHERE id = ? AND deleted_at IS NULL',
      id,
    )
    yield* holds.look()
  },

  /** Sets some of its mail free; how many recipients, 0 when it is done. */
  *resumeStep(id: string, now: number): Asking<number> {
    const rows = (yield* all(
      `SELECT id, ${EMAIL_ID}, status FROM ${queue.waiting} WHERE held = ? LIMIT ${STEP}`,
      id,
    )) as unknown as readonly Freeable[]
    const reason = 'the workspace is no longer suspended'
    if (rows.length > 0) yield* queue.free(rows, { action: 'resumed', did: 'released', reason, now })
    if (rows.length === 0) yield* run('DELETE FROM resumes WHERE workspace_id = ?', id)
    return rows.length
  },

  /** Whose mail is still to be set free. */
  *resuming(): Asking<readonly string[]> {
    return (yield* all('SELECT workspace_id FROM resumes')).map((row) => row.workspace_id as string)
  },
})

export type SuspendWrites = ReturnType<typeof suspendWrites>
