/**
 * NAME      list - the envelope of every list endpoint, and its cursors
 *   Turns `limit` and `cursor` into a page to ask the store for, and its rows into
 *   the envelope of a list, with cursors onward in both directions. The previous
 *   cursor is never null on the first page, not even of an empty list, so that a
 *   client may poll from the top for ever. `total` is counted on the first page
 *   only, up to 10,000. A cursor that is not ours beats a filter that changed.
 *
 *   A cursor is `v1_` and base64url of payload and HMAC-SHA-256 cut to 128 bits.
 *   The payload holds direction, limit, a hash of the filters and the store's mark
 *   of the place; it refers to no row, so deleting one changes nothing. Whom and what
 *   it was made for (endpoint, account, bound workspace and mode) is not in the
 *   payload but under the HMAC: in other hands it does not verify.
 *   Node's base64 reader forgives stray bits and trailing junk, so a cursor counts
 *   only when writing it again gives the same text.
 */
import { createHash } from 'node:crypto'
import { Fault, invalid } from '../base/fault.js'
import { keyedHash, sameBytes } from '../base/secret.js'
import { besideRow, type Page, type Rows } from '../lifecycle/page.js'

interface Position {
  readonly direction: 'older' | 'newer'
  /** A mark of the store, or null: the very end of the list that the direction leads away from. */
  readonly anchor: string | null
}

export interface ListCursor extends Position {
  readonly limit: number
  /** Of the filters in force, by filterHash. */
  readonly filters: Uint8Array
}

const PREFIX = 'v1_'
const HASH_LENGTH = 8
const HEAD_LENGTH = 2 + HASH_LENGTH
const MAC_LENGTH = 16
const NEWER = 1

export type Filters = Readonly<Record<string, string | number | null>>

/** Filters in any order, absent ones left out: the same hash for the same meaning. */
export const filterHash = (filters: Filters): Uint8Array => {
  const set = Object.entries(filters).filter(([, value]) => value !== null)
  set.sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(set)).digest().subarray(0, HASH_LENGTH)
}

export class CursorCodec {
  readonly #key: Uint8Array

  constructor(pepper: Uint8Array) {
    this.#key = keyedHash(pepper, 'http-cursor-key')
  }

  #mac(payload: Uint8Array, bound: readonly string[]): Buffer {
    const text = Buffer.from(payload).toString('latin1')
    return keyedHash(this.#key, 'cursor', text, ...bound).subarray(0, MAC_LENGTH)
  }

