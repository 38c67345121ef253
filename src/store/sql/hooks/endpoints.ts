/**
 * NAME      endpoints - writing endpoints
 * DESCRIPTION
 *   Who enables or disables one raises the generation of its place, so what the
 *   engine still says of the time before falls on nothing.
 */
import type { DisabledReason, EndpointRow, Endpoints } from '../../port/hooks.js'
import type { Notice } from '../../port/log.js'
import { afresh, SKIPPED } from '../../rules/tenants.js'
import { insertInto, type Places } from '../insert.js'
import { type AskedWrites, type Asking, run } from '../query.js'
import { change, oneOf } from '../rows.js'
import { PLACES, WEBHOOKS } from './tables.js'

const ALIVE = 'account_id = ? AND id = ? AND deleted_at IS NULL'

const find = oneOf(WEBHOOKS, ALIVE)
const placeOf = oneOf(PLACES, 'endpoint_id = ?')

/** One, or those of a workspace. What is left is no secret; posts go with the sweep. */
export const removeEndpoints = (
  accountId: string,
  by: 'id' | 'workspace_id',
  id: string,
  now: number,
): Asking<number> =>
  run(
    `UPDATE webhooks SET deleted_at = ?, status = 'disabled', secret = '', previous_secret = NULL, headers = NULL
     WHERE deleted_at IS NULL AND account_id = ? AND ${by} = ?`,
    ...[now, accountId, id],
  )

function* begin(id: string, from: string | null): Asking<void> {
  const place = yield* placeOf(id)
  if (place !== null) yield* change(PLACES, afresh(place, from), 'endpoint_id = ?', id)
}

const noticeOf = (
  { id, accountId, workspaceId, mode, url }: EndpointRow,
  type: 'webhook.enabled' | 'webhook.disabled',
  reason: DisabledReason | null,
  now: number,
): Notice => ({
  type,
  accountId,
  workspaceId,
  mode,
  now,
  data: { webhook_id: id, endpoint: url, ...(reason !== null && { reason }) },
})

const turning = (
  addNotice: (notice: Notice) => Asking<unknown>,
): Pick<AskedWrites<Endpoints>, 'enableEndpoint' | 'disableEndpoint'> => ({
  *enableEndpoint(accountId, id, from, now) {
    const row = yield* find(accountId, id)
    if (row?.status !== 'disabled') return row !== null
    const turned = { status: 'enabled', disabledReason: null, disabledAt: null, updatedAt: now } as const
    yield* change(WEBHOOKS, turned, 'id = ?', id)
    yield* begin(id, from)
    if (from !== null)
      yield* run(
        `UPDATE posts SET state = 'canceled', due_at = NULL, updated_at = ?, cause = '${SKIPPED}'
         WHERE endpoint_id = ? AND due_at IS NOT NULL AND kind = 'event'`,
        ...[now, id],
      )
    yield* addNotice(noticeOf(row, 'webhook.enabled', null, now))
    return true
  },
  *disableEndpoint(accountId, id, reason, now) {
    const row = yield* find(accountId, id)
    if (row?.status !== 'enabled') return row !== null
    const turned = { status: 'disabled', disabledReason: reason, disabledAt: now, updatedAt: now } as const
    yield* change(WEBHOOKS, turned, 'id = ?', id)
    yield* run('UPDATE webhook_places SET generation = generation + 1 WHERE endpoint_id = ?', id)
    yield* addNotice(noticeOf(row, 'webhook.disabled', reason, now))
    return true
  },
})

/** `addNotice` writes in the commit that runs. */
export const endpointWrites = (
  places: Places,
  addNotice: (notice: Notice) => Asking<unknown>,
): AskedWrites<Endpoints> => {
  const insert = insertInto(WEBHOOKS, places)
  return {
    *createEndpoint(row, mark) {
      yield* insert(row)
      yield* run(
        `INSERT INTO webhook_places (endpoint_id, generation, mark, health, failures, probes, told, given_up)
         VALUES (?, 1, ?, 'healthy', 0, 0, 0, 0)`,
        ...[row.id, mark],
      )
    },
    *updateEndpoint(accountId, id, part, now) {
      return (yield* change(WEBHOOKS, { ...part, updatedAt: now }, ALIVE, accountId, id)) === 1
    },
    *rotateEndpoint(accountId, id, secret, until, now) {
      const before = until === null ? 'NULL' : 'secret'
      const text = `UPDATE webhooks SET previous_secret = ${before}, previous_until = ?, secret = ?, updated_at = ? WHERE ${ALIVE}`
      return (yield* run(text, until, secret, now, accountId, id)) === 1
    },
    ...turning(addNotice),
    *deleteEndpoint(accountId, id, now) {
      if ((yield* removeEndpoints(accountId, 'id', id, now)) === 0) return false
      yield* run('DELETE FROM replays WHERE endpoint_id = ?', id)
      return true
    },
  }
}
