/**
 * NAME      member - the language in which a record is described once, and which setup made a thing
 *   A record is a list of members. A member says what stands in it, whether it may be null or absent, what the document says of
 *   it, and from what of the row it is made: by default from the member of the row that is called the same in camel case.
 *   From the list come the record that API, command line and pages show, its type, and its shape in the document. Data only:
 *   doors make of it what they need. What is not described is not shown: a hash or a secret of a row never leaves by itself.
 *   The setup that made a thing stands in its record. The rows do not know it: a door asks once for all records that it shows.
 *   What no setup made, as all that was made just now, has null.
 *   A member that people set says so (`set`): from that come the bodies of requests, what tenant/ passes on to the store, the
 *   fields of setups, and, where it has words for them, the option of the command, the field of the form and the fact of the page.
 */
import { toRfc3339 } from '../base/clock.js'
import type { FieldError } from '../base/fault.js'
import { type CamelName, camelName } from '../base/text.js'
import type { Role } from '../config/identity.js'
import type { ManagedKind, ManagedName, Setups } from '../store/port/tenants.js'

/** Who may do something; `subjects` and `bodies`: what is written in mail, of which viewers see what identity.viewers_see says. */
export type Least = Role | 'subjects' | 'bodies'

export interface OfPeople {
  readonly own: Role
  readonly others: Role
}

/** The least that may do each operation of /v1. */
export type Rights = Readonly<Record<string, Least | OfPeople>>

/** What doors say of a member that people set. One that has no words for a door is told there by hand, or not at all. */
interface Setting {
  /** Of a number: the least and the most that it may be. */
  readonly range?: readonly [least: number, most: number]
  /** Of a number: what a new thing has. */
  readonly begins?: number
  /** What the document says of it in a request; by default what it says of it in the record. */
  readonly asks?: string
  /** Of the option of the command. */
  readonly option?: string
  /** Of the field of the form. */
  readonly label?: string
  /** What the form says to each value of a word, or of a flag that is no check box. */
  readonly choices?: Readonly<Record<string, string>>
  /** What the form says below its field. */
  readonly hint?: string
  /** What a command calls it that shows the record; by default as its option. */
  readonly shown?: string
  /** What it is called among the facts of the page; by default as in the form. null: it is none of them. */
  readonly fact?: string | null
  /** What the page says to each value; by default a flag is yes or no. */
  readonly values?: Readonly<Record<string, string>>
}

/** What else is said of a member. */
interface How {
  /** People set it, in the same form as they read it. Of a word, a new thing has the first, of a flag false. */
  readonly set?: Setting
  /** null: there is none. */
  readonly none?: true
  /** Absent where the row has none. */
  readonly optional?: true
  /** A text that may have nothing in it. */
  readonly empty?: true
  /** What the document says of it. */
  readonly says?: string
  /** What it looks like in the document; what means the same in each record has a row in http/openapi/members.ts. */
  readonly example?: unknown
  /** What it is made of: a member of the row that is called otherwise, or all of the row. */
  readonly from?: string
  // biome-ignore lint/suspicious/noExplicitAny: the row of the record that it stands in
  readonly of?: (row: any) => unknown
}

type MemberType =
  | 'id'
  | 'constant'
  | 'text'
  | 'words'
  | 'flag'
  | 'number'
  | 'whole'
  | 'time'
  | 'list'
  | 'record'
  | 'own'

export interface Member extends How {
  readonly type: MemberType
  /** The letters before `_` of an id. */
  readonly prefix?: string
  /** All that it may be. */
  readonly words?: readonly string[]
  /** Of a list or a record: what stands in it; null: texts. */
  readonly items?: Members | null
}

export type Members = Readonly<Record<string, Member>>

/** The members that people set, in the order of the record. */
export const settingsOf = (members: Members) =>
  Object.entries(members).flatMap(([name, { set, ...one }]) =>
    set === undefined ? [] : [{ ...one, ...set, name }],
  )

