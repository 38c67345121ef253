/**
 * NAME      check - a value against its joi schema
 *   The schemas of shapes/ are joi's; the reading of values is our own, made from joi's description of each schema.
 *   joi makes an error object of every mistake and spreads them over its stack: 40 kB of mistakes took it half a
 *   minute, and 300,000 of them a RangeError. Here a wrong body costs what a right one of its size costs: a list is
 *   counted before its items are looked at, one mistake is told for each field, and after the first hundred they are
 *   only counted.
 *   What was wrong is left out of the value, so that the rest can be judged.
 */
import type Joi from 'joi'
import { type FieldError, type FieldErrorKind, MOST_ERRORS } from '../base/fault.js'
import type { Description, JoiRule, Meta, Shape } from './shapes/common.js'

/** A place in a value, from the inside out. */
type At = { readonly up: At; readonly step: string | number } | null

const PLAIN_NAME = /^[A-Za-z0-9_-]{1,80}$/

/** A member in a path: `.name`, or `["odd name"]`, which a client may have made as long as it liked. */
const memberPath = (name: string): string =>
  PLAIN_NAME.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 80))}]`

const pathOf = (at: At): string => {
  let path = ''
  for (let here = at; here !== null; here = here.up) {
    path = (typeof here.step === 'number' ? `[${here.step}]` : memberPath(here.step)) + path
  }
  return path
}

/** `"to[1]" is required`: the name nearest to the mistake, and the places in its list. */
const nameOf = (at: At, root: string): string => {
  let places = ''
  for (let here = at; here !== null; here = here.up) {
    if (typeof here.step === 'string') return here.step.slice(0, 80) + places
    places = `[${here.step}]${places}`
  }
  return root + places
}

class Findings {
  readonly errors: FieldError[] = []
  count = 0
  private readonly root: string

  constructor(root: string) {
    this.root = root
  }

  /** `must …`, said of the name. Answers undefined: what stands in the value instead. */
  add(at: At, kind: FieldErrorKind, must: string): undefined {
    if (this.count++ >= MOST_ERRORS) return
    const name = nameOf(at, this.root) || 'a name'
    this.errors.push({ field: this.root + pathOf(at), message: `"${name}" ${must}`, kind })
  }
}

/** What the schema makes of a value; undefined where there is none, or a wrong one. */
type Checker = (value: unknown, at: At, found: Findings) => unknown

type Test = (value: unknown) => readonly [FieldErrorKind, string] | null

const FAILED = Symbol('failed')
/** All that our custom rules ask of joi. */
const HELPERS = { error: () => FAILED } as unknown as Joi.CustomHelpers

const sizeOf = (value: unknown): number =>
  typeof value === 'number'
    ? value
    : typeof value === 'string' || Array.isArray(value)
      ? value.length
      : Object.keys(value as object).length

const LIMITS: Record<string, { readonly kind: FieldErrorKind; readonly unit: string }> = {
  string: { kind: 'length', unit: ' characters' },
  number: { kind: 'range', unit: '' },
  array: { kind: 'too_many', unit: ' items' },
  object: { kind: 'too_many', unit: ' members' },
}

const limitTest = (type: string, name: string, limit: number): Test => {
  const { kind, unit } = LIMITS[type] ?? { kind: 'format', unit: '' }
  const verb = type === 'number' ? 'be' : 'have'
  if (name === 'min') {
    const below = kind === 'too_many' ? 'empty' : kind
    return (value) => (sizeOf(value) < limit ? [below, `must ${verb} at least ${limit}${unit}`] : null)
  }
  return (value) => (sizeOf(value) > limit ? [kind, `must ${verb} at most ${limit}${unit}`] : null)
}

const testOf = (type: string, { name, args }: JoiRule, { must, kind = 'format' }: Meta): Test => {
  if (name === 'integer') return (value) => (Number.isInteger(value) ? null : ['type', 'must be an integer'])
  if (name === 'min' || name === 'max') return limitTest(type, name, args?.limit ?? 0)
  if (name === 'pattern') {
    const [, source = '', flags] = /^\/(.*)\/(\w*)$/s.exec(args?.regex ?? '') ?? []
    const pattern = new RegExp(source, flags)
    return (value) => (pattern.test(String(value)) ? null : [kind, must ?? 'has not the right form'])
  }
  const method = args?.method
  if (name !== 'custom' || method === undefined) throw new Error(`no check for ${type}.${name}()`)
  return (value) => (method(value, HELPERS) === FAILED ? [kind, must ?? 'has not the right form'] : null)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const OF_TYPE: Record<string, readonly [is: (value: unknown) => boolean, word: string]> = {
  string: [(value) => typeof value === 'string', 'a string'],
  number: [(value) => typeof value === 'number' && Number.isFinite(value), 'a number'],
  boolean: [(value) => typeof value === 'boolean', 'true or false'],
  array: [Array.isArray, 'an array'],
  object: [isObject, 'an object'],
  any: [() => true, 'anything'],
}

const isOfType = (type: string, value: unknown): boolean => OF_TYPE[type]?.[0](value) ?? false

const array = ({ items = [] }: Description): Checker => {
  const [item] = items.map(compile)
  if (item === undefined) return (value) => value
  return (value, at, found) => (value as unknown[]).map((one, step) => item(one, { up: at, step }, found))
}

/** Any names, as long as the names and the values pass. */
const dictionary = ({
  schema,
  rule,
}: {
  readonly schema: Description
  readonly rule: Description
}): Checker => {
  const name = compile(schema)
  const member = compile(rule)
  return (value, at, found) => {
    const made: [string, unknown][] = []
    for (const step of Object.keys(value as object)) {
      const here = { up: at, step }
      const before = found.count
      name(step, here, found)
      if (found.count > before) continue
      const one = member((value as Record<string, unknown>)[step], here, found)
      if (one !== undefined) made.push([step, one])
    }
    return Object.fromEntries(made)
  }
}

const object = (description: Description): Checker => {
  const [pattern] = description.patterns ?? []
  if (pattern) return dictionary(pattern)
  const members = Object.entries(description.keys ?? {}).map(([name, one]) => [name, compile(one)] as const)
  const known = new Set(members.map(([name]) => name))
  const peers = description.dependencies?.[0]?.peers
  return (value, at, found) => {
    const given = value as Record<string, unknown>
    const made: Record<string, unknown> = {}
    for (const [step, member] of members) {
      const one = member(Object.hasOwn(given, step) ? given[step] : undefined, { up: at, step }, found)
      if (one !== undefined) made[step] = one
    }
    for (const step of Object.keys(given)) {
      if (!known.has(step)) found.add({ up: at, step }, 'unknown', 'is not a field of this request')
    }
    if (peers?.every((name) => made[name] === undefined)) {
      found.add(at, 'missing', `must have at least one of ${peers.join(', ')}`)
    }
    return made
  }
}

const alternatives = ({ matches = [] }: Description, { must }: Meta): Checker => {
  const ways = matches.map(({ schema }) => [schema.type, compile(schema)] as const)
  return (value, at, found) => {
    const way = ways.find(([type]) => isOfType(type, value))
    if (way === undefined) return found.add(at, 'type', must ?? 'is of the wrong type')
    const before = found.count
    const made = way[1](value, at, found)
    // half of one of several shapes is none of them
    return found.count === before ? made : undefined
  }
}

/** What is as good as absent: null, and here and there an empty list. */
const emptiness = (empty: Description | undefined): ((value: unknown) => boolean) => {
  if (empty === undefined) return () => false
  if (empty.type === 'alternatives') {
    const ways = (empty.matches ?? []).map(({ schema }) => emptiness(schema))
    return (value) => ways.some((way) => way(value))
  }
  if (empty.type === 'array') return (value) => Array.isArray(value) && value.length === 0
  return (value) => empty.allow?.includes(value) ?? false
}

/** The type, then each rule, then what is inside; the first mistake of a field is the one that is told. */
const inner = (description: Description, meta: Meta): Checker => {
  const { type, flags = {}, allow = [], rules = [] } = description
  if (type === 'alternatives') return alternatives(description, meta)
  const [is, word] = OF_TYPE[type] ?? []
  if (!is) throw new Error(`no check for joi's ${type}`)
  const choices = allow.filter((one) => one !== null && one !== '')
  const tests = rules.map((rule) => testOf(type, rule, meta))
  const inside = type === 'array' ? array(description) : type === 'object' ? object(description) : null
  const [item] = flags.single ? (description.items ?? []).map(compile) : []
  return (value, at, found) => {
    if (item && !Array.isArray(value)) {
      const one = item(value, at, found)
      return one === undefined ? undefined : [one]
    }
    if (!is(value)) return found.add(at, 'type', `must be ${word}`)
    if (value === '' && type === 'string') return found.add(at, 'empty', 'must not be empty')
    if (type === 'string' && (value as string).includes('\0')) {
      return found.add(at, 'format', 'must not have U+0000')
    }
    if (flags.only && !choices.includes(value)) {
      return found.add(at, 'unsupported', `must be ${choices.join(' or ')}`)
    }
    for (const test of tests) {
      const wrong = test(value)
      if (wrong) return found.add(at, ...wrong)
    }
    return inside ? inside(value, at, found) : value
  }
}

