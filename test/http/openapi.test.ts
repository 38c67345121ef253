/**
 * The document and the server agree: on which bodies are well-formed, and on every
 * answer to whatever is thrown at it. POSTERN_FULL=1 runs 10,000 bodies a route.
 */
import fc from 'fast-check'
import t from 'tap'
import { FAULTS } from '../../src/base/fault.js'
import { check } from '../../src/http/check.js'
import type { HttpDeps } from '../../src/http/deps.js'
import { endpoints } from '../../src/http/http.js'
import { type JsonSchema, openApi } from '../../src/http/openapi/document.js'
import { mergeRecipientShape, sendBody } from '../../src/http/shapes/emails.js'
import { nearly } from './arbitrary.js'
import { validatorOf } from './documented.js'
import { openKit } from './kit.js'

const FULL = process.env.POSTERN_FULL !== undefined
const RUNS = FULL ? 10_000 : 1_000
if (FULL) t.setTimeout(300_000)
const all = endpoints({} as HttpDeps, () => 'https://mail.test')
const document = openApi(all, 'https://mail.test', 'v1')
const validator = validatorOf(document)

const resolve = (ref: string): JsonSchema =>
  ref
    .split('/')
    .slice(1)
    .reduce<JsonSchema>((at, step) => at[step] as JsonSchema, document)

const operationOf = (path: string, method: string): JsonSchema =>
  ((document.paths as Record<string, JsonSchema>)[path]?.[method.toLowerCase()] ?? {}) as JsonSchema

const bodySchema = (path: string, method: string): JsonSchema =>
  (operationOf(path, method).requestBody as { content: { 'application/json': { schema: JsonSchema } } })
    .content['application/json'].schema

t.test('the document is served as it is made', async (t) => {
  const kit = await openKit()
  t.teardown(() => kit.stop())
  const reply = await kit.ask('/v1/openapi.json')
  t.equal(reply.status, 200)
  t.strictSame(reply.json, JSON.parse(JSON.stringify(document)))
  t.equal(reply.json.openapi, '3.1.0')
  t.equal((await kit.ask('/v1/openapi.json', { key: null })).status, 401)
})

interface Nested extends JsonSchema {
  readonly properties?: Readonly<Record<string, Nested>>
  readonly items?: Nested
  readonly anyOf?: readonly Nested[]
  readonly additionalProperties?: Nested | boolean
}

/** Members without a word about them; what only says that a member must be there describes none. */
const undescribed = (schema: Nested, at: string): readonly string[] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, one]) => [
    ...(one.description === undefined && one.$ref === undefined && one.not === undefined
      ? [`${at}.${name}`]
      : []),
    ...undescribed(one, `${at}.${name}`),
  ]),
  ...(schema.items ? undescribed(schema.items, `${at}[]`) : []),
  ...(schema.anyOf ?? []).flatMap((one) => undescribed(one, at)),
  ...(typeof schema.additionalProperties === 'object'
    ? undescribed(schema.additionalProperties, `${at}.*`)
    : []),
]

t.test('every member of every body, and every parameter, is described', (t) => {
  const { schemas } = document.components as { schemas: Record<string, Nested> }
  for (const [name, schema] of Object.entries(schemas)) t.strictSame(undescribed(schema, name), [], name)
  for (const { id, method, path } of all) {
    const { requestBody, responses, parameters } = operationOf(path, method) as {
      requestBody?: { content: Record<string, { schema: Nested }> }
      responses: Record<string, { content: Record<string, { schema: Nested }> }>
      parameters: readonly JsonSchema[]
    }
    for (const { content } of [...Object.values(responses), ...(requestBody ? [requestBody] : [])])
      for (const { schema } of Object.values(content)) t.strictSame(undescribed(schema, id), [], id)
    t.strictSame(
      parameters.filter(({ description }) => description === undefined).map(({ name }) => `${id} ${name}`),
      [],
      id,
    )
  }
  t.end()
})

