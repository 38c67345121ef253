/**
 * NAME      workspace - sending tenants inside an account
 *   Making, changing and finding workspaces, their pools for domains of recipients, and the rules about which workspace
 *   a request means. Absent, foreign and malformed references are one answer: a caller learns nothing of another
 *   tenant's ids.
 *   An account owns workspaces, keys, pools and people, and sees nothing of any other. It is born with a default
 *   workspace and two pools: the sandbox, to which all its test-mode mail goes, and the default pool, which the default
 *   workspace sends through. The latter is empty at first.
 */
import { andThen } from '../base/and-then.js'
import { Fault, type FieldError, invalid, orFault, throwInvalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { PepperError } from '../base/secret.js'
import { pepperMark } from '../keys/pepper.js'
import { domainOf, isRecipient, parseAddress } from '../mail/address.js'
import { wishedOf } from '../resource/member.js'
import { WORKSPACE } from '../resource/tenants.js'
import { beginningOf, DEFAULT_POOL, freshPool, freshWorkspace, numbered } from '../store/pools.js'
import { ALARM_LIMITS, ALARMS, type Alarm, type AlarmSettings } from '../store/port/alarms.js'
import type {
  AccountRow,
  DomainRoute,
  Domains,
  Routing,
  Tenants,
  WorkspaceChange,
  WorkspaceRow,
} from '../store/port/tenants.js'
import type { Lifecycle } from '../store/port/upkeep.js'
import type { Principal, TenantDeps } from './principal.js'

/** What a door has found wrong already is absent, and not told again. */
export interface DomainRouteWish {
  readonly domain?: string | undefined
  /** Id or name. */
  readonly pool?: string | undefined
}

export const MOST_DOMAIN_ROUTES = 100

/** As domains of recipients are compared; null when it is none. A dot before it stays. */
export const routeDomain = (text: string): string | null => {
  const [, dot = '', name = ''] = /^(\.?)(.*?)\.?$/s.exec(text.trim()) ?? []
  const address = `postmaster@${name}`
  return isRecipient(address) && !name.startsWith('[') ? dot + domainOf(address) : null
}

/** What they mean. Adds to `errors` all that is wrong with them. */
const domainRoutesOf = async (
  store: Pick<Tenants, 'pool'>,
  accountId: string,
  wish: readonly DomainRouteWish[],
  errors: FieldError[],
): Promise<readonly DomainRoute[]> => {
  const routes: DomainRoute[] = []
  const wrong = (field: string, kind: FieldError['kind'], message: string) =>
    errors.push({ field: `body.routes${field}`, kind, message })
  if (wish.length > MOST_DOMAIN_ROUTES) wrong('', 'too_many', `must have at most ${MOST_DOMAIN_ROUTES}`)
  for (const [i, { domain: text, pool: ref }] of wish.slice(0, MOST_DOMAIN_ROUTES).entries()) {
    const domain = text === undefined ? undefined : routeDomain(text)
    const pool = ref === undefined ? undefined : await store.pool(accountId, ref)
    if (domain === null)
      wrong(`[${i}].domain`, 'format', 'must be example.com, or .example.com for the domains under it')
    else if (domain !== undefined && routes.some((route) => route.domain === domain))
      wrong(`[${i}].domain`, 'not_unique', 'must not repeat')
    if (pool === null) wrong(`[${i}].egress_pool_id`, 'unknown', 'names no egress pool')
    routes.push({ domain: domain ?? '', poolId: pool?.id ?? '' })
  }
  return routes
}

/** What is left out of a limit stays as it is in force. */
export type AlarmsWish = Readonly<
  Partial<
    Record<
      Alarm,
      { readonly rate?: number | undefined; readonly at_least?: number | undefined } | 'off' | undefined
    >
  >
>

type Settings = Omit<WorkspaceChange, 'poolId' | 'alarms' | 'routes'>

export type WorkspaceWish = { readonly [K in keyof Settings]: Settings[K] | undefined } & {
  /** Id or name of a pool; null is one of its own. */
  readonly pool?: string | null | undefined
  readonly alarms?: AlarmsWish | undefined
  /** All of them anew. */
  readonly routes?: readonly DomainRouteWish[] | undefined
  readonly suspended?: boolean | undefined
  /** Why, when it is. */
  readonly suspendedReason?: string | null | undefined
}

const SLUG = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** "Shop EU" becomes "shop-eu"; accents fall off, and what is left empty becomes "workspace". */
export const slugify = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 50)
    .replace(/^-+|-+$/g, '') || 'workspace'

