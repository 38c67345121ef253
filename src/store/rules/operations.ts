/**
 * NAME      rules/operations - how jobs and lots move on and end
 */

import { isAway } from '../../lifecycle/orders.js'
import type { JobRow, JobStep } from '../port/mail.js'
import { type CarriedFields, EXPORTED, type LotState, MOVED } from '../port/operations.js'

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

/** From which states a lot may be ended so; one that has ended so already is gone on with. */
export const ENDABLE: Readonly<Record<'taken_back' | 'forgotten', readonly LotState[]>> = {
  taken_back: ['marking', 'exported', 'taken_back'],
  forgotten: ['exported', 'forgotten'],
}

/** A mail leaves whole or not at all: none of its recipients may be under way, held, or with another lot. */
export const mayLeave = (
  recipients: readonly { readonly isLeased: boolean; readonly held: string | null }[],
  lot: string,
): boolean => recipients.every(({ isLeased, held }) => !isLeased && (held === null || held === lot))

interface Left {
  readonly status: string
  readonly held: string | null
  readonly reason: string | null
}

const hasLeft = ({ held, status, reason }: Left): boolean =>
  isAway(held) || (status === 'canceled' && reason === MOVED)

/** Of a mail that is known here: all that its file wants sent has left from here. `find`: what is left of a recipient. */
export const comesBack = (carried: readonly CarriedFields[], find: (id: string) => Left | null): boolean => {
  const exported = carried.filter(({ held }) => held === EXPORTED).map(({ id }) => find(String(id)))
  return exported.length > 0 && exported.every((one) => one !== null && hasLeft(one))
}
