/**
 * NAME      job-runner - one action on many mails: counted, stored as a job, and carried out some mails at a time
 *   Every action may be done to the same mail twice, since a job that was cut off looks at some mails again: what is
 *   canceled stays so, and a mail is sent again under a key of the job and the mail.
 *   A step is stored after its mails were done; one that fails as a whole is tried again in a while, and the other jobs
 *   go on. All that run get a step in turn. Between two steps others come first. How many mails a step has follows how
 *   long their commit takes.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { newId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { overIn, repeated, type Service } from '../base/service.js'
import { compare, readMark } from '../lifecycle/page.js'
import { normalizeAddress } from '../mail/address.js'
import type { EventLog } from '../store/port/log.js'
import type {
  EmailRecord,
  EmailRow,
  EmailSearch,
  JobAction,
  JobFilter,
  JobRow,
  JobStep,
  Jobs,
  Ledger,
  Queue,
  Schedule,
} from '../store/port/mail.js'
import type { Operations } from '../store/port/operations.js'
import type { Reading } from '../store/port/watch.js'
import { metOf } from '../store/rules/operations.js'
import { listOfWorkspace, type SuppressDeps, suppress } from '../tenant/suppression.js'
import { requestFingerprint } from './idempotency.js'
import type { Submission } from './submission.js'

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
  readonly isCapped: boolean
  /** Where a job begins: right above the newest. */
  readonly place: string
}

