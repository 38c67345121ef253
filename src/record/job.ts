/**
 * NAME      job - what is done to many mails at once, as every door shows it
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { EmailRow, JobAction, JobRow, LastWords, Ledger } from '../store/port/mail.js'
import { metOf } from '../store/rules/operations.js'

/** Exact, or as many as were counted before counting ended. */
const matchedOf = ({ matched, isCapped }: Pick<JobRow, 'matched' | 'isCapped'>) =>
  isCapped ? { at_least: matched } : matched

/** Mails a second since it was made; null before it has met one. */
const speedOf = (row: JobRow): number | null => {
  const seconds = (row.updatedAt - row.createdAt) / 1000
  const met = metOf(row)
  return met === 0 ? null : Math.round((10 * met) / Math.max(1, seconds)) / 10
}

const secondsLeft = (row: JobRow): number | null => {
  const speed = speedOf(row)
  if (row.state !== 'running' || row.isCapped || speed === null || speed === 0) return null
  return Math.ceil((row.matched - metOf(row)) / speed)
}

export const job = (row: JobRow) => ({
  id: row.id,
  object: 'job' as const,
  action: row.action,
  state: row.state,
  reason: row.reason,
  q: row.q,
  workspace_id: row.workspaceId,
  matched: matchedOf(row),
  done: row.done,
  skipped: row.skipped,
  failed: row.failed,
  per_second: speedOf(row),
  seconds_left: secondsLeft(row),
  last_error: row.lastError,
  created_by: row.createdBy,
  created_by_name: row.createdByName,
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
  finished_at: timeOrNull(row.finishedAt),
})

/** What a job would meet. */
export const jobPreview = (
  action: JobAction,
  counted: { readonly matched: number; readonly isCapped: boolean },
) => ({
  object: 'job_preview' as const,
  action,
  matched: matchedOf(counted),
  dry_run: true as const,
})

export type Job = ReturnType<typeof job>
export type JobMatched = Job['matched']

/** `2,750`, or `at least 10,000`. */
export const matchedWords = (matched: JobMatched, figure: (n: number) => string = String): string =>
  typeof matched === 'number' ? figure(matched) : `at least ${figure(matched.at_least)}`

/** By mail; only those that bounced or are deferred. */
export const lastWordsOf = async (
  { lastWords }: Pick<Ledger, 'lastWords'>,
  rows: readonly EmailRow[],
): Promise<ReadonlyMap<string, LastWords>> => {
  const failed = rows.filter(({ status }) => status === 'bounced' || status === 'deferred')
  if (failed.length === 0) return new Map()
  return new Map((await lastWords(failed.map(({ id }) => id))).map((words) => [words.emailId, words]))
}