const compile = (description: Description): Checker => {
  const { flags = {}, allow = [], metas = [] } = description
  const isEmpty = emptiness(flags.empty)
  const judge = inner(description, Object.assign({}, ...metas) as Meta)
  const allowed: ReadonlySet<unknown> = new Set(allow)
  return (value, at, found) => {
    if (value === undefined || isEmpty(value)) {
      return flags.presence === 'required' ? found.add(at, 'missing', 'is required') : undefined
    }
    return allowed.has(value) ? value : judge(value, at, found)
  }
}

const checkers = new WeakMap<Shape, Checker>()

const checkerOf = (shape: Shape): Checker => {
  const known = checkers.get(shape)
  if (known) return known
  const made = compile(shape().describe() as Description)
  checkers.set(shape, made)
  return made
}

/** Makes what the first check of it would make. */
export const prepare = (shape: Shape): void => void checkerOf(shape)

export type CheckedValue<T> =
  | { readonly value: T; readonly errors: null }
  | {
      readonly value: null
      readonly errors: readonly FieldError[]
      /** Mistakes beyond those of `errors`. */
      readonly omitted: number
      /** The value without what is wrong with it; a wrong item of a list is undefined. */
      readonly rest: unknown
    }

/** The value as the shape has it, or one mistake for each wrong field. `root` is where it stands: `body`, `query`, `body[3]`. */
export const check = <T>(root: string, shape: Shape<Joi.Schema<T>>, value: unknown): CheckedValue<T> => {
  const found = new Findings(root)
  const rest = checkerOf(shape)(value, null, found)
  if (found.count === 0) return { value: rest as T, errors: null }
  const { errors, count } = found
  return { value: null, errors, omitted: count - errors.length, rest }
}
