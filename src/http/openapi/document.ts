/**
 * NAME      document - OpenAPI 3.1 of the whole contract
 * DESCRIPTION
 *   Made from the endpoints and the Fault table, never written by hand: a route, a
 *   field or an error code that exists is in here, and nothing else is.
 */

import { FAULTS, type FaultCode } from '../../base/fault/table.js'
import { Fault, invalid } from '../../base/fault.js'
import { leastFor } from '../../tenant/rights.js'
import type { Endpoint } from '../endpoint.js'
import { problem } from '../shapes/catalogue.js'
import { MEDIA } from '../wire/export.js'
import { toProblem } from '../wire/problem.js'
import { EXAMPLES } from './examples.js'
import { type JsonSchema, type Named, sample, toJsonSchema } from './json-schema.js'
import { TWINS, WITHOUT_TWIN } from './twins.js'
import { WORDS } from './words.js'

const ANYWHERE: readonly FaultCode[] = [
  'request.malformed',
  'request.timeout',
  'request.uri_too_long',
  'request.expectation_failed',
  'request.headers_too_large',
  'request.coding_unsupported',
  'internal.unexpected',
  'service.unavailable',
]
const WITH_BODY: readonly FaultCode[] = [
  'request.body_malformed',
  'request.body_too_large',
  'request.media_type_unsupported',
]
const WITH_CREDENTIAL: readonly FaultCode[] = [
  'auth.credentials_missing',
  'auth.credentials_invalid',
  'rate_limit.auth_failures',
]

/** Which role it needs, as a sentence; nothing where everybody may. */
const rightOf = ({ id }: Endpoint): string => {
  const [own, others] = [leastFor(id), leastFor(id, false)]
  if (own === 'bodies' || own === 'subjects') {
    return `A viewer needs \`identity.viewers_see\` to allow ${own}.`
  }
  if (own !== others) return 'For what belongs to another person: the role owner.'
  return own === 'viewer' ? '' : `A person needs the role ${own}${own === 'owner' ? '' : ' or owner'}.`
}

/** Every code that an endpoint may answer: its own, and those of the gate before it. */
const faultsOf = (endpoint: Endpoint): readonly FaultCode[] => {
  const codes = new Set<FaultCode>([...endpoint.faults, ...ANYWHERE])
  const add = (when: unknown, ...more: readonly FaultCode[]): void => {
    if (when) for (const code of more) codes.add(code)
  }
  add(endpoint.access !== 'public', ...WITH_CREDENTIAL)
  add(endpoint.access === 'session', 'auth.session_required')
  // of a key that only sends, if of no other
  add(endpoint.access !== 'public', 'auth.scope_forbidden')
  // of a session, whose person may be a viewer
  add(rightOf(endpoint) !== '', 'auth.role_forbidden')
  add(endpoint.method !== 'GET', ...WITH_BODY)
  add(endpoint.query ?? endpoint.body, 'validation.request_invalid')
  add(endpoint.workspace !== 'none', 'workspace.not_found')
  add(endpoint.workspace === 'required', 'validation.workspace_header_required')
  add(endpoint.sends, 'rate_limit.exceeded')
  return [...codes]
}

const HEADERS: Record<string, JsonSchema> = {
  'X-Request-Id': { description: 'Quote it to support.', schema: { type: 'string' } },
  'X-RateLimit-Limit': { description: 'Sends allowed in this minute.', schema: { type: 'integer' } },
  'X-RateLimit-Remaining': { description: 'Sends left in this minute.', schema: { type: 'integer' } },
  'X-RateLimit-Reset': { description: 'Unix seconds at which the minute ends.', schema: { type: 'integer' } },
}

/** Those that stand on some responses only. */
const SPECIAL: Record<string, JsonSchema> = {
  Location: { description: 'The path of what was made.', schema: { type: 'string' } },
  'Idempotent-Replayed': {
    description: '`true` where this is the stored answer of an earlier request.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: { type: 'integer' } },
  'WWW-Authenticate': { description: 'The scheme that is wanted.', schema: { type: 'string' } },
}

const headersWith = (...special: readonly (keyof typeof SPECIAL)[]) =>
  Object.fromEntries(
    [...Object.keys(HEADERS), ...special].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )

const OF_PROBLEM: Record<number, JsonSchema> = {
  401: headersWith('WWW-Authenticate'),
  409: headersWith('Retry-After'),
  429: headersWith('Retry-After'),
  503: headersWith('Retry-After'),
}
const OF_OTHERS = headersWith()

const problems = (codes: readonly FaultCode[]): JsonSchema => {
  const byStatus = new Map<number, FaultCode[]>()
  for (const code of codes)
    byStatus.set(FAULTS[code].http, [...(byStatus.get(FAULTS[code].http) ?? []), code])
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      status,
      {
        description: same.map((code) => `\`${code}\``).join(', '),
        headers: OF_PROBLEM[status] ?? OF_OTHERS,
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            examples: Object.fromEntries(
              same.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
            ),
          },
        },
      },
    ]),
  )
}

