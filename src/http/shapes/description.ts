/**
 * NAME      description - what joi tells of a schema, as far as we use it
 * DESCRIPTION
 *   joi has no type for the answer of `describe()`. Two read it: the check of
 *   values and the document. What neither knows they refuse with an error at start.
 */
import type Joi from 'joi'
import type { FieldErrorKind } from '../../base/fault.js'

export interface Rule {
  readonly name: string
  readonly args?: { readonly limit?: number; readonly regex?: string; readonly method?: Joi.CustomValidator }
}

/** What else a schema says. */
export interface Meta {
  /** How a broken pattern or custom rule is told, and as what. */
  readonly must?: string
  readonly kind?: FieldErrorKind
  /** Its name in the document, and what the document says instead. */
  readonly name?: string
  /** What its list and its removal are named after, where that is another name. */
  readonly short?: string
  readonly schema?: { readonly [keyword: string]: unknown }
  /** A schema that is checked elsewhere; joi describes it along with this one. */
  readonly like?: Description
}

export interface Description {
  readonly type: string
  readonly flags?: {
    readonly presence?: string
    readonly only?: boolean
    readonly single?: boolean
    readonly unknown?: boolean
    readonly empty?: Description
    readonly description?: string
  }
  readonly allow?: readonly unknown[]
  readonly rules?: readonly Rule[]
  readonly keys?: Readonly<Record<string, Description>>
  readonly patterns?: readonly { readonly schema: Description; readonly rule: Description }[]
  readonly dependencies?: readonly { readonly rel: string; readonly peers: readonly string[] }[]
  readonly items?: readonly Description[]
  readonly matches?: readonly { readonly schema: Description }[]
  readonly metas?: readonly Meta[]
  readonly examples?: readonly unknown[]
}
