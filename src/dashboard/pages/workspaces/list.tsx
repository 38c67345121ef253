/**
 * NAME      list - the workspaces of the account
 */
import type { Page } from '../../page.js'
import { isolate, Said } from '../../parts/isolate.js'
import { Head } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { type WorkspaceRow, WorkspaceState } from './record.js'

const columns = (visit: Visit): readonly Column<WorkspaceRow>[] => [
  { head: 'Workspace', kind: 'grow', cell: (row) => <bdi>{row.name}</bdi> },
  { head: 'Called', cell: (row) => <code>{row.slug}</code> },
  { head: 'State', cell: (row) => <WorkspaceState row={row} /> },
  {
    head: 'Sends as',
    cell: (row) =>
      row.default_from === null ? (
        <span class="faint">whatever a mail says</span>
      ) : (
        <span dir="auto">{row.default_from}</span>
      ),
  },
  {
    head: 'Mails',
    cell: (row) => <a href={visit.link('/emails', { workspace: row.slug })}>its mails</a>,
  },
  { head: 'Made', kind: 'opt', cell: (row) => Time({ at: row.created_at }) },
]

const sentence = (rows: readonly WorkspaceRow[]): string => {
  const alarmed = rows.filter((row) => !row.suspended && row.alarmed.length > 0)
  const suspended = rows.filter((row) => row.suspended).length
  const many = rows.length === 1 ? 'One workspace' : `${rows.length} workspaces`
  const [first] = alarmed
  if (first !== undefined)
    return alarmed.length === 1
      ? `An alarm stands for ${isolate(first.name)}.`
      : `Alarms stand for ${alarmed.length} of ${rows.length} workspaces.`
  return suspended === 0 ? `${many}, no alarm.` : `${many}, no alarm; ${suspended} suspended.`
}

export const workspacesPage: Page = {
  path: '/workspaces',
  async view(visit) {
    const list = await visit.ask<List<WorkspaceRow>>('GET', '/v1/workspaces', {
      query: { limit: 100, cursor: visit.query('cursor') },
      scoped: false,
    })
    return {
      title: 'Workspaces',
      body: (
        <>
          <Head
            title={<Said text={sentence(list.data)} />}
            says="Each sends for itself: with its own keys, suppressions, pool and limits."
            make={['/workspaces/new', 'Make a workspace', 'createWorkspace']}
          />
          <Table
            look="many"
            caption="Workspaces, newest first"
            rows={list.data}
            columns={columns(visit)}
            href={(row) => visit.link(`/workspaces/${row.slug}`)}
          />
          <Pager list={list} />
        </>
      ),
    }
  },
}
