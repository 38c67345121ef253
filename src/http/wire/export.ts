/**
 * NAME      export - a whole list as a file
 * DESCRIPTION
 *   All pages of a list, one after the other, as CSV (RFC 4180) or as one JSON
 *   record a line. A page is read when the client has taken the one before, so a
 *   list of any length takes the memory of one page, and nothing more is read when
 *   the client has gone. What fails on the way ends the connection: a file that ends
 *   well is whole. Times are in UTC, and the head of their columns says so.
 */
import { Readable } from 'node:stream'
import { invalid } from '../../base/fault.js'
import { type Page, pagesOf, type Rows } from '../../lifecycle/page.js'
import { guarded, writeCsv } from '../../record/csv.js'
import type { Answer, Call } from '../endpoint.js'
import { headerValues } from './values.js'

type Format = 'csv' | 'ndjson'
/** Rows of one file. */
const MOST_ROWS = 1_000_000

export const MEDIA: Readonly<Record<Format, string>> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

export interface FormatQuery {
  readonly format?: string | undefined
  readonly limit?: string | undefined
  readonly cursor?: unknown
  readonly after?: unknown
  readonly before?: unknown
}

/** What is wanted in place of a page; `format` wins over what the client accepts. */
export const formatOf = ({ req, query }: Pick<Call<FormatQuery>, 'req' | 'query'>): Format | null => {
  if (query.format !== undefined) return query.format === 'json' ? null : (query.format as Format)
  const accepted = headerValues(req, 'accept').join(',').toLowerCase()
  if (accepted.includes('application/json')) return null
  if (accepted.includes(MEDIA.csv)) return 'csv'
  return accepted.includes(MEDIA.ndjson) || accepted.includes('application/ndjson') ? 'ndjson' : null
}

/** A record as its public form has it. */
type Item = Readonly<Record<string, unknown>>

/** A column, by the member of the record that stands in it. */
export type Columns = readonly string[]

const cellOf = (value: unknown): string | number | null => {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  if (typeof value === 'string') return guarded(value)
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return guarded(value.join(', '))
  return guarded(JSON.stringify(value))
}

const headOf = (name: string): string => (/(?:^|_)at$/.test(name) ? `${name} (UTC)` : name)

/** `bounced.total` is the member of a member. */
const memberOf = (item: Item, name: string): unknown =>
  name.split('.').reduce<unknown>((value, part) => (value as Item | null)?.[part], item)

const csvOf = (items: readonly Item[], columns: Columns): string =>
  items.length === 0
    ? ''
    : `${writeCsv(items.map((item) => columns.map((name) => cellOf(memberOf(item, name)))))}\r\n`

const linesOf = (items: readonly Item[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('')

interface Exported {
  readonly name: string
  readonly columns: Columns
  /** Pages of records, until there are none. */
  readonly pages: AsyncIterable<readonly Item[]>
}

const octetsOf = async function* (format: Format, { columns, pages }: Exported): AsyncGenerator<Buffer> {
  if (format === 'csv') yield Buffer.from(`${columns.map(headOf).join(',')}\r\n`)
  for await (const items of pages) {
    const text = format === 'csv' ? csvOf(items, columns) : linesOf(items)
    if (text !== '') yield Buffer.from(text)
  }
}

export const fileAnswer = (format: Format, exported: Exported): Answer => ({
  status: 200,
  body: Readable.from(octetsOf(format, exported), { objectMode: false }),
  headers: {
    'content-type': `${MEDIA[format]}; charset=utf-8`,
    'content-disposition': `attachment; filename="${exported.name}.${format}"`,
    'x-content-type-options': 'nosniff',
  },
})

/** All pages of a list, newest first, up to a number of rows. */
export const recordPages = async function* <Row>(
  fetch: (page: Page) => Promise<Rows<Row>>,
  render: (row: Row) => unknown,
  limit: number,
): AsyncGenerator<readonly Item[]> {
  for await (const { rows } of pagesOf(fetch, limit)) yield rows.map((row) => render(row) as Item)
}

/** How many rows of a file; throws for a cursor, since a file is all of the list. */
export const rowsWanted = ({ limit, ...places }: FormatQuery): number => {
  const wrong = (['cursor', 'after', 'before'] as const).filter((name) => places[name] !== undefined)
  if (wrong.length > 0)
    throw invalid(
      wrong.map((name) => ({
        ...{ field: `query.${name}`, kind: 'forbidden', message: 'a file is all of the list' },
      })),
    )
  return Math.min(MOST_ROWS, limit === undefined ? MOST_ROWS : Number(limit))
}
