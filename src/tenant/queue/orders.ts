/**
 * NAME      orders - holding, freeing, moving and purging what waits
 * DESCRIPTION
 *   Every order carries a reason, which each recipient that it changes keeps in its
 *   timeline. A hold belongs to whoever put it there: a workspace lifts its own, and
 *   never one of the operator's.
 */
import type { Clock } from '../../base/clock.js'
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { isId, newId } from '../../base/id.js'
import type { HoldRow, Operations, QueueAction, QueueCount, QueueScope } from '../../store/port/operations.js'
import type { ScopeCaller, ScopeDeps } from './scope.js'

export interface QueueDeps extends ScopeDeps {
  readonly store: ScopeDeps['store'] & Operations
  readonly clock: Clock
}

const LONGEST_REASON = 500

const plainReason = (reason: string): string => reason.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim()

/** What is wrong with the reason of an order. */
export const wrongReason = (reason: string, field = 'body.reason'): readonly FieldError[] => {
  const { length } = plainReason(reason)
  if (length === 0) return [{ field, kind: 'empty', message: 'must say why' }]
  if (length <= LONGEST_REASON) return []
  return [{ field, kind: 'length', message: `must have at most ${LONGEST_REASON} characters` }]
}

const checkReason = (reason: string): string => {
  const wrong = wrongReason(reason)
  if (wrong.length > 0) throw invalid(wrong)
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

/** The pool of a reroute, by id or name. */
export const reroutePool = async ({ store }: ScopeDeps, accountId: string, ref: string): Promise<string> => {
  const pool = await store.pool(accountId, ref)
  if (pool === null) throw new Fault('egress_pool.not_found')
  if (pool.kind === 'sandbox')
    throw invalid([
      { field: 'body.to', kind: 'forbidden', message: 'is the sandbox; live mail never goes there' },
    ])
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
  return deps.store.operate({
    action,
    scope,
    to: target,
    liveOnly,
    reason: checked,
    now: deps.clock.now(),
  })
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

/** What an order would meet; a purge meets what is under way too, unless its message is on the wire. */
export const queueMatches = (
  { store }: Pick<QueueDeps, 'store'>,
  scope: QueueScope,
  liveOnly = false,
): Promise<QueueCount> => store.queueCount({ ...scope, liveOnly })
