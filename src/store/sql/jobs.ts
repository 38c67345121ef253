/**
 * NAME      jobs - the table of what is done to many mails at once
 */
import type { Page, Rows } from '../../lifecycle/page.js'
import type { JobRow, Jobs } from '../port/jobs.js'
import { advanced, canceled, JOBS_KEPT_MS } from '../rules/jobs.js'
import { insertInto, type Places } from './insert.js'
import { listOf, pageOf } from './pages/pages.js'
import { type Asked, type Asking, all, first, type Row, run } from './query.js'
import { table } from './table.js'

export const JOBS = table<JobRow>('jobs', {
  id: 'plain',
  accountId: 'plain',
  workspaceId: 'plain',
  action: 'plain',
  reason: 'plain',
  filter: 'json',
  q: 'plain',
  matched: 'plain',
  isCapped: 'bool',
  state: 'plain',
  place: 'plain',
  done: 'plain',
  skipped: 'plain',
  failed: 'plain',
  lastError: 'plain',
  createdBy: 'plain',
  createdAt: 'plain',
  updatedAt: 'plain',
  finishedAt: 'plain',
})

type JobWrites = Asked<Pick<Jobs, 'addJob' | 'advanceJob' | 'cancelJob'>>

const byId = (id: string): Asking<Row | null> => first(`SELECT ${JOBS.columns} FROM jobs WHERE id = ?`, id)

function* turn(id: string, next: (job: JobRow) => JobRow | null): Asking<boolean> {
  const row = yield* byId(id)
  const after = row === null ? null : next(JOBS.decode(row))
  if (after === null) return false
  const { set, values } = JOBS.change(after)
  yield* run(`UPDATE jobs SET ${set} WHERE id = ?`, ...values, id)
  return true
}

export const jobWrites = (places: Places): JobWrites => {
  const insert = insertInto(JOBS, places)
  return {
    *addJob(row) {
      yield* insert(row)
    },
    advanceJob: (id, from, step) => turn(id, (job) => advanced(job, from, step)),
    cancelJob: (accountId, id, now) =>
      turn(id, (job) => (job.accountId === accountId ? canceled(job, now) : null)),
  }
}

/** Removes those that ended long ago; how many. */
export const sweepJobs = (now: number): Asking<number> =>
  run(
    'DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE finished_at < ? LIMIT 200)',
    now - JOBS_KEPT_MS,
  )

const decoded = (row: Row | null): JobRow | null => (row === null ? null : JOBS.decode(row))

export const jobReads = {
  *job(accountId: string, id: string): Asking<JobRow | null> {
    const job = decoded(yield* byId(id))
    return job?.accountId === accountId ? job : null
  },
  jobs(accountId: string, page: Page, workspaceId: string | null): Asking<Rows<JobRow>> {
    const list =
      workspaceId === null
        ? listOf('jobs', 'account_id = ?', [accountId])
        : listOf('jobs', 'account_id = ? AND workspace_id = ?', [accountId, workspaceId])
    return pageOf(list, page, function* (id: string) {
      return decoded(yield* byId(id))
    })
  },
  *runningJobs(): Asking<readonly JobRow[]> {
    const rows = yield* all(`SELECT ${JOBS.columns} FROM jobs WHERE state = 'running' ORDER BY ord`)
    return rows.map(JOBS.decode)
  },
}