  write(cursor: ListCursor, bound: readonly string[]): string {
    const payload = Buffer.concat([
      Uint8Array.of(cursor.direction === 'newer' ? NEWER : 0, cursor.limit),
      cursor.filters,
      Buffer.from(cursor.anchor ?? '', 'latin1'),
    ])
    return PREFIX + Buffer.concat([payload, this.#mac(payload, bound)]).toString('base64url')
  }

  /** Throws validation.cursor_invalid unless this very text was written for `bound`. */
  read(text: string, bound: readonly string[]): ListCursor {
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
    const payload = bytes.subarray(0, -MAC_LENGTH)
    if (
      text !== PREFIX + bytes.toString('base64url') ||
      payload.length < HEAD_LENGTH ||
      !sameBytes(bytes.subarray(-MAC_LENGTH), this.#mac(payload, bound))
    ) {
      throw new Fault('validation.cursor_invalid')
    }
    const flags = payload[0] ?? 0
    const mark = payload.subarray(HEAD_LENGTH).toString('latin1')
    return {
      direction: flags & NEWER ? 'newer' : 'older',
      limit: payload[1] ?? 0,
      filters: payload.subarray(2, HEAD_LENGTH),
      anchor: mark === '' ? null : mark,
    }
  }
}

const TOTAL_CAP = 10_000
const DEFAULT_LIMIT = 20
const MOST_LIMIT = 100

/** As they stand in the query, where a repeated parameter is an array. Of an endpoint that makes files of lists, the schema lets larger limits through. */
export interface PageQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | readonly string[] | undefined
  /** Ids of rows, which are on the page themselves in no case. */
  readonly after?: string | undefined
  readonly before?: string | undefined
}

/** Of a search: how far it looked, where it ended before its page was full. */
type Listed<Row> = Rows<Row> & { readonly searchedTo?: number | null }

export interface ListRequest<Row> {
  readonly query: PageQuery
  readonly filters: Filters
  /** Without a cursor: answers like the previous cursor of this mark of the store. */
  readonly after?: string | null
  /** Endpoint, account and whatever else the caller is bound to: no one else's cursor fits. */
  readonly bound: readonly string[]
  readonly fetch: (page: Page) => Promise<Listed<Row>>
  readonly render: (row: Row) => unknown
  /** What stands beside the rows; asked when they are there. */
  readonly beside?: () => object
}

export interface ListEnvelope {
  readonly object: 'list'
  readonly data: readonly unknown[]
  readonly has_more: boolean
  readonly pagination: {
    readonly limit: number
    readonly total: number | null
    readonly total_capped: boolean
    readonly has_next: boolean
    readonly has_prev: boolean
    readonly next_cursor: string | null
    readonly prev_cursor: string | null
    /** Of a search alone. */
    readonly searched_to?: string | null
  }
}

const readCursor = (
  codec: CursorCodec,
  list: Pick<ListRequest<never>, 'query' | 'bound'>,
): ListCursor | null => {
  const text = list.query.cursor
  if (text === undefined) return null
  if (typeof text !== 'string') throw new Fault('validation.cursor_invalid')
  return codec.read(text, list.bound)
}

interface Onward {
  readonly next: Position | null
  readonly prev: Position
}

/** Where the lists on both sides of a page begin. */
const onward = ({ hasOlder, older, newer }: Rows<unknown>): Onward => ({
  next: hasOlder ? { direction: 'older', anchor: older } : null,
  prev: { direction: 'newer', anchor: newer },
})

/** The member that names a row where the page begins, and the row. */
const besideOf = ({ cursor, after, before }: PageQuery): readonly ['after' | 'before', string] | null => {
  const name = after === undefined ? 'before' : 'after'
  const id = after ?? before
  if (id === undefined) return null
  const other =
    cursor !== undefined ? 'cursor' : after !== undefined && before !== undefined ? 'before' : null
  if (other !== null)
    throw invalid([{ field: `query.${name}`, kind: 'forbidden', message: `must not stand beside ${other}` }])
  return [name, id]
}

/** A page that begins beside a row; throws where the list has none of this id. */
const fetchBeside = async <Row>(list: ListRequest<Row>, name: string, page: Page): Promise<Listed<Row>> => {
  try {
    return await list.fetch(page)
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'validation.cursor_invalid') throw error
    throw invalid([
      { field: `query.${name}`, kind: 'format', message: 'must be the id of a row of this list' },
    ])
  }
}

const isoOrNull = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const TOP: Position = { direction: 'older', anchor: null }

const startOf = (mark: string | null, beside: ReturnType<typeof besideOf>): Position => {
  if (beside !== null)
    return { direction: beside[0] === 'after' ? 'older' : 'newer', anchor: besideRow(beside[1]) }
  return mark === null ? TOP : { direction: 'newer', anchor: mark }
}

/** One page as the endpoint answers it; throws validation.cursor_invalid and validation.cursor_filters_mismatch. */
export const listPage = async <Row>(codec: CursorCodec, list: ListRequest<Row>): Promise<ListEnvelope> => {
  const asked = list.query.limit === undefined ? null : Number(list.query.limit)
  if (asked !== null && asked > MOST_LIMIT)
    throw invalid([
      { field: 'query.limit', message: `must be an integer from 1 to ${MOST_LIMIT}`, kind: 'range' },
    ])
  const filters = filterHash(list.filters)
  const cursor = readCursor(codec, list)
  if (cursor && (!sameBytes(cursor.filters, filters) || (asked ?? cursor.limit) !== cursor.limit)) {
    throw new Fault('validation.cursor_filters_mismatch')
  }
  const limit = cursor?.limit ?? asked ?? DEFAULT_LIMIT
  const beside = list.after == null ? besideOf(list.query) : null
  const from = cursor ?? startOf(list.after ?? null, beside)
  const asks = { ...from, limit, countUpTo: from === TOP ? TOTAL_CAP : 0 }
  const page = beside === null ? await list.fetch(asks) : await fetchBeside(list, beside[0], asks)
  const { next, prev } = onward(page)
  const write = (position: Position | null) =>
    position && codec.write({ ...position, limit, filters }, list.bound)
  const total = from === TOP ? page.total : null
  return {
    object: 'list',
    data: page.rows.map(list.render),
    has_more: beside?.[0] === 'before' ? page.hasNewer : next !== null,
    pagination: {
      limit,
      total,
      total_capped: total !== null && total >= TOTAL_CAP,
      has_next: next !== null,
      has_prev: page.hasNewer,
      next_cursor: write(next),
      prev_cursor: write(prev),
      ...(page.searchedTo !== undefined && {
        searched_to: isoOrNull(page.searchedTo),
      }),
    },
    ...list.beside?.(),
  }
}