const REQUEST_ID = 'req_01k9f3m5cr2z0y8x6w4v2t0s8q'

/** Each problem as a client meets it. */
const problemExamples = (codes: ReadonlySet<FaultCode>, baseUrl: string): JsonSchema => {
  const faultFor = (code: FaultCode): Fault =>
    code === 'validation.request_invalid'
      ? invalid([{ field: 'body.to', message: '"to" is required', kind: 'missing' }])
      : new Fault(code)
  const exampleOf = (code: FaultCode) => ({
    summary: FAULTS[code].title,
    description: FAULTS[code].description,
    value: toProblem(faultFor(code), baseUrl, REQUEST_ID, '/v1/emails'),
  })
  return Object.fromEntries([...codes].map((code) => [code, exampleOf(code)]))
}

const parameters = (endpoint: Endpoint): readonly JsonSchema[] => {
  const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    ...(name !== undefined && WORDS[name] !== undefined && { description: WORDS[name] }),
    required: true,
    schema: { type: 'string' },
  }))
  const query = endpoint.query && toJsonSchema(endpoint.query, { named: new Map(), closed: true })
  const inQuery = Object.entries((query?.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      ...(description ? { description } : {}),
      schema,
    }),
  )
  const named = { ...endpoint.headers }
  if (endpoint.workspace === 'required') named['X-Workspace-Id'] = 'Required for platform keys and sessions'
  if (endpoint.workspace === 'optional') named['X-Workspace-Id'] = 'Narrows to one workspace of the account'
  const inHeader = Object.entries(named).map(([name, description]) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  }))
  return [...inPath, ...inQuery, ...inHeader]
}

/** What does the same on the command line, or why nothing does. */
const twin = (id: string): JsonSchema =>
  TWINS[id] === undefined ? { reason: WITHOUT_TWIN[id] } : { command: `postern ${TWINS[id]}` }

/** The files that a list can be had as. */
const filesOf = ({ files = [] }: Endpoint): JsonSchema => {
  const example = {
    csv: 'created_at (UTC)\r\n2026-11-20T10:00:00.000Z\r\n',
    ndjson: '{"created_at":"2026-11-20T10:00:00.000Z"}\n',
  }
  return Object.fromEntries(
    files.map((format) => [MEDIA[format], { schema: { type: 'string' }, example: example[format] }]),
  )
}

const operation = (endpoint: Endpoint, named: Named): JsonSchema => {
  const headers = headersWith(
    ...(endpoint.locates ? ['Location'] : []),
    ...(endpoint.headers?.['Idempotency-Key'] ? ['Idempotent-Replayed'] : []),
  )
  const example = EXAMPLES[endpoint.id]
  const answers = Object.entries(endpoint.answers).map(([status, joi]) => {
    const schema = toJsonSchema(joi, { named, closed: false })
    const content = { schema, example: sample(schema, named, example?.others?.[status] ?? example?.answer) }
    const media = endpoint.media ?? 'application/json'
    return [
      status,
      { description: endpoint.summary, headers, content: { [media]: content, ...filesOf(endpoint) } },
    ]
  })
  const { body } = endpoint
  return {
    operationId: endpoint.id,
    summary: endpoint.summary,
    description: [endpoint.description, rightOf(endpoint)].join(' ').trim(),
    tags: [endpoint.path.split('/')[endpoint.path.startsWith('/v1/') ? 2 : 1]],
    'x-cli': twin(endpoint.id),
    ...(endpoint.access === 'public' && { security: [] }),
    parameters: parameters(endpoint),
    ...(body && {
      requestBody: {
        required: body().$_getFlag('presence') === 'required',
        content: {
          'application/json': {
            schema: toJsonSchema(body, { named, closed: true }),
            example: example?.request,
          },
        },
      },
    }),
    responses: { ...Object.fromEntries(answers), ...problems(faultsOf(endpoint)) },
  }
}

export const openApi = (endpoints: readonly Endpoint[], baseUrl: string, version: string): JsonSchema => {
  const named: Named = new Map()
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const endpoint of endpoints) {
    const path = paths[endpoint.path] ?? {}
    path[endpoint.method.toLowerCase()] = operation(endpoint, named)
    paths[endpoint.path] = path
  }
  toJsonSchema(problem, { named, closed: false })
  const tags = [...new Set(endpoints.map(({ path }) => path.split('/')[path.startsWith('/v1/') ? 2 : 1]))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Postern',
      version,
      description: 'Transactional email over HTTP. Every error is RFC 9457 problem details; match on `code`.',
      contact: { name: 'Who operates this gateway' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    security: [{ bearer: [] }],
    tags: tags.map((name) => ({ name, description: `Endpoints under ${name}.` })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or the session of a person.' },
      },
      headers: { ...HEADERS, ...SPECIAL },
      examples: problemExamples(new Set(endpoints.flatMap(faultsOf)), baseUrl),
      schemas: Object.fromEntries(named),
    },
  }
}
