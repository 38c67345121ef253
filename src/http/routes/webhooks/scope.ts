/**
 * NAME      scope - whose endpoints a caller of the API sees
 * DESCRIPTION
 *   A workspace key those of its workspace and mode; a platform key those of its
 *   mode in all of the account, or in the workspace that it names; a session both modes.
 */
import type { KnownEndpoint } from '../../../store/port/hooks.js'
import { visibleMode } from '../../../tenant/principal.js'
import type { HookDeps, HookScope } from '../../../webhook/endpoint/deps.js'
import { findEndpoint } from '../../../webhook/endpoint/endpoints.js'
import type { Deps } from '../../deps.js'
import { type Call, param } from '../../endpoint.js'

export const PER_ENDPOINT = { access: 'any', workspace: 'optional' } as const

export const hookDeps = ({ store, tenants, clock, dialler }: Deps): HookDeps => ({
  store,
  clock,
  dialler,
  pepper: tenants.deps.pepper,
})

export const scopeOf = ({ principal, workspace }: Pick<Call, 'principal' | 'workspace'>): HookScope => ({
  accountId: principal.accountId,
  workspaceId: workspace?.id ?? null,
  mode: visibleMode(principal),
})

/** The endpoint of a path; throws webhook.not_found. */
export const endpointOf = (
  deps: Deps,
  call: Pick<Call, 'principal' | 'workspace' | 'params'>,
): Promise<KnownEndpoint> => findEndpoint(deps, scopeOf(call), param(call, 'id'))
