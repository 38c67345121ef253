/**
 * NAME      incidents - addresses that bounced for good at the same time, and may still be good
 * DESCRIPTION
 *   Their suppressions are pending, and suppress nobody, until somebody accepts or dismisses the incident.
 */
import * as record from '../../record/queue.js'
import type { Decision, KnownIncident } from '../../store/port/watch.js'
import { decideIncident, findIncident } from '../../tenant/suppression.js'
import type { Deps } from '../deps.js'
import { type Call, GET, POST, param, type RouteRow, WORKSPACES_TOO } from '../endpoint.js'
import { listing } from '../rows.js'
import { nothing } from '../shapes/domains.js'
import * as shapes from '../shapes/suppression.js'

const find = ({ store }: Deps, { principal, workspace, ...call }: Call): Promise<KnownIncident> =>
  findIncident(store, principal.accountId, param(call, 'id'), workspace?.id ?? null)

const decide = (decision: Decision) => async (call: Call, deps: Deps) => {
  const incident = await find(deps, call)
  await decideIncident(deps, incident, decision)
  return { status: 200, body: record.incident(await find(deps, call)) }
}

export const incidents: readonly RouteRow[] = [
  listing({
    ...WORKSPACES_TOO,
    id: 'listIncidents',
    cli: 'suppression incidents',
    path: '/v1/incidents',
    summary: 'Hard bounces that came together, newest first',
    description:
      'Where at least 20 addresses of a domain were refused in ten minutes by one upstream, in the same words or in others, and were 30 % of what it had to say, or ten of them took mail before, their suppressions are pending until somebody decides, and are dismissed after seven days. The same for all domains of an upstream together, where 30 % of those that it met refused somebody; and where 50 were refused in two hours, and that is 5 % more of its answers than in the seven days before. The key of a workspace sees those of its own.',
    query: shapes.incidentQuery,
    of: shapes.incident,
    rows({ principal, workspace, query }, deps) {
      const workspaceId = workspace?.id ?? null
      const isOpen = query.open === 'true'
      return {
        filters: { workspaceId, open: isOpen ? 1 : 0 },
        fetch: (page) => deps.store.incidents(principal.accountId, workspaceId, isOpen, page),
        render: record.incident,
      }
    },
  }),
  GET('/v1/incidents/{id}', {
    ...WORKSPACES_TOO,
    id: 'getIncident',
    cli: 'suppression incidents',
    summary: 'One incident',
    description: 'Its addresses: GET /v1/suppressions?status=pending.',
    answers: { 200: shapes.incident },
    faults: ['incident.not_found'],
    handle: async (call, deps) => ({ status: 200, body: record.incident(await find(deps, call)) }),
  }),
  POST('/v1/incidents/{id}/accept', {
    ...WORKSPACES_TOO,
    id: 'acceptIncident',
    cli: 'suppression accept',
    summary: 'The addresses are dead: suppress them',
    description: 'What is pending with it is suppressed from now on.',
    body: nothing,
    answers: { 200: shapes.incident },
    faults: ['incident.not_found', 'resource.conflict'],
    handle: decide('accepted'),
  }),
  POST('/v1/incidents/{id}/dismiss', {
    ...WORKSPACES_TOO,
    id: 'dismissIncident',
    cli: 'suppression dismiss',
    summary: 'The addresses live: forget what was pending',
    description: 'No status of a mail changes. Who is refused again is counted anew.',
    body: nothing,
    answers: { 200: shapes.incident },
    faults: ['incident.not_found', 'resource.conflict'],
    handle: decide('dismissed'),
  }),
]
