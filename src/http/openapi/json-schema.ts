/**
 * NAME      json-schema - a joi schema, said as JSON Schema 2020-12
 * DESCRIPTION
 *   Knows just the joi that shapes/ uses and throws on anything else, so that the
 *   document can never silently promise less than the server checks. joi's
 *   `empty(null)` means "null is as good as absent": null is allowed where the
 *   field is optional, and nowhere else.
 */
import type { Shape } from '../shapes/common.js'
import type { Description } from '../shapes/description.js'
import { isNullMostly, lookOf } from './looks.js'
import { WORDS } from './words.js'

export type JsonSchema = { readonly [keyword: string]: unknown }

/** Where schemas that have a name are kept, once each. */
export type Named = Map<string, JsonSchema>

const REFERENCE = '#/components/schemas/'

interface Style {
  readonly named: Named
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

const target = (schema: JsonSchema, named: Named): JsonSchema =>
  named.get(String(schema.$ref).slice(REFERENCE.length)) ?? schema

/**
 * An answer, made of what its members look like: all that are always there. `as` is what looks otherwise in it, and
 * what is in it that need not be.
 */
export const sample = (schema: JsonSchema, named: Named, as?: unknown): unknown => {
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
