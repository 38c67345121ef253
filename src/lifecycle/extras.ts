/**
 * NAME      extras - what a mail carries beside its content, from acceptance on: a row for each
 *   By its name on the wire. It stands in the packed column of its mail's row, or in a column of its own, and goes with it
 *   through accept, resend, erasure and a move to another store. Of this table come the types, the statements, the record
 *   of API and command line, its shape in the document, a column of exports, a line of `postern email show`, a fact on the
 *   page of a mail and, for what a client gives, the way in by each door.
 */

/** A number is whole, and not below 0. */
export type ExtraKind = 'text' | 'number' | 'flag'

interface Extra {
  /** Text unless it says so. */
  readonly kind?: ExtraKind
  /** What the document says of it. */
  readonly says: string
  readonly example: string | number | boolean
  /** What people read before it. */
  readonly label: string
  /** It is the id of another mail. */
  readonly isMail?: true
  /** It has a column of `emails` of this name, which a step of the schema has made: TEXT, or INTEGER, or NULL. */
  readonly isColumn?: true
  /**
   * A client gives it, of at most so many characters, or so large a number: as a member of a send by this name, and with
   * hyphens as a header field (X-Postern-…) and an option of `postern send`.
   */
  readonly given?: number
}

export const EXTRAS = {
  resent_from: {
    label: 'Sent again, from',
    says: 'The mail of which this one is sent again; absent on all others',
    example: 'em_01k9f3m2zq8v6t4r2p0nxcwbha',
    isMail: true,
  },
  unsubscribe_list: {
    label: 'Mailing list',
    says: 'The mailing list that it is of, whose link stands in its header if it has one recipient; absent on all others',
    example: 'news',
  },
} as const satisfies Readonly<Record<string, Extra>>

type ExtraName = keyof typeof EXTRAS
type ValueOf<Row> = Row extends { kind: 'number' } ? number : Row extends { kind: 'flag' } ? boolean : string
export type Extras = { readonly [K in ExtraName]?: ValueOf<(typeof EXTRAS)[K]> }
type ExtraValue = string | number | boolean

/** All of them, in the order of the table. */
export const ALL_EXTRAS = (Object.keys(EXTRAS) as readonly ExtraName[]).map((name) => {
  const { kind = 'text', ...row }: Extra = EXTRAS[name]
  return { ...row, kind, name }
})

/** Those that have a column. */
export const EXTRA_COLUMNS = ALL_EXTRAS.filter(({ isColumn }) => isColumn === true)

/** Those that a client gives as they are. */
export const GIVEN_EXTRAS = ALL_EXTRAS.flatMap(({ given, ...extra }) => {
  const option = extra.name.replaceAll('_', '-')
  return given === undefined ? [] : [{ ...extra, given, option, field: `x-postern-${option}` }]
})
export type GivenExtra = (typeof GIVEN_EXTRAS)[number]

/** What is given of them, and others that a form of their own gave; null for nothing. */
export const givenExtras = (find: (extra: GivenExtra) => unknown, others: Extras): Extras | null => {
  const given = GIVEN_EXTRAS.map((extra) => [extra.name, find(extra) ?? '']).filter(
    ([, value]) => value !== '',
  )
  const extras = { ...Object.fromEntries(given), ...others }
  return Object.keys(extras).length === 0 ? null : extras
}

/** What a text gives: itself where it is none of its kind, which `wrongWith` says. */
export const readExtra = ({ kind }: Pick<GivenExtra, 'kind'>, text: string): ExtraValue => {
  if (kind === 'number' && /^\d{1,15}$/.test(text)) return Number(text)
  if (kind === 'flag' && /^(?:true|yes|1)$/i.test(text)) return true
  if (kind === 'flag' && /^(?:false|no|0)$/i.test(text)) return false
  return text
}

/** Why a value may not be given. */
export const wrongWith = ({ kind, given }: GivenExtra, value: ExtraValue) => {
  if (kind === 'flag')
    return typeof value === 'boolean' ? null : ({ kind: 'format', message: 'must be true or false' } as const)
  if (kind === 'number') {
    const isInRange = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= given
    return isInRange
      ? null
      : ({ kind: 'range', message: `must be a whole number from 0 to ${given}` } as const)
  }
  const text = String(value)
  if (text.length > given)
    return { kind: 'length', message: `must have at most ${given} characters` } as const
  return /[\x00-\x1f\x7f]/.test(text)
    ? ({ kind: 'format', message: 'must not contain control characters' } as const)
    : null
}

/** Those that a mail has, in the order of the table, and what people read of each. */
export const extrasOf = (extras: Extras | null | undefined) =>
  ALL_EXTRAS.flatMap(({ name, label, isMail }) => {
    const value: ExtraValue | undefined = extras?.[name]
    const text = typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
    return value === undefined ? [] : [{ label, isMail, text }]
  })
