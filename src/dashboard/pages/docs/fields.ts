/**
 * NAME      fields - a JSON Schema as lines that people read
 * DESCRIPTION
 *   One line for each member, those of nested objects below their parent with the whole path as their name
 *   (`attachments[].content`). Knows the keywords that the API's document uses.
 */
import { figure } from '../../parts/figure.js'

export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly default?: unknown
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
}

export type Schemas = Readonly<Record<string, Schema>>

export interface Field {
  /** From the root: `to`, `data[].id`. */
  readonly name: string
  readonly depth: number
  /** In words: `string or null`, `list of objects`. */
  readonly type: string
  readonly required: boolean
  /** What the schema says of it, and its limits. */
  readonly says: readonly string[]
  readonly oneOf: readonly string[]
}

const DEEPEST = 6

const target = (schema: Schema, schemas: Schemas): Schema => {
  const name = schema.$ref?.split('/').at(-1)
  if (name === undefined) return schema
  const { $ref: _, ...own } = schema
  return { ...schemas[name], ...own }
}

/** The forms that a value may have, null among them. */
const forms = (schema: Schema, schemas: Schemas): readonly Schema[] =>
  // an empty list is as good as absent, and no form of the value
  allForms(schema, schemas).filter(({ maxItems }) => maxItems !== 0)

const allForms = (schema: Schema, schemas: Schemas): readonly Schema[] => {
  const whole = target(schema, schemas)
  // beside a type, anyOf says which members belong together
  if (whole.anyOf === undefined || whole.type !== undefined) return [whole]
  const { anyOf, ...common } = whole
  return anyOf.flatMap((one) => allForms(one, schemas)).map((one) => ({ ...common, ...one }))
}

const PLURAL: Readonly<Record<string, string>> = { any: 'anything' }
const plural = (word: string): string => PLURAL[word] ?? `${word}s`

const wordOf = (form: Schema, schemas: Schemas): string => {
  if (form.type !== 'array') return form.type ?? 'any'
  const inner = forms(form.items ?? {}, schemas).map((one) => plural(wordOf(one, schemas)))
  return `list of ${[...new Set(inner)].join(' or ')}`
}

const range = (least: number | undefined, most: number | undefined, unit: string): string | null => {
  if (most !== undefined && least !== undefined && least === most) return `exactly ${figure(most)}${unit}`
  if (most !== undefined)
    return `${least === undefined ? 'at most' : `${figure(least)} to`} ${figure(most)}${unit}`
  return least === undefined ? null : `at least ${figure(least)}${unit}`
}

const limitsOf = (form: Schema): readonly string[] =>
  [
    // that a text is not empty goes without saying
    form.maxLength === undefined ? null : range(form.minLength, form.maxLength, ' characters'),
    range(form.minItems, form.maxItems, ' entries'),
    // so does that a count is not negative
    form.maximum === undefined && form.minimum === 0 ? null : range(form.minimum, form.maximum, ''),
    form.default === undefined ? null : `${JSON.stringify(form.default)} when left out`,
  ].filter((one) => one !== null)

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replace(/\.?$/, '.')

/** The plainest first: a text, a list of them, nothing. */
const rank = (word: string): number => (word === 'null' ? 2 : word.startsWith('list of') ? 1 : 0)

const lineOf = (name: string, depth: number, required: boolean, schema: Schema, schemas: Schemas): Field => {
  const all = forms(schema, schemas)
  const words = [...new Set(all.map((one) => wordOf(one, schemas)))].sort((a, b) => rank(a) - rank(b))
  const described =
    target(schema, schemas).description ?? all.find(({ description }) => description)?.description
  return {
    name,
    depth,
    type: words.join(' or '),
    required,
    says: [...(described === undefined ? [] : [described]), ...new Set(all.flatMap(limitsOf))].map(sentence),
    oneOf: all.flatMap((one) => [...(one.enum ?? []), ...(one.items?.enum ?? [])]).map(String),
  }
}

const join = (parent: string, name: string): string => (parent === '' ? name : `${parent}.${name}`)

const below = (schema: Schema, schemas: Schemas, parent: string, depth: number): readonly Field[] => {
  if (depth > DEEPEST) return []
  const lines = new Map<string, readonly Field[]>()
  for (const form of forms(schema, schemas)) {
    if (form.type === 'array') {
      for (const line of below(form.items ?? {}, schemas, `${parent}[]`, depth)) lines.set(line.name, [line])
    }
    for (const [name, one] of Object.entries(form.properties ?? {})) {
      const path = join(parent, name)
      const line = lineOf(path, depth, form.required?.includes(name) ?? false, one, schemas)
      lines.set(path, [line, ...below(one, schemas, path, depth + 1)])
    }
    const { additionalProperties: others } = form
    if (typeof others === 'object') {
      const path = join(parent, '*')
      lines.set(path, [
        lineOf(path, depth, false, others, schemas),
        ...below(others, schemas, path, depth + 1),
      ])
    }
  }
  return [...lines.values()].flat()
}

export const fieldsOf = (schema: Schema, schemas: Schemas): readonly Field[] => below(schema, schemas, '', 0)

/** One parameter, as a line. */
export const fieldOf = (name: string, required: boolean, schema: Schema): Field =>
  lineOf(name, 0, required, schema, {})
