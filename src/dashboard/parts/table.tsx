/**
 * NAME      table - rows and their heads
 * DESCRIPTION
 *   One shape for every list. On a phone each row becomes a block of label and value, so the ARIA roles are written
 *   out: a changed `display` would take the table's meaning away.
 */
import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** `num` for figures, `grow` for the one that takes the room, `opt` is left out on a phone. */
  readonly kind?: 'num' | 'grow' | 'opt' | 'solo'
}

interface TableProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly caption: string
  /** Where a row leads; its first cell carries the link. */
  readonly href?: (row: Row) => string | null
  readonly rowClass?: (row: Row) => string | undefined
  readonly id?: string
}

export const Table = <Row,>({ columns, rows, caption, href, rowClass, id }: TableProps<Row>) => (
  <table class="t stack" role="table" id={id}>
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
        return (
          <tr role="row" class={rowClass?.(row)}>
            {columns.map(({ head, cell, kind }, at) => (
              <td role="cell" class={kind} data-l={head}>
                {at === 0 && to !== null ? <a href={to}>{cell(row)}</a> : cell(row)}
              </td>
            ))}
          </tr>
        )
      })}
    </tbody>
  </table>
)

/** The lists of /v1. */
export interface List<Row> {
  readonly data: readonly Row[]
  readonly has_more?: boolean
  readonly pagination: {
    readonly total: number | null
    readonly total_capped: boolean
    readonly has_next: boolean
    readonly has_prev: boolean
    readonly next_cursor: string | null
    readonly prev_cursor: string | null
  }
}
