/**
 * NAME      pool - groups of upstream mail servers, and whether they take mail
 *   A workspace sends through one pool; relay/ chooses among its members, or among those of the default workspace's
 *   pool when it has none. Passwords are sealed with the pepper before they reach the store, so that a stolen database
 *   holds none, and no door ever gives one back. The sandbox pool of an account is made with it and belongs to us; so
 *   is its default pool, to which people may give members.
 *   What the relay tells now, and what the store keeps: an outage stands there until its upstream has taken mail again,
 *   and mail that waits says whether its last connection failed. So a dead server is as dead after a restart as before.
 *   How warm-ups stand is read in the store, where all daemons count, so every door of every daemon tells the same.
 */
import { Fault, type FieldError, invalidField, orFault, throwInvalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { seal } from '../base/secret.js'
import { isSpent, type WarmupState, warmupState } from '../lifecycle/warmup.js'
import type { PoolHealth } from '../record/queue.js'
import { wishedOf } from '../resource/member.js'
import { POOL } from '../resource/tenants.js'
import { DEFAULT_POOL, freshPool } from '../store/pools.js'
import type { KnownPool, PoolRow, UpstreamRow, WarmupRow } from '../store/port/tenants.js'
import type { Warmups } from '../store/port/watch.js'
import type { TenantDeps } from './principal.js'
import {
  checkMember,
  HTTPS_PORT,
  lacks,
  type MemberWish,
  normalFingerprint,
  oauthRow,
  upstreamText,
  wrongWithService,
} from './upstream.js'

/** The purpose under which upstream passwords are sealed; relay/ unseals with the same. */
export const UPSTREAM_SEAL = 'upstream-password'

type Settings = Omit<PoolRow, 'id' | 'accountId' | 'kind' | 'upstreams' | 'createdAt' | 'updatedAt'>

export type PoolWish = { readonly [K in keyof Settings]?: Settings[K] | undefined } & {
  /** The whole new list, not an addition. */
  readonly members?: readonly MemberWish[] | undefined
}

export const wrongWithPool = (wish: PoolWish): readonly FieldError[] => {
  const errors: FieldError[] = []
  if (wish.name !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(wish.name)) {
    errors.push({ field: 'body.name', kind: 'format', message: 'must be 1 to 63 of A-Z a-z 0-9 . _ -' })
  } else if (wish.name?.startsWith('pool_')) {
    errors.push({ field: 'body.name', kind: 'format', message: 'must not look like a pool id' })
  }
  wish.members?.forEach((member, i) => {
    errors.push(...checkMember(member, `members[${i}]`))
  })
  return errors
}

const defaultPort = (member: MemberWish): number => {
  if (member.service != null) return HTTPS_PORT
  return member.tls === 'implicit' ? 465 : 25
}

/** The login that a member comes to have. Another user begins anew; a password ends tokens, and tokens a password. */
const loginOf = (
  pepper: Uint8Array,
  { auth, authMechanism, service }: MemberWish,
  old: UpstreamRow | undefined,
): Pick<UpstreamRow, 'user' | 'sealedPassword' | 'oauth' | 'authMechanism'> => {
  const user = auth === undefined ? (old?.user ?? null) : (auth?.user ?? null)
  if (user === null) return { user, sealedPassword: null, oauth: null, authMechanism: null }
  const sealIt = (secret: string): string => seal(pepper, UPSTREAM_SEAL, secret)
  const isOther = service !== undefined && service !== (old?.service ?? null)
  const known = user === old?.user && !isOther ? old : undefined
  const isNew = auth?.pass !== undefined || auth?.oauth !== undefined
  return {
    user,
    sealedPassword: isNew
      ? auth.pass === undefined
        ? null
        : sealIt(auth.pass)
      : (known?.sealedPassword ?? null),
    oauth: isNew
      ? auth.oauth === undefined
        ? null
        : oauthRow(sealIt, auth.oauth, known?.oauth ?? null)
      : (known?.oauth ?? null),
    authMechanism: authMechanism === undefined ? (known?.authMechanism ?? null) : authMechanism,
  }
}

/** Other numbers go on with the same warm-up; one that was taken away begins anew. */
const warmupOf = (wish: MemberWish['warmup'], old: WarmupRow | null, now: number): WarmupRow | null => {
  if (wish == null) return wish === undefined ? old : null
  const { first, days } = wish
  return { id: old?.id ?? newId('wup', now), first, days }
}

const upstreamOf = (
  { pepper, clock }: TenantDeps,
  member: MemberWish,
  old: UpstreamRow | undefined,
): UpstreamRow => {
  const login = loginOf(pepper, member, old)
  const keep = <T>(given: T | undefined, before: T | undefined, fallback: T): T => given ?? before ?? fallback
  /** Null is an answer, too. */
  const kept = <Name extends keyof MemberWish & keyof UpstreamRow>(name: Name) =>
    (member[name] === undefined ? (old?.[name] ?? null) : member[name]) as NonNullable<
      UpstreamRow[Name]
    > | null
  const service = kept('service')
  const tls = service === null ? (login.user === null ? 'opportunistic' : 'required') : 'implicit'
  return {
    id: old?.id ?? newId('up', clock.now()),
    service,
    host: member.host.toLowerCase(),
    region: kept('region'),
    port: keep(member.port, old?.port, defaultPort(member)),
    tls: keep(member.tls, old?.tls, tls),
    fingerprint:
      member.fingerprint === undefined
        ? (old?.fingerprint ?? null)
        : member.fingerprint && normalFingerprint(member.fingerprint),
    ...login,
    caFile: kept('caFile'),
    clientCertFile: kept('clientCertFile'),
    clientKeyFile: kept('clientKeyFile'),
    bind: kept('bind'),
    helo: kept('helo'),
    warmup: warmupOf(member.warmup, old?.warmup ?? null, clock.now()),
    weight: keep(member.weight, old?.weight, 1),
    priority: keep(member.priority, old?.priority, 0),
    maxConnections: keep(member.maxConnections, old?.maxConnections, 10),
    messagesPerConnection: keep(member.messagesPerConnection, old?.messagesPerConnection, 100),
    rate: kept('rate'),
    state: keep(member.state, old?.state, 'active'),
  }
}

/** New members beside the old list: one that is recognised keeps its id, its state and its password. */
export const mergeMembers = (
  deps: TenantDeps,
  members: readonly MemberWish[],
  old: readonly UpstreamRow[],
): readonly UpstreamRow[] => {
  const left = [...old]
  const rows = members.map((member) => {
    const at = left.findIndex((row) =>
      member.id !== undefined
        ? row.id === member.id
        : row.host === member.host.toLowerCase() && row.port === (member.port ?? defaultPort(member)),
    )
    return upstreamOf(deps, member, at < 0 ? undefined : left.splice(at, 1)[0])
  })
  rows.forEach((row, i) => {
    const wrong = wrongWithService(row, members[i]?.auth?.pass)
    if (wrong !== null) {
      const [field, kind, message] = wrong
      throw invalidField(`body.members[${i}].${field}`, kind, message)
    }
    const missing = lacks(row)
    if (missing === null) return
    const field = `body.members[${i}].auth.${missing[0]}`
    throw invalidField(field, 'missing', missing[1])
  })
  return rows
}

const nameTaken = () => invalidField('body.name', 'not_unique', 'is already taken in this account')

/** Throws validation.request_invalid, also for a name that is taken. */
export const createPool = async (
  deps: TenantDeps,
  accountId: string,
  wish: PoolWish & { readonly name: string },
): Promise<KnownPool> => {
  throwInvalid(wrongWithPool(wish))
  const now = deps.clock.now()
  const fresh = freshPool(accountId, wish.name, now)
  const row: PoolRow = {
    ...fresh,
    ...wishedOf<PoolRow>(POOL, wish),
    upstreams: mergeMembers(deps, wish.members ?? [], []),
  }
  if ((await deps.store.createPool(row)) === 'not_unique') throw nameTaken()
  return findPool(deps, accountId, row.id)
}

/** By id or name. */
export const findPool = async (
  { store }: Pick<TenantDeps, 'store'>,
  accountId: string,
  ref: string,
): Promise<KnownPool> => orFault(await store.pool(accountId, ref), 'egress_pool.not_found')

const builtIn = (row: PoolRow): Fault =>
  new Fault('resource.conflict', { reason: 'built_in', detail: `The ${row.name} pool is built in` })

/** What the wish leaves out stays; throws egress_pool.not_found, and resource.conflict for a built-in pool. */
export const updatePool = async (
  deps: TenantDeps,
  accountId: string,
  ref: string,
  wish: PoolWish,
): Promise<KnownPool> => {
  throwInvalid(wrongWithPool(wish))
  const old = await findPool(deps, accountId, ref)
  const renamed = wish.name !== undefined && wish.name !== old.name
  if (old.kind === 'sandbox' || (old.name === DEFAULT_POOL && renamed)) throw builtIn(old)
  const row: PoolRow = {
    ...old,
    name: wish.name ?? old.name,
    ...wishedOf<PoolRow>(POOL, wish),
    upstreams: wish.members === undefined ? old.upstreams : mergeMembers(deps, wish.members, old.upstreams),
    updatedAt: deps.clock.now(),
  }
  if ((await deps.store.updatePool(row)) === 'not_unique') throw nameTaken()
  return findPool(deps, accountId, row.id)
}

/** Throws resource.conflict while a workspace or mail needs it, and for a built-in pool. */
export const deletePool = async (deps: TenantDeps, accountId: string, ref: string): Promise<PoolRow> => {
  const row = await findPool(deps, accountId, ref)
  if (row.kind === 'sandbox' || row.name === DEFAULT_POOL) throw builtIn(row)
  const result = await deps.store.deletePool(accountId, row.id)
  if (result === 'not_found') throw new Fault('egress_pool.not_found')
  if (result === 'in_use')
    throw new Fault('resource.conflict', {
      reason: 'in_use',
      detail: 'A workspace uses this pool, or mail waits in it',
    })
  return row
}

/** What only the relay knows. */
export interface RelayView {
  /** By upstream id. */
  readonly upstreams: ReadonlyMap<
    string,
    {
      readonly breaker: string | null
      /** Which of its limits is used up now. */
      readonly full: 'warmup' | 'rate' | 'connections' | null
      readonly lastSuccessAt: number | null
      readonly lastError: { readonly at?: number; readonly stage: string; readonly message: string } | null
    }
  >
  /** Recipient domains that have a slower pace in a pool now; `until` is the end of a pause. */
  readonly throttled: readonly {
    readonly poolId: string
    readonly domain: string
    readonly until: number
  }[]
  /** True when all mail goes to the sandbox, whatever its pool. */
  readonly captures: boolean
}

/** Of an upstream that was told to be down: since when. */
type KnownOutages = ReadonlyMap<string, number>

interface SeenOfPool {
  readonly view: RelayView | null
  readonly outages: KnownOutages
  /** When a connection last failed for mail that waits in it. */
  readonly refusedAt: number | null
}

type Live = NonNullable<ReturnType<RelayView['upstreams']['get']>>

const isDown = (live: Live | undefined, since: number | undefined): boolean => {
  if (live === undefined || live.breaker === null) return since !== undefined
  if (live.breaker === 'open') return true
  return since !== undefined && !(live.breaker === 'closed' && (live.lastSuccessAt ?? 0) >= since)
}

const WELL: PoolHealth = { state: 'ok', since: null, failing: [] }

/** `leader` is the pool whose upstreams it uses. */
export const poolHealth = (
  pool: Pick<KnownPool, 'kind'>,
  leader: Pick<KnownPool, 'kind' | 'upstreams'>,
  { view, outages, refusedAt }: SeenOfPool,
): PoolHealth => {
  if (pool.kind === 'sandbox' || leader.kind === 'sandbox' || view?.captures) return WELL
  if (leader.upstreams.length === 0) return { ...WELL, state: 'no_upstream' }
  const active = leader.upstreams.filter(({ state }) => state === 'active')
  if (active.length === 0) return { ...WELL, state: 'paused' }
  const seen = active.map((row) => {
    const live = view?.upstreams.get(row.id)
    return { row, live, since: outages.get(row.id), isDown: isDown(live, outages.get(row.id)) }
  })
  const isRefused = refusedAt !== null && seen.every(({ live }) => (live?.lastSuccessAt ?? 0) < refusedAt)
  const down = isRefused ? seen : seen.filter((one) => one.isDown)
  if (down.length === 0) return WELL
  const failing = down.map(({ row, live, since }) => ({
    name: upstreamText(row),
    since: since ?? null,
    error: live?.lastError == null ? null : `${live.lastError.stage}: ${live.lastError.message}`,
  }))
  if (down.length < active.length) return { state: 'weak', since: null, failing }
  const known = failing.flatMap(({ since }) => since ?? [])
  // it was down from the moment on when the last of them fell
  const since = known.length < failing.length ? refusedAt : Math.max(...known)
  return { state: 'down', since, failing }
}

/** By upstream id; the store is asked only where one of them warms up. */
export const warmupsOf = async (
  store: Pick<Warmups, 'warmupDays'>,
  upstreams: readonly UpstreamRow[],
  now: number,
): Promise<ReadonlyMap<string, WarmupState>> => {
  const warming = upstreams.flatMap(({ id, warmup }) => (warmup == null ? [] : [{ id, warmup }]))
  if (warming.length === 0) return new Map()
  const days = await store.warmupDays()
  return new Map(
    warming.map(({ id, warmup }) => {
      const own = days.filter((day) => day.id === warmup.id)
      return [id, warmupState(warmup, own, now)]
    }),
  )
}

/** The members whose warm-up mail of the pool waits for; null while another one may take it. */
export const spentIn = (
  { upstreams }: Pick<PoolRow, 'upstreams'>,
  warmups: ReadonlyMap<string, WarmupState>,
  view: RelayView | null,
) => {
  const active = upstreams.filter(({ state }) => state === 'active')
  const spent = active.flatMap((row) => {
    const state = warmups.get(row.id)
    return state !== undefined && isSpent(state) ? [{ ...state, name: upstreamText(row), id: row.id }] : []
  })
  const others = active.filter(({ id }) => !spent.some((one) => one.id === id))
  const isAll = others.every(({ id }) => view?.upstreams.get(id)?.breaker === 'open')
  return spent.length > 0 && isAll ? spent : null
}
