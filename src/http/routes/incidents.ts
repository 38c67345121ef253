/**
 * NAME      incidents - addresses that bounced for good at the same time, and may still be good
 * DESCRIPTION
 *   Their suppressions are pending, and suppress nobody, until somebody accepts or dismisses the incident.
 */
import * as record from '../../record/incident.js'
import type { Decision, KnownIncident } from '../../store/port/tenants/incident.js'
import { decideIncident, findIncident } from '../../tenant/suppression.js'
import { type Call, type Endpoint, endpoint, param } from '../endpoint.js'
import { type Ground, listing } from '../ground.js'
import * as shapes from '../shapes/incident.js'
import { nothing } from '../shapes/operate/domain.js'

const RIGHTS = { access: 'any', live: true, workspace: 'optional' } as const

const find = ({ store }: Ground, { principal, workspace, ...call }: Call): Promise<KnownIncident> =>
  findIncident(store, principal.accountId, param(call, 'id'), workspace?.id ?? null)

const decide = (ground: Ground, decision: Decision) => async (call: Call) => {
  const incident = await find(ground, call)
  await decideIncident(ground, incident, decision)
  return { status: 200, body: record.incident(await find(ground, call)) }
}

const reading = (ground: Ground): readonly Endpoint[] => [
  listing(ground, {
    ...RIGHTS,
    id: 'listIncidents',
    path: '/v1/incidents',
    summary: 'Hard bounces that came together, newest first',
    description:
      'Where at least 20 addresses of a domain were refused in ten minutes by one upstream, in the same words, and were 30 % of what it had to say, or ten of them took mail before, their suppressions are pending until somebody decides, and are dismissed after seven days. The key of a workspace sees those of its own.',
    query: shapes.incidentQuery,
    of: shapes.incident,
    rows({ principal, workspace, query }) {
      const workspaceId = workspace?.id ?? null
      const isOpen = query.open === 'true'
      return {
        filters: { workspaceId, open: isOpen ? 1 : 0 },
        fetch: (page) => ground.store.incidents(principal.accountId, workspaceId, isOpen, page),
        render: record.incident,
      }
    },
  }),
  endpoint({
    ...RIGHTS,
    id: 'getIncident',
    method: 'GET',
    path: '/v1/incidents/{id}',
    summary: 'One incident',
    description: 'Its addresses: GET /v1/suppressions?status=pending.',
    answers: { 200: shapes.incident },
    faults: ['incident.not_found'],
    handle: async (call) => ({ status: 200, body: record.incident(await find(ground, call)) }),
  }),
]

const deciding = (ground: Ground): readonly Endpoint[] => [
  endpoint({
    ...RIGHTS,
    id: 'acceptIncident',
    method: 'POST',
    path: '/v1/incidents/{id}/accept',
    summary: 'The addresses are dead: suppress them',
    description: 'What is pending with it is suppressed from now on.',
    body: nothing,
    answers: { 200: shapes.incident },
    faults: ['incident.not_found', 'resource.conflict'],
    handle: decide(ground, 'accepted'),
  }),
  endpoint({
    ...RIGHTS,
    id: 'dismissIncident',
    method: 'POST',
    path: '/v1/incidents/{id}/dismiss',
    summary: 'The addresses live: forget what was pending',
    description: 'No status of a mail changes. Who is refused again is counted anew.',
    body: nothing,
    answers: { 200: shapes.incident },
    faults: ['incident.not_found', 'resource.conflict'],
    handle: decide(ground, 'dismissed'),
  }),
]

export const incidents = (ground: Ground): readonly Endpoint[] => [...reading(ground), ...deciding(ground)]
