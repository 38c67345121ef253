/**
 * NAME      workspaces - sending tenants of the account
 * DESCRIPTION
 *   A workspace's own key sees its workspace and nothing of the others.
 */

import { type FieldError, invalid } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import { workspaceRecord } from '../../resource/tenants.js'
import type { WorkspaceRow } from '../../store/port/tenants.js'
import type { WorkspaceWish } from '../../tenant/workspace.js'
import type { Deps } from '../deps.js'
import { GET, PATCH, POST, param, type RouteRow } from '../endpoint.js'
import { listing, removing } from '../rows.js'
import { notAsRead } from '../shapes/common.js'
import * as shapes from '../shapes/workspaces.js'

const wishOf = (body: shapes.WorkspaceChange): WorkspaceWish => ({
  ...camel(body),
  pool: body.egress_pool_id,
  routes: body.routes?.map((one) => ({ domain: one?.domain, pool: one?.egress_pool_id })),
  statisticsTags: body.statistics?.tags,
})

const wrongWithChange = async (
  { tenants }: Deps,
  body: shapes.WorkspaceChange,
  old: WorkspaceRow,
): Promise<readonly FieldError[]> => [
  ...notAsRead(body, shapes.READ_WORKSPACE, [workspaceRecord(old)]),
  ...(await tenants.wrongWithWorkspace(old.accountId, wishOf(body), old.id)),
]

/** One confirms by the slug. */
const wrongWithConfirm = ({ slug }: WorkspaceRow, confirm = ''): readonly FieldError[] => {
  if (confirm === slug) return []
  const kind = confirm === '' ? 'missing' : 'format'
  return [{ field: 'query.confirm', kind, message: `must be the slug of the workspace: ${slug}` }]
}

export const workspaces: readonly RouteRow[] = [
  POST('/v1/workspaces', {
    id: 'createWorkspace',
    cli: 'workspace create',
    summary: 'Make a workspace',
    description:
      "Without `egress_pool_id` it has a pool of its own, which uses the upstreams of the default workspace's pool until it is given some. Needs a live platform key or a session.",
    access: 'platform',
    workspace: 'none',
    locates: true,
    body: shapes.workspaceBody,
    answers: { 201: shapes.workspace },
    alsoWrong: ({ body }, _, { principal }, deps) =>
      deps.tenants.wrongWithWorkspace(principal.accountId, wishOf(body), null),
    async handle({ principal, body }, deps) {
      const wish = { ...wishOf(body), name: body.name }
      const row = await deps.tenants.createWorkspace(principal.accountId, wish)
      return { status: 201, body: workspaceRecord(row), headers: { location: `/v1/workspaces/${row.id}` } }
    },
  }),

  listing({
    id: 'listWorkspaces',
    cli: 'workspace list',
    path: '/v1/workspaces',
    summary: 'Workspaces, newest first',
    description: 'A platform key and a session see all of the account; the key of a workspace sees its own.',
    access: 'any',
    workspace: 'none',
    of: shapes.workspace,
    rows: ({ principal: { accountId, workspaceId, scope } }, deps) => ({
      fetch: (page) => deps.store.workspaces(accountId, page, workspaceId),
      render: (row) => workspaceRecord(row, scope),
    }),
  }),
  GET('/v1/workspaces/{id}', {
    id: 'getWorkspace',
    cli: 'workspace show',
    summary: 'One workspace',
    description: "By id or slug. One that is not there and one that is not the caller's are the same answer.",
    access: 'any',
    workspace: 'none',
    answers: { 200: shapes.workspace },
    faults: ['workspace.not_found'],
    async handle(call, deps) {
      const { tenants } = deps
      const id = await tenants.workspaceForRead(call.principal, param(call, 'id'))
      const row = await tenants.findWorkspace(call.principal.accountId, id ?? '')
      return { status: 200, body: workspaceRecord(row, call.principal.scope) }
    },
  }),

  PATCH('/v1/workspaces/{id}', {
    id: 'updateWorkspace',
    cli: 'workspace update',
    summary: 'Change a workspace',
    description:
      'What is left out stays as it is. `suspended: true` takes no more mail and holds what waits; `false` goes on with it. Mail that waits moves along to another pool. Of `alarms` each limit may stand alone. Needs a live platform key or a session.',
    access: 'platform',
    workspace: 'none',
    body: shapes.workspaceChange,
    answers: { 200: shapes.workspace },
    faults: ['workspace.not_found'],
    async alsoWrong({ body }, _, call, deps) {
      const old = await deps.store.workspace(call.principal.accountId, param(call, 'id'))
      return old === null ? [] : wrongWithChange(deps, body, old)
    },
    async handle(call, deps) {
      const { accountId } = call.principal
      const old = await deps.tenants.findWorkspace(accountId, param(call, 'id'))
      const wrong = await wrongWithChange(deps, call.body, old)
      if (wrong.length > 0) throw invalid(wrong)
      const row = await deps.tenants.updateWorkspace(accountId, old.id, wishOf(call.body))
      return { status: 200, body: workspaceRecord(row) }
    },
  }),

  removing({
    id: 'deleteWorkspace',
    cli: 'workspace delete',
    path: '/v1/workspaces/{id}',
    summary: 'Delete a workspace: its keys end, what waits is dropped, its people are erased within an hour',
    description:
      'Cannot be undone. Scheduled mail is canceled and what waits is bounced, without reports to its senders. The default workspace cannot be deleted.',
    access: 'session',
    workspace: 'none',
    query: shapes.confirmation,
    of: shapes.workspace,
    object: 'workspace',
    faults: ['resource.conflict'],
    async alsoWrong({ query }, _, call, deps) {
      const row = await deps.store.workspace(call.principal.accountId, param(call, 'id'))
      return row === null ? [] : wrongWithConfirm(row, query.confirm)
    },
    async remove({ principal, query }, ref, deps) {
      const row = await deps.tenants.findWorkspace(principal.accountId, ref)
      const wrong = wrongWithConfirm(row, query.confirm)
      if (wrong.length > 0) throw invalid(wrong)
      await deps.tenants.deleteWorkspace(row, `deleted by session ${principal.id}`)
      return row
    },
  }),
]
