/**
 * NAME      job - counting what a job would do, and storing it
 */
import type { Clock } from '../base/clock.js'
import { newId } from '../base/id.js'
import type { EmailSearch, JobAction, JobFilter, JobRow, Jobs } from '../store/port/mail.js'

export interface BulkWish {
  readonly accountId: string
  readonly action: JobAction
  readonly reason: string
  readonly filter: JobFilter
  readonly q: string | null
  /** Who asks: an id, and what it is called. */
  readonly by: { readonly id: string; readonly name: string | null }
}

interface Matched {
  readonly matched: number
  /** There may be more. */
  readonly isCapped: boolean
  /** Where a job begins: right above the newest. */
  readonly place: string
}

const MOST = 100_000
const PAGE = 1000
/** Of counting. */
const MOST_MS = 3_000

interface BulkDeps {
  readonly store: Pick<EmailSearch, 'searchEmails'> & Pick<Jobs, 'addJob'>
  readonly clock: Clock
}

/** How many mails are meant now; up to a bound, in small steps. */
export const countMatched = async (
  { store, clock }: Pick<BulkDeps, 'clock'> & { readonly store: Pick<EmailSearch, 'searchEmails'> },
  { accountId, filter }: Pick<BulkWish, 'accountId' | 'filter'>,
): Promise<Matched> => {
  const until = clock.tick() + MOST_MS
  let matched = 0
  let anchor: string | null = null
  let place: string | null = null
  for (;;) {
    const page = { limit: PAGE, direction: 'older', anchor, countUpTo: 0 } as const
    const found = await store.searchEmails({ ...filter, accountId }, page)
    place ??= found.newer
    matched += found.rows.length
    anchor = found.older
    if (!found.hasOlder) return { matched, isCapped: false, place }
    if (matched >= MOST || clock.tick() > until) return { matched, isCapped: true, place }
  }
}

/** Stores the job; whoever runs jobs goes on with it. */
export const beginJob = async (deps: BulkDeps, wish: BulkWish): Promise<JobRow> => {
  const { matched, isCapped, place } = await countMatched(deps, wish)
  const now = deps.clock.now()
  const { accountId, action, reason, filter, q, by } = wish
  const job: JobRow = {
    ...{ accountId, action, reason, filter, q, matched, isCapped, place },
    id: newId('job', now),
    workspaceId: filter.workspaceId,
    ...{ state: 'running', done: 0, skipped: 0, failed: 0, lastError: null },
    createdBy: by.id,
    createdByName: by.name,
    createdAt: now,
    updatedAt: now,
    finishedAt: null,
  }
  await deps.store.addJob(job)
  return job
}
