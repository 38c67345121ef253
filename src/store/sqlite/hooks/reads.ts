/**
 * NAME      reads - endpoints and posts, as they are stored
 */

import type { Page, Rows } from '../../../lifecycle/page.js'
import type { EndpointFilter, KnownEndpoint, PostRow, ReplayRow } from '../../port/hooks.js'
import { listOf } from '../../sql/pages/pages.js'
import type { Row } from '../connect.js'
import { pageOf } from '../read/pages.js'
import type { Statements } from '../read/statements.js'
import { createPostList } from './list.js'
import { PLACES, POSTS, REPLAYS, WEBHOOKS } from './tables.js'

const KNOWN = `SELECT ${WEBHOOKS.columns}, ${PLACES.columns},
    (SELECT count(*) FROM posts p WHERE p.endpoint_id = webhooks.id AND p.due_at IS NOT NULL) AS waiting
  FROM webhooks JOIN webhook_places ON endpoint_id = id WHERE deleted_at IS NULL AND `
/** Made once: putting it together would cost more than the read. */
const BY_ID = `${KNOWN}id = ?`

const FAILING = `AND status = 'enabled' AND id IN (SELECT endpoint_id FROM webhook_places WHERE health = 'failing')`

const known = (row: Row): KnownEndpoint => ({
  ...WEBHOOKS.decode(row),
  state: PLACES.decode(row),
  waiting: row.waiting as number,
})

export const createHookReads = (sql: Statements) => {
  const all = (where: string, ...params: readonly unknown[]): KnownEndpoint[] =>
    sql(KNOWN + where)
      .all(...params)
      .map(known)
  const posts = (where: string, ...params: readonly unknown[]): PostRow[] =>
    sql(`SELECT ${POSTS.columns} FROM posts WHERE ${where}`)
      .all(...params)
      .map(POSTS.decode)
  return {
    ...createPostList(sql),
    endpoint: (accountId: string, id: string): KnownEndpoint | null =>
      all('account_id = ? AND id = ?', accountId, id)[0] ?? null,
    endpoints({ accountId, workspaceId, mode, failing }: EndpointFilter, page: Page): Rows<KnownEndpoint> {
      const where =
        'account_id = ? AND deleted_at IS NULL AND (? IS NULL OR workspace_id = ?) AND (? IS NULL OR mode = ?)'
      const params = [accountId, workspaceId, workspaceId, mode, mode]
      const list = listOf('webhooks', failing ? `${where} ${FAILING}` : where, params)
      return pageOf(sql, list, page, (id) => {
        const row = sql(BY_ID).get(id)
        return row === undefined ? null : known(row)
      })
    },
    post: (endpointId: string, id: string): PostRow | null =>
      posts('endpoint_id = ? AND id = ?', endpointId, id)[0] ?? null,
    replays: (): readonly ReplayRow[] =>
      sql(`SELECT ${REPLAYS.columns} FROM replays ORDER BY ord`).all().map(REPLAYS.decode),
    allEndpoints: (): readonly KnownEndpoint[] => all('true ORDER BY ord'),
    waitingPosts: (endpointId: string, now: number | null, limit: number): readonly PostRow[] =>
      posts(
        'endpoint_id = ? AND due_at IS NOT NULL AND due_at <= ? ORDER BY due_at, ord LIMIT ? + 0',
        endpointId,
        now ?? Number.MAX_SAFE_INTEGER,
        limit,
      ),
  }
}