/** What a wish says of the members that people set, under the names of rows; of what else it holds, nothing. */
export const wishedOf = <Of>(members: Members, wish: object): Partial<Of> =>
  Object.fromEntries(
    settingsOf(members).flatMap(({ name, from = camelName(name) }) => {
      const value = (wish as Row)[camelName(name)]
      return value === undefined ? [] : [[from, value]]
    }),
  ) as Partial<Of>

/** What a new thing has of the members that people set, as a wish. */
export const beginningOf = (members: Members): Row =>
  Object.fromEntries(
    settingsOf(members).map(({ name, type, words, begins = type === 'flag' ? false : null }) => [
      camelName(name),
      words?.[0] ?? begins,
    ]),
  )

export const isWithin = (value: unknown, [least, most]: NonNullable<Setting['range']>): boolean =>
  Number.isInteger(value) && Number(value) >= least && Number(value) <= most

/** Numbers of a wish that are out of their range. */
export const outOfRange = (members: Members, wish: object): readonly FieldError[] =>
  settingsOf(members).flatMap(({ name, range }): readonly FieldError[] => {
    const value = (wish as Row)[camelName(name)]
    if (range === undefined || value === undefined || isWithin(value, range)) return []
    const message = `must be a whole number from ${range[0]} to ${range[1]}`
    return [{ field: `body.${name}`, kind: 'range', message }]
  })

type NameOf<K, M> = M extends { readonly from: infer Name } ? Name : CamelName<K>

type Value<Row, K, M> = M extends { readonly of: (row: never) => infer Made }
  ? Made
  : M extends { readonly type: 'constant'; readonly words: readonly [infer Word] }
    ? Word
    : NameOf<K, M> extends infer Name extends keyof Row
      ? M extends { readonly type: 'time' }
        ? string | Extract<Row[Name], null>
        : M extends { readonly items: infer Items extends Members }
          ? Nested<Row[Name], Items>
          : Exclude<Row[Name], undefined>
      : never

type Nested<Of, Items extends Members> = Of extends readonly (infer One)[]
  ? readonly RecordOf<One, Items>[]
  : RecordOf<NonNullable<Of>, Items> | Extract<Of, null>

type Optional = { readonly optional: true }

/** The record that a description makes of a row. */
type RecordOf<Row, M extends Members> = {
  readonly [K in keyof M as M[K] extends Optional ? never : K]: Value<Row, K, M[K]>
} & {
  readonly [K in keyof M as M[K] extends Optional ? K : never]?: NonNullable<Value<Row, K, M[K]>>
}

type None = Record<never, never>

const member =
  <const T extends MemberType>(type: T) =>
  <const H extends How = None>(how?: H) =>
    ({ type, ...how }) as { readonly type: T } & H

export const text = member('text')
export const flag = member('flag')
/** A number; and one without fractions. */
export const number = member('number')
export const whole = member('whole')
/** Epoch milliseconds in the row, RFC 3339 on the wire. */
export const time = member('time')
/** Each door says itself what it looks like. */
export const own = member('own')
export const id = <const H extends How = None>(prefix: string, how?: H) => ({ ...member('id')(how), prefix })
export const constant = <const W extends string>(word: W) => ({ type: 'constant', words: [word] }) as const
export const words = <const W extends readonly string[], const H extends How = None>(of: W, how?: H) => ({
  ...member('words')(how),
  words: of,
})
/** Of texts (null), or of such records. */
export const list = <const I extends Members | null, const H extends How = None>(items: I, how?: H) => ({
  ...member('list')(how),
  items,
})
export const record = <const I extends Members, const H extends How = None>(items: I, how?: H) => ({
  ...member('record')(how),
  items,
})

type Row = Readonly<Record<string, unknown>>

