/**
 * NAME      summary - what wants a look, in a sentence and some figures
 * DESCRIPTION
 *   One cheap question for what stands beside every page: the state of the queue, and how many pools and webhooks fail.
 */
import type { Page } from '../../../lifecycle/page.js'
import { queueStateRecord } from '../../../record/queue-state.js'
import { type QueueStates, queueStates, type StateOwner } from '../../../tenant/queue/state.js'
import type { Deps } from '../../deps.js'
import { type Endpoint, endpoint } from '../../endpoint.js'
import * as shapes from '../../shapes/operate/installation.js'
import { scopeOf } from '../webhooks/scope.js'

/** More of them are not counted. */
const ALL: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

/** The state of the queue, at most a second old; `isFresh`: as it is now. */
export const statesOf = (deps: Deps, of: StateOwner, isFresh = false): Promise<QueueStates> => {
  const { store, clock, relay, states } = deps
  const key = `${of.accountId} ${of.workspaceId} ${of.isOperator}`
  const view = relay?.view() ?? null
  const make = () => queueStates({ store, clock, view, hasRelay: relay !== undefined }, of)
  return isFresh ? states.fresh(key, make) : states.get(key, make)
}

export const summary = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    id: 'getSummary',
    method: 'GET',
    path: '/v1/summary',
    summary: 'Whether mail flows, and how many pools and webhooks fail',
    description:
      'Of the account, or of the workspace of X-Workspace-Id; at most a second old. Figures are of live mail; `live` and `test` say it in sentences. A pool is down while no upstream of it takes mail, also after a restart.',
    access: 'session',
    workspace: 'optional',
    answers: { 200: shapes.summary },
    faults: [],
    async handle(call) {
      const scope = scopeOf(call)
      const { accountId, workspaceId } = scope
      const [{ live, test }, hooks] = await Promise.all([
        statesOf(deps, { accountId, workspaceId, isOperator: true }),
        deps.store.endpoints({ ...scope, failing: true }, ALL),
      ])
      const now = deps.clock.now()
      const body = {
        object: 'summary',
        waiting: live.waiting,
        held: live.held,
        pools_down: live.down,
        webhooks_failing: hooks.rows.length,
        live: queueStateRecord(live, now),
        test: queueStateRecord(test, now),
      }
      return { status: 200, body }
    },
  }),
]
