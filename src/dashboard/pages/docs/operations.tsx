/**
 * NAME      operations - operations of the API as a table
 */
import { Table } from '../../parts/table.js'
import type { Visit } from '../../visit.js'
import type { Operation } from './reference.js'

interface OperationsProps {
  readonly visit: Visit
  readonly caption: string
  readonly operations: readonly Operation[]
}

export const Operations = ({ visit, caption, operations }: OperationsProps) => (
  <Table
    caption={caption}
    rows={operations}
    href={({ id }) => visit.link(`/docs/${id}`)}
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
