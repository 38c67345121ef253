/**
 * NAME      operations - operations of the API as a table
 */

import type { Reader } from '../../page.js'
import { Table } from '../../parts/table.js'
import type { Operation } from './reference.js'

interface OperationsProps {
  readonly reader: Pick<Reader, 'link'>
  readonly caption: string
  readonly operations: readonly Operation[]
}

export const Operations = ({ reader, caption, operations }: OperationsProps) => (
  <Table
    caption={caption}
    rows={operations}
    href={({ id }) => reader.link(`/docs/${id}`)}
    columns={[
      { head: 'Operation', kind: 'grow', cell: ({ summary }) => summary },
      {
        head: 'Request',
        cell: ({ method, path }) => (
          <code>
            {method} {path}
          </code>
        ),
      },
      {
        head: 'Command',
        kind: 'opt',
        cell: ({ twin }) =>
          twin.command === undefined ? <span class="faint">none</span> : <code>{twin.command}</code>,
      },
    ]}
  />
)
