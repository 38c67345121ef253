/**
 * NAME      jobs - jobs over many mails
 */
import { JOB_ROW, type JobRow, type Jobs } from '../port/mail.js'
import { advanced, canceled, JOBS_KEPT_MS } from '../rules/operations.js'
import { type AskedReads, type AskedWrites, type Asking, run } from './query.js'
import { allOf, change, insertInto, oneOf, type Places, pagesOf, table } from './table.js'

const JOBS = table<JobRow>('jobs', JOB_ROW)

const byId = oneOf(JOBS, 'id = ?')
const running = allOf(JOBS, "state = 'running' ORDER BY ord")
const pageOfJobs = pagesOf(JOBS)

function* turn(id: string, next: (job: JobRow) => JobRow | null): Asking<boolean> {
  const job = yield* byId(id)
  const after = job === null ? null : next(job)
  return after !== null && (yield* change(JOBS, after, 'id = ?', id)) === 1
}

export const jobWrites = (places: Places): AskedWrites<Jobs> => {
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

export const jobReads: AskedReads<Jobs> = {
  *job(accountId, id) {
    const job = yield* byId(id)
    return job?.accountId === accountId ? job : null
  },
  jobs: (accountId, page, workspaceId) =>
    workspaceId === null
      ? pageOfJobs('account_id = ?', [accountId], page)
      : pageOfJobs('account_id = ? AND workspace_id = ?', [accountId, workspaceId], page),
  runningJobs: running,
}
