/**
 * NAME      list - the envelope of every list endpoint
 * DESCRIPTION
 *   Turns `limit` and `cursor` into a page to ask the store for, and its rows into
 *   the envelope of a list, with cursors onward in both directions. The previous
 *   cursor is never null on the first page, not even of an empty list, so that a
 *   client may poll from the top for ever. `total` is counted on the first page
 *   only, up to 10,000. A cursor that is not ours beats a filter that changed.
 */
import { Fault, invalid } from '../base/fault.js'
import { sameBytes } from '../base/secret.js'
import { besideRow, type Page, type Rows } from '../lifecycle/page.js'
import { type Cursor, type CursorCodec, type Filters, filterHash, type Position } from './cursor.js'

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

export interface Envelope {
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

const readCursor = (codec: CursorCodec, list: Pick<ListRequest<never>, 'query' | 'bound'>): Cursor | null => {
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
export const listPage = async <Row>(codec: CursorCodec, list: ListRequest<Row>): Promise<Envelope> => {
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
