/**
 * NAME      document - OpenAPI 3.1 of the whole contract
 *   Made from the endpoints and the Fault table, never written by hand: a route, a
 *   field or an error code that exists is in here, and nothing else is.
 *
 *   A joi schema becomes JSON Schema 2020-12. What shapes/ do not use throws, so that the
 *   document can never silently promise less than the server checks. joi's
 *   `empty(null)` means "null is as good as absent": null is allowed where the
 *   field is optional, and nowhere else.
 */
import { FAULTS, Fault, type FaultCode, invalid } from '../../base/fault.js'
import { leastFor } from '../../tenant/rights.js'
import { MEDIA, type RouteRow } from '../endpoint.js'
import { type Description, problemShape, type Shape } from '../shapes/common.js'
import { toProblem } from '../wire/problem.js'
import { EXAMPLES } from './examples.js'
import { isNullMostly, lookOf, WORDS } from './members.js'

export type JsonSchema = { readonly [keyword: string]: unknown }

/** Where schemas that have a name are kept, once each. */
export type NamedSchemas = Map<string, JsonSchema>

const REFERENCE = '#/components/schemas/'

interface Style {
  readonly named: NamedSchemas
  /** True for what we read: unknown members are refused. What we write may grow. */
  readonly closed: boolean
  /** What the members are of: the record, or the member that holds them. */
  readonly owner?: string
}

type Writer = (description: Description, style: Style) => JsonSchema

const KEYWORDS: Record<string, Record<string, string>> = {
  string: { min: 'minLength', max: 'maxLength' },
  array: { min: 'minItems', max: 'maxItems' },
  number: { min: 'minimum', max: 'maximum' },
  object: { min: 'minProperties', max: 'maxProperties' },
}

const limits = ({ type, rules = [] }: Description): JsonSchema => {
  const limited = rules.flatMap(({ name, args }): [string, unknown][] => {
    if (name === 'integer' || (name === 'custom' && type === 'object')) return []
    if (name === 'pattern') return [['pattern', args?.regex?.replace(/^\/|\/$/g, '')]]
    if (name === 'length') {
      return [
        ['minItems', args?.limit],
        ['maxItems', args?.limit],
      ]
    }
    const keyword = KEYWORDS[type]?.[name]
    if (keyword === undefined) throw new Error(`no JSON Schema for ${type}.${name}()`)
    return [[keyword, args?.limit]]
  })
  return Object.fromEntries(limited)
}

/** Of what we read: no database of ours keeps that character in a text. */
const WITHOUT_NUL = { pattern: '^[^\\u0000]*$' }

const string: Writer = (description, { closed }) => {
  const { flags, allow, rules = [] } = description
  const hasPattern = rules.some(({ name }) => name === 'pattern')
  return {
    type: 'string',
    ...(!flags?.only && !allow?.includes('') && { minLength: 1 }),
    ...limits(description),
    ...(closed && !flags?.only && (hasPattern ? { allOf: [WITHOUT_NUL] } : WITHOUT_NUL)),
  }
}

const number: Writer = (description) => ({
  type: description.rules?.some(({ name }) => name === 'integer') ? 'integer' : 'number',
  ...limits(description),
})

const array: Writer = (description, style) => {
  const [item] = description.items ?? []
  const items = item && write(item, style)
  const list = { type: 'array', items: items ?? {}, ...limits(description) }
  return description.flags?.single ? { anyOf: [list, items] } : list
}

/** In its own words, or in those that the name has everywhere. */
export const described = (name: string, schema: JsonSchema): JsonSchema => {
  const words = WORDS[name]
  return schema.description !== undefined || words === undefined ? schema : { ...schema, description: words }
}

/** The forms that a value may have, without null. */
const formsOf = ({ anyOf, ...schema }: JsonSchema): readonly JsonSchema[] =>
  schema.type === undefined && anyOf !== undefined
    ? (anyOf as readonly JsonSchema[]).flatMap(formsOf).filter(({ type }) => type !== 'null')
    : [schema]

/** An object with members of its own, or a list of such. */
const isOfMembers = (schema: JsonSchema): boolean =>
  formsOf(schema).some(
    ({ $ref, properties, items }) =>
      $ref !== undefined ||
      properties !== undefined ||
      (items !== undefined && isOfMembers(items as JsonSchema)),
  )

/** What people and tools see of a value; that of an object is what its members look like. */
const shown = (owner: string, name: string, schema: JsonSchema): JsonSchema => {
  if (schema.examples !== undefined || schema.$ref !== undefined || isOfMembers(schema)) return schema
  const example = lookOf(owner, name, formsOf(schema))
  return example === undefined ? schema : { ...schema, examples: [example] }
}

/** `or(a, b)`: at least one of them, and null does not count. */
const present = (peers: readonly string[]): JsonSchema => ({
  anyOf: peers.map((peer) => ({ required: [peer], properties: { [peer]: { not: { type: 'null' } } } })),
})

const object: Writer = (description, style) => {
  const keys = Object.entries(description.keys ?? {})
  const [record] = description.keys?.object?.allow ?? []
  const owner = typeof record === 'string' && record !== 'list' ? record : (style.owner ?? '')
  const member = ([name, one]: readonly [string, Description]) => [
    name,
    shown(owner, name, described(name, write(one, { ...style, owner: name }))),
  ]
  const required = keys.filter(([, one]) => one.flags?.presence === 'required').map(([name]) => name)
  const [pattern] = description.patterns ?? []
  const [together] = description.dependencies ?? []
  const open = description.flags?.unknown || !style.closed
  return {
    type: 'object',
    ...(keys.length > 0 && {
      properties: Object.fromEntries(keys.map(member)),
    }),
    ...(required.length > 0 && { required }),
    ...(pattern
      ? { propertyNames: write(pattern.schema, style), additionalProperties: write(pattern.rule, style) }
      : !open && { additionalProperties: false }),
    ...limits(description),
    ...(together && present(together.peers)),
  }
}

