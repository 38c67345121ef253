/**
 * NAME      queue-state - what is known of the queue of an account, or of one workspace
 * DESCRIPTION
 *   Counts, pools, holds and the relay's words become the facts that record/queue-state.ts makes sentences
 *   of, live and test mail apart. Whoever is no operator is told no name of a pool that is not his, no
 *   upstream, and no reason that an operator wrote.
 */

import type { Clock } from '../base/clock.js'
import { isAway } from '../lifecycle/orders.js'
import { AMBIGUOUS } from '../lifecycle/recipient.js'
import { nextDayAt, type WarmupState } from '../lifecycle/warmup.js'
import type { Depth } from '../record/queue.js'
import {
  type HeldBy,
  type HoldFacts,
  type PoolFacts,
  type QueueFacts,
  type QueueState,
  queueState,
  scopeOfHold,
} from '../record/queue-state.js'
import { SANDBOX_POOL } from '../store/pools.js'
import type { HeldDepth, HoldRow, Operations, QueueAges, QueueOwner } from '../store/port/operations.js'
import { isRoutedTo, type KnownPool, type Tenants, type WorkspaceRow } from '../store/port/tenants.js'
import type { QueueDepth, Upkeep } from '../store/port/upkeep.js'
import type { Warmups, Watch } from '../store/port/watch.js'
import { poolHealth, type RelayView } from './pool.js'
import { spentIn, warmupsOf } from './warmup.js'

const keyOf = (row: { readonly poolId: string; readonly workspaceId: string }): string =>
  `${row.poolId} ${row.workspaceId}`

/** What waits and what is held, together; what is due most comes first. */
const depthsOf = (waiting: readonly QueueDepth[], held: readonly HeldDepth[]): readonly Depth[] => {
  const found = new Map<string, Depth>(waiting.map((row) => [keyOf(row), { ...row, held: 0 }]))
  for (const { poolId, workspaceId, held: n } of held) {
    const none = { poolId, workspaceId, due: 0, leased: 0, waiting: 0, oldestDueAt: null, held: 0 }
    const other = found.get(keyOf(none)) ?? none
    found.set(keyOf(none), { ...other, held: other.held + n })
  }
  return [...found.values()].sort((a, b) => b.due - a.due)
}

/** Of an account, or of one workspace. `liveOnly`: not what is for the sandbox. */
export const queueDepths = async (
  store: Pick<Upkeep, 'depth'> & Pick<Operations, 'heldDepth'> & Pick<Tenants, 'pool'>,
  of: QueueOwner,
  liveOnly = false,
): Promise<readonly Depth[]> => {
  const sandbox = liveOnly ? await store.pool(of.accountId, SANDBOX_POOL) : null
  const rows = depthsOf(await store.depth(of), await store.heldDepth(of))
  return rows.filter(({ poolId }) => poolId !== sandbox?.id)
}

interface StateDeps {
  readonly store: Pick<Tenants, 'allPools' | 'workspace'> &
    Pick<Operations, 'holds' | 'heldDepth' | 'queueAges'> &
    Pick<Upkeep, 'depth'> &
    Pick<Watch, 'outages'> &
    Pick<Warmups, 'warmupDays'>
  readonly clock: Pick<Clock, 'now'>
  /** Null when nobody told lately. */
  readonly view: RelayView | null
  /** False where nobody could have told: there is no relay here. */
  readonly hasRelay: boolean
}

export interface StateOwner extends QueueOwner {
  readonly isOperator: boolean
}

export interface QueueStates {
  /** Of both, by pool and workspace; what is due most comes first. */
  readonly depths: readonly Depth[]
  readonly live: QueueState
  readonly test: QueueState
}

/** Enough to know where it hurts; looking at all of a deep queue would keep other readers waiting. */
const MOST_LOOKED_AT = 10_000

interface Seen {
  readonly of: StateOwner
  readonly pools: readonly KnownPool[]
  readonly depths: readonly Depth[]
  readonly held: readonly HeldDepth[]
  readonly holds: readonly HoldRow[]
  readonly workspaces: ReadonlyMap<string, WorkspaceRow>
}

