/**
 * NAME      common - pieces that the shapes share
 *   Joi schemas are the only place where wire names are spelt. They check types, sizes and unknown names; what a value
 *   means (is it an address, is it past) the stages judge, for every door alike. `null` stands for "not given"
 *   everywhere: several SDKs send every field that they know. All of them take joi half a second, and most are never
 *   asked for: each is made when it first is, and then kept.
 */
import Joi from 'joi'
import type { FieldError, FieldErrorKind } from '../../base/fault.js'
import { type Members as Described, MANAGED, type Member } from '../../resource/member.js'

/* What joi tells of a schema, as far as we use it: it has no type for the answer of `describe()`. Two read it, the check of
   values and the document; what they do not know they refuse with an error. */

export interface JoiRule {
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
  readonly rules?: readonly JoiRule[]
  readonly keys?: Readonly<Record<string, Description>>
  readonly patterns?: readonly { readonly schema: Description; readonly rule: Description }[]
  readonly dependencies?: readonly { readonly rel: string; readonly peers: readonly string[] }[]
  readonly items?: readonly Description[]
  readonly matches?: readonly { readonly schema: Description }[]
  readonly metas?: readonly Meta[]
  readonly examples?: readonly unknown[]
}

/** A schema, or members for several, that is made when it is first asked for. */
export type Shape<S = Joi.Schema> = () => S

