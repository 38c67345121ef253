/**
 * NAME      steps - verbs that take several commits
 *   Small steps, so that others write in between; all is done when a verb resolves. Each step is whole, and one that
 *   was cut off is finished by the same order given again, or by the sweep.
 */
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../base/clock.js'
import { logFloor } from '../../lifecycle/schedule.js'
import type { QueueOrder } from '../port/operations.js'
import type { Store } from '../port/store.js'
import type { MovingMail, WorkspaceChange, Written } from '../port/tenants.js'
import type { Keep } from '../port/upkeep.js'
import { ENDABLE } from '../rules/operations.js'
import { sweepAudit } from './audit.js'
import { type DecisionSteps, sweepIncidents } from './bounces.js'
import type { LotWrites } from './carry.js'
import type { Erased, ErasePlace, EraseWrites } from './erase.js'
import { sweepIdentity } from './identity.js'
import { sweepJobs } from './jobs.js'
import type { OrderWrites, Progress, SuspendWrites } from './orders.js'
import { ordAt, timeOf } from './pages.js'
import { type Answered, type Asking, run } from './query.js'
import { sweepStatistics } from './statistics.js'
import { type SuppressionEvents, sweepSuppressions } from './suppressions.js'
import { sweepDomainReports } from './tenants.js'
import { sweepPosts } from './webhooks.js'

/** Of one small step. */
export interface Swept {
  /** Rows removed or ended. */
  readonly removed: number
  /** Mails whose body files no row names any more. */
  readonly files: readonly string[]
  /** There is more to do. */
  readonly again: boolean
}

interface Others {
  /** Moving mail is an order that has begun. */
  updateWorkspace(id: string, change: WorkspaceChange, moving?: MovingMail): Written
}

/** What they are put together from: each is one commit. */
export type StepVerbs = Answered<OrderWrites> &
  Answered<SuspendWrites> &
  Answered<LotWrites> &
  Answered<EraseWrites> &
  Answered<DecisionSteps> &
  Others

export interface Stepping {
  call<N extends keyof StepVerbs>(
    verb: N,
    ...args: Parameters<StepVerbs[N]>
  ): Promise<ReturnType<StepVerbs[N]>>
  /** For the calls of one order: they share an entry of the audit. */
  asOrder(): Stepping
}

type Current = () => Stepping
type Steps<Names extends keyof Store> = (current: Current) => Pick<Store, Names>

const inSteps = async (step: (cursor: Progress['next']) => Promise<Progress>): Promise<number> => {
  let changed = 0
  let cursor: Progress['next'] = null
  do {
    const done: Progress = await step(cursor)
    changed += done.changed
    cursor = done.next
  } while (cursor !== null)
  return changed
}

/** Until a step finds nothing more. */
export const inRounds = async (step: () => Promise<number>): Promise<number> => {
  let changed = 0
  for (let n = -1; n !== 0; changed += Math.max(0, n)) n = await step()
  return changed
}

/** The steps of an order that has begun. */
const finish = (at: Stepping, n: number): Promise<number> =>
  inSteps((cursor) => at.call('orderStep', n, cursor))

const operate = async (current: Current, order: QueueOrder): Promise<number> => {
  const at = current().asOrder()
  const { n } = await at.call('beginOrder', order)
  return finish(at, n)
}

const resume = (at: Stepping, id: string, now: number): Promise<number> =>
  inRounds(() => at.call('resumeStep', id, now))

/** Ends what waits of a workspace that was deleted. */
const discard = (
  current: Current,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  reason: string,
  now: number,
): Promise<number> => {
  const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
  return operate(current, { action: 'discard', scope, to: null, reason, now })
}

const operationSteps: Steps<'hold' | 'operate' | 'decideIncident'> = (current) => ({
  async hold(hold) {
    const at = current().asOrder()
    const { n } = await at.call('beginHold', hold)
    return finish(at, n)
  },
  operate: (order) => operate(current, order),
  async decideIncident(...args) {
    const at = current().asOrder()
    let changed = 0
    for (let isFirst = true; ; isFirst = false) {
      const step = await at.call('decideStep', ...args, isFirst)
      if (typeof step === 'string') return step
      changed += step.changed
      if (!step.again) return changed
    }
  },
})

const lotSteps: Steps<'markLot' | 'closeLot' | 'endLot'> = (current) => ({
  markLot: (id, scope, reason, now) =>
    inSteps((cursor) => current().call('markStep', id, scope, reason, now, cursor)),
  closeLot: async (id) => (await current().call('turnLot', id, ['marking'], 'exported')) === 'exported',
  async endLot(id, as, now) {
    const at = current().asOrder()
    const state = await at.call('turnLot', id, ENDABLE[as], as)
    if (state !== as) return state ?? 'imported'
    return inRounds(() => at.call('lotStep', id, now))
  },
})

const workspaceSteps: Steps<
  'updateWorkspace' | 'suspendWorkspace' | 'deleteWorkspace' | 'resumeWorkspace'
