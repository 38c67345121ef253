/**
 * NAME      reads - endpoints and posts, as they are stored
 */
import type { Hooks, KnownEndpoint } from '../../port/hooks.js'
import { listOf, pageOf } from '../pages/pages.js'
import type { AskedReads } from '../query.js'
import { allOf, oneOf, type Readable } from '../rows.js'
import { failedPosts, posts, postsOfEvent } from './list.js'
import { PLACES, POSTS, REPLAYS, WEBHOOKS } from './tables.js'

const KNOWN: Readable<KnownEndpoint> = {
  name: 'webhooks JOIN webhook_places ON endpoint_id = id',
  columns: `${WEBHOOKS.columns}, ${PLACES.columns},
    (SELECT count(*) FROM posts p WHERE p.endpoint_id = webhooks.id AND p.due_at IS NOT NULL) AS waiting`,
  decode: (row) => ({
    ...WEBHOOKS.decode(row),
    state: PLACES.decode(row),
    waiting: row.waiting as number,
  }),
}

const FAILING = `status = 'enabled' AND id IN (SELECT endpoint_id FROM webhook_places WHERE health = 'failing')`

const byId = oneOf(KNOWN, 'deleted_at IS NULL AND id = ?')
const waiting = allOf(
  POSTS,
  'endpoint_id = ? AND due_at IS NOT NULL AND due_at <= ? ORDER BY due_at, ord LIMIT ? + 0',
)

export const hookReads: AskedReads<Hooks> = {
  posts,
  postsOfEvent,
  failedPosts,
  endpoint: oneOf(KNOWN, 'deleted_at IS NULL AND account_id = ? AND id = ?'),
  endpoints({ accountId, workspaceId, mode, failing }, page) {
    const clauses = ['account_id = ?', 'deleted_at IS NULL']
    if (workspaceId !== null) clauses.push('workspace_id = ?')
    if (mode !== null) clauses.push('mode = ?')
    if (failing) clauses.push(FAILING)
    const values = [accountId, workspaceId, mode].filter((value) => value !== null)
    return pageOf(listOf('webhooks', clauses.join(' AND '), values), page, (id: string) => byId(id))
  },
  post: oneOf(POSTS, 'endpoint_id = ? AND id = ?'),
  replays: allOf(REPLAYS, 'true ORDER BY ord'),
  allEndpoints: allOf(KNOWN, 'deleted_at IS NULL ORDER BY ord'),
  waitingPosts: (endpointId, now, limit) => waiting(endpointId, now ?? Number.MAX_SAFE_INTEGER, limit),
}
