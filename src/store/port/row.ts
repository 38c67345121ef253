/**
 * NAME      row - the fields of a table, said once
 *   Of them follow the type of its rows, and in store/sql/ its columns and both translations. The tables of mail are not
 *   said like this: their statements are made by hand.
 */

/** `plain` is text, number, octets or null as the database keeps it. */
export type FieldKind = 'plain' | 'bool' | 'json'

/** `type` is never there: it tells the compiler what the field holds. */
export interface Field<T> {
  readonly kind: FieldKind
  readonly type?: T
}

export const plain = <T extends string | number | Uint8Array | null>(): Field<T> => ({ kind: 'plain' })
export const bool: Field<boolean> = { kind: 'bool' }
export const json = <T>(): Field<T> => ({ kind: 'json' })

export type RowOf<Fields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends Field<infer T> ? T : never
}
