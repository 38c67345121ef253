/**
 * NAME      edit - a workspace is made or changed
 */
import type { Page } from '../../page.js'
import { ActionForm, Send } from '../../parts/form.js'
import { Head } from '../../parts/page-parts.js'
import type { List } from '../../parts/table.js'
import type { Visit } from '../../visit.js'
import { bodyOf, type PoolName, WorkspaceFields } from './fields.js'
import type { WorkspaceRow } from './record.js'

const poolsOf = async (visit: Visit): Promise<readonly PoolName[]> =>
  (await visit.ask<List<PoolName>>('GET', '/v1/egress-pools', { query: { limit: 100 }, scoped: false })).data

const pathOf = (visit: Visit): string => `/v1/workspaces/${encodeURIComponent(visit.params.id ?? '')}`

export const newWorkspacePage: Page = {
  path: '/workspaces/new',
  opens: 'createWorkspace',
  async view(visit) {
    const pools = await poolsOf(visit)
    return {
      title: 'Make a workspace',
      body: (
        <>
          <Head title="Make a workspace" crumb={['/workspaces', 'Workspaces']} />
          <ActionForm action="create">
            <WorkspaceFields row={null} pools={pools} />
            <Send>Make the workspace</Send>
          </ActionForm>
        </>
      ),
    }
  },
  does: { create: 'createWorkspace' },
  actions: {
    async create(visit, form) {
      const made = await visit.ask<WorkspaceRow>('POST', '/v1/workspaces', {
        body: bodyOf(form),
        scoped: false,
      })
      const notice = `${made.name} is made. It needs a key to send.`
      return { to: visit.link(`/workspaces/${made.slug}`, { workspace: made.slug }), notice }
    },
  },
}

export const editWorkspacePage: Page = {
  path: '/workspaces/{id}/edit',
  opens: 'updateWorkspace',
  async view(visit) {
    const [row, pools] = await Promise.all([
      visit.ask<WorkspaceRow>('GET', pathOf(visit), { scoped: false }),
      poolsOf(visit),
    ])
    return {
      title: `Change ${row.name}`,
      body: (
        <>
          <Head title={`Change ${row.name}`} crumb={[`/workspaces/${row.slug}`, row.slug]} />
          <ActionForm action="change">
            <WorkspaceFields row={row} pools={pools} />
            <Send>Change it</Send>
          </ActionForm>
        </>
      ),
    }
  },
  does: { change: 'updateWorkspace' },
  actions: {
    async change(visit, form) {
      const row = await visit.ask<WorkspaceRow>('PATCH', pathOf(visit), {
        body: bodyOf(form),
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} is changed.` }
    },
  },
}
