/**
 * NAME      job - what is done to many mails at once, as every door shows it
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { JobAction, JobRow } from '../store/port/jobs.js'

export const job = (row: JobRow) => ({
  id: row.id,
  object: 'job' as const,
  action: row.action,
  state: row.state,
  reason: row.reason,
  q: row.q,
  workspace_id: row.workspaceId,
  matched: row.matched,
  matched_capped: row.isCapped,
  done: row.done,
  skipped: row.skipped,
  failed: row.failed,
  last_error: row.lastError,
  created_by: row.createdBy,
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
  finished_at: timeOrNull(row.finishedAt),
})

/** What a job would meet. */
export const jobPreview = (
  action: JobAction,
  { matched, isCapped }: { readonly matched: number; readonly isCapped: boolean },
) => ({
  object: 'job_preview' as const,
  action,
  matched,
  matched_capped: isCapped,
  dry_run: true as const,
})

export type Job = ReturnType<typeof job>
