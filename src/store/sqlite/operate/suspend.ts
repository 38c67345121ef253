/**
 * NAME      suspend - a workspace whose mail rests, and goes on as if no time had passed
 * DESCRIPTION
 *   From the commit that suspends it nothing of a workspace is leased or begun:
 *   holds.ts counts it among the holds that stand. Resumed, each mail is due when
 *   it would have been, and what it has of its lifetime is what it had when it
 *   came to rest. A resume that was cut off is finished by the sweep.
 */
import type { Status } from '../../../mail/status.js'
import type { HoldRow } from '../../port/operations.js'
import { EMAIL_ID } from '../../sql/mails/short.js'
import type { WriteContext } from '../write/context.js'
import type { HoldRecipients } from './hold-recipient.js'
import type { BegunOrder, Orders } from './orders.js'

const STEP = 100

const SUSPENDED = 'the workspace is suspended'

export interface SuspendWrites {
  suspendWorkspace(id: string, reason: string | null, now: number): BegunOrder
  resumeWorkspace(id: string, now: number): void
  /** Sets some of its mail free; how many recipients, 0 when it is done. */
  resumeStep(id: string, now: number): number
  /** Whose mail is still to be set free. */
  resuming(): readonly string[]
}

interface Resting {
  readonly id: string
  readonly email_id: string
  readonly status: Status
}

const holdOf = (accountId: string, id: string, reason: string | null, now: number): HoldRow => ({
  ...{ accountId, workspaceId: id, poolId: null, domain: null, emailId: null },
  ...{ id, reason: reason ?? SUSPENDED, owner: 'operator', createdAt: now },
})

export const createSuspend = (
  { db, holds }: WriteContext,
  holdRecipients: HoldRecipients,
  orders: Pick<Orders, 'beginHolding'>,
): SuspendWrites => {
  const suspend = db.prepare(
    'UPDATE workspaces SET suspended_at = coalesce(suspended_at, ?), suspended_reason = ? WHERE id = ?',
  )
  const note = db.prepare(
    `INSERT INTO resumes SELECT id, suspended_at, ? FROM workspaces WHERE id = ? AND suspended_at IS NOT NULL
     ON CONFLICT DO UPDATE SET suspended_at = excluded.suspended_at, resumed_at = excluded.resumed_at`,
  )
  const resume = db.prepare(
    'UPDATE workspaces SET suspended_at = NULL, suspended_reason = NULL WHERE id = ? AND deleted_at IS NULL',
  )
  const resting = db.prepare<[string], Resting>(
    `SELECT id, ${EMAIL_ID}, status FROM recipients WHERE held = ? LIMIT ${STEP}`,
  )
  const done = db.prepare('DELETE FROM resumes WHERE workspace_id = ?')
  const accountOf = db.prepare<[string], string>('SELECT account_id FROM workspaces WHERE id = ?').pluck()
  const resuming = db.prepare<[], string>('SELECT workspace_id FROM resumes').pluck()

  return {
    suspendWorkspace(id, reason, now) {
      suspend.run(now, reason, id)
      holds.look()
      return orders.beginHolding(holdOf(accountOf.get(id) ?? '', id, reason, now))
    },
    resumeWorkspace(id, now) {
      note.run(now, id)
      resume.run(id)
      holds.look()
    },
    resumeStep(id, now) {
      const rows = resting.all(id)
      for (const row of rows) {
        holdRecipients.free(row, {
          action: 'resumed',
          did: 'released',
          reason: 'the workspace is no longer suspended',
          now,
        })
      }
      if (rows.length === 0) done.run(id)
      return rows.length
    },
    resuming: () => resuming.all(),
  }
}