export const MOST_STATISTICS_TAGS = 20
const TAG_NAME = /^[A-Za-z0-9_-]{1,256}$/

const wrongWithTags = (names: readonly string[]): readonly FieldError[] => {
  const field = 'body.statistics.tags'
  if (names.length > MOST_STATISTICS_TAGS)
    return [{ field, kind: 'too_many', message: `must name at most ${MOST_STATISTICS_TAGS}` }]
  return names.flatMap((name, i): FieldError[] => {
    const at = `${field}[${i}]`
    if (!TAG_NAME.test(name))
      return [{ field: at, kind: 'format', message: 'must be a name of 1 to 256 of A-Z a-z 0-9 _ -' }]
    if (names.indexOf(name) < i) return [{ field: at, kind: 'not_unique', message: 'must not repeat' }]
    return []
  })
}

const checkWish = (wish: WorkspaceWish): readonly FieldError[] => {
  const errors: FieldError[] = []
  const wrong = (field: string, kind: FieldError['kind'], message: string) =>
    errors.push({ field: `body.${field}`, kind, message })
  if (wish.name !== undefined) {
    if (wish.name.trim() === '') wrong('name', 'empty', 'must not be empty')
    else if (wish.name.length > 200) wrong('name', 'length', 'must have at most 200 characters')
  }
  if (wish.slug !== undefined && (!SLUG.test(wish.slug) || wish.slug.startsWith('ws_'))) {
    wrong('slug', 'format', 'must be 1 to 63 of a-z, 0-9 and inner hyphens')
  }
  if (wish.defaultFrom != null && parseAddress(wish.defaultFrom) === null) {
    wrong('default_from', 'format', 'must be an address such as a@b.example or Name <a@b.example>')
  }
  if (wish.statisticsTags !== undefined) errors.push(...wrongWithTags(wish.statisticsTags))
  return errors
}

const SLUG_TAKEN: FieldError = {
  field: 'body.slug',
  kind: 'not_unique',
  message: 'is already taken in this account',
}

interface Judged {
  readonly poolId: string | null
  /** Absent where the wish says nothing of them. */
  readonly routes?: WorkspaceRow['routes']
}

/** The pools that a wish names, as ids. Adds to `errors` all that is wrong with the wish for this workspace, or for a new one. */
const judge = async (
  { store }: TenantDeps,
  accountId: string,
  wish: WorkspaceWish,
  id: string | null,
  errors: FieldError[],
): Promise<Judged> => {
  errors.push(...checkWish(wish))
  const namesake = wish.slug === undefined ? null : await store.workspace(accountId, wish.slug)
  if (namesake !== null && namesake.slug === wish.slug && namesake.id !== id) errors.push(SLUG_TAKEN)
  const pool = wish.pool == null ? null : await store.pool(accountId, wish.pool)
  if (wish.pool != null && pool === null) {
    errors.push({ field: 'body.egress_pool_id', kind: 'unknown', message: 'names no egress pool' })
  }
  const { routes: wished } = wish
  const routes =
    wished === undefined ? {} : { routes: await domainRoutesOf(store, accountId, wished, errors) }
  return { poolId: pool?.id ?? null, ...routes }
}

/** All that is wrong with a wish. */
export const wrongWithWorkspace = async (
  deps: TenantDeps,
  accountId: string,
  wish: WorkspaceWish,
  id: string | null,
): Promise<readonly FieldError[]> => {
  const errors: FieldError[] = []
  await judge(deps, accountId, wish, id, errors)
  return errors
}

const alarmsAfter = (before: AlarmSettings, wish: AlarmsWish): AlarmSettings =>
  Object.fromEntries(
    ALARMS.flatMap((alarm) => {
      const wished = wish[alarm]
      if (wished === undefined) return before[alarm] === undefined ? [] : [[alarm, before[alarm]]]
      if (wished === 'off') return [[alarm, wished]]
      const inForce = before[alarm] ?? 'off'
      const { rate, atLeast } = inForce === 'off' ? ALARM_LIMITS[alarm] : inForce
      return [[alarm, { rate: wished.rate ?? rate, atLeast: wished.at_least ?? atLeast }]]
    }),
  )

