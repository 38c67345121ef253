/** Values that mostly fit a JSON Schema and sometimes do not: nearly right is where checks disagree. */
import fc from 'fast-check'
import type { JsonSchema } from '../../src/http/openapi/document.js'

type Values = fc.Arbitrary<unknown>
type Resolve = (ref: string) => JsonSchema

const LETTERS = fc.constantFrom('a', 'A', '0', ' ', '@', ':', '<', '.', '\u00e9', '\n', '\0')

const junk: Values = fc.oneof(
  fc.constantFrom(
    null,
    '',
    0,
    -1,
    1.5,
    true,
    false,
    [],
    {},
    [null],
    [[]],
    { a: 1 },
    'a@b.test',
    1e21,
    -0,
    'live',
  ),
  fc.jsonValue({ maxDepth: 2 }),
)

const textFor = (schema: JsonSchema): Values => {
  const max = schema.maxLength as number | undefined
  const edges = max !== undefined && max < 5_000 ? ['a'.repeat(max), 'a'.repeat(max + 1)] : []
  return fc.oneof(
    { weight: 6, arbitrary: fc.string({ unit: LETTERS, maxLength: 8 }) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        '',
        'a:b',
        'em_01k9f3m2zq8v6t4r2p0nxcwbha',
        '2026-11-20T10:00:00Z',
        ...edges,
      ),
    },
  )
}

const numberFor = (schema: JsonSchema): Values => {
  const { minimum = -5, maximum = 300 } = schema as { minimum?: number; maximum?: number }
  return fc.oneof(
    fc.integer({ min: Math.floor(minimum) - 1, max: Math.ceil(maximum) + 1 }),
    fc.constantFrom(minimum, maximum, minimum + 0.5),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  )
}

const arrayFor = (schema: JsonSchema, resolve: Resolve): Values => {
  const item = fitting((schema.items ?? {}) as JsonSchema, resolve)
  const max = (schema.maxItems as number | undefined) ?? 3
  const few = fc.array(item, { maxLength: 3 })
  const many = fc.integer({ min: max, max: max + 1 }).chain((n) => item.map((one) => Array(n).fill(one)))
  return max > 200 ? few : fc.oneof({ weight: 20, arbitrary: few }, { weight: 1, arbitrary: many })
}

const objectFor = (schema: JsonSchema, resolve: Resolve): Values => {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
  const required = new Set((schema.required ?? []) as string[])
  const known = Object.fromEntries(properties.map(([name, one]) => [name, nearly(one, resolve)]))
  const rest = schema.additionalProperties as JsonSchema | false | undefined
  const extra = rest
    ? fc.dictionary(fc.string({ unit: LETTERS, maxLength: 3 }), nearly(rest, resolve), { maxKeys: 3 })
    : fc.oneof(
        { weight: 15, arbitrary: fc.constant({}) },
        { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('nope', 'To', 'html '), junk, { maxKeys: 1 }) },
      )
  const requiredKeys = fc.integer({ max: 20, min: 0 }).map((n) => (n === 0 ? [] : [...required]))
  return fc
    .tuple(fc.record(known, { requiredKeys: [] }), fc.record(known), extra, requiredKeys)
    .map(([some, all, more, must]) => ({
      ...some,
      ...Object.fromEntries(must.map((name) => [name, (all as Record<string, unknown>)[name]])),
      ...(more as object),
    }))
}

const fitting = (schema: JsonSchema, resolve: Resolve): Values => {
  if (typeof schema.$ref === 'string') return fitting(resolve(schema.$ref), resolve)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  if (Array.isArray(schema.anyOf) && schema.type === undefined) {
    return fc.oneof(...schema.anyOf.map((one) => fitting(one, resolve)))
  }
  if (schema.type === 'object') return objectFor(schema, resolve)
  if (schema.type === 'array') return arrayFor(schema, resolve)
  if (schema.type === 'string') return textFor(schema)
  if (schema.type === 'number' || schema.type === 'integer') return numberFor(schema)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'null') return fc.constant(null)
  return junk
}

/** One in fifteen is anything at all. */
export const nearly = (schema: JsonSchema, resolve: Resolve): Values =>
  fc.oneof({ weight: 14, arbitrary: fitting(schema, resolve) }, { weight: 1, arbitrary: junk })
