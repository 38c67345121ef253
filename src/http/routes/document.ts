/**
 * NAME      document - GET /v1/openapi.json
 */
import Joi from 'joi'
import { type Endpoint, endpoint } from '../endpoint.js'
import { openApi } from '../openapi/document.js'

/** The given endpoints, and the one that describes them and itself. */
export const withDocument = (endpoints: readonly Endpoint[], baseUrl: () => string): readonly Endpoint[] => {
  let text: string | null = null
  const own: Endpoint = endpoint({
    id: 'getOpenApi',
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'This API as OpenAPI 3.1',
    description: 'Made from the running code: what it does not say is not there.',
    access: 'any',
    workspace: 'none',
    answers: { 200: Joi.object().unknown() },
    faults: [],
    async handle() {
      text ??= JSON.stringify(openApi(all, baseUrl(), 'v1'))
      return { status: 200, body: text }
    },
  })
  const all: readonly Endpoint[] = [...endpoints, own]
  return all
}