const changeOf = (wish: WorkspaceWish, before: AlarmSettings): WorkspaceChange => ({
  ...(wish.name === undefined ? {} : { name: wish.name.trim() }),
  ...(wish.slug === undefined ? {} : { slug: wish.slug }),
  ...wishedOf<WorkspaceRow>(WORKSPACE, wish),
  ...(wish.alarms === undefined ? {} : { alarms: alarmsAfter(before, wish.alarms) }),
  ...(wish.statisticsTags === undefined ? {} : { statisticsTags: wish.statisticsTags }),
  ...(wish.suppressSoft === undefined ? {} : { suppressSoft: wish.suppressSoft }),
})

/** Makes a workspace. A slug that was asked for must be free; one made from the name steps aside (`shop-2`). */
export const createWorkspace = async (
  deps: TenantDeps,
  accountId: string,
  wish: WorkspaceWish & { readonly name: string },
): Promise<WorkspaceRow> => {
  const errors: FieldError[] = []
  const { poolId: wished, ...routes } = await judge(deps, accountId, wish, null, errors)
  throwInvalid(errors)
  const name = wish.name.trim()
  const first = wish.slug ?? slugify(name)
  const now = deps.clock.now()
  for (let n = 1; n < 1000; n++) {
    const slug = numbered(first, n)
    const own = wished === null ? freshPool(accountId, slug, now) : undefined
    const poolId = wished ?? own?.id ?? ''
    const fresh = freshWorkspace(accountId, now, { name, slug, isDefault: false, poolId })
    const row: WorkspaceRow = { ...fresh, ...changeOf(wish, {}), ...routes, slug }
    if ((await deps.store.createWorkspace(row, own)) === 'done') return row
    if (wish.slug !== undefined) break
  }
  throw invalid([SLUG_TAKEN])
}

/** A pool that only this workspace uses; the default workspace's is the built-in one. */
const ownPool = async ({ store, clock }: TenantDeps, row: WorkspaceRow): Promise<string> => {
  const builtIn = row.isDefault ? await store.pool(row.accountId, DEFAULT_POOL) : null
  return builtIn?.id ?? store.ownPool(row.id, freshPool(row.accountId, row.slug, clock.now()))
}

const isSame = (one: Routing, other: Routing): boolean =>
  one.poolId === other.poolId && JSON.stringify(one.routes) === JSON.stringify(other.routes)

/** What the wish leaves out stays; mail that waits moves along to a new pool. Throws workspace.not_found or validation.request_invalid. */
export const updateWorkspace = async (
  deps: TenantDeps,
  accountId: string,
  ref: string,
  wish: WorkspaceWish,
): Promise<WorkspaceRow> => {
  const old = await findWorkspace(deps, accountId, ref)
  const { id, poolId: from } = old
  const errors: FieldError[] = []
  const { poolId: wished, ...routes } = await judge(deps, accountId, wish, id, errors)
  throwInvalid(errors)
  const to = wished ?? (wish.pool === null ? await ownPool(deps, old) : from)
  const change: WorkspaceChange = {
    ...changeOf(wish, old.alarms),
    ...routes,
    // named again, it finishes a move that was cut off
    ...(wish.pool !== undefined && { poolId: to }),
  }
  // mail that waits goes where new mail will go
  const after = { poolId: to, routes: old.routes, ...routes }
  const moving = isSame(old, after) ? undefined : { accountId, from: old, to: after, now: deps.clock.now() }
  if ((await deps.store.updateWorkspace(id, change, moving)) === 'not_unique') throw invalid([SLUG_TAKEN])
  if (wish.suspended !== undefined && wish.suspended !== (old.suspendedAt !== null))
    await (wish.suspended
      ? suspendWorkspace(deps, old, wish.suspendedReason ?? null)
      : resumeWorkspace(deps, old))
  return findWorkspace(deps, accountId, id)
}

/** Nothing is taken for it any more and what waits rests. Resolves with how many recipients came to rest. */
export const suspendWorkspace = (
  { store, clock }: TenantDeps,
  row: WorkspaceRow,
  reason: string | null,
): Promise<number> => store.suspendWorkspace(row, reason, clock.now())

/** What rested goes on, with the lifetime that it had. Resolves with how many recipients. */
export const resumeWorkspace = ({ store, clock }: TenantDeps, { id }: WorkspaceRow): Promise<number> =>
  store.resumeWorkspace(id, clock.now())

/**
 * Ends a workspace for good: its keys and credentials at once, what waits in silence; what people wrote and who they
 * are is erased within the hour. Throws workspace.not_found, or resource.conflict for the default one.
 */
