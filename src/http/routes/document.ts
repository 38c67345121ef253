/**
 * NAME      document - the API as OpenAPI, at /v1/openapi.json and, where docs are open, at /docs/openapi.json
 */
import Joi from 'joi'
import { type Endpoint, endpoint } from '../endpoint.js'

/** The given endpoints, and the one that describes them and itself. */
export const withDocument = (
  endpoints: readonly Endpoint[],
  baseUrl: () => string,
  isOpen: boolean,
): readonly Endpoint[] => {
  let text: string | null = null
  const written = async (): Promise<string> => {
    const { openApi } = await import('../openapi/document.js')
    text ??= JSON.stringify(openApi(all, baseUrl(), 'v1'))
    return text
  }
  const own: Endpoint = endpoint({
    id: 'getOpenApi',
    method: 'GET',
    path: '/v1/openapi.json',
    summary: 'This API as OpenAPI 3.1',
    description: 'Made from the running code: what it does not say is not there.',
    access: 'any',
    workspace: 'none',
    answers: { 200: () => Joi.object().unknown() },
    faults: [],
    handle: async () => ({ status: 200, body: await written() }),
  })
  const open: Endpoint = endpoint({
    id: 'getOpenDocument',
    method: 'GET',
    path: '/docs/openapi.json',
    summary: 'This API as OpenAPI 3.1, without a credential',
    description: 'The same as /v1/openapi.json. It is here unless `docs: members` is set.',
    access: 'public',
    workspace: 'none',
    answers: { 200: () => Joi.object().unknown() },
    faults: [],
    handle: async () => ({
      status: 200,
      body: await written(),
      headers: {
        'content-disposition': 'attachment; filename="postern-openapi.json"',
        'x-content-type-options': 'nosniff',
      },
    }),
  })
  const all: readonly Endpoint[] = [...endpoints, own, ...(isOpen ? [open] : [])]
  return all
}
