/**
 * NAME      endpoints - writing endpoints
 * DESCRIPTION
 *   Who enables or disables one raises the generation of its place, so what the
 *   engine still says of the time before falls on nothing.
 */
import type { DisabledReason, EndpointRow, Endpoints } from '../../port/hooks.js'
import type { Notice } from '../../port/log.js'
import type { Writes } from '../../port/verbs.js'
import { afresh, SKIPPED } from '../../rules/posts.js'
import type { Row } from '../connect.js'
import { inserter } from '../order/insert.js'
import type { WriteContext } from '../write/context.js'
import { PLACES, WEBHOOKS } from './tables.js'

/** What is left of one is no secret; its posts go with the sweep. */
export const DELETE = `UPDATE webhooks SET deleted_at = @now, status = 'disabled', secret = '',
  previous_secret = NULL, headers = NULL WHERE deleted_at IS NULL AND account_id = @accountId`

const ALIVE = 'account_id = ? AND id = ? AND deleted_at IS NULL'

const prepare = ({ db }: WriteContext) => ({
  find: db.prepare<[string, string], Record<string, unknown>>(
    `SELECT ${WEBHOOKS.columns} FROM webhooks WHERE ${ALIVE}`,
  ),
  place: db.prepare(
    `INSERT INTO webhook_places (endpoint_id, generation, mark, health, failures, probes, told, given_up)
     VALUES (?, 1, ?, 'healthy', 0, 0, 0, 0)`,
  ),
  rotate: db.prepare(
    `UPDATE webhooks SET previous_secret = CASE WHEN @until IS NOT NULL THEN secret END, previous_until = @until,
       secret = @secret, updated_at = @now WHERE account_id = @accountId AND id = @id AND deleted_at IS NULL`,
  ),
  turn: db.prepare(
    'UPDATE webhooks SET status = ?, disabled_reason = ?, disabled_at = ?, updated_at = ? WHERE id = ?',
  ),
  placeOf: db.prepare<[string], Row>(`SELECT ${PLACES.columns} FROM webhook_places WHERE endpoint_id = ?`),
  cancel: db.prepare(
    `UPDATE posts SET state = 'canceled', due_at = NULL, updated_at = ?, cause = '${SKIPPED}'
     WHERE endpoint_id = ? AND due_at IS NOT NULL AND kind = 'event'`,
  ),
  raise: db.prepare('UPDATE webhook_places SET generation = generation + 1 WHERE endpoint_id = ?'),
  remove: db.prepare(`${DELETE} AND id = @id`),
  removeReplays: db.prepare('DELETE FROM replays WHERE endpoint_id = ?'),
})

export const createEndpointWrites = (
  context: WriteContext,
  tell: (notice: Notice) => unknown,
): Writes<Endpoints> => {
  const sql = prepare(context)
  const insert = inserter(context, WEBHOOKS)

  const find = (accountId: string, id: string): EndpointRow | null => {
    const row = sql.find.get(accountId, id)
    return row === undefined ? null : WEBHOOKS.decode(row)
  }

  const begin = (id: string, from: string | null): void => {
    const { set, values } = PLACES.change(afresh(PLACES.decode(sql.placeOf.get(id) as Row), from))
    context.db.prepare(`UPDATE webhook_places SET ${set} WHERE endpoint_id = ?`).run(...values, id)
  }

  const tellOf = (
    { id, accountId, workspaceId, mode, url }: EndpointRow,
    type: 'webhook.enabled' | 'webhook.disabled',
    reason: DisabledReason | null,
    now: number,
  ): unknown =>
    tell({
      type,
      accountId,
      workspaceId,
      mode,
      now,
      data: { webhook_id: id, endpoint: url, ...(reason !== null && { reason }) },
    })

  return {
    createEndpoint(row, mark) {
      insert(row)
      sql.place.run(row.id, mark)
    },
    updateEndpoint(accountId, id, change, now) {
      const { set, values } = WEBHOOKS.change({ ...change, updatedAt: now })
      return (
        context.db.prepare(`UPDATE webhooks SET ${set} WHERE ${ALIVE}`).run(...values, accountId, id)
          .changes === 1
      )
    },
    rotateEndpoint: (accountId, id, secret, until, now) =>
      sql.rotate.run({ accountId, id, secret, until, now }).changes === 1,
    enableEndpoint(accountId, id, from, now) {
      const row = find(accountId, id)
      if (row?.status !== 'disabled') return row !== null
      sql.turn.run('enabled', null, null, now, id)
      begin(id, from)
      if (from !== null) sql.cancel.run(now, id)
      tellOf(row, 'webhook.enabled', null, now)
      return true
    },
    disableEndpoint(accountId, id, reason, now) {
      const row = find(accountId, id)
      if (row?.status !== 'enabled') return row !== null
      sql.turn.run('disabled', reason, now, now, id)
      sql.raise.run(id)
      tellOf(row, 'webhook.disabled', reason, now)
      return true
    },
    deleteEndpoint(accountId, id, now) {
      if (sql.remove.run({ accountId, id, now }).changes === 0) return false
      sql.removeReplays.run(id)
      return true
    },
  }
}