const makerOf = (name: string, one: Member): ((row: Row) => unknown) => {
  const { type, of, items, words, from = camelName(name) } = one
  if (of !== undefined) return of
  if (type === 'constant') return () => words?.[0]
  const made = items == null ? (type === 'time' ? toRfc3339 : null) : recordsOf<never>()(items)
  if (made === null) return ({ [from]: value }) => value ?? null
  return ({ [from]: value }) =>
    Array.isArray(value)
      ? value.map((each) => made(each as never))
      : value == null
        ? null
        : made(value as never)
}

/** What makes records of rows, by their description. */
export const recordsOf =
  <R>() =>
  <const M extends Members>(members: M): ((row: R) => RecordOf<R, M>) => {
    const makers = Object.entries(members).map(([name, one]) => ({ ...one, name, make: makerOf(name, one) }))
    return (row) => {
      const made: Record<string, unknown> = {}
      for (const { name, make, optional } of makers) {
        const value = make(row as Row)
        if (!optional || value != null) made[name] = value
      }
      return made as never
    }
  }

/** The answer to a removal; `object` is what it was. */
export const removed = <T extends string>(object: T, id: string) => ({ id, object, deleted: true as const })

export interface Managed {
  readonly setup: string
  readonly name: string
}

/** The member of a record; `withManaged` fills it. */
export const MANAGED = record(
  {
    setup: text({ says: 'The name of the setup' }),
    name: text({ says: 'As its files name it, with the workspace before a slash' }),
  },
  {
    none: true,
    of: (): Managed | null => null,
    says: 'The setup that made it: where the files say otherwise, what is changed by hand is left alone by `postern apply` until it is adopted. null: a person or a program made it',
  },
)

/** By what records say that they are. */
const KIND_OF: Readonly<Record<string, ManagedKind>> = {
  ...{ api_key: 'key', credential: 'credential', domain: 'domain', egress_pool: 'pool' },
  ...{ workspace: 'workspace', webhook: 'webhook', user: 'person' },
}

/** `shop/web`, as the files name it. */
const nameIn = ({ workspace, name }: ManagedName): string =>
  workspace === '' ? name : `${workspace}/${name}`

interface Told {
  readonly id: string
  readonly object: string
  readonly managed: Managed | null
}

const isTold = (value: unknown): value is Told =>
  typeof value === 'object' && value !== null && 'managed' in value && 'object' in value

/** The records in an answer: itself, those of a list, and the one that it takes the place of. */
const toldIn = (answer: unknown): readonly Told[] => {
  if (Array.isArray(answer)) return answer.filter(isTold)
  if (typeof answer !== 'object' || answer === null) return []
  const { data, replaces } = answer as { readonly data?: unknown; readonly replaces?: unknown }
  return [answer, ...(Array.isArray(data) ? data : []), replaces].filter(isTold)
}

/** The same record, list of records or answer, told of each record which setup made it. */
export const withManaged = async <T>(
  store: Pick<Setups, 'managedNames'>,
  accountId: string,
  answer: T,
): Promise<T> => {
  const told = toldIn(answer)
  if (told.length === 0) return answer
  const names = await store.managedNames(
    accountId,
    told.map(({ id }) => id),
  )
  if (names.length === 0) return answer
  const filled = new Map<unknown, Told>()
  for (const one of told) {
    const made = names.find(({ objectId, kind }) => objectId === one.id && kind === KIND_OF[one.object])
    if (made !== undefined) filled.set(one, { ...one, managed: { setup: made.setup, name: nameIn(made) } })
  }
  const fill = <V>(value: V): V => (filled.get(value) as V | undefined) ?? value
  if (Array.isArray(answer)) return answer.map(fill) as T
  const { data, replaces } = answer as { readonly data?: unknown; readonly replaces?: unknown }
  return {
    ...fill(answer),
    ...(Array.isArray(data) && { data: data.map(fill) }),
    ...(replaces !== undefined && { replaces: fill(replaces) }),
  }
}
