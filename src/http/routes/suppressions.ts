/**
 * NAME      suppressions - addresses that a workspace does not write to
 * DESCRIPTION
 *   Named by id or by address. Adding one that is there is no mistake and answers
 *   200 with the same record.
 */
import { type FieldError, invalid } from '../../base/fault.js'
import { parseAddress } from '../../mail/address.js'
import type { WorkspaceRow } from '../../store/port-tenants.js'
import { refOf } from '../../tenant/suppression.js'
import { type Call, type Endpoint, endpoint, param } from '../endpoint.js'
import { type Ground, pageFor } from '../ground.js'
import * as render from '../render.js'
import * as shapes from '../shapes/suppression.js'

const PER_WORKSPACE = { access: 'any', workspace: 'required' } as const

const workspaceOf = ({ workspace }: Pick<Call, 'workspace'>): WorkspaceRow => {
  if (workspace === null) throw new Error('the gate lets no request without a workspace through')
  return workspace
}

const add = (ground: Ground): Endpoint =>
  endpoint({
    ...PER_WORKSPACE,
    id: 'addSuppression',
    method: 'POST',
    path: '/v1/suppressions',
    summary: 'Write no more to an address',
    body: shapes.suppressionBody,
    answers: { 200: shapes.suppression, 201: shapes.suppression },
    faults: [],
    async handle(call) {
      const { row, added } = await ground.tenants.suppress(workspaceOf(call), { email: call.body.email })
      return { status: added ? 201 : 200, body: render.suppression(row) }
    },
  })

const list = (ground: Ground): Endpoint =>
  endpoint({
    ...PER_WORKSPACE,
    id: 'listSuppressions',
    method: 'GET',
    path: '/v1/suppressions',
    summary: 'Suppressed addresses, newest first',
    query: shapes.suppressionQuery,
    answers: { 200: shapes.suppressionList },
    faults: ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'],
    async handle(call) {
      const workspaceId = workspaceOf(call).id
      const origin = call.query.origin ?? null
      const body = await pageFor(ground, 'suppressions', call, {
        query: call.query,
        filters: { origin, workspaceId },
        fetch: (page) => ground.store.suppressions(workspaceId, origin, page),
        render: render.suppression,
      })
      return { status: 200, body }
    },
  })

const one = (ground: Ground): readonly Endpoint[] => [
  endpoint({
    ...PER_WORKSPACE,
    id: 'getSuppression',
    method: 'GET',
    path: '/v1/suppressions/{ref}',
    summary: 'One suppression, by id or address',
    answers: { 200: shapes.suppression },
    faults: ['suppression.not_found'],
    async handle(call) {
      const row = await ground.tenants.findSuppression(workspaceOf(call).id, param(call, 'ref'))
      return { status: 200, body: render.suppression(row) }
    },
  }),
  endpoint({
    ...PER_WORKSPACE,
    id: 'removeSuppression',
    method: 'DELETE',
    path: '/v1/suppressions/{ref}',
    summary: 'Write to an address again, by id or address',
    answers: { 200: shapes.removedSuppression },
    faults: ['suppression.not_found'],
    async handle(call) {
      const { id } = await ground.tenants.removeSuppression(workspaceOf(call).id, param(call, 'ref'))
      return { status: 200, body: { id, object: 'suppression', deleted: true } }
    },
  }),
]

/** All or none: what is no address is found before the first is added. */
const demandAddresses = (emails: readonly string[]): void => {
  const errors = emails.flatMap((email, i): FieldError[] =>
    parseAddress(email) === null
      ? [{ field: `body.emails[${i}]`, message: 'must be an address', kind: 'format' }]
      : [],
  )
  if (errors.length > 0) throw invalid(errors)
}

const many = (ground: Ground): readonly Endpoint[] => [
  endpoint({
    ...PER_WORKSPACE,
    id: 'addSuppressions',
    method: 'POST',
    path: '/v1/suppressions/batch/add',
    summary: 'Write no more to up to 100 addresses',
    body: shapes.addBatch,
    answers: { 200: shapes.suppressions },
    faults: [],
    async handle(call) {
      const workspace = workspaceOf(call)
      demandAddresses(call.body.emails)
      const rows = await Promise.all(
        call.body.emails.map((email, i) =>
          ground.tenants.addSuppression(workspace, { email }, `body.emails[${i}]`),
        ),
      )
      return { status: 200, body: { object: 'list', data: rows.map(render.suppression) } }
    },
  }),
  endpoint({
    ...PER_WORKSPACE,
    id: 'removeSuppressions',
    method: 'POST',
    path: '/v1/suppressions/batch/remove',
    summary: 'Write to up to 100 addresses again; those not suppressed are left out of the answer',
    body: shapes.removeBatch,
    answers: { 200: shapes.removedSuppressions },
    faults: [],
    async handle(call) {
      const { id: workspaceId } = workspaceOf(call)
      const refs = [...(call.body.emails ?? []), ...(call.body.ids ?? [])]
      const rows = await Promise.all(
        refs.map((ref) => ground.store.removeSuppression(workspaceId, refOf(ref))),
      )
      const data = rows.flatMap((row) => (row ? [{ id: row.id, object: 'suppression', deleted: true }] : []))
      return { status: 200, body: { object: 'list', data } }
    },
  }),
]

export const suppressions = (ground: Ground): readonly Endpoint[] => [
  add(ground),
  list(ground),
  ...one(ground),
  ...many(ground),
]
