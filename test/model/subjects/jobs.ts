/**
 * NAME      jobs - what is done to many mails at once
 */
import type { JobRow, Jobs } from '../../../src/store/port/mail.js'
import { advanced, canceled, JOBS_KEPT_MS } from '../../../src/store/rules/operations.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'
import { listed, owned } from '../tenants.js'

export const createJobs = ({ jobs }: State): Plain<Jobs> => {
  const turn = (job: JobRow | null, next: (job: JobRow) => JobRow | null): boolean => {
    const after = job && next(job)
    return after !== null && jobs.change(after.id, after)
  }
  return {
    addJob: (row) => void jobs.add(row.id, row),
    job: (accountId, id) => owned(jobs, accountId, id),
    jobs: (accountId, page, workspaceId) =>
      listed(
        jobs,
        (row) => row.accountId === accountId && (workspaceId === null || row.workspaceId === workspaceId),
        page,
      ),
    runningJobs: () => jobs.where(({ state }) => state === 'running'),
    advanceJob: (id, from, step) => turn(jobs.get(id), (job) => advanced(job, from, step)),
    cancelJob: (accountId, id, now) => turn(owned(jobs, accountId, id), (job) => canceled(job, now)),
  }
}

export const sweepJobs = ({ jobs }: State, now: number): number =>
  jobs.drop(({ finishedAt }) => finishedAt !== null && finishedAt < now - JOBS_KEPT_MS)