/** Members by where they stand, but for those that only hold others. */
const leaves = (schema: Nested, at: readonly string[]): readonly (readonly [readonly string[], Nested])[] => {
  const { properties = {}, items, anyOf = [], additionalProperties: others } = schema
  const below = (one: Nested | undefined, ...steps: readonly string[]) =>
    one === undefined ? [] : leaves(one, [...at, ...steps])
  const inner = [
    ...Object.entries(properties).flatMap(([name, one]) => {
      const found = below(one, 'properties', name)
      if (found.length > 0 || one.properties || one.not || isReference(one)) return found
      return [[[...at, 'properties', name], one] as const]
    }),
    ...below(items, 'items'),
    ...anyOf.flatMap((one, i) => below(one, 'anyOf', String(i))),
  ]
  return typeof others === 'object' ? [...inner, ...below(others, 'additionalProperties')] : inner
}

/** To what has a name, and members that are looked at there. */
const isReference = ({ $ref, items, anyOf = [] }: Nested): boolean =>
  $ref !== undefined || (items !== undefined && isReference(items)) || anyOf.some(isReference)

t.test('every member of every body is shown by an example that its schema holds', (t) => {
  const bodies: [readonly string[], Nested][] = Object.entries(
    (document.components as { schemas: Record<string, Nested> }).schemas,
  ).map(([name, schema]) => [['components', 'schemas', name], schema])
  for (const { method, path } of all) {
    const { requestBody, responses } = operationOf(path, method) as {
      requestBody?: { content: Record<string, { schema: Nested }> }
      responses: Record<string, { content: Record<string, { schema: Nested }> }>
    }
    const at = ['paths', path, method.toLowerCase()]
    for (const [type, { schema }] of Object.entries(requestBody?.content ?? {}))
      bodies.push([[...at, 'requestBody', 'content', type, 'schema'], schema])
    for (const [status, { content }] of Object.entries(responses))
      for (const [type, { schema }] of Object.entries(content))
        bodies.push([[...at, 'responses', status, 'content', type, 'schema'], schema])
  }
  const members = bodies.flatMap(([at, schema]) => leaves(schema, at))
  t.ok(members.length > 700, String(members.length))
  for (const [at, { examples }] of members) {
    const where = at.join(' ')
    if (
      !t.ok(Array.isArray(examples) && examples.length > 0, `${where} needs a row in http/openapi/members.ts`)
    )
      continue
    const valid = validator(...at)
    for (const one of examples as readonly unknown[]) t.ok(valid(one), `${where}: ${JSON.stringify(one)}`)
  }
  t.end()
})

t.test('what the document says of limits is what the server does', async (t) => {
  const schemaOf = (path: string, name: string) =>
    ((operationOf(path, 'GET').parameters as readonly JsonSchema[]).find((one) => one.name === name)
      ?.schema ?? {}) as JsonSchema
  const kit = await openKit()
  t.teardown(() => kit.stop())
  for (const path of ['/v1/emails', '/v1/events', '/v1/suppressions', '/v1/webhooks', '/v1/statistics']) {
    const { maximum, minimum, default: usual } = schemaOf(path, 'limit') as Record<string, number>
    t.equal((await kit.ask(`${path}?limit=${maximum}`)).status, 200, path)
    t.equal((await kit.ask(`${path}?limit=${(maximum ?? 0) + 1}`)).status, 422, path)
    t.equal((await kit.ask(`${path}?limit=${(minimum ?? 0) - 1}`)).status, 422, path)
    const { json } = await kit.ask(path)
    if (json.pagination !== undefined) t.equal(json.pagination.limit, usual, path)
  }
  t.equal(schemaOf('/v1/statistics', 'limit').default, 10)
  t.notMatch(JSON.stringify(document), 'statistics_tags')
})

t.test('every operation is described, and shown by an example that its schemas hold', async (t) => {
  for (const { id, method, path } of all) {
    const told = operationOf(path, method)
    t.match(told.description, /^[A-Z].*\.$/, id)
    const answers = Object.entries(told.responses as Record<string, { content: Record<string, JsonSchema> }>)
    const bodies: [readonly string[], string, JsonSchema][] = answers
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, { content }]) =>
        Object.entries(content).map(([type, body]) => [['responses', status], type, body] as never),
      )
    const request = told.requestBody as { content: Record<string, JsonSchema> } | undefined
    for (const [type, body] of Object.entries(request?.content ?? {}))
      bodies.push([['requestBody'], type, body])
    for (const [place, type, body] of bodies) {
      const pointer = ['paths', path, method.toLowerCase(), ...place, 'content', type, 'schema']
      const valid = validator(...pointer)
      t.not(body?.example, undefined, `${id} ${place.join(' ')} has an example in http/openapi/examples.ts`)
      t.ok(valid(body?.example), `${id} ${place.join(' ')}: ${JSON.stringify(valid.errors)}`)
    }
  }
  const { examples } = document.components as { examples: Record<string, { value: unknown }> }
  const valid = validator('components', 'schemas', 'Problem')
  for (const [code, { value }] of Object.entries(examples)) t.ok(valid(value), code)
  t.ok(Object.keys(examples).length > 30)
})

