/**
 * NAME      table - rows and their heads, the way to older and newer ones, and all of them as a file
 *   One shape for every list. On a phone each row becomes a block of label and value, so the ARIA roles are written
 *   out: a changed `display` would take the table's meaning away. A file holds what /v1 would give to the person who
 *   looks. It is read as the browser takes it. The day in its name is in UTC, as are the times in it.
 */
import type { ComponentChildren } from 'preact'
import type { Operation } from '../../tenant/rights.js'
import { type AskAnswer, type AskQuery, jsonOf } from '../ask.js'
import { attrs, html, useVisit, visitIfAny } from '../render.js'
import type { AskFor, Raw, Visit } from '../visit.js'

export interface TableColumn<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** Left out for whoever may not do that. */
  readonly does?: Operation
  /**
   * `num` for figures, `grow` for the one that takes the room, `name` for what people made up and may have no
   * blank, `fit` for one as narrow as its words, `act` for buttons;
   * on a phone `opt` is left out and `solo` needs no label.
   */
  readonly kind?: 'num' | 'grow' | 'name' | 'fit' | 'act' | 'opt' | 'solo'
}

type Cell<Row> = TableColumn<Row>['cell']

export function col<Row>(head: string, cell: Cell<Row>): TableColumn<Row>
export function col<Row>(head: string, kind: TableColumn<Row>['kind'], cell: Cell<Row>): TableColumn<Row>
export function col<Row>(head: string, kind: TableColumn<Row>['kind'] | Cell<Row>, cell?: Cell<Row>) {
  return typeof kind === 'function' ? { head, cell: kind } : { head, kind, cell }
}

interface TableProps<Row> {
  readonly columns: readonly TableColumn<Row>[]
  readonly rows: readonly Row[]
  readonly caption: string
  /** Where a row leads; its first cell carries the link. */
  readonly href?: (row: Row) => string | null
  /** `many` becomes blocks already on a tablet. */
  readonly look?: 'stack' | 'many'
  /** In place of a table without a row. */
  readonly none?: ComponentChildren
}

export const Table = <Row,>(props: TableProps<Row>) => {
  const { rows, caption, href, look = 'stack', none } = props
  const visit = visitIfAny()
  const columns = props.columns.filter(({ does }) => does === undefined || visit?.may(does))
  if (rows.length === 0 && none !== undefined) return <>{none}</>
  const begins = columns.map(
    ({ head, kind }) => html`<td role="cell"${attrs({ class: kind })} data-l="${head}">`,
  )
  return (
    <table class={`t ${look}`} role="table">
      <caption class="hid">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, kind }) => (
            <th role="columnheader" scope="col" class={kind}>
              {head === '' ? <span class="hid">Actions</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => {
          const to = href?.(row) ?? null
          const cells = columns.map(({ cell }, at) => {
            const content = at === 0 && to !== null ? html`<a href="${to}">${cell(row)}</a>` : cell(row)
            return html`${begins[at]}${content}</td>`
          })
          return html`<tr role="row">${cells}</tr>`
        })}
      </tbody>
    </table>
  )
}

export interface ListPage<Row> {
  readonly data: readonly Row[]
  readonly has_more?: boolean
  readonly pagination: {
    readonly total: number | null
    readonly total_capped: boolean
    readonly has_next: boolean
    readonly has_prev: boolean
    readonly next_cursor: string | null
    readonly prev_cursor: string | null
    /** Of a search: how far it looked. */
    readonly searched_to?: string | null
  }
}

interface PagerProps {
  readonly list: ListPage<unknown>
  /** What else the links carry, since a cursor is good for one filter only. */
  readonly keep?: AskQuery
}

export const Pager = ({ list, keep = {} }: PagerProps) => {
  const visit = useVisit()
  const { has_next, has_prev, next_cursor, prev_cursor } = list.pagination
  if (!has_next && !has_prev) return null
  return (
    <nav class="pager" aria-label="Pages of the list">
      {has_prev && prev_cursor !== null ? (
        <a class="b" rel="prev" href={visit.here({ ...keep, cursor: prev_cursor })}>
          Newer
        </a>
      ) : null}
      {has_next && next_cursor !== null ? (
        <a class="b" rel="next" href={visit.here({ ...keep, cursor: next_cursor })}>
          Older
        </a>
      ) : null}
    </nav>
  )
}

const bodyOf = (answer: AskAnswer) => answer.stream ?? jsonOf<never>(answer)

/** Of a list or of statistics; refused like a page. */
export const exported = async (visit: Visit, path: string, { query, ...rest }: AskFor): Promise<Raw> => {
  const format = visit.query('format') === 'ndjson' ? 'ndjson' : 'csv'
  const answer = await visit.fetch('GET', path, { ...rest, query: { ...query, format }, streamed: true })
  const body = bodyOf(answer)
  const name = `postern-${path.split('/').at(-1)}-${new Date(visit.now).toISOString().slice(0, 10)}.${format}`
  return {
    status: 200,
    headers: {
      'content-type': answer.headers['content-type'] ?? 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"`,
      'cache-control': 'no-store',
    },
    body,
  }
}

interface ExportLinksProps {
  readonly path: string
  readonly keep?: AskQuery
}

export const ExportLinks = ({ path, keep = {} }: ExportLinksProps) => {
  const visit = useVisit()
  return (
    <span>
      <a href={visit.beside(path, { ...keep, format: 'csv' })}>Export CSV</a>,{' '}
      <a href={visit.beside(path, { ...keep, format: 'ndjson' })}>NDJSON</a>
    </span>
  )
}
