/**
 * NAME      apply - what a plan says is done, a thing at a time
 *   Each thing is one verb of the store, whole or without effect. Before the first of them the names of all that is to be
 *   made are written down: who is killed in between goes on with the same command. All of it is one entry of the audit.
 *   One apply of a setup at a time, under a lock that ends by itself some seconds after its owner died: who comes then
 *   waits for that, and does not wait for one that lives.
 */
import { setTimeout } from 'node:timers/promises'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { newId } from '../base/id.js'
import type { Actor } from '../store/port/identity.js'
import type { DomainRow, ManagedKey, ManagedRow, SetupLock, WorkspaceRow } from '../store/port/tenants.js'
import { refText } from './files.js'
import { kindOf } from './kinds.js'
import { isToDo, type Plan, type PlanStep } from './plan.js'
import type { SetupDeps, World } from './world.js'

const LOCK_MS = 5_000
const RENEW_MS = 1_500
/** So long is waited for who was killed. */
const WAIT_MS = LOCK_MS + 1_000
const LOOK_MS = 250

/** It ended before its end: what was done stays. */
export class ApplyStopped extends Error {
  override name = 'ApplyStopped'
  constructor(
    readonly failed: PlanStep,
    readonly done: readonly PlanStep[],
    readonly left: readonly PlanStep[],
    override readonly cause: unknown,
  ) {
    super(`${refText(failed)} failed; ${done.length} done, ${left.length} not`)
  }
}

interface Applying {
  readonly deps: SetupDeps
  readonly accountId: string
  readonly actor: Actor
}

/** The names that a row is described with, and no more of the world. */
const namesFor = async ({ deps: { store }, accountId }: Applying, row: unknown): Promise<World> => {
  const { poolId, routes, workspaceId } = row as Partial<WorkspaceRow & DomainRow>
  const ids = [...new Set([poolId, ...(routes ?? []).map((route) => route.poolId)])]
  const pools = await Promise.all(ids.map((id) => (id === undefined ? null : store.pool(accountId, id))))
  const workspace = workspaceId == null ? null : await store.workspace(accountId, workspaceId)
  return {
    ...{ accountId, domains: [], keys: [], credentials: [], webhooks: [], people: [], managed: [] },
    pools: pools.filter((pool) => pool !== null),
    workspaces: workspace === null ? [] : [workspace],
  }
}

/** What the row is by now, in the words of the files. */
const noteOf = async (
  applying: Applying,
  { kind: name, workspace, name: own, sign, said, applied: before, marks }: PlanStep,
  objectId: string,
): Promise<Omit<ManagedRow, 'setup'>> => {
  const { deps, accountId } = applying
  const kind = kindOf(name)
  const row = await kind.load(deps, accountId, objectId)
  const world = await namesFor(applying, row ?? {})
  const current = row === null ? {} : kind.describe({ deps, world, planned: new Set() }, row, null)
  // of a field that no file says a person's change is still known as one
  const isFirst = sign === '+' || Object.keys(before).length === 0
  const now = Object.entries(current).filter(([field]) => isFirst || said.includes(field))
  const applied = { ...before, ...Object.fromEntries(now), ...marks }
  const key = { kind: name, workspace, name: own }
  return { ...key, objectId, applied, at: deps.clock.now() }
}

const underWay = (setup: string): Fault =>
  new Fault('resource.conflict', {
    reason: 'setup_under_way',
    detail: `Another apply of the setup ${setup} is under way`,
  })

/** Its lock had ended, as where a machine stood still for seconds. */
const takenOver = (setup: string): Fault =>
  new Fault('resource.conflict', {
    reason: 'setup_taken_over',
    detail: `Another apply of the setup ${setup} has taken over`,
  })

const planChanged = (): Fault =>
  new Fault('resource.conflict', {
    reason: 'plan_changed',
    detail: 'Something was changed since the plan was made; nothing was done: look again',
  })

/** Throws resource.conflict where another owner works for longer than that. */
const begin = async (
  store: SetupDeps['store'],
  clock: Clock,
  lockNow: () => SetupLock,
  waitMs: number,
): Promise<void> => {
  for (let waited = 0; ; waited += LOOK_MS) {
    const lock = lockNow()
    if ((await store.beginSetup(lock, clock.now())) === 'done') return
    if (waited >= waitMs) throw underWay(lock.setup)
    await setTimeout(LOOK_MS)
  }
}

/** What `work` makes while nobody applies this setup: half of what another does is no mistake of anybody. */
export const whileAlone = async <T>(
  { store, clock }: Pick<SetupDeps, 'store' | 'clock'>,
  lockFor: Pick<SetupLock, 'accountId' | 'setup'>,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> => {
  const owner = newId('aud')
  const lock = (): SetupLock => ({ ...lockFor, owner, until: clock.now() + LOCK_MS })
  await begin(store, clock, lock, waitMs)
  try {
    return await work()
  } finally {
    await store.endSetup(lock())
  }
}

interface ApplyOptions {
  /** Hears of each step that is done. */
  readonly told?: (done: number, of: number) => void
  /** For how long another apply of the same setup is waited for. */
  readonly waitMs?: number
  /** Aborted, it stops before its next step. */
  readonly signal?: AbortSignal
}

/**
 * One step after the other. `again` plans anew under the lock: where that is another plan, something was changed since,
 * and nothing is done. Throws resource.conflict or ApplyStopped.
 */
export const applyPlan = async (
  applying: Applying,
  { setup, steps, gone, digest }: Plan,
  again: () => Promise<Plan>,
  { told = () => {}, waitMs = WAIT_MS, signal }: ApplyOptions = {},
): Promise<readonly PlanStep[]> => {
  const { deps, accountId, actor } = applying
  const todo = steps.filter(isToDo)
  const noted = steps.filter((step) => step.isNoted && !isToDo(step))
  if (todo.length === 0 && noted.length === 0 && gone.length === 0) return []
  const ordered: SetupDeps = { ...deps, store: deps.store.by(actor, newId('aud')) }
  const { clock, store } = deps
  const lock = (): SetupLock => ({ accountId, setup, owner, until: clock.now() + LOCK_MS })
  const owner = newId('aud')
  await begin(store, clock, lock, waitMs)
  const note = async (kept: readonly Omit<ManagedRow, 'setup'>[], removed: readonly ManagedKey[]) => {
    if (await store.noteManaged(lock(), kept, removed)) return
    throw takenOver(setup)
  }
  const done: PlanStep[] = []
  const renewal = setInterval(() => void store.noteManaged(lock(), [], []).catch(() => {}), RENEW_MS)
  try {
    if ((await again()).digest !== digest) throw planChanged()
    const now = clock.now()
    const intents = todo
      .filter(({ sign }) => sign === '+')
      .map(({ kind, workspace, name }) => ({ kind, workspace, name, objectId: null, applied: {}, at: now }))
    const beginning = todo.length > 0 ? ordered.store : store
    if (!(await beginning.noteManaged(lock(), intents, gone, true))) throw takenOver(setup)
    for (const step of [...todo, ...noted]) {
      try {
        signal?.throwIfAborted()
        const id = step.run === null ? step.objectId : await step.run(ordered)
        const { kind, workspace, name } = step
        if (id === null) await note([], [{ kind, workspace, name }])
        else await note([await noteOf(applying, step, id)], [])
      } catch (error) {
        throw new ApplyStopped(step, done, todo.slice(done.length + 1), error)
      }
      if (isToDo(step)) done.push(step)
      told(done.length, todo.length)
    }
    return done
  } finally {
    clearInterval(renewal)
    await store.endSetup(lock())
  }
}
