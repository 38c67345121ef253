/**
 * NAME      notices - events without a mail, in the transaction that runs
 */
import type { Notice } from '../../port/log.js'
import type { Places } from '../../sql/insert.js'
import { flagsOf, kindOf } from '../../sql/log/codec.js'
import { type Asking, run } from '../../sql/query.js'

const ADD = `INSERT INTO events (ord, scope, kind, flags, occurred_at, late, dedupe, more)
  VALUES (?, coalesce((SELECT n FROM workspaces WHERE id = ?), 0) * 2 + ?, ?, ?, ?, 0, ?, ?) ON CONFLICT DO NOTHING`

/** Its place; null when its dedupe key was there. */
export const createAddNotice = (places: Places) =>
  function* ({
    type,
    accountId,
    workspaceId,
    mode,
    now,
    data,
    dedupe = null,
  }: Notice): Asking<number | null> {
    const ord = places.next()
    const more = JSON.stringify({ account: accountId, data })
    const flags = flagsOf('system', true, true)
    const test = mode === 'test' ? 1 : 0
    const added = yield* run(ADD, ord, workspaceId, test, kindOf(type), flags, now, dedupe, more)
    return added === 0 ? null : ord
  }
