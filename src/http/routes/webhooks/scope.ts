/**
 * NAME      scope - whose endpoints a caller of the API sees
 * DESCRIPTION
 *   A workspace key those of its workspace and mode; a platform key those of its
 *   mode in all of the account, or in the workspace that it names; a session both modes.
 */
import type { KnownEndpoint } from '../../../store/port/hooks.js'
import { visibleMode } from '../../../tenant/principal.js'
import { findEndpoint } from '../../../webhook/endpoint/endpoints.js'
import type { HookGround, HookScope } from '../../../webhook/endpoint/ground.js'
import { type Call, param } from '../../endpoint.js'
import type { Ground } from '../../ground.js'

export const PER_ENDPOINT = { access: 'any', workspace: 'optional' } as const

export const hookGround = ({ store, tenants, clock, dialler }: Ground): HookGround => ({
  store,
  clock,
  dialler,
  pepper: tenants.ground.pepper,
})

export const scopeOf = ({ principal, workspace }: Pick<Call, 'principal' | 'workspace'>): HookScope => ({
  accountId: principal.accountId,
  workspaceId: workspace?.id ?? null,
  mode: visibleMode(principal),
})

/** The endpoint of a path; throws webhook.not_found. */
export const endpointOf = (
  ground: Ground,
  call: Pick<Call, 'principal' | 'workspace' | 'params'>,
): Promise<KnownEndpoint> => findEndpoint(ground, scopeOf(call), param(call, 'id'))
