/**
 * NAME      query - a verb, as the statements that it asks for
 *   What several databases do in the same way is written once, as a generator: it yields a statement and gets
 *   what the database found. SQLite answers at once, on the thread that asks; PostgreSQL after a round trip.
 *   A verb that writes is run in one transaction, whatever it asks.
 *
 *   A generator function that is made within a call costs more than a statement (it gets a hidden class of its
 *   own): what is asked often is written at the top of a file, or is a method.
 *
 *   The SQL here is what both understand, and means the same in both:
 *   - `?` for each value, and CAST(? AS BIGINT) or CAST(? AS TEXT) where nothing beside it tells the type;
 *   - truth is stored as 0 and 1, and a comparison that is selected or summed is a CASE or a FILTER;
 *   - no rowid, no pragma, no INSERT OR, no two-argument max and min, no functions of JSON, no instr;
 *   - IS NOT DISTINCT FROM instead of IS, coalesce, lower() around what LIKE compares, NULLS FIRST in an order that has nulls;
 *   - in DO UPDATE the old column has its table before it; a sum is cast to BIGINT.
 */
import type { NamesOf } from '../port/store.js'

export type Row = Readonly<Record<string, unknown>>

export interface SqlQuery {
  readonly text: string
  readonly values: readonly unknown[]
  /** Instead of a statement: see several(). */
  readonly works?: readonly (() => Asking<unknown>)[]
}

export interface Found {
  /** What was selected or returned. */
  readonly rows: readonly Row[]
  /** How many rows a statement that returns none has changed. */
  readonly changes: number
}

/** Work in a database that ends with a T. */
export type Asking<T> = Generator<SqlQuery, T, Found>

export function* all(text: string, ...values: readonly unknown[]): Asking<readonly Row[]> {
  return (yield { text, values }).rows
}

export function* first(text: string, ...values: readonly unknown[]): Asking<Row | null> {
  return (yield { text, values }).rows[0] ?? null
}

/** How many rows were changed. */
export function* run(text: string, ...values: readonly unknown[]): Asking<number> {
  return (yield { text, values }).changes
}

export const BEGIN_SNAPSHOT: SqlQuery = { text: 'BEGIN', values: [] }
export const END_SNAPSHOT: SqlQuery = { text: 'COMMIT', values: [] }

/** All that is read in here is read from one snapshot. For reads only; not to be nested. */
export function* together<T>(read: () => Asking<T>): Asking<T> {
  yield BEGIN_SNAPSHOT
  try {
    return yield* read()
  } finally {
    yield END_SNAPSHOT
  }
}

/**
 * Reads that do not depend on one another: a database at hand answers one after another, one that is far all of them
 * together. Not within these: a snapshot, a pause.
 */
export function* several<T>(works: readonly (() => Asking<T>)[]): Asking<readonly T[]> {
  return (yield { text: '', values: [], works }).rows as readonly unknown[] as readonly T[]
}

/** Reads each row of a number but once. */
export class Memory<T> {
  readonly #known = new Map<number, T>()
  readonly #read: (n: number) => Asking<T>

  constructor(read: (n: number) => Asking<T>) {
    this.#read = read
  }

  know(n: number, value: T): void {
    this.#known.set(n, value)
  }

  *of(n: number): Asking<T> {
    let value = this.#known.get(n)
    if (value === undefined) {
      value = yield* this.#read(n)
      this.#known.set(n, value)
    }
    return value
  }
}

export const NOTHING_FOUND: Found = { rows: [], changes: 0 }

const PAUSE: SqlQuery = { text: '', values: [] }

/** In work that takes long: others may have their turn here. Not within a snapshot. */
export function* pause(): Asking<void> {
  yield PAUSE
}

export const isPause = (query: SqlQuery): boolean => query === PAUSE

type Askings = Readonly<Record<string, (...args: never[]) => Asking<unknown>>>

/** The same verbs, answered at once. */
export type Answered<V> = {
  readonly [N in keyof V]: V[N] extends (...args: infer Args) => Asking<infer T>
    ? (...args: Args) => T
    : never
}

/** Does the work, here and now. */
export type Ask = <T>(asking: Asking<T>) => T

export const answered = <V extends Askings>(verbs: V, ask: Ask): Answered<V> =>
  Object.fromEntries(
    Object.entries(verbs).map(([name, verb]) => [
      name,
      (...args: readonly unknown[]) => ask(verb(...(args as never[]))),
    ]),
  ) as Answered<V>

/** Work that asks for nothing, where a shared verb wants some that asks. */
// biome-ignore lint/correctness/useYield: that is what it is for
export function* atOnce<T>(work: () => T): Asking<T> {
  return work()
}

/** The same verbs, answered some time later. */
export type AnsweredLater<V> = {
  readonly [N in keyof V]: V[N] extends (...args: infer Args) => Asking<infer T>
    ? (...args: Args) => Promise<T>
    : never
}

export type AskLater = <T>(asking: Asking<T>) => Promise<T>

export const answeredLater = <V extends Askings>(verbs: V, ask: AskLater): AnsweredLater<V> =>
  Object.fromEntries(
    Object.entries(verbs).map(([name, verb]) => [
      name,
      async (...args: readonly unknown[]) => ask(verb(...(args as never[]))),
    ]),
  ) as AnsweredLater<V>

/** Part of the port, as shared verbs that write. */
export type Asked<Part> = {
  readonly [N in keyof Part]: Part[N] extends (...args: infer Args) => Promise<infer T>
    ? (...args: Args) => Asking<T>
    : never
}

/** Its reads alone, and its writes. */
export type AskedReads<Part> = Asked<Pick<Part, keyof Part & NamesOf<'read'>>>
export type AskedWrites<Part> = Asked<Pick<Part, keyof Part & NamesOf<'write'>>>
