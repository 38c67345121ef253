/**
 * NAME      waiting - why mail waits: the state of a queue, and of one recipient
 *   Counts, pools, holds and the relay's words become the facts that record/queue.ts makes sentences of, for an
 *   account or one workspace, live and test mail apart. A reader who is no operator sees no name of a pool that is not
 *   his, no upstream, and no reason that an operator wrote.
 *   Why a recipient waits is computed when it is asked, never stored: from the row of the queue, the workspace, the
 *   holds, the pool with its leader, and what the relay last told. Of several reasons the first of the list counts.
 *   `short` is for the owner of the workspace: it names no pool but its own and no operator's words; `more` and
 *   `remedy` are for those who may mend it.
 */
import type { Clock } from '../base/clock.js'
import { isAway } from '../lifecycle/orders.js'
import { AMBIGUOUS } from '../lifecycle/recipient.js'
import { nextDayAt, type WarmupState } from '../lifecycle/warmup.js'
import { storedDomain } from '../mail/address.js'
import {
  type Depth,
  type HeldBy,
  type HoldFacts,
  type MailWaiting,
  type PoolFacts,
  type PoolHealth,
  type QueueFacts,
  type QueueSentence,
  queueState,
  STOPPING_REASONS,
  scopeOfHold,
  stoppedWords,
  WAITING_REASONS,
  type Waiting,
  type WaitingReason,
} from '../record/queue.js'
import { leaderOf, SANDBOX_POOL } from '../store/pools.js'
import type {
  HeldDepth,
  HoldRow,
  Operations,
  QueueAges,
  QueueEntry,
  QueueOwner,
} from '../store/port/operations.js'
import { isRoutedTo, type KnownPool, type Tenants, type WorkspaceRow } from '../store/port/tenants.js'
import type { QueueDepth, Upkeep } from '../store/port/upkeep.js'
import type { Warmups, Watch } from '../store/port/watch.js'
import { poolHealth, type RelayView, spentIn, warmupsOf } from './pool.js'
import { upstreamText } from './upstream.js'

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
  readonly live: QueueSentence
  readonly test: QueueSentence
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
  const stateIn = async (kind: KnownPool['kind']): Promise<QueueSentence> => {
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

interface WaitingDeps {
  readonly store: Pick<Tenants, 'pool' | 'workspace'> &
    Pick<Operations, 'holds' | 'entriesOf'> &
    Pick<Watch, 'outages'> &
    Pick<Warmups, 'warmupDays'>
  readonly clock: Pick<Clock, 'now'>
  /** Null when nobody told lately. */
  readonly view: RelayView | null
}

/** Of a row of the queue, what counts here. */
type Waiter = Omit<QueueEntry, 'recipientId' | 'lastResponse'>

interface Facts {
  readonly now: number
  readonly workspace: WorkspaceRow
  readonly pool: KnownPool
  /** Whose members it uses. */
  readonly leader: KnownPool
  readonly holds: readonly HoldRow[]
  readonly view: RelayView | null
  readonly health: PoolHealth
  /** By upstream id: what of its members warms up. */
  readonly warmups: ReadonlyMap<string, WarmupState>
}

interface Told extends Partial<Pick<Waiting, 'more' | 'remedy'>> {
  /** `pool` is how the reader calls it. */
  readonly plain: (pool: string) => string
  /** For the owner of the workspace, where a name would not be enough to hide. */
  readonly short?: string
  readonly until?: number | null
}
type Judge = (entry: Waiter, facts: Facts) => Told | null

const isDue = ({ dueAt }: Waiter, now: number): boolean => dueAt === null || dueAt <= now

const covers = (hold: HoldRow, entry: Waiter): boolean =>
  (hold.workspaceId ?? entry.workspaceId) === entry.workspaceId &&
  (hold.poolId ?? entry.poolId) === entry.poolId &&
  (hold.emailId ?? entry.emailId) === entry.emailId &&
  (hold.domain ?? storedDomain(entry.address)) === storedDomain(entry.address)

const flagsOf = ({ workspaceId, poolId, domain, emailId }: HoldRow): string => {
  const named = { workspace: workspaceId, pool: poolId, domain, email: emailId }
  const flags = Object.entries(named).flatMap(([name, value]) =>
    value === null ? [] : [`--${name} ${value}`],
  )
  return flags.length === 0 ? '--all' : flags.join(' ')
}

const suspended: Judge = (_entry, { workspace }) =>
  workspace.suspendedAt === null
    ? null
    : {
        plain: () => 'the workspace is suspended',
        more: workspace.suspendedReason,
        remedy: `postern workspace resume ${workspace.slug}`,
      }

const held: Judge = (entry, { holds, workspace }) => {
  const hold = holds.find(({ id }) => id === entry.held) ?? holds.find((one) => covers(one, entry))
  if (entry.held === null && hold === undefined) return null
  const alone = `postern queue release --email ${entry.emailId} --reason WHY`
  const short = 'it is held'
  if (entry.held === AMBIGUOUS) {
    const more = 'it may have been sent already: no clear answer came'
    return { plain: () => short, more, remedy: alone }
  }
  if (isAway(entry.held))
    return {
      plain: () => short,
      more: 'it left with an export',
      remedy: `postern queue take-back ${entry.held}`,
    }
  if (hold === undefined) return { plain: () => short, remedy: alone }
  const names = (pool: string) => ({ workspace: () => workspace.slug, pool: () => pool })
  return {
    plain: (pool) => scopeOfHold(hold, names(pool)).words,
    short: hold.owner === 'workspace' ? scopeOfHold(hold, names('its pool')).words : short,
    more: hold.reason,
    remedy: `postern queue release ${flagsOf(hold)} --reason WHY`,
  }
}

const noUpstream: Judge = (_entry, { pool, leader, health }) =>
  health.state === 'no_upstream'
    ? {
        plain: (its) => stoppedWords('no_upstream', its),
        more: leader.id === pool.id ? null : `nor has ${leader.name}, the pool of the default workspace`,
        remedy: `postern pool update ${leader.name} --upstream URL`,
      }
    : null

const paused: Judge = (_entry, { leader, health }) =>
  health.state === 'paused'
    ? { plain: (pool) => stoppedWords('paused', pool), remedy: `postern upstream resume ${leader.name}` }
    : null

const upstreamsDown: Judge = (_entry, { leader, health }) => {
  if (health.state !== 'down') return null
  const words = health.failing.map(({ name, error }) => (error === null ? name : `${name}: ${error}`))
  return {
    plain: (pool) => stoppedWords('down', pool),
    more: words.join('; '),
    remedy: `postern upstream test ${leader.name}`,
  }
}

const livingOf = ({ leader, view }: Facts) =>
  leader.upstreams.flatMap((row) => {
    const live = row.state === 'active' ? view?.upstreams.get(row.id) : undefined
    return live === undefined ? [] : [{ ...live, name: upstreamText(row) }]
  })

/** They let us in no more, or no token is to be had; mail that was tried meets it again, though no breaker may be open yet. */
const login: Judge = (_entry, facts) => {
  const living = livingOf(facts)
  const isShutOut = living.every(
    ({ breaker, lastError, lastSuccessAt }) =>
      breaker !== 'half-open' && lastError?.stage === 'auth' && (lastError.at ?? 1) > (lastSuccessAt ?? 0),
  )
  if (living.length === 0 || !isShutOut) return null
  return {
    plain: (pool) => `no upstream of ${pool} lets us sign in`,
    more: living.map(({ name, lastError }) => `${name}: auth: ${lastError?.message}`).join('; '),
    remedy: `postern upstream test ${facts.leader.name}`,
  }
}

const throttled: Judge = (entry, { view, now }) => {
  const domain = storedDomain(entry.address)
  const pace = view?.throttled.find((one) => one.poolId === entry.poolId && one.domain === domain)
  if (pace === undefined) return null
  const until = isDue(entry, now) ? pace.until : (entry.dueAt ?? 0)
  return { plain: (pool) => `its domain asked ${pool} for a slower pace`, until: until > now ? until : null }
}

/** Nobody but members that have been given what they may be today could take it. */
const warmup: Judge = (entry, { leader, view, warmups, now }) => {
  const spent = spentIn(leader, warmups, view)
  if (!isDue(entry, now) || spent === null) return null
  return {
    plain: (pool) => `${pool} has sent what its warm-up allows today`,
    more: spent.map(({ name, used, limit }) => `${name} was given ${used} of ${limit}`).join('; '),
    until: nextDayAt(now),
  }
}

const rate: Judge = (entry, facts) => {
  const living = livingOf(facts).filter(({ breaker }) => breaker !== 'open')
  if (!isDue(entry, facts.now) || living.length === 0 || living.some(({ full }) => full === null)) return null
  const limit = living.some(({ full }) => full === 'connections')
    ? 'all connections are in use'
    : 'the messages of this second are used up'
  return {
    plain: (pool) => `${pool} sends as fast as it may`,
    more: limit,
    remedy: 'postern upstream list',
  }
}

const backoff: Judge = (entry, { now }) =>
  isDue(entry, now) || entry.status === 'scheduled'
    ? null
    : {
        plain: (pool) => `${pool} tries again later`,
        remedy: `postern queue retry --email ${entry.emailId}`,
        until: entry.dueAt,
      }

const scheduled: Judge = (entry, { now }) =>
  isDue(entry, now) || entry.status !== 'scheduled'
    ? null
    : {
        plain: () => 'its time has not come',
        remedy: `postern email reschedule ${entry.emailId} --at TIME`,
        until: entry.dueAt,
      }

const JUDGES: Readonly<Record<WaitingReason, Judge>> = {
  suspended,
  held,
  no_upstream: noUpstream,
  paused,
  login,
  upstreams_down: upstreamsDown,
  throttled,
  warmup,
  rate,
  backoff,
  scheduled,
}

/** Why this one waits; null when it is under way, or about to be. */
const judge = (
  entry: Waiter,
  facts: Facts,
  reasons: readonly WaitingReason[] = WAITING_REASONS,
): Waiting | null => {
  if (entry.attempting) return null
  for (const reason of reasons) {
    const told = JUDGES[reason](entry, facts)
    if (told === null) continue
    const name = `pool ${facts.pool.name}`
    const mayKnow = isRoutedTo(facts.workspace, facts.pool.id)
    const {
      short = told.plain(mayKnow ? name : 'another pool'),
      more = null,
      remedy = null,
      until = null,
    } = told
    return { reason, plain: told.plain(name), short, more, remedy, until }
  }
  return null
}

/** Judges rows of the queue of one account; what many rows share is read once. */
export const createWaiting = async ({ store, clock, view }: WaitingDeps, accountId: string) => {
  const holds = await store.holds(accountId)
  const outages = new Map((await store.outages()).map(({ upstreamId, since }) => [upstreamId, since]))
  const now = clock.now()
  const scenes = new Map<string, Promise<Facts | null>>()
  const factsOf = async ({ workspaceId, poolId }: Waiter): Promise<Facts | null> => {
    const workspace = await store.workspace(accountId, workspaceId)
    const pool = await store.pool(accountId, poolId)
    if (workspace === null || pool === null) return null
    const leader = (await leaderOf(store, pool)) ?? pool
    const health = poolHealth(pool, leader, { view, outages, refusedAt: null })
    const warmups = await warmupsOf(store, leader.upstreams, now)
    return { now, workspace, pool, leader, holds, view, health, warmups }
  }
  const why = async (entry: Waiter, reasons?: readonly WaitingReason[]): Promise<Waiting | null> => {
    const key = `${entry.workspaceId} ${entry.poolId}`
    const facts = scenes.get(key) ?? factsOf(entry)
    scenes.set(key, facts)
    const found = await facts
    return found === null ? null : judge(entry, found, reasons)
  }
  return {
    of: (entry: Waiter) => why(entry),
    /** Why everything of a workspace waits in a pool. */
    ofAll: (workspaceId: string, poolId: string) =>
      why({ ...ANYTHING, workspaceId, poolId }, STOPPING_REASONS),
  }
}

const ANYTHING: Omit<Waiter, 'workspaceId' | 'poolId'> = {
  emailId: '',
  address: '',
  status: 'queued',
  attempts: 0,
  dueAt: null,
  held: null,
  underWay: false,
  attempting: false,
}

const NOTHING: MailWaiting = { first: null, recipients: new Map() }

/** True when something of it can be waiting here. */
const isOpen = ({ counts }: { readonly counts: { queued: number; deferred: number; scheduled: number } }) =>
  counts.queued + counts.deferred + counts.scheduled > 0

const rank = ({ reason }: Waiting): number => WAITING_REASONS.indexOf(reason)

export const waitingOf = async (
  deps: WaitingDeps,
  accountId: string,
  mails: readonly (Parameters<typeof isOpen>[0] & { readonly id: string })[],
): Promise<(emailId: string) => MailWaiting> => {
  const open = mails.filter(isOpen).map(({ id }) => id)
  if (open.length === 0) return () => NOTHING
  const why = await createWaiting(deps, accountId)
  const found = new Map<string, { first: Waiting | null; recipients: Map<string, Waiting> }>()
  for (const entry of await deps.store.entriesOf(open)) {
    const waiting = await why.of(entry)
    if (waiting === null) continue
    const mail = found.get(entry.emailId) ?? { first: null, recipients: new Map() }
    mail.recipients.set(entry.recipientId, waiting)
    if (mail.first === null || rank(waiting) < rank(mail.first)) mail.first = waiting
    found.set(entry.emailId, mail)
  }
  return (emailId) => found.get(emailId) ?? NOTHING
}