/** Of more than one workspace, or of no pool that it sends through, a pool has no name here. */
const calledBy = ({ of, workspaces }: Pick<Seen, 'of' | 'workspaces'>, pool: KnownPool): string => {
  const own = of.workspaceId === null ? undefined : workspaces.get(of.workspaceId)
  const mayKnow = of.isOperator || (own !== undefined && isRoutedTo(own, pool.id))
  return mayKnow ? `pool ${pool.name}` : 'another pool'
}

const agesIn = async (
  { store, clock }: StateDeps,
  { of, depths }: Seen,
  ours: ReadonlySet<string>,
  mode: Pick<Parameters<Operations['queueAges']>[0], 'liveOnly' | 'testOnly'>,
): Promise<QueueAges | null> =>
  depths.some(({ poolId }) => ours.has(poolId))
    ? store.queueAges({ ...of, ...mode }, 'pool', MOST_LOOKED_AT, clock.now())
    : null

const poolsIn = (
  { view, clock }: StateDeps,
  seen: Seen,
  warmups: ReadonlyMap<string, WarmupState>,
  outages: ReadonlyMap<string, number>,
  ages: QueueAges | null,
  ours: readonly KnownPool[],
): readonly PoolFacts[] =>
  ours.map((pool) => {
    const sum = <Row extends { readonly poolId: string }>(
      rows: readonly Row[],
      count: (row: Row) => number,
    ) => rows.filter(({ poolId }) => poolId === pool.id).reduce((all, row) => all + count(row), 0)
    const age = ages?.rows.find(({ key }) => key === pool.id)
    const scheduled = ages?.scheduledOf[pool.id] ?? 0
    const open = sum(seen.depths, (row) => row.due + row.leased + row.waiting)
    const leader = seen.pools.find(({ id }) => id === pool.follows) ?? pool
    const health = poolHealth(pool, leader, { view, outages, refusedAt: age?.refusedAt ?? null })
    const rests = pool.kind === 'relay' && spentIn(leader, warmups, view) !== null
    const sent = leader.upstreams.flatMap(({ id }) => view?.upstreams.get(id)?.lastSuccessAt ?? [])
    return {
      ...health,
      failing: seen.of.isOperator ? health.failing : [],
      // what an upstream took may have been of any workspace
      sentAt: seen.of.workspaceId === null && sent.length > 0 ? Math.max(...sent) : null,
      warmupUntil: rests ? nextDayAt(clock.now()) : null,
      ...{ id: pool.id, called: calledBy(seen, pool), isFollower: pool.follows !== null },
      // counts and ages are read one after the other
      waiting: Math.max(0, open - scheduled),
      ...{ scheduled, held: sum(seen.held, (row) => row.held), oldestAt: age?.oldestAt ?? null },
    }
  })

/** Of what stands in `held` of a recipient, when it is no hold. */
const causeOf = (seen: Seen, heldBy: string): Omit<HoldFacts, 'recipients'> => {
  const none = { id: null, words: '', reason: null, since: null }
  if (heldBy === AMBIGUOUS) return { ...none, by: 'ambiguous' }
  if (heldBy === 'restored') return { ...none, by: 'restored' }
  if (isAway(heldBy)) return { ...none, by: 'exported' }
  const workspace = seen.workspaces.get(heldBy)
  if (workspace === undefined) return { ...none, by: 'other' }
  return {
    ...{ id: null, by: 'suspended', words: `workspace ${workspace.slug} is suspended` },
    ...{ reason: seen.of.isOperator ? workspace.suspendedReason : null, since: workspace.suspendedAt },
  }
}

const holdOf = (seen: Seen, hold: HoldRow): Omit<HoldFacts, 'recipients'> => {
  const names = {
    workspace: (id: string) => seen.workspaces.get(id)?.slug ?? id,
    pool: (id: string) => {
      const pool = seen.pools.find((one) => one.id === id)
      return pool === undefined ? `pool ${id}` : calledBy(seen, pool)
    },
  }
  const { by, words } = scopeOfHold(hold, names)
  const mayKnow = seen.of.isOperator || hold.owner === 'workspace'
  return { id: hold.id, by, words, reason: mayKnow ? hold.reason : null, since: hold.createdAt }
}

const SINGLE: ReadonlySet<HeldBy> = new Set(['email', 'exported'])