export const shape = <S>(make: () => S): Shape<S> => {
  let made: S | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** The type of what a schema lets through, so that nobody writes it a second time. */
export type TypeOf<S> =
  S extends Shape<Joi.AnySchema<infer T>> ? T : S extends Joi.AnySchema<infer T> ? T : never

declare const NEEDED: unique symbol
interface Needed {
  readonly [NEEDED]: true
}
type Keys = Readonly<Record<string, Joi.AnySchema>>
type Members<K extends Keys> = {
  readonly [N in keyof K as K[N] extends Needed ? N : never]: TypeOf<K[N]>
} & { readonly [N in keyof K as K[N] extends Needed ? never : N]?: TypeOf<K[N]> }

/** Its members are optional, except for those that `need` says. */
export const object = <const K extends Keys>(keys: K): Joi.ObjectSchema<Members<K>> =>
  Joi.object(keys as never)

export const need = <S extends Joi.AnySchema>(schema: S): S & Needed => schema.required() as S & Needed

export const oneOf = <const T extends string>(...words: readonly T[]): Joi.StringSchema<T> =>
  Joi.string().valid(...words) as never

/** Optional, and null is as good as absent. */
export const orNull = <S extends Joi.AnySchema>(schema: S): S => schema.empty(null) as S

/** null takes away what was. */
export const clearable = <S extends Joi.AnySchema>(schema: S) =>
  schema.allow(null) as Joi.AnySchema<TypeOf<S> | null>

/** A shape of these members. */
export const shapeOf = <const K extends Keys>(keys: Shape<K>) => shape(() => object(keys()))

/** A body that need not be there; null is none. */
export const anyBody = <const K extends Keys>(keys: Shape<K>) => shape(() => object(keys()).empty(null))

/** A body that there must be; null is no body. */
export const body = <const K extends Keys>(keys: Shape<K>) =>
  shape(() => object(keys()).empty(null).required())

/** What we answer, by its name in the document; `short`: what its list and its removal are named after. */
export const record = (name: string, keys: Shape<Joi.SchemaMap>, short = name): Shape<Joi.ObjectSchema> =>
  shape(() => Joi.object(keys()).meta({ name, short }))

const bare = ({ type, words = [], ...one }: Member): Joi.Schema => {
  if (type === 'own') throw new Error('a member that each door describes itself is not described here')
  if (type === 'id') return Joi.string().pattern(new RegExp(`^${one.prefix}_[0-9a-z]{26}$`))
  if (type === 'constant' || type === 'words') return Joi.string().valid(...words)
  if (type === 'flag') return Joi.boolean()
  if (type === 'number') return Joi.number()
  if (type === 'whole') return Joi.number().integer()
  if (type === 'time' && !one.none && !one.optional) return time()
  const items = one.items == null ? null : Joi.object(membersOf(one.items))
  if (type === 'list') return Joi.array().items(items ?? Joi.string())
  if (items !== null) return items
  return one.empty ? Joi.string().allow('') : Joi.string()
}

/** The schemas of described members; `own` has those that are described here. */
export const membersOf = (
  members: Described,
  own: Readonly<Record<string, Joi.Schema>> = {},
): Joi.SchemaMap =>
  Object.fromEntries(
    Object.entries(members).map(([name, one]) => {
      const said = own[name]
      if (said !== undefined) return [name, said]
      const schema = one.none ? bare(one).allow(null) : bare(one)
      const placed = one.optional ? schema : schema.required()
      const told = one.says === undefined ? placed : placed.description(one.says)
      return [name, one.example === undefined ? told : told.example(one.example)]
    }),
  )

type Asked<M> = M extends { readonly type: 'flag' }
  ? boolean
  : M extends { readonly words: readonly (infer Word)[] }
    ? Word
    : M extends { readonly type: 'whole' | 'number' }
      ? number
      : string

type Settable<M extends Described, Own> = {
  readonly [N in keyof M as N extends keyof Own
    ? never
    : M[N] extends { readonly set: object }
      ? N
      : never]: Joi.AnySchema<Asked<M[N]>>
}

/** The schemas of the members that people set, in the order of the record; `own` has those that are described here. */
export const settable = <const M extends Described, const Own extends Keys>(members: M, own: Own) =>
  Object.fromEntries(
    Object.entries<Member>(members).flatMap(([name, one]) => {
      const said = own[name]
      if (said !== undefined) return [[name, said]]
      if (one.set === undefined) return []
      const { range, asks = one.says } = one.set
      const kind = range === undefined ? bare(one) : Joi.number().integer().min(range[0]).max(range[1])
      const asked = asks === undefined ? kind : kind.description(asks)
      return [[name, one.none ? clearable(asked) : orNull(asked)]]
    }),
  ) as unknown as Settable<M, Own> & Own

/** What may be said of a change that needs no reason. */
export const why = (): Joi.StringSchema =>
  orNull(Joi.string().allow('').max(500)).description('Why; it stands in the audit')

/** The body of a DELETE, which may be left out. */
export const whyBody = anyBody(() => ({ reason: why() }))

/** A time such as `24h`, or seconds. */
export const span = (most: number) =>
  Joi.alternatives<string | number>()
    .try(
      Joi.string().max(20),
      Joi.number()
        .integer()
        .min(0)
        .max(most / 1000),
    )
    .empty(null)
    .meta({ must: 'must be a time such as "24h", or seconds' })

export const text = (max: number): Joi.StringSchema => Joi.string().allow('').max(max)

export const timestamp = (): Joi.StringSchema => Joi.string().max(64)

/** When to send, as submission/draft.ts reads it. */
export const schedule = (): Joi.StringSchema =>
  timestamp()
    .description(
      'When to send: at most 30 days ahead. Either an ISO 8601 time with its zone, or, in any letters, one of two forms in words. ' +
        '`in AMOUNT UNIT`: AMOUNT is 1 to 99999, `a` or `an`; UNIT is `second`, `sec`, `s`, `minute`, `min`, `m`, `hour`, `hr`, ' +
        '`h`, `day`, `d`, `week` or `w`, or a plural of these. `DAY at CLOCK` (`at` may be left out): DAY is `today`, `tomorrow` ' +
        'or an English weekday, in full or its first three letters, and means the next one whose CLOCK is still to come; CLOCK ' +
        'is `9am`, `9:30 pm`, `14:00`, `noon` or `midnight`. Words are always in UTC; `UTC`, `GMT` or `Z` may follow the clock. ' +
        'A day has 24 hours, a week seven days',
    )
    .example('2026-11-21T08:00:00Z')
    .example('in 10 min')
    .example('tomorrow at 9am')

/** RFC 3339 in UTC with milliseconds, as we write it. */
export const time = (): Joi.StringSchema =>
  Joi.string()
    .pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    .required()

export const id = (prefix: string): Joi.StringSchema =>
  Joi.string()
    .pattern(new RegExp(`^${prefix}_[0-9a-z]{26}$`))
    .required()

/** How many. */
export const count = (): Joi.NumberSchema => Joi.number().integer().min(0).required()

export const nullable = <S extends Joi.AnySchema>(schema: S): S => schema.allow(null).required() as S

/** A number as text: joi would take `1e1` and `10.0` for one, too. */
const LIMIT = /^(?:[1-9][0-9]?|100)$/

const FILE_LIMIT = /^(?:[1-9][0-9]{0,5}|1000000)$/

const besides = shape(() => ({
  after: Joi.string()
    .max(64)
    .description(
      'The id of a row of this list: those older than it, without it. Not beside `cursor` or `before`',
    )
    .example('em_01k9f3m2zq8v6t4r2p0nxcwbha'),
  before: Joi.string()
    .max(64)
    .description(
      'The id of a row of this list: the nearest that are newer than it, without it; `has_more` tells then of newer ones. Not beside `cursor` or `after`',
    )
    .example('em_01k9f3m2zq8v6t4r2p0nxcwbha'),
}))

/** What a cursor is worth is judged by list.ts, so here anything may stand. */
export const pageQuery = shape(() => ({
  limit: Joi.any()
    .custom((value: unknown, helpers) =>
      typeof value === 'string' && LIMIT.test(value) ? value : helpers.error('limit.range'),
    )
    .meta({ must: 'must be an integer from 1 to 100', kind: 'range' })
    .description('1 to 100, default 20')
    .meta({ schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }) as Joi.AnySchema<string>,
  cursor: Joi.any()
    .description('from next_cursor or prev_cursor')
    .meta({ schema: { type: 'string' } }) as Joi.AnySchema<string | string[]>,
  ...besides(),
}))

/** Of a list that may be had as a file: `limit` is then of all its rows. */
export const fileQuery = shape(() => ({
  ...pageQuery(),
  limit: Joi.any()
    .custom((value: unknown, helpers) =>
      typeof value === 'string' && FILE_LIMIT.test(value) ? value : helpers.error('limit.range'),
    )
    .meta({
      must: 'must be an integer from 1 to 100, and with format csv or ndjson from 1 to 1000000',
      kind: 'range',
    })
    .description(
      'Rows of a page: 1 to 100, default 20. With `format` csv or ndjson, rows of the file: up to 1,000,000, default all',
    )
    .meta({ schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }) as Joi.AnySchema<string>,
  format: oneOf('json', 'csv', 'ndjson').description(
    'csv or ndjson: all of the list as a file, newest first, times in UTC; as Accept: text/csv and application/x-ndjson. In CSV a cell that begins with = + - @ has an apostrophe before it',
  ),
}))

export const pageOnly = shapeOf(pageQuery)

/** What its list and its removal are named after. */
const shortName = (row: Joi.Schema): string | undefined => {
  const { name, short = name }: Meta = Object.assign({}, ...((row.describe() as Description).metas ?? []))
  return short
}

/** A page of records; its name is that of its rows, unless they say another one. */
export const listOf = (row: Shape): Shape<Joi.ObjectSchema> =>
  shape(() =>
    Joi.object({
      object: Joi.string().valid('list').required(),
      data: Joi.array().items(row()).required(),
      has_more: Joi.boolean().required(),
      pagination: Joi.object({
        limit: Joi.number().integer().min(1).max(100).required(),
        total: nullable(Joi.number().integer().min(0).max(10_000)),
        total_capped: Joi.boolean().required(),
        has_next: Joi.boolean().required(),
        has_prev: Joi.boolean().required(),
        next_cursor: nullable(Joi.string().pattern(/^v1_/)),
        prev_cursor: nullable(Joi.string().pattern(/^v1_/)),
      }).required(),
    }).meta({ name: `${shortName(row())}List` }),
  )

/** The answer to a DELETE of a record. Never 204: client libraries parse every answer as JSON. */
export const removedOf = (
  row: Shape<Joi.ObjectSchema>,
  more?: Shape<Joi.ObjectSchema>,
): Shape<Joi.ObjectSchema> =>
  shape(() => {
    const removed = Joi.object({
      id: row().extract('id'),
      object: row().extract('object'),
      deleted: Joi.boolean().valid(true).required(),
    })
    return (more === undefined ? removed : removed.concat(more())).meta({
      name: `Removed${shortName(row())}`,
    })
  })

/* Members that a client read and sends back: people read a record, change a member and send the whole of it as a PATCH. What
   can not be changed may stand there as it was read; another value is refused, since somebody believes that it takes effect. */

const AS_READ = 'As it was read; it can not be changed here'

export const asRead = {
  text: () => orNull(Joi.string().max(100).description(AS_READ)),
  flag: () => orNull(Joi.boolean().description(AS_READ)),
  managed: () => orNull(Joi.object(membersOf(MANAGED.items)).description(AS_READ)),
}

type AnyMembers = Readonly<Record<string, unknown>>

/** `records`: what it was, and what else it may say, such as what it is about to become. */
export const notAsRead = (
  sent: object,
  names: readonly string[],
  records: readonly object[],
  at = 'body',
): readonly FieldError[] =>
  names
    .filter((name) => {
      const value = (sent as AnyMembers)[name]
      return value != null && !records.some((record) => (record as AnyMembers)[name] === value)
    })
    .map((name) => ({ field: `${at}.${name}`, kind: 'forbidden', message: 'can not be changed here' }))

const KINDS = [
  'missing',
  'type',
  'empty',
  'format',
  'length',
  'range',
  'unknown',
  'forbidden',
  'unsupported',
  'too_many',
  'not_unique',
  'past',
]

export const problemShape = record('Problem', () => ({
  type: Joi.string().required(),
  title: Joi.string().required(),
  status: Joi.number().integer().required(),
  code: Joi.string().required(),
  detail: Joi.string(),
  request_id: Joi.string().required(),
  instance: Joi.string().required(),
  reason: Joi.string(),
  oldest: Joi.string().description('Of event.expired: the oldest mark that can be followed'),
  errors: Joi.array().items(
    Joi.object({
      field: Joi.string().required(),
      message: Joi.string().required(),
      kind: need(oneOf(...KINDS)),
    }),
  ),
  errors_omitted: Joi.number()
    .integer()
    .min(1)
    .description('How many mistakes were found beyond the hundred in `errors`'),
}))
