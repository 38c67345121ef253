/**
 * NAME      jobs - how a job moves on and ends
 */
import type { JobRow, JobStep } from '../port/jobs.js'

/** Its filter names addresses and words of subjects, so it goes when the mails of its time have gone. */
export const JOBS_KEPT_MS = 30 * 86_400_000

/** Mails that it has come to. */
export const metOf = ({ done, skipped, failed }: Pick<JobRow, 'done' | 'skipped' | 'failed'>): number =>
  done + skipped + failed

/** A job after a step from there; null when it does not stand there, or is over. */
export const advanced = (job: JobRow, from: string, step: JobStep): JobRow | null => {
  if (job.place !== from || job.state === 'done') return null
  const { place, isLast, now } = step
  const met = metOf(job) + step.done + step.skipped + step.failed
  // at its end all that there were have been met
  const counted = step.matched ?? (isLast && job.isCapped ? met : null)
  return {
    ...{ ...job, place, updatedAt: now },
    ...(counted === null
      ? { matched: Math.max(job.matched, met) }
      : { matched: Math.max(counted, met), isCapped: false }),
    ...{ done: job.done + step.done, skipped: job.skipped + step.skipped, failed: job.failed + step.failed },
    lastError: step.lastError ?? job.lastError,
    // one that was canceled meanwhile stays so
    state: isLast && job.state === 'running' ? 'done' : job.state,
    finishedAt: job.finishedAt ?? (isLast ? now : null),
  }
}

/** Null for one that does not run. */
export const canceled = (job: JobRow, now: number): JobRow | null =>
  job.state === 'running' ? { ...job, state: 'canceled', updatedAt: now, finishedAt: now } : null
