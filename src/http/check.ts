/**
 * NAME      check - a value against its joi schema
 * DESCRIPTION
 *   Gives the value as the schema made it, or to all that is wrong with it:
 *   one entry per field, said in the words of API.md 2.9. The kinds are a closed
 *   list; joi's hundred error types are folded into it here.
 */
import type Joi from 'joi'
import type { FieldError, FieldErrorKind } from '../base/fault.js'

export type Root = 'body' | 'query' | 'path' | 'header'

const KINDS: Record<string, FieldErrorKind> = {
  'any.required': 'missing',
  'any.unknown': 'forbidden',
  'any.only': 'unsupported',
  'alternatives.types': 'type',
  'object.unknown': 'unknown',
  'object.missing': 'missing',
  'string.empty': 'empty',
  'string.pattern.base': 'format',
  'string.min': 'length',
  'string.max': 'length',
  'array.min': 'empty',
  'array.max': 'too_many',
  'limit.range': 'range',
  'number.min': 'range',
  'number.max': 'range',
  'number.integer': 'type',
  'number.infinity': 'type',
  'number.unsafe': 'range',
}

const kindOf = (type: string): FieldErrorKind => KINDS[type] ?? (type.endsWith('.base') ? 'type' : 'format')

const fieldOf = (root: Root, path: readonly (string | number)[]): string =>
  path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${step}`),
    root,
  )

/** joi calls the root, the items of a list and one instead of a list by names that no client knows. */
const NAMELESS = /^"(?:value|\[\d+\])"/

const named = (message: string, root: Root, path: readonly (string | number)[]): string =>
  message.replace(NAMELESS, () => {
    const from = path.findLastIndex((step) => typeof step === 'string')
    const name = from < 0 ? root : String(path[from])
    return `"${name}${path
      .slice(from + 1)
      .map((step) => `[${step}]`)
      .join('')}"`
  })

/** A field that has the wrong type is said to have that, and nothing else. */
const onePerField = (errors: readonly FieldError[]): readonly FieldError[] => {
  const byField = new Map<string, FieldError>()
  for (const error of errors) {
    if (!byField.has(error.field) || error.kind === 'type') byField.set(error.field, error)
  }
  return [...byField.values()]
}

const OPTIONS: Joi.ValidationOptions = { abortEarly: false, convert: false, errors: { label: 'key' } }

export type Checked<T> =
  | { readonly value: T; readonly errors: null }
  | { readonly value: null; readonly errors: readonly FieldError[] }

/** The value as the schema has it, or one mistake for each wrong field. */
export const check = <T>(root: Root, schema: Joi.Schema<T>, value: unknown): Checked<T> => {
  const result = schema.validate(value, OPTIONS)
  if (!result.error) return { value: result.value, errors: null }
  const errors = result.error.details.map(
    ({ path, message, type }): FieldError => ({
      field: fieldOf(root, path),
      message: named(message, root, path),
      kind: kindOf(type),
    }),
  )
  return { value: null, errors: onePerField(errors) }
}
