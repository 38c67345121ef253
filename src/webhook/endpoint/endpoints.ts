/**
 * NAME      endpoints - making, changing and removing endpoints
 * DESCRIPTION
 *   Verbs for every door. A signing secret is given out when it is made, and never
 *   again; after a rotation the one before signs as well for a while, so that
 *   receivers can be changed one after the other.
 */
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { newId } from '../../base/id.js'
import type { Mode } from '../../lifecycle/page.js'
import type { EndpointChange, EndpointRow, KnownEndpoint } from '../../store/port/hooks.js'
import { normalDomain } from '../../tenant/domain/domain.js'
import { newSigningSecret } from '../sign.js'
import { type HookDeps, type HookScope, sealHeaders, sealSecret } from './deps.js'
import { DEFAULTS, type EndpointWish, subscriptionsOf, wrongWithEndpoint } from './wish.js'

/** Of one workspace and mode, or of the account as a whole. */
const MOST_ENDPOINTS = 50
const FULL: FieldError = {
  field: 'body',
  kind: 'too_many',
  message: `there are ${MOST_ENDPOINTS} endpoints already, and no more are taken`,
}

export const MOST_GRACE_MS = 7 * 86_400_000
export const GRACE_MS = 86_400_000

const changeOf = (pepper: Uint8Array, wish: Partial<EndpointWish>): EndpointChange => ({
  ...(wish.url !== undefined && { url: wish.url.trim() }),
  ...(wish.events !== undefined && { events: subscriptionsOf(wish.events) }),
  ...(wish.domains !== undefined && {
    domains: [...new Set(wish.domains.map((name) => normalDomain(name) ?? name))],
  }),
  ...(wish.tags !== undefined && { tags: wish.tags }),
  ...(wish.headers !== undefined && sealHeaders(pepper, wish.headers)),
  ...(wish.fields !== undefined && { fields: wish.fields }),
  ...(wish.maxInFlight !== undefined && { maxInFlight: wish.maxInFlight }),
  ...(wish.replayRate !== undefined && { replayRate: wish.replayRate }),
})

/** By its id; throws webhook.not_found, also for one that this caller must not see. */
export const findEndpoint = async (
  { store }: Pick<HookDeps, 'store'>,
  { accountId, workspaceId, mode }: HookScope,
  id: string,
): Promise<KnownEndpoint> => {
  const row = await store.endpoint(accountId, id)
  const isSeen =
    row !== null &&
    (workspaceId === null || row.workspaceId === workspaceId) &&
    (mode === null || row.mode === mode)
  if (!isSeen) throw new Fault('webhook.not_found')
  return row
}

interface Owner {
  readonly accountId: string
  /** null: the account as a whole. */
  readonly workspaceId: string | null
  readonly mode: Mode
}

export interface Made {
  readonly row: KnownEndpoint
  /** Shown now, and never again. */
  readonly secret: string
}

/** Told of everything from now on; throws validation.request_invalid. */
export const createEndpoint = async (
  deps: HookDeps,
  owner: Owner,
  wish: Pick<EndpointWish, 'url' | 'events'> & Partial<EndpointWish>,
): Promise<Made> => {
  const { store, pepper, clock, dialler } = deps
  const wrong = await wrongWithEndpoint(wish, owner.workspaceId === null, dialler.refusal)
  if (wrong.length > 0) throw invalid(wrong)
  const page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const
  const all = (await store.endpoints(owner, page)).rows
  if (all.filter((row) => row.workspaceId === owner.workspaceId).length >= MOST_ENDPOINTS)
    throw invalid([FULL])
  const now = clock.now()
  const secret = newSigningSecret()
  const { headers, ...rest } = { ...DEFAULTS, ...wish }
  const row: EndpointRow = {
    id: newId('wh', now),
    ...owner,
    ...rest,
    ...(changeOf(pepper, { ...rest, headers }) as Required<EndpointChange>),
    status: 'enabled',
    disabledReason: null,
    disabledAt: null,
    secret: sealSecret(pepper, secret),
    previousSecret: null,
    previousUntil: null,
    createdAt: now,
    updatedAt: now,
  }
  await store.createEndpoint(row, (await store.logEnds()).newest)
  return { row: await findEndpoint(deps, owner, row.id), secret }
}

interface StatusWish {
  readonly status?: EndpointRow['status'] | undefined
  /** Only when it is enabled: what waits is passed over. */
  readonly from?: 'now' | undefined
}

/** All that is wrong with a change of this endpoint. */
export const wrongWithChange = async (
  { dialler }: Pick<HookDeps, 'dialler'>,
  row: EndpointRow,
  wish: Partial<EndpointWish> & StatusWish,
): Promise<readonly FieldError[]> => [
  // what it is already need not be asked for again
  ...(await wrongWithEndpoint(
    wish.url === row.url ? { ...wish, url: undefined as never } : wish,
    row.workspaceId === null,
    dialler.refusal,
  )),
  ...(wish.from === 'now' && wish.status !== 'enabled'
    ? [
        {
          field: 'body.from',
          kind: 'forbidden',
          message: 'goes with "status": "enabled" only',
        } as const,
      ]
    : []),
]

/** Changes the endpoint, then enables or disables it; throws validation.request_invalid or webhook.not_found. */
export const updateEndpoint = async (
  deps: HookDeps,
  scope: HookScope,
  id: string,
  wish: Partial<EndpointWish> & StatusWish,
): Promise<KnownEndpoint> => {
  const { store, pepper, clock } = deps
  const { accountId } = scope
  const old = await findEndpoint(deps, scope, id)
  const wrong = await wrongWithChange(deps, old, wish)
  if (wrong.length > 0) throw invalid(wrong)
  const now = clock.now()
  const change = changeOf(pepper, wish)
  if (Object.keys(change).length > 0) await store.updateEndpoint(accountId, id, change, now)
  if (wish.status === 'disabled') await store.disableEndpoint(accountId, id, 'requested', now)
  if (wish.status === 'enabled') {
    const from = wish.from === 'now' ? (await store.logEnds()).newest : null
    await store.enableEndpoint(accountId, id, from, now)
  }
  return findEndpoint(deps, scope, id)
}

/** A new secret; the one before signs as well for `graceMs`. */
export const rotateSecret = async (
  deps: HookDeps,
  scope: HookScope,
  id: string,
  graceMs: number,
): Promise<Made> => {
  const { store, pepper, clock } = deps
  await findEndpoint(deps, scope, id)
  const now = clock.now()
  const secret = newSigningSecret()
  const until = graceMs === 0 ? null : now + graceMs
  await store.rotateEndpoint(scope.accountId, id, sealSecret(pepper, secret), until, now)
  return { row: await findEndpoint(deps, scope, id), secret }
}

/** It, and all that was posted to it; throws webhook.not_found. */
export const deleteEndpoint = async (deps: HookDeps, scope: HookScope, id: string): Promise<void> => {
  await findEndpoint(deps, scope, id)
  if (!(await deps.store.deleteEndpoint(scope.accountId, id, deps.clock.now())))
    throw new Fault('webhook.not_found')
}
