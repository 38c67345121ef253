/**
 * NAME      session - who am I
 */
import { visibleMode } from '../../tenant/principal.js'
import { type Endpoint, endpoint } from '../endpoint.js'
import * as shapes from '../shapes/session.js'

export const session = (): readonly Endpoint[] => [
  endpoint({
    id: 'getSession',
    method: 'GET',
    path: '/v1/session',
    summary: 'Who is asking, and what the credential is for',
    description: 'Of the API key or the session that the request carries. Shows no secret.',
    access: 'any',
    workspace: 'none',
    answers: { 200: shapes.session },
    faults: [],
    async handle({ principal }) {
      const { via, id, role, scope, workspaceId, limitPerMinute } = principal
      return {
        status: 200,
        body: {
          object: 'session',
          ...{ via, id, person: null, role, scope },
          workspace_id: workspaceId,
          mode: visibleMode(principal),
          limits: { rate_limit_per_minute: limitPerMinute },
        },
      }
    },
  }),
]