export const deleteWorkspace = async (
  { store, clock }: TenantDeps,
  { accountId, id, isDefault }: WorkspaceRow,
  reason: string,
): Promise<void> => {
  if (isDefault) throw new Fault('resource.conflict', { reason: 'is_default' })
  const result = await store.deleteWorkspace(accountId, id, reason, clock.now())
  if (result === 'not_found') throw new Fault('workspace.not_found')
}

/** As little of the store as finding a workspace needs. */
interface Reads {
  readonly store: Pick<Tenants, 'workspace'>
}

/** By id or slug. */
export const findWorkspace = async (
  { store }: Reads,
  accountId: string,
  ref: string,
): Promise<WorkspaceRow> => orFault(await store.workspace(accountId, ref), 'workspace.not_found')

/** The workspace that a reference means to this caller; a workspace's own caller can mean no other. */
const reachable = async (deps: Reads, principal: Principal, ref: string): Promise<WorkspaceRow> => {
  const row = await findWorkspace(deps, principal.accountId, ref)
  if (principal.workspaceId !== null && row.id !== principal.workspaceId) {
    throw new Fault('workspace.not_found')
  }
  return row
}

/**
 * Where a send goes: the caller's own workspace, or the one that X-Workspace-Id names. Its row is as it is now, unless
 * `mayBeOld`: then whoever refuses by it looks again. A slug is looked up, because it may mean another one by now.
 */
export const workspaceForSend = (
  deps: Reads & { readonly store: Pick<Lifecycle, 'known'> },
  principal: Principal,
  ref: string | null,
  mayBeOld = false,
): WorkspaceRow | Promise<WorkspaceRow> => {
  const named = ref ?? principal.workspaceId
  if (named === null) return Promise.reject(new Fault('validation.workspace_header_required'))
  const { known } = deps.store
  const isOwn = named === principal.workspaceId
  return andThen(mayBeOld ? null : known?.lookOnce(), () =>
    andThen(
      isOwn ? (known?.workspace(principal.accountId, named) ?? null) : null,
      (row) => row ?? reachable(deps, principal, named),
    ),
  )
}

/**
 * Where a platform key sends that names a sending domain: the workspace that owns it. A domain of all workspaces is of
 * none, unless `ref` says of which.
 */
export const workspaceOfDomain = async (
  deps: Reads & { readonly store: Pick<Domains, 'domain'> },
  principal: Principal,
  domain: string,
  ref: string | null,
): Promise<WorkspaceRow> => {
  const row = await deps.store.domain(principal.accountId, domainOf(`_@${domain}`))
  const named = ref === null ? null : await reachable(deps, principal, ref)
  const owner = row === null ? null : (row.workspaceId ?? named?.id ?? null)
  if (owner !== null && (named === null || named.id === owner))
    return findWorkspace(deps, principal.accountId, owner)
  throw new Fault('auth.scope_forbidden', {
    detail:
      named === null
        ? 'a platform key sends for a domain that one workspace owns; send with a key of the workspace'
        : 'the workspace of X-Workspace-Id does not own this domain',
  })
}

/** What a read looks at: one workspace, or null for all of the account. */
export const workspaceForRead = async (
  deps: Reads,
  principal: Principal,
  ref: string | null,
): Promise<string | null> =>
  ref === null ? principal.workspaceId : (await reachable(deps, principal, ref)).id

/** With its default workspace and its two pools. */
export const createAccount = async (deps: TenantDeps, name: string): Promise<AccountRow> => {
  const now = deps.clock.now()
  const account: AccountRow = { id: newId('acct', now), name, createdAt: now }
  await deps.store.createAccount(account, beginningOf(account.id, now))
  return account
}

/**
 * Keys, upstream passwords and DKIM keys of a database open under one pepper only. The first that comes marks
 * it; any other is turned away, and would otherwise look like an installation whose keys are all wrong.
 */
const checkPepper = async ({ store, pepper }: TenantDeps): Promise<void> => {
  const mark = pepperMark(pepper)
  // of several daemons that begin at once one is the first
  if ((await store.pepperMark()) === null) await store.setPepperMark(mark, true)
  if ((await store.pepperMark()) !== mark) {
    throw new PepperError(
      'the pepper is not the one of this database, so no key of it would work; ' +
        'put the right one back, or start over with new keys: postern pepper accept',
    )
  }
}

/** The first account, made if there is none: a fresh installation is ready to use. */
export const ensureAccount = async (deps: TenantDeps): Promise<AccountRow> => {
  await checkPepper(deps)
  const [first] = [...(await deps.store.accounts())].sort((a, b) => (a.id < b.id ? -1 : 1))
  return first ?? createAccount(deps, 'default')
}
