/**
 * NAME      tools - endpoints as tools of an agent
 *   Each row of the contract that a key may call and that answers JSON is a tool: its name is the operation's, its
 *   description the same sentences, its input the same shapes as in the document. Parameters of path, query and header
 *   stand beside each other; a body is the member `body`.
 * NOTES
 *   Left out are endpoints that answer a secret: what an agent reads is kept in places that nobody thinks of as secret.
 */
import { contract } from '../http/contract.js'
import type { RouteRow } from '../http/endpoint.js'
import { type JsonSchema, type NamedSchemas, parameters, toJsonSchema } from '../http/openapi/document.js'
import type { Operation } from '../tenant/rights.js'
import { type ArgumentPlace, AS_DATA, type KeyFacts, type Tool } from './tool.js'

/** The document of all of this is larger than what an agent can read. */
const TOO_LARGE: readonly Operation[] = ['getOpenApi', 'getOpenDocument']
const SENDS: readonly Operation[] = ['sendEmail', 'sendBatch']

/** Below these, answers hold texts of strangers: subjects and bodies, addresses, what servers replied. */
const OF_STRANGERS: ReadonlySet<string> = new Set([
  ...['emails', 'events', 'incidents', 'queue', 'suppressions', 'webhooks'],
])

const ONCE =
  ' Without `idempotency_key` one is made of the arguments: the same call again within 24 hours is answered with the first mail and sends no second one. To send the same once more, give a key of your own.'

/** Adds, and takes nothing away. */
const ADDS = /^(add|check|create|place|resend|send|test|verify)/

const SECRET = /(^|_)(secret|token|password)$|^key$/

const members = (schema: unknown): readonly string[] => {
  if (Array.isArray(schema)) return schema.flatMap(members)
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {} } = schema as JsonSchema
  return [...Object.keys(properties as object), ...Object.values(schema).flatMap(members)]
}

const tellsSecret = ({ answers }: RouteRow): boolean => {
  const named: NamedSchemas = new Map()
  const all = Object.values(answers).map((one) => toJsonSchema(one, { named, closed: false }))
  return members([...all, ...named.values()]).some((name) => SECRET.test(name))
}

const fits = (row: RouteRow): boolean =>
  row.access !== 'session' && row.media === undefined && !TOO_LARGE.includes(row.id)

const snake = (header: string): string => header.toLowerCase().replace(/^x-/, '').replaceAll('-', '_')

/** Every text that we read is without that character; to say so each time helps no model. */
const WITHOUT_NUL = '^[^\\u0000]*$'

/** As it stands by itself: what it refers to goes along. */
const alone = (schema: JsonSchema, named: NamedSchemas): JsonSchema => {
  const whole = named.size === 0 ? schema : { ...schema, $defs: Object.fromEntries(named) }
  const text = JSON.stringify(whole, (name, value) =>
    (name === 'pattern' && value === WITHOUT_NUL) || (name === 'allOf' && value[0]?.pattern === WITHOUT_NUL)
      ? undefined
      : value,
  )
  return JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as JsonSchema
}

interface Parameter extends ArgumentPlace {
  readonly description?: string
  readonly required?: boolean
  readonly schema: JsonSchema
}

const inputOf = (row: RouteRow) => {
  const named: NamedSchemas = new Map()
  const places = new Map<string, ArgumentPlace>()
  const properties: Record<string, JsonSchema> = {}
  const required: string[] = []
  // a list as a file is no answer to an agent
  const all = (parameters(row) as unknown as readonly Parameter[]).filter(({ name }) => name !== 'format')
  for (const { name: wire, in: place, description, schema, required: must } of all) {
    const name = place === 'header' ? snake(wire) : wire
    places.set(name, { in: place, name: wire })
    properties[name] = { ...schema, ...(description && { description }) }
    if (must) required.push(name)
  }
  if (row.body !== undefined) {
    properties.body = toJsonSchema(row.body, { named, closed: true })
    if (row.body().$_getFlag('presence') === 'required') required.push('body')
  }
  const schema = { type: 'object', properties, required, additionalProperties: false }
  return { places, schema: alone(schema, named) }
}

const firstSegment = ({ path }: RouteRow): string => path.split('/')[2] ?? ''

const toolOf = (row: RouteRow): Tool => {
  const isReading = row.method === 'GET'
  const isOfStrangers = OF_STRANGERS.has(firstSegment(row))
  const once = row.headers?.['Idempotency-Key'] !== undefined
  const { places, schema } = inputOf(row)
  return {
    ...{ row, isReading, isOfStrangers, places },
    definition: {
      name: row.id,
      title: row.summary,
      description: `${row.summary}. ${row.description}${once ? ONCE : ''}${isOfStrangers ? ` ${AS_DATA}` : ''}`,
      inputSchema: schema,
      annotations: {
        title: row.summary,
        readOnlyHint: isReading,
        ...(!isReading && {
          destructiveHint: !ADDS.test(row.id),
          idempotentHint: row.method !== 'POST' || once,
        }),
        openWorldHint: isOfStrangers,
      },
    },
  }
}

/** All that there are, in the order of the document. */
export const toolsOf = (writes: boolean): ReadonlyMap<string, Tool> => {
  const rows = contract(false).filter(fits)
  const kept = rows.filter((row) => row.method === 'GET' || (writes && !tellsSecret(row)))
  return new Map(kept.map((row) => [row.id, toolOf(row)]))
}

/** Whether an operation is called so, be it a tool or not. */
export const isOperation = (name: string): boolean => contract(false).some((row) => row.id === name)

/** Whether the gate of the daemon lets this key through (http/gate.ts). */
export const mayCall = ({ row, isReading }: Tool, { scope, mode, sending, writes }: KeyFacts): boolean => {
  if (row.access === 'public') return true
  if (sending) return SENDS.includes(row.id)
  if (!isReading && !writes) return false
  if (row.access === 'platform' && (scope !== 'platform' || (mode === 'test' && !isReading))) return false
  return !(row.live && mode === 'test')
}
