/**
 * NAME      runner - carries out jobs, some mails at a time
 * DESCRIPTION
 *   A step is stored after its mails were done; one that fails as a whole is tried
 *   again in a while, and the other jobs go on. All that run get a step in turn. Between two mails others come first.
 */
import { setImmediate } from 'node:timers/promises'
import type { Log } from '../../base/log.js'
import { repeated, type Service } from '../../base/service.js'
import { overIn } from '../../base/time/trouble.js'
import type { JobRow, JobStep, Jobs } from '../../store/port/jobs.js'
import type { EmailSearch } from '../../store/port/ledger.js'
import { type ActDeps, actOn, type Did } from './act.js'

export interface RunnerParts extends ActDeps {
  readonly store: ActDeps['store'] & Jobs & Pick<EmailSearch, 'searchEmails'>
  readonly log: Pick<Log, 'error' | 'info'>
}

const STEP = 25
const LOOK_MS = 1_000
const REST_MS = 5_000

/** Does the next mails of a job; false when it ended, or somebody else went on with it. */
export const stepOf = async (
  parts: RunnerParts,
  job: JobRow,
  isStopping: () => boolean = () => false,
): Promise<boolean> => {
  const { store, clock } = parts
  const page = { limit: STEP, direction: 'older', anchor: job.place, countUpTo: 0 } as const
  const found = await store.searchEmails({ ...job.filter, accountId: job.accountId }, page)
  const counts: Record<Did, number> = { done: 0, skipped: 0, failed: 0 }
  let lastError: string | null = null
  for (const mail of found.rows) {
    // what this step has done is done again, and counted then
    if (isStopping()) return false
    const { did, error } = await actOn(parts, job, mail)
    counts[did]++
    lastError = error === null ? lastError : `${mail.id}: ${error}`
    await setImmediate()
  }
  const isLast = !found.hasOlder
  const step: JobStep = { ...counts, place: found.older, lastError, isLast, now: clock.now() }
  return (await store.advanceJob(job.id, job.place, step)) && !isLast
}

export const createJobRunner = (parts: RunnerParts): Service => {
  const told = ({ message }: Error): void =>
    parts.log.error({ event: 'job_failed', error: message }, 'a job waits')
  /** Jobs that could not go on, and until when they rest; the others go on. */
  const resting = new Map<string, number>()
  const step = async (job: JobRow, isStopping: () => boolean): Promise<boolean> => {
    try {
      return await stepOf(parts, job, isStopping)
    } catch (error) {
      if (!isStopping()) told(error as Error)
      resting.set(job.id, parts.clock.tick() + REST_MS)
      return false
    }
  }
  const turn = async (isStopping: () => boolean): Promise<number> => {
    let more = false
    for (const [id, until] of resting) if (until <= parts.clock.tick()) resting.delete(id)
    for (const job of await parts.store.runningJobs())
      if (!isStopping() && !resting.has(job.id)) more = (await step(job, isStopping)) || more
    return more ? 0 : LOOK_MS
  }
  return repeated('jobs', turn, { restMs: REST_MS, told, over: overIn(parts.log, 'a job waits') })
}
