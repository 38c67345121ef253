/**
 * NAME      summary - what wants a look, in three figures
 * DESCRIPTION
 *   One cheap question for what stands beside every page: how much waits, and how many pools and webhooks fail.
 */
import type { Page } from '../../../lifecycle/page.js'
import { queueDepths } from '../../../tenant/queue/depths.js'
import type { Deps } from '../../deps.js'
import { type Endpoint, endpoint } from '../../endpoint.js'
import * as shapes from '../../shapes/operate/installation.js'
import { scopeOf } from '../webhooks/scope.js'

/** More of them are not counted. */
const ALL: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

/** Pools with upstreams in use, none of which takes mail. */
const poolsDown = async ({ store, relay }: Deps, accountId: string): Promise<number> => {
  const open = new Set(
    (relay?.upstreams() ?? []).filter(({ breaker }) => breaker === 'open').map((one) => one.upstreamId),
  )
  if (open.size === 0) return 0
  const { rows } = await store.pools(accountId, ALL)
  return rows.filter(({ upstreams }) => {
    const used = upstreams.filter(({ state }) => state === 'active')
    return used.length > 0 && used.every(({ id }) => open.has(id))
  }).length
}

export const summary = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    id: 'getSummary',
    method: 'GET',
    path: '/v1/summary',
    summary: 'How much waits, and how many pools and webhooks fail',
    description:
      'Of the account, or of the workspace of X-Workspace-Id; pools belong to all. A pool is down while all of its upstreams in use have failed and none has recovered.',
    access: 'session',
    workspace: 'optional',
    answers: { 200: shapes.summary },
    faults: [],
    async handle(call) {
      const scope = scopeOf(call)
      const [depths, down, hooks] = await Promise.all([
        queueDepths(deps.store, scope),
        poolsDown(deps, scope.accountId),
        deps.store.endpoints({ ...scope, failing: true }, ALL),
      ])
      const waiting = depths.reduce((n, one) => n + one.due + one.leased + one.waiting, 0)
      const held = depths.reduce((n, one) => n + one.held, 0)
      const failing = hooks.rows.length
      const body = { object: 'summary', waiting, held, pools_down: down, webhooks_failing: failing }
      return { status: 200, body }
    },
  }),
]
