/**
 * NAME      holds - keeping mail from leaving, until it is released
 * DESCRIPTION
 *   A hold stands over what waits now and what comes later. The key of a workspace
 *   holds its own mail and lifts what it held; a hold of the operator it sees without
 *   the operator's words, and cannot lift.
 */
import * as record from '../../../record/queue.js'
import { removed } from '../../../record/removed.js'
import { holdQueue, queueMatches, releaseHold, wrongReason } from '../../../tenant/queue/orders.js'
import { type Deps, listing } from '../../deps.js'
import { type Endpoint, endpoint, param } from '../../endpoint.js'
import * as shapes from '../../shapes/operate/queue.js'
import { callerOf, scopeOfOrder, wrongOrder } from './queue.js'

const RIGHTS = { access: 'any', live: true, workspace: 'optional' } as const

const ownerOf = (isWorkspace: boolean) => (isWorkspace ? 'workspace' : 'operator')

const place = (deps: Deps): Endpoint =>
  endpoint<unknown, shapes.OrderBody>({
    ...RIGHTS,
    id: 'placeHold',
    method: 'POST',
    path: '/v1/holds',
    summary: 'Let nothing of this leave, now and later, until it is released',
    description:
      'Answers what it met; a retry with `dry_run` tells that before. The key of a workspace holds its own mail, by at most 100 holds.',
    locates: true,
    body: shapes.holdBody,
    answers: { 201: shapes.placedHold },
    faults: ['egress_pool.not_found', 'email.not_found', 'resource.conflict'],
    alsoWrong: ({ body }, told) => wrongOrder(body, told),
    async handle(call) {
      const scope = await scopeOfOrder(deps, call)
      const count = await queueMatches(deps, scope)
      const owner = ownerOf(callerOf(call).isWorkspace)
      const { hold, changed } = await holdQueue(deps, scope, call.body.reason ?? '', owner)
      const headers = { location: `/v1/holds/${hold.id}` }
      return { status: 201, body: record.placedHold(hold, count, changed), headers }
    },
  })

const list = (deps: Deps): Endpoint =>
  listing(deps, {
    ...RIGHTS,
    id: 'listHolds',
    path: '/v1/holds',
    summary: 'The holds that stand, newest first',
    description: 'The key of a workspace sees those that name its workspace.',
    of: shapes.hold,
    rows(call) {
      const { accountId, workspaceId, isWorkspace } = callerOf(call)
      return {
        filters: { workspaceId },
        fetch: (page) => deps.store.listHolds(accountId, page, workspaceId),
        render: (row) => record.hold(row, !isWorkspace),
      }
    },
  })

const lift = (deps: Deps): Endpoint =>
  endpoint({
    ...RIGHTS,
    id: 'liftHold',
    method: 'DELETE',
    path: '/v1/holds/{id}',
    summary: 'Lift a hold, and let its mail go on',
    description:
      "What another hold covers stays. An operator's hold is not for the key of a workspace. When a restart cut it off, the same request finishes it.",
    body: shapes.lifting,
    answers: { 200: shapes.removedHold },
    faults: ['auth.scope_forbidden', 'hold.not_found'],
    alsoWrong: ({ body }) => (body?.reason === undefined ? [] : wrongReason(body.reason)),
    async handle(call) {
      const id = param(call, 'id')
      const caller = callerOf(call)
      const reason = call.body?.reason ?? 'released'
      const changed = await releaseHold(deps, caller, id, reason, ownerOf(caller.isWorkspace))
      return { status: 200, body: { ...removed('hold', id), changed } }
    },
  })

export const holds = (deps: Deps): readonly Endpoint[] => [place(deps), list(deps), lift(deps)]