> = (current) => ({
  async updateWorkspace(id, change, moving) {
    const at = current().asOrder()
    const written = await at.call('updateWorkspace', id, change, moving)
    // an earlier move that was cut off comes first: from where it leads to, mail goes on; the same order
    // given again moves nothing more, and finishes it
    const isOrder = moving !== undefined || change.poolId !== undefined || change.routes !== undefined
    const open = isOrder ? await current().call('openOrders', id) : []
    for (const n of open) await finish(at, n)
    return written
  },
  async suspendWorkspace({ id }, reason, now) {
    // what an earlier resume has left is freed first, and rests again
    if ((await current().call('resuming')).includes(id)) await resume(current(), id, now)
    const at = current().asOrder()
    const { n } = await at.call('suspendWorkspace', id, reason, now)
    return finish(at, n)
  },
  async deleteWorkspace(accountId, id, reason, now) {
    const at = current().asOrder()
    const result = await at.call('deleteWorkspace', accountId, id, now)
    if (result === 'done') await discard(() => at, { id, accountId }, reason, now)
    return result
  },
  async resumeWorkspace(id, now) {
    const at = current().asOrder()
    await at.call('resumeWorkspace', id, now)
    return resume(at, id, now)
  },
})

/** Orders that were there a sweep ago: nobody works on them any more, or they are long, and done twice without harm. */
const createCutOff = () => {
  let seen: readonly number[] = []
  return async (at: Stepping): Promise<readonly number[]> => {
    const before = seen
    seen = await at.call('openOrders', null)
    return seen.filter((n) => before.includes(n))
  }
}

/** A sweep that has gone on for longer is behind: it pauses no more between its steps. */
const GENTLE_MS = 30_000

/** Step after step, and most of the writer's time is for mail. */
const gently = async (start: number, step: () => Promise<Swept>): Promise<number> => {
  let removed = 0
  for (let again = true; again; ) {
    const began = systemClock.tick()
    const swept = await step()
    removed += swept.removed
    again = swept.again
    if (again && began - start < GENTLE_MS) await setTimeout(2 * (systemClock.tick() - began))
  }
  return removed
}

type SweepStep = (now: number, keep: Keep) => Promise<Swept>

/** All steps of a sweep: `step` takes what is old; `drop` hears of files that no row names any more. */
export const sweeping = (current: Current, step: SweepStep, cutOff = createCutOff()) => {
  const erase = async (
    id: string,
    now: number,
    drop: (files: readonly string[]) => Promise<void>,
  ): Promise<number> => {
    let place: ErasePlace | null = null
    return gently(systemClock.tick(), async () => {
      const erased: Erased = await current().call('eraseStep', id, now, place)
      place = erased.place
      await drop(erased.files)
      return erased
    })
  }
  return async (now: number, keep: Keep, drop: (files: readonly string[]) => Promise<void>) => {
    const at = current()
    let removed = await gently(systemClock.tick(), async () => {
      const swept = await step(now, keep)
      await drop(swept.files)
      return swept
    })
    for (const deleted of await at.call('erasing')) {
      removed += await discard(current, deleted, 'the workspace was deleted', now)
      removed += await erase(deleted.id, now, drop)
    }
    for (const n of await cutOff(at)) removed += await finish(at, n)
    for (const id of await at.call('resuming')) removed += await resume(at, id, now)
    return removed
  }
}

export const stepsOf = (current: Current) => ({
  ...operationSteps(current),
  ...lotSteps(current),
  ...workspaceSteps(current),
})

// What of housekeeping is the same in every database: one small step.

const STEP = 200

// by the order of rows, which does not follow a clock that nobody believes
const RAISE = 'UPDATE log_state SET floor = CASE WHEN floor > ? THEN floor ELSE ? END'
const NOTICES = `DELETE FROM events WHERE ord IN (SELECT ord FROM events WHERE email IS NULL AND ord < ? LIMIT ${STEP})`

export interface SweepParts extends Pick<DecisionSteps, 'decideStep'> {
  readonly tell: SuppressionEvents<Asking<unknown>>
  /** The last place that was given. */
  lastPlace(): Asking<number>
}

/** Marks below the new floor are too old; what has no mail goes. */
function* raiseFloor({ lastPlace }: SweepParts, now: number, logMs: number): Asking<number> {
  const floor = ordAt(logFloor(now, timeOf(yield* lastPlace()), logMs))
  yield* run(RAISE, floor, floor)
  return yield* run(NOTICES, floor)
}

/** How many rows are gone. */
export const sweepOthers = (parts: SweepParts) =>
  function* (now: number, keep: Keep): Asking<number> {
    return (
      (keep.logMs === undefined ? 0 : yield* raiseFloor(parts, now, keep.logMs)) +
      (yield* sweepIdentity(now)) +
      (yield* sweepAudit(now)) +
      (yield* sweepSuppressions(parts.tell, now)) +
      (yield* sweepIncidents(now, parts.decideStep)) +
      (yield* sweepPosts(now)) +
      (yield* sweepStatistics(now)) +
      (yield* sweepJobs(now)) +
      (keep.domainReportsMs === undefined ? 0 : yield* sweepDomainReports(now - keep.domainReportsMs))
    )
  }
