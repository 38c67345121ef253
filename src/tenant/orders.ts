/**
 * NAME      orders - holding, freeing, moving and purging what waits, and which part of the queue is meant
 *   Every order carries a reason, which each recipient that it changes keeps in its timeline. A hold belongs to whoever
 *   put it there: a workspace lifts its own, and never one of the operator's.
 *   One table of the words, for the flags of the command line and the members of a request. They become a scope of the
 *   store; what names nothing is refused before anything is touched. A scope that changes something names a part, or
 *   says `all`.
 */
import { domainToASCII } from 'node:url'
import type { Clock } from '../base/clock.js'
import { Fault, type FieldError, invalidField, orFault, throwInvalid } from '../base/fault.js'
import { isId, newId } from '../base/id.js'
import type { Mode } from '../lifecycle/page.js'
import type { Ledger } from '../store/port/mail.js'
import type { HoldRow, Operations, QueueAction, QueueCount, QueueScope } from '../store/port/operations.js'
import { isRoutedTo, type Tenants } from '../store/port/tenants.js'

/** By the word of the command line: the member of a request, and what it means. */
export const SCOPE_PARTS = {
  workspace: { member: 'workspace_id', says: 'Mail of this workspace, by id or slug' },
  pool: { member: 'egress_pool_id', says: 'Mail in this egress pool, by name or id' },
  domain: { member: 'domain', says: 'Mail to recipients of this domain' },
  email: { member: 'email_id', says: 'One mail, by id' },
} as const

export type ScopePart = keyof typeof SCOPE_PARTS
export const SCOPE_WORDS = Object.keys(SCOPE_PARTS) as readonly ScopePart[]
export const SCOPE_ALL = 'The whole queue; with no other part'

export type ScopeWish = { readonly [part in ScopePart]?: string | undefined } & {
  readonly all?: boolean | undefined
}

/** Who names a workspace, or is one, reaches nothing else. */
export interface ScopeCaller {
  readonly accountId: string
  /** null: of the whole account. */
  readonly workspaceId: string | null
  /** It asks for itself: of the pools it knows its own. */
  readonly isWorkspace: boolean
  /** Whose mail it may name; null: both. */
  readonly mode: Mode | null
}

interface ScopeDeps {
  readonly store: Pick<Tenants, 'workspace' | 'pool'> & Pick<Ledger, 'email'>
}

const normalDomain = (text: string): string | null => {
  const domain = domainToASCII(text.replace(/^@/, '')).toLowerCase()
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(domain) ? domain : null
}

/** All that is wrong with it by itself. `at` is where it stands; a part that is looked for need not be named. */
export const wrongWithScope = (wish: ScopeWish, at: string, mayBeEmpty = false): readonly FieldError[] => {
  const errors: FieldError[] = []
  const named = SCOPE_WORDS.filter((part) => wish[part] !== undefined)
  if (named.length > 0 && wish.all)
    errors.push({ field: `${at}.all`, kind: 'forbidden', message: 'does not go with a part of the queue' })
  if (named.length === 0 && !wish.all && !mayBeEmpty) {
    const parts = SCOPE_WORDS.map((part) => SCOPE_PARTS[part].member).join(', ')
    errors.push({ field: at, kind: 'missing', message: `must name ${parts}, or all` })
  }
  if (wish.domain !== undefined && normalDomain(wish.domain) === null)
    errors.push({ field: `${at}.domain`, kind: 'format', message: 'must be a domain' })
  return errors
}

export const queueScope = async (
  { store }: ScopeDeps,
  caller: ScopeCaller,
  wish: ScopeWish,
  at = 'body.scope',
): Promise<QueueScope> => {
  throwInvalid(wrongWithScope(wish, at, true))
  const { accountId } = caller
  const ref = wish.workspace ?? caller.workspaceId
  const place = ref === null ? null : await store.workspace(accountId, ref)
  const foreign = caller.workspaceId !== null && place?.id !== caller.workspaceId
  if (ref !== null && (place === null || foreign)) throw new Fault('workspace.not_found')
  const pool = wish.pool === undefined ? null : await store.pool(accountId, wish.pool)
  const hidden = caller.isWorkspace && (place === null || !isRoutedTo(place, pool?.id))
  if (wish.pool !== undefined && (pool === null || hidden)) throw new Fault('egress_pool.not_found')
  const seen = { accountId, workspaceId: caller.workspaceId, mode: caller.mode }
  if (wish.email !== undefined && (await store.email(seen, wish.email)) === null)
    throw new Fault('email.not_found')
  return {
    accountId,
    workspaceId: place?.id ?? null,
    poolId: pool?.id ?? null,
    domain: wish.domain === undefined ? null : normalDomain(wish.domain),
    emailId: wish.email ?? null,
  }
}

export interface QueueDeps extends ScopeDeps {
  readonly store: ScopeDeps['store'] & Operations
  readonly clock: Clock
}

const LONGEST_REASON = 500

const plainReason = (reason: string): string => reason.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim()

