/**
 * NAME      orders - holding, freeing, moving and purging what waits
 * DESCRIPTION
 *   The operator's words (a workspace's slug, a pool's name, a domain as people
 *   write it) become a scope of the store; what names nothing is refused before
 *   anything is touched. Every order carries a reason, which each recipient that
 *   it changes keeps in its timeline.
 */
import { domainToASCII } from 'node:url'
import type { Clock } from '../../base/clock.js'
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { newId } from '../../base/id.js'
import type { Ledger } from '../../store/port.js'
import type { HoldRow, Operations, QueueAction, QueueCount, QueueScope } from '../../store/port-operations.js'
import type { Tenants } from '../../store/port-tenants.js'

export interface QueueGround {
  readonly store: Pick<Tenants, 'workspace' | 'pool'> & Operations & Pick<Ledger, 'email'>
  readonly clock: Clock
}

export interface ScopeWish {
  /** Id or slug. */
  readonly workspace?: string | undefined
  /** Id or name. */
  readonly pool?: string | undefined
  /** Recipient domain. */
  readonly domain?: string | undefined
  readonly email?: string | undefined
}

const LONGEST_REASON = 500

const refused = (field: string, kind: FieldError['kind'], message: string) =>
  invalid([{ field, kind, message }])

const poolIdOf = async ({ store }: QueueGround, accountId: string, ref: string): Promise<string> => {
  const row = await store.pool(accountId, ref)
  if (row === null) throw new Fault('egress_pool.not_found')
  return row.id
}

const domainOf = (text: string): string => {
  const domain = domainToASCII(text.replace(/^@/, '')).toLowerCase()
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(domain)) throw refused('domain', 'format', 'must be a domain')
  return domain
}

/** What these words mean in this account. */
export const queueScope = async (
  ground: QueueGround,
  accountId: string,
  { workspace, pool, domain, email }: ScopeWish,
): Promise<QueueScope> => {
  const place = workspace === undefined ? null : await ground.store.workspace(accountId, workspace)
  if (place === null && workspace !== undefined) throw new Fault('workspace.not_found')
  const everywhere = { accountId, workspaceId: null, mode: null }
  if (email !== undefined && (await ground.store.email(everywhere, email)) === null)
    throw new Fault('email.not_found')
  return {
    accountId,
    workspaceId: place?.id ?? null,
    poolId: pool === undefined ? null : await poolIdOf(ground, accountId, pool),
    domain: domain === undefined ? null : domainOf(domain),
    emailId: email ?? null,
  }
}

const checkReason = (reason: string): string => {
  const text = reason.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim()
  if (text === '') throw refused('reason', 'empty', 'must say why')
  if (text.length > LONGEST_REASON)
    throw refused('reason', 'length', `must have at most ${LONGEST_REASON} characters`)
  return text
}

export interface Held {
  readonly hold: HoldRow
  /** How many recipients it put to rest at once. */
  readonly changed: number
}

/** Keeps everything in this scope from leaving, until it is released. */
export const holdQueue = async (
  { store, clock }: QueueGround,
  scope: QueueScope,
  reason: string,
): Promise<Held> => {
  const now = clock.now()
  const hold: HoldRow = { ...scope, id: newId('hold', now), reason: checkReason(reason), createdAt: now }
  return { hold, changed: await store.hold(hold) }
}

/** Resolves with the number of recipients changed. `to` is the pool of a reroute, by id or name. */
export const orderQueue = async (
  ground: QueueGround,
  action: QueueAction,
  scope: QueueScope,
  reason: string,
  to: string | null = null,
): Promise<number> => {
  const checked = checkReason(reason)
  const target = to === null ? null : await ground.store.pool(scope.accountId, to)
  if (action === 'reroute' && target === null) throw new Fault('egress_pool.not_found')
  if (target?.kind === 'sandbox')
    throw refused('to', 'forbidden', 'is the sandbox; live mail never goes there')
  const order = { action, scope, to: target?.id ?? null, reason: checked, now: ground.clock.now() }
  return ground.store.operate(order)
}

/** What an order would meet; a purge meets what is under way too, unless its message is on the wire. */
export const queueMatches = ({ store }: QueueGround, scope: QueueScope): Promise<QueueCount> =>
  store.queueCount(scope)
