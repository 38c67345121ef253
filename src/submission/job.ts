/**
 * NAME      job - counting what a job would do, and storing it
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../base/clock.js'
import { newId } from '../base/id.js'
import { compare, readMark } from '../lifecycle/page.js'
import type { EventLog } from '../store/port/log.js'
import type { EmailSearch, JobAction, JobFilter, JobRow, Jobs } from '../store/port/mail.js'
import type { Reading } from '../store/port/watch.js'

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
/** Of waiting for the index of words; and while it does not move, as where no daemon runs. */
const INDEX_MS = 5_000
const STILL_MS = 1_000
const LOOK_MS = 50

interface CountDeps {
  readonly store: EmailSearch & Pick<Reading, 'readPlaces'> & Pick<EventLog, 'logEnds'>
  readonly clock: Clock
}

interface BulkDeps extends CountDeps {
  readonly store: CountDeps['store'] & Pick<Jobs, 'addJob'>
}

/**
 * Waits until what was accepted before can be found, which is a moment later; false: not all of it can, and more will.
 * Where no daemon reads the log, what is found now is all there is.
 */
const untilFound = async ({ store, clock }: CountDeps): Promise<boolean> => {
  const newest = readMark((await store.logEnds()).newest)
  const began = clock.tick()
  let at: string | null = null
  for (let moved = began; ; await sleep(LOOK_MS)) {
    const { search } = await store.readPlaces()
    const place = readMark(search ?? '')
    if (newest === null || (place !== null && compare(place, newest) >= 0)) return true
    const now = clock.tick()
    if (at !== null && search !== at) moved = now
    at = search
    if (now - moved > STILL_MS) return moved === began
    if (now - began > INDEX_MS) return false
  }
}

/** How many mails are meant now; up to a bound, in small steps. */
export const countMatched = async (
  deps: CountDeps,
  { accountId, filter }: Pick<BulkWish, 'accountId' | 'filter'>,
): Promise<Matched> => {
  const { store, clock } = deps
  const isWhole = await untilFound(deps)
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
    if (!found.hasOlder) return { matched, isCapped: !isWhole, place }
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