const MOST_COUNTED = 100_000
const PAGE = 1000
/** Of counting. */
const MOST_MS = 3_000
/** Of waiting for the index of words; and while it does not move, as where no daemon runs. */
const INDEX_MS = 5_000
const STILL_MS = 1_000
const FOUND_LOOK_MS = 50

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
  for (let moved = began; ; await sleep(FOUND_LOOK_MS)) {
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
    if (matched >= MOST_COUNTED || clock.tick() > until) return { matched, isCapped: true, place }
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

interface ActDeps {
  readonly store: Ledger &
    Schedule &
    Pick<Queue, 'body'> &
    Pick<Operations, 'operate'> &
    SuppressDeps['store']
  readonly submission: Pick<Submission, 'resend'>
  readonly clock: Clock
}

type Did = 'done' | 'skipped' | 'failed'

interface Act {
  readonly did: Did
  readonly error: string | null
}

const DONE: Act = { did: 'done', error: null }
const SKIPPED: Act = { did: 'skipped', error: null }

type One = (deps: ActDeps, job: JobRow, mail: EmailRow) => Promise<Act>

const order =
  (action: 'retry' | 'release'): One =>
  async ({ store, clock }, { reason }, { accountId, workspaceId, id }) => {
    const scope = { accountId, workspaceId, poolId: null, domain: null, emailId: id }
    const changed = await store.operate({ action, scope, to: null, reason, now: clock.now() })
    return changed > 0 ? DONE : SKIPPED
  }

const recordOf = (
  { store }: ActDeps,
  { accountId, workspaceId, id }: EmailRow,
): Promise<EmailRecord | null> => store.email({ accountId, workspaceId, mode: null }, id)

const ACTIONS: Readonly<Record<JobAction, One>> = {
  retry: order('retry'),
  release: order('release'),
  async cancel({ store, clock }, _, { accountId, workspaceId, id, status }) {
    if (status === 'canceled') return SKIPPED
    const result = await store.cancel({ accountId, workspaceId, mode: null }, id, clock.now())
    return result === 'done' ? DONE : SKIPPED
  },
  async resend(deps, job, mail) {
    const record = await recordOf(deps, mail)
    if (record === null) return SKIPPED
    const key = `${job.id}:${mail.id}`
    // under this key only this job sends: what is there already, a step that was cut off has sent
    await deps.submission.resend(
      { record, store: deps.store, to: null, toAnyone: false },
      {
        idempotency: { key, fingerprint: requestFingerprint('POST', 'job', '', key) },
        render: () => ({ status: 202, body: '' }),
      },
    )
    return DONE
  },
  async suppress(deps, { reason, id }, mail) {
    const record = await recordOf(deps, mail)
    if (record === null) return SKIPPED
    const bounced = record.recipients.filter(({ status }) => status === 'bounced')
    const list = listOfWorkspace({ id: mail.workspaceId, accountId: mail.accountId }, mail.mode)
    let added = 0
    for (const { address } of bounced.length > 0 ? bounced : record.recipients) {
      const made = await suppress(deps, list, { email: normalizeAddress(address), reason, sourceId: id })
      if (made.added) added++
    }
    return added > 0 ? DONE : SKIPPED
  },
}

/** Throws only what has nothing to do with this mail. */
const actOn = async (deps: ActDeps, job: JobRow, mail: EmailRow): Promise<Act> => {
  try {
    return await ACTIONS[job.action](deps, job, mail)
  } catch (error) {
    // the lock of a step that was killed while it sent again unlocks by itself: the job waits for it
    const waits = ['service.unavailable', 'idempotency.in_progress']
    if (!(error instanceof Fault) || waits.includes(error.code)) throw error
    return { did: 'failed', error: error.options.reason ?? error.options.detail ?? error.code }
  }
}

export interface RunnerParts extends ActDeps {
  readonly store: ActDeps['store'] & Jobs & Pick<EmailSearch, 'searchEmails'>
  readonly log: Pick<Log, 'error' | 'info'>
}

const LOOK_MS = 1_000
const REST_MS = 5_000

/** Mails of a step are done side by side, so the store has them in one commit: as many as it takes so long for. */
const [LEAST, MOST] = [25, 400]
const [SHORT_MS, LONG_MS] = [20, 80]

/** How many mails the next step takes. A commit has its own price, so few of them are no faster one by one. */
export class Pace {
  size = LEAST

  took(ms: number, mails: number): void {
    if (mails < this.size) return
    if (ms < SHORT_MS) this.size = Math.min(MOST, this.size * 2)
    else if (ms > LONG_MS) this.size = Math.max(LEAST, this.size >> 1)
  }
}

/** Mails that one look counts. */
const COUNTED = 1_000

/** How many mails match in all, where counting ended when the job was made: counted on ahead of its work. */
export class Count {
  #place: string
  #found: number
  total: number | undefined

  constructor(job: JobRow) {
    this.#place = job.place
    this.#found = metOf(job)
  }

  async goOn({ store }: Pick<RunnerParts, 'store'>, { filter, accountId }: JobRow): Promise<void> {
    if (this.total !== undefined) return
    const page = { limit: COUNTED, direction: 'older', anchor: this.#place, countUpTo: 0 } as const
    const found = await store.searchEmails({ ...filter, accountId }, page)
    this.#place = found.older
    this.#found += found.rows.length
    if (!found.hasOlder) this.total = this.#found
  }
}

interface Stepping {
  readonly isStopping?: () => boolean
  readonly pace?: Pace
  /** Of a job that does not know how many there are. */
  readonly count?: Count | undefined
}

/** Does the next mails of a job; false when it ended, or somebody else went on with it. */
export const stepOf = async (
  parts: RunnerParts,
  job: JobRow,
  { isStopping = () => false, pace = new Pace(), count }: Stepping = {},
): Promise<boolean> => {
  const { store, clock } = parts
  const page = { limit: pace.size, direction: 'older', anchor: job.place, countUpTo: 0 } as const
  const found = await store.searchEmails({ ...job.filter, accountId: job.accountId }, page)
  await count?.goOn(parts, job)
  // what this step has done is done again, and counted then
  if (isStopping()) return false
  const began = performance.now()
  const acts = await Promise.allSettled(found.rows.map((mail) => actOn(parts, job, mail)))
  pace.took(performance.now() - began, acts.length)
  const counts: Record<Did, number> = { done: 0, skipped: 0, failed: 0 }
  let lastError: string | null = null
  for (const [i, act] of acts.entries()) {
    if (act.status === 'rejected') throw act.reason
    const { did, error } = act.value
    counts[did]++
    lastError = error === null ? lastError : `${found.rows[i]?.id}: ${error}`
  }
  const isLast = !found.hasOlder
  const step: JobStep = {
    ...counts,
    ...{ place: found.older, lastError, isLast, matched: count?.total, now: clock.now() },
  }
  return (await store.advanceJob(job.id, job.place, step)) && !isLast
}

export const createJobRunner = (parts: RunnerParts): Service => {
  const told = ({ message }: Error): void =>
    parts.log.error({ event: 'job_failed', error: message }, 'a job waits')
  /** Jobs that could not go on, and until when they rest; the others go on. */
  const resting = new Map<string, number>()
  const pace = new Pace()
  const counts = new Map<string, Count>()
  const countOf = (job: JobRow): Count | undefined => {
    if (job.isCapped && !counts.has(job.id)) counts.set(job.id, new Count(job))
    return counts.get(job.id)
  }
  const step = async (job: JobRow, isStopping: () => boolean): Promise<boolean> => {
    try {
      const goesOn = await stepOf(parts, job, { isStopping, pace, count: countOf(job) })
      if (!goesOn) counts.delete(job.id)
      await setImmediate()
      return goesOn
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
