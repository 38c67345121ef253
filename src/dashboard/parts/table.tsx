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
  /**
   * `num` for figures, `grow` for the one that takes the room, `name` for what people made up and may have no
   * blank, `fit` for one as narrow as its words, `act` for buttons;
   * on a phone `opt` is left out and `solo` needs no label.
   */
  readonly kind?: 'num' | 'grow' | 'name' | 'fit' | 'act' | 'opt' | 'solo'
}

/** Boxes in front of the rows; the form that they belong to stands elsewhere on the page. */
export interface Ticks<Row> {
  readonly form: string
  readonly name: string
  readonly value: (row: Row) => string
  /** For who hears it. */
  readonly label: (row: Row) => string
}

interface TableProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly caption: string
  /** Where a row leads; its first cell carries the link. */
  readonly href?: (row: Row) => string | null
  readonly rowClass?: (row: Row) => string | undefined
  readonly id?: string
  /** Of a row, so that a script finds it again. */
  readonly rowId?: (row: Row) => string
  readonly ticks?: Ticks<Row>
  /** `many` becomes blocks already on a tablet. */
  readonly look?: 'stack' | 'many'
}

const Tick = <Row,>({ row, ticks }: { readonly row: Row; readonly ticks: Ticks<Row> }) => (
  <td role="cell" class="tick">
    <input
      type="checkbox"
      form={ticks.form}
      name={ticks.name}
      value={ticks.value(row)}
      aria-label={ticks.label(row)}
    />
  </td>
)

export const Table = <Row,>(props: TableProps<Row>) => {
  const { columns, rows, caption, href, rowClass, id, rowId, ticks, look = 'stack' } = props
  return (
    <table class={`t ${look}`} role="table" id={id}>
      <caption class="hid">{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {ticks === undefined ? null : (
            <th role="columnheader" scope="col" class="tick">
              <span class="hid">Ticked</span>
            </th>
          )}
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
            <tr role="row" class={rowClass?.(row)} id={rowId?.(row)}>
              {ticks === undefined ? null : <Tick row={row} ticks={ticks} />}
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
}

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
