/**
 * NAME      touch - when a key was last used and from where, for all that was used in a second
 * DESCRIPTION
 *   Without a fence, and without waiting for the disk: a crash may lose it.
 */
import { type Asking, run } from '../../sql/query.js'
import type { Touch } from '../../sql/tenants.js'
import { LIGHT } from './light.js'

const USED = `FROM light, json_to_recordset(CAST(? AS JSON)) AS u (id text, at bigint, place text)
  WHERE light.s IS NOT NULL AND t.id = u.id`

const TEXTS: Readonly<Record<Touch[0], string>> = {
  key: `${LIGHT} UPDATE keys t SET last_used_at = u.at, last_used_from = u.place ${USED} AND coalesce(t.last_used_at, 0) <= u.at`,
  credential: `${LIGHT} UPDATE credentials t SET last_used_at = u.at, last_used_from = u.place ${USED} AND coalesce(t.last_used_at, 0) <= u.at`,
  session: `${LIGHT} UPDATE sessions t SET last_seen_at = u.at ${USED} AND t.last_seen_at < u.at`,
}

export function* touchAll(touched: readonly Touch[]): Asking<void> {
  for (const kind of ['key', 'credential', 'session'] as const) {
    const used = touched
      .filter(([of]) => of === kind)
      .map(([, id, at, place]) => ({ id, at, place }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    if (used.length > 0) yield* run(TEXTS[kind], JSON.stringify(used))
  }
}