const WRITERS: Record<string, Writer> = {
  string,
  number,
  array,
  object,
  boolean: () => ({ type: 'boolean' }),
  any: () => ({}),
  alternatives: ({ matches = [] }, style) => ({ anyOf: matches.map(({ schema }) => write(schema, style)) }),
}

/** The values and shapes that count as absent, null first. */
const emptiness = (empty: Description | undefined, style: Style): readonly JsonSchema[] => {
  if (empty === undefined) return []
  if (empty.type === 'alternatives')
    return (empty.matches ?? []).flatMap(({ schema }) => emptiness(schema, style))
  return empty.allow?.includes(null) ? [{ type: 'null' }] : [write(empty, style)]
}

const write = (description: Description, style: Style): JsonSchema => {
  const { type, flags = {}, allow = [], metas = [], examples } = description
  const like = metas.find((meta) => meta.like)?.like
  if (like) return write(like, style)
  const writer = WRITERS[type]
  if (!writer) throw new Error(`no JSON Schema for joi's ${type}`)
  // the last one that was said
  const plain = metas.findLast((meta) => meta.schema)?.schema ?? writer(description, style)
  const exact = flags.only ? { ...plain, enum: allow.filter((value) => value !== null) } : plain
  const optional = flags.presence !== 'required'
  const others = [
    ...(allow.includes(null) ? [{ type: 'null' }] : []),
    ...(optional ? emptiness(flags.empty, style) : []),
  ]
  const whole = others.length === 0 ? exact : { anyOf: [exact, ...others] }
  const described = {
    ...whole,
    ...(flags.description && { description: flags.description }),
    ...(examples && { examples }),
  }
  const name = metas.find((meta) => meta.name)?.name
  if (name === undefined) return described
  style.named.set(name, described)
  return { $ref: `${REFERENCE}${name}` }
}

const mayBeNull = ({ anyOf }: JsonSchema): boolean =>
  (anyOf as readonly JsonSchema[] | undefined)?.some(({ type }) => type === 'null') === true

const target = (schema: JsonSchema, named: NamedSchemas): JsonSchema =>
  named.get(String(schema.$ref).slice(REFERENCE.length)) ?? schema

/**
 * An answer, made of what its members look like: all that are always there. `as` is what looks otherwise in it, and
 * what is in it that need not be.
 */
export const sample = (schema: JsonSchema, named: NamedSchemas, as?: unknown): unknown => {
  if (as === null) return null
  const { examples, ...whole } = target(schema, named)
  const form = formsOf(whole)
    .map((one) => target(one, named))
    .find(isOfMembers)
  if (form === undefined || (as !== undefined && typeof as !== 'object'))
    return as ?? (examples as readonly unknown[] | undefined)?.[0]
  if (form.type === 'array')
    return ((as ?? [undefined]) as readonly unknown[]).map((one) =>
      sample(form.items as JsonSchema, named, one),
    )
  const other = (as ?? {}) as Readonly<Record<string, unknown>>
  const there = new Set([...((form.required ?? []) as readonly string[]), ...Object.keys(other)])
  const members = Object.entries(form.properties as Readonly<Record<string, JsonSchema>>)
  const value = (name: string, one: JsonSchema): unknown =>
    other[name] === undefined && isNullMostly(name) && mayBeNull(one) ? null : sample(one, named, other[name])
  return Object.fromEntries(
    members.filter(([name]) => there.has(name)).map(([name, one]) => [name, value(name, one)]),
  )
}

export const toJsonSchema = (shape: Shape, style: Style): JsonSchema =>
  write(shape().describe() as Description, style)

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
const rightOf = ({ id }: RouteRow): string => {
  const [own, others] = [leastFor(id), leastFor(id, false)]
  if (own === 'bodies' || own === 'subjects') {
    return `A viewer needs \`identity.viewers_see\` to allow ${own}.`
  }
  if (own !== others) return 'For what belongs to another person: the role owner.'
  return own === 'viewer' ? '' : `A person needs the role ${own}${own === 'owner' ? '' : ' or owner'}.`
}

/** Every code that an endpoint may answer: its own, and those of the gate before it. */
const faultsOf = (endpoint: RouteRow): readonly FaultCode[] => {
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

/** Of the path, the query and the header. */
export const parameters = (endpoint: RouteRow): readonly JsonSchema[] => {
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
const twin = ({ cli }: RouteRow): JsonSchema =>
  typeof cli === 'string' ? { command: `postern ${cli}` } : { reason: cli.none }

/** The files that a list can be had as. */
const filesOf = ({ files = [] }: RouteRow): JsonSchema => {
  const example = {
    csv: 'created_at (UTC)\r\n2026-11-20T10:00:00.000Z\r\n',
    ndjson: '{"created_at":"2026-11-20T10:00:00.000Z"}\n',
  }
  return Object.fromEntries(
    files.map((format) => [MEDIA[format], { schema: { type: 'string' }, example: example[format] }]),
  )
}

const operation = (endpoint: RouteRow, named: NamedSchemas): JsonSchema => {
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
    'x-cli': twin(endpoint),
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

export const openApi = (endpoints: readonly RouteRow[], baseUrl: string, version: string): JsonSchema => {
  const named: NamedSchemas = new Map()
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const endpoint of endpoints) {
    const path = paths[endpoint.path] ?? {}
    path[endpoint.method.toLowerCase()] = operation(endpoint, named)
    paths[endpoint.path] = path
  }
  toJsonSchema(problemShape, { named, closed: false })
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