t.test('every list says what is in it, which linters and generators demand', (t) => {
  const lists: JsonSchema[] = []
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if ('type' in value && value.type === 'array') lists.push(value as JsonSchema)
    for (const inner of Object.values(value)) walk(inner)
  }
  walk([document.paths, (document.components as { schemas: JsonSchema }).schemas])
  t.ok(lists.length > 20 && lists.every((list) => 'items' in list))
  t.end()
})

/** A path segment; dots alone would be a step in the path, and name another resource. */
const named = (ref: string): string => (/^\.{0,2}$/.test(ref) ? 'x' : ref)

/** Those of a batch are judged one by one. */
const itemsAreGood = (value: readonly unknown[] | { readonly recipients: readonly unknown[] }): boolean =>
  'recipients' in value
    ? value.recipients.every((one) => check('body', mergeRecipientShape, one).errors === null)
    : value.every((one) => check('body', sendBody, one).errors === null)

for (const { id, method, path, body } of all) {
  if (!body) continue
  t.test(`joi and ajv agree on the body of ${id}`, async (t) => {
    const valid = validator(
      'paths',
      path,
      method.toLowerCase(),
      'requestBody',
      'content',
      'application/json',
      'schema',
    )
    let good = 0
    const property = fc.property(nearly(bodySchema(path, method), resolve), (value) => {
      const outer = check('body', body, value).errors
      const ours = outer === null && (id !== 'sendBatch' || itemsAreGood(value as never))
      if (ours) good++
      if (valid(value) !== ours) {
        throw new Error(`joi: ${JSON.stringify(outer)}, ajv: ${JSON.stringify(valid.errors)}`)
      }
    })
    fc.assert(property, { numRuns: RUNS })
    t.ok(good > 0 && good < RUNS, `${good} of ${RUNS} are well-formed`)
  })
}

t.test('whatever is sent: no 5xx, and every error is a catalogued problem', async (t) => {
  const kit = await openKit({ authFailures: 1_000_000, perMinute: 1_000_000 })
  t.teardown(() => kit.stop())
  const sent = await kit.ask('/v1/emails', { body: { from: 'a@b.test', to: 'c@d.test' } })
  const ids = fc.oneof(
    fc.constantFrom(
      sent.json.id,
      kit.workspaceId,
      'default',
      'a@b.test',
      'email.not_found',
      '%00',
      '%2F',
      '..',
    ),
    fc.string({ maxLength: 5 }).map(encodeURIComponent),
  )
  for (const { id, method, path, body, query } of all) {
    const names = query ? Object.keys(query().describe().keys as object) : []
    const request = fc.record({
      ref: ids,
      key: fc.constantFrom(kit.key, kit.platform, kit.session, kit.session, null),
      workspace: fc.constantFrom(undefined, kit.workspaceId, 'nonsense'),
      body: body ? nearly(bodySchema(path, method), resolve) : fc.constant(undefined),
      query: fc.array(
        fc.tuple(fc.constantFrom(...names, 'nope'), fc.oneof(ids, fc.constantFrom('5', 'sent', 'live'))),
        {
          maxLength: 2,
        },
      ),
    })
    const property = fc.asyncProperty(request, async ({ ref, key, workspace, body, query }) => {
      const target = `${path.replace(/\{\w+\}/, named(ref))}?${query.map((pair) => pair.join('=')).join('&')}`
      const headers: Record<string, string> = workspace === undefined ? {} : { 'x-workspace-id': workspace }
      const reply = await kit.ask(target, { method, key, body, headers })
      if (reply.status >= 500) throw new Error(reply.text)
      if (reply.status >= 400 && !(reply.json.code in FAULTS && reply.json.status === reply.status)) {
        throw new Error(`no problem: ${reply.text}`)
      }
    })
    await fc.assert(property, { numRuns: FULL ? 500 : 25 })
    t.pass(id)
  }
})