export const wrongReason = (reason: string, field = 'body.reason'): readonly FieldError[] => {
  const { length } = plainReason(reason)
  if (length === 0) return [{ field, kind: 'empty', message: 'must say why' }]
  if (length <= LONGEST_REASON) return []
  return [{ field, kind: 'length', message: `must have at most ${LONGEST_REASON} characters` }]
}

const checkReason = (reason: string): string => {
  throwInvalid(wrongReason(reason))
  return plainReason(reason)
}

interface Held {
  readonly hold: HoldRow
  /** How many recipients it put to rest at once. */
  readonly changed: number
}

/** All holds are looked through wherever mail could leave, so a workspace may not make any number of them. */
const MOST_OF_A_WORKSPACE = 100

const checkRoom = async ({ store }: Pick<QueueDeps, 'store'>, scope: QueueScope): Promise<void> => {
  const own = (await store.holds(scope.accountId)).filter(
    ({ owner, workspaceId }) => owner === 'workspace' && workspaceId === scope.workspaceId,
  )
  if (own.length < MOST_OF_A_WORKSPACE) return
  const detail = `a workspace has at most ${MOST_OF_A_WORKSPACE} holds of its own; lift one first`
  throw new Fault('resource.conflict', { reason: 'too_many_holds', detail })
}

/** Keeps everything in this scope from leaving, until it is released. Throws resource.conflict for too many. */
export const holdQueue = async (
  { store, clock }: Pick<QueueDeps, 'store' | 'clock'>,
  scope: QueueScope,
  reason: string,
  owner: HoldRow['owner'] = 'operator',
): Promise<Held> => {
  if (owner === 'workspace') await checkRoom({ store }, scope)
  const now = clock.now()
  const hold: HoldRow = {
    ...scope,
    id: newId('hold', now),
    reason: checkReason(reason),
    owner,
    createdAt: now,
  }
  return { hold, changed: await store.hold(hold) }
}

export const reroutePool = async ({ store }: ScopeDeps, accountId: string, ref: string): Promise<string> => {
  const pool = orFault(await store.pool(accountId, ref), 'egress_pool.not_found')
  if (pool.kind === 'sandbox')
    throw invalidField('body.to', 'forbidden', 'is the sandbox; live mail never goes there')
  return pool.id
}

/** Resolves with the number of recipients changed. `to` is the pool of a reroute, by id or name; `liveOnly` spares the sandbox. */
export const orderQueue = async (
  deps: QueueDeps,
  action: QueueAction,
  scope: QueueScope,
  reason: string,
  to: string | null = null,
  liveOnly = false,
): Promise<number> => {
  const checked = checkReason(reason)
  if (action === 'reroute' && to === null) throw new Fault('egress_pool.not_found')
  const target = to === null ? null : await reroutePool(deps, scope.accountId, to)
  return deps.store.operate({ action, scope, to: target, liveOnly, reason: checked, now: deps.clock.now() })
}

/** Throws hold.not_found; of one workspace alone, when that is named. */
export const findHold = async (
  store: Pick<Operations, 'holds'>,
  accountId: string,
  id: string,
  workspaceId: string | null = null,
): Promise<HoldRow> => {
  const row = (await store.holds(accountId)).find((one) => one.id === id)
  if (row === undefined || (workspaceId !== null && row.workspaceId !== workspaceId))
    throw new Fault('hold.not_found')
  return row
}

/**
 * Lifts one hold, and sets free what it keeps. One that was lifted and cut off in the middle is finished by the same
 * order. Throws hold.not_found, and auth.scope_forbidden for a hold of the operator.
 */
export const releaseHold = async (
  { store, clock }: Pick<QueueDeps, 'store' | 'clock'>,
  { accountId, workspaceId }: Pick<ScopeCaller, 'accountId' | 'workspaceId'>,
  id: string,
  reason: string,
  owner: HoldRow['owner'] = 'operator',
): Promise<number> => {
  const checked = checkReason(reason)
  if (!isId('hold', id)) throw new Fault('hold.not_found')
  const row = (await store.holds(accountId)).find((one) => one.id === id)
  if (row && workspaceId !== null && row.workspaceId !== workspaceId) throw new Fault('hold.not_found')
  if (row?.owner === 'operator' && owner === 'workspace')
    throw new Fault('auth.scope_forbidden', { detail: 'an operator put this hold there, and lifts it' })
  const scope: QueueScope = { accountId, workspaceId, poolId: null, domain: null, emailId: null }
  const changed = await store.operate({
    ...{ action: 'release', scope, to: null, reason: checked, now: clock.now() },
    ...{ hold: id, isTold: row === undefined },
  })
  if (row === undefined && changed === 0) throw new Fault('hold.not_found')
  return changed
}

/** What an order would meet, which is nothing that left with a lot; a purge meets what is under way too, unless its message is on the wire. */
export const queueMatches = (
  { store }: Pick<QueueDeps, 'store'>,
  scope: QueueScope,
  liveOnly = false,
): Promise<QueueCount> => store.queueCount({ ...scope, liveOnly, movable: true })