/** Many of one kind are told as one: mails that are held one by one, lots that left. */
const merged = (rows: readonly HoldFacts[]): readonly HoldFacts[] => {
  const found = new Map<string, HoldFacts>()
  for (const row of rows) {
    const key = SINGLE.has(row.by) ? row.by : `${found.size}`
    const other = found.get(key)
    if (other === undefined) found.set(key, row)
    else
      found.set(key, {
        ...{ id: null, by: row.by === 'email' ? 'many' : row.by, words: '', reason: null, since: null },
        recipients: other.recipients + row.recipients,
      })
  }
  return [...found.values()].sort((a, b) => b.recipients - a.recipients)
}

/** What is held in these pools and by what, and the holds that have met nothing yet. */
const holdsIn = (seen: Seen, ours: ReadonlySet<string>): readonly HoldFacts[] => {
  const counts = new Map<string, number>()
  for (const { poolId, heldBy, held } of seen.held)
    if (ours.has(poolId)) counts.set(heldBy, (counts.get(heldBy) ?? 0) + held)
  const standing = seen.holds
    .filter(
      ({ id, poolId, emailId }) =>
        counts.has(id) || (emailId === null && (poolId === null || ours.has(poolId))),
    )
    .map((hold) => ({ ...holdOf(seen, hold), recipients: counts.get(hold.id) ?? 0 }))
  const known = new Set(seen.holds.map(({ id }) => id))
  const others = [...counts]
    .filter(([heldBy]) => !known.has(heldBy))
    .map(([heldBy, n]) => ({ ...causeOf(seen, heldBy), recipients: n }))
  return merged([...standing, ...others])
}

const read = async ({ store }: StateDeps, of: StateOwner): Promise<Seen> => {
  const [all, waiting, held, holds] = await Promise.all([
    store.allPools(),
    store.depth(of),
    store.heldDepth(of),
    store.holds(of.accountId),
  ])
  const mine = holds.filter(
    ({ workspaceId }) => of.workspaceId === null || (workspaceId ?? of.workspaceId) === of.workspaceId,
  )
  const named = new Set([
    ...(of.workspaceId === null ? [] : [of.workspaceId]),
    ...mine.flatMap(({ workspaceId }) => workspaceId ?? []),
    ...held.flatMap(({ workspaceId, heldBy }) => (workspaceId === heldBy ? workspaceId : [])),
  ])
  const rows = await Promise.all([...named].map((id) => store.workspace(of.accountId, id)))
  const workspaces = new Map(rows.flatMap((row) => (row === null ? [] : [[row.id, row] as const])))
  const pools = all.filter(({ accountId }) => accountId === of.accountId)
  return { ...{ of, pools, held, workspaces }, depths: depthsOf(waiting, held), holds: mine }
}

/** A workspace hears of the pools that it sends through, or has mail in. */
const concerns = (seen: Seen, { id }: KnownPool): boolean => {
  const { workspaceId } = seen.of
  const own = workspaceId === null ? undefined : seen.workspaces.get(workspaceId)
  return (
    workspaceId === null ||
    (own !== undefined && isRoutedTo(own, id)) ||
    [...seen.depths, ...seen.held].some(({ poolId }) => poolId === id)
  )
}

/** What there is to say of live and of test mail. */
export const queueStates = async (deps: StateDeps, of: StateOwner): Promise<QueueStates> => {
  const seen = await read(deps, of)
  const outages = new Map((await deps.store.outages()).map(({ upstreamId, since }) => [upstreamId, since]))
  const now = deps.clock.now()
  const { view, hasRelay } = deps
  const warmups = await warmupsOf(
    deps.store,
    seen.pools.flatMap(({ upstreams }) => upstreams),
    now,
  )
  const stateIn = async (kind: KnownPool['kind']): Promise<QueueState> => {
    const ours = seen.pools.filter((pool) => pool.kind === kind && concerns(seen, pool))
    const ids = new Set(ours.map(({ id }) => id))
    const ages = await agesIn(deps, seen, ids, kind === 'relay' ? { liveOnly: true } : { testOnly: true })
    const facts: QueueFacts = {
      pools: poolsIn(deps, seen, warmups, outages, ages, ours),
      holds: holdsIn(seen, ids),
      slow: of.isOperator ? (view?.throttled ?? []).filter(({ poolId }) => ids.has(poolId)) : [],
      isTold: view !== null || !hasRelay,
    }
    return queueState(facts, now)
  }
  return { depths: seen.depths, live: await stateIn('relay'), test: await stateIn('sandbox') }
}
