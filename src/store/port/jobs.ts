/**
 * NAME      jobs - the store's verbs about what is done to many mails at once
 * DESCRIPTION
 *   A job is stored before it begins: which mails, what is done to them, and how far
 *   it is. It goes from the newest mail that was there when it was made to the
 *   oldest; place and counts move together, and only from where they stand, so that
 *   after a crash some mails are looked at again and none is counted twice.
 */

import type { Page, Rows } from '../../lifecycle/page.js'
import type { Query } from '../../mail/query/query.js'
import type { EmailFilter } from './ledger.js'

export const JOB_ACTIONS = ['cancel', 'retry', 'release', 'resend', 'suppress'] as const
export type JobAction = (typeof JOB_ACTIONS)[number]
export const JOB_STATES = ['running', 'done', 'canceled'] as const
type JobState = (typeof JOB_STATES)[number]

/** Which mails: all that was asked for, with its times resolved. */
export interface JobFilter extends Omit<EmailFilter, 'accountId'> {
  readonly query: Query
  readonly subjects: boolean
}

export interface JobRow {
  /** `job_...` */
  readonly id: string
  readonly accountId: string
  /** The only one that it is about; null: it may be about several. */
  readonly workspaceId: string | null
  readonly action: JobAction
  readonly reason: string
  readonly filter: JobFilter
  /** As it was written; null where only filters were given. */
  readonly q: string | null
  /** How many there were; with `isCapped`, or more. */
  readonly matched: number
  readonly isCapped: boolean
  readonly state: JobState
  /** The mark of searchEmails from which it goes on. */
  readonly place: string
  /** Mails that were changed, that needed no change, and that could not be changed. */
  readonly done: number
  readonly skipped: number
  readonly failed: number
  /** Why the last one could not. */
  readonly lastError: string | null
  /** Who made it: the id of a key, a person or a session; `cli`. */
  readonly createdBy: string
  /** What that is called; null where it has no name. */
  readonly createdByName: string | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt: number | null
}

/** What a step did. */
export interface JobStep {
  readonly place: string
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly lastError: string | null
  /** How many match in all, where that has become known. */
  readonly matched?: number | undefined
  /** True when nothing is left. */
  readonly isLast: boolean
  readonly now: number
}

export interface Jobs {
  addJob(row: JobRow): Promise<void>
  job(accountId: string, id: string): Promise<JobRow | null>
  /** Newest first; of one workspace, when that is named. */
  jobs(accountId: string, page: Page, workspaceId: string | null): Promise<Rows<JobRow>>
  /** Of all accounts. */
  runningJobs(): Promise<readonly JobRow[]>
  /** False, and nothing changes, when it does not stand at `from` any more. A step that was under way when it was canceled counts. */
  advanceJob(id: string, from: string, step: JobStep): Promise<boolean>
  /** Ends one that runs; what it has done stays done. False when it does not run. */
  cancelJob(accountId: string, id: string, now: number): Promise<boolean>
}
