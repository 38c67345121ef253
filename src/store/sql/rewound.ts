/**
 * NAME      rewound - a database that knows less than has happened
 *   It was restored, from a copy or to a point in the past. What waits in it may have been sent since, so all of it is
 *   held as `restored`, until somebody releases or purges it; webhooks go on from the end of the log. Sessions and links
 *   end, since one that was ended or used later would live again; keys, credentials and people are told, for the same
 *   reason.
 */

import type { Actor } from '../port/identity.js'
import type { Access, Restored } from '../port/upkeep.js'
import { writeEntry } from './audit.js'
import { EMAIL_ID } from './mails.js'
import type { Holdable, QueueWrites } from './orders.js'
import { type Asking, all, first, run } from './query.js'
import type { Places } from './table.js'

/** In `held`: nobody's hold, but a mail that a copy brought back. */
const RESTORED = 'restored'

const STEP = 1000

interface RewindParts extends Pick<QueueWrites, 'waiting' | 'hold'> {
  readonly places: Places
}

const KEYS = 'SELECT id, name, workspace_id, created_at FROM keys ORDER BY ord DESC'
const CREDENTIALS = `SELECT id, coalesce(username, cidr, certificate_fingerprint) AS name, workspace_id, created_at
  FROM credentials ORDER BY ord DESC`
const PEOPLE = `SELECT id, email || ' ' || role AS name, NULL AS workspace_id, created_at
  FROM users WHERE disabled_at IS NULL ORDER BY ord DESC`

/** What was to be posted may have been posted since: endpoints go on from the end of the log. */
export function* skipPosts(now: number): Asking<void> {
  yield* run('UPDATE webhook_places SET mark = NULL, generation = generation + 1')
  yield* run('DELETE FROM replays')
  yield* run(
    `UPDATE posts SET state = 'canceled', due_at = NULL, updated_at = ?, cause = 'the database was restored from a copy'
     WHERE due_at IS NOT NULL`,
    now,
  )
}

const accessOf = function* (text: string): Asking<readonly Access[]> {
  return (yield* all(text)) as unknown as readonly Access[]
}

interface Rewound {
  readonly actor: Actor
  /** From which file; null: it was not Postern who did it. */
  readonly copy: string | null
  readonly held: number
}

export const rewinding = ({ places, waiting, hold }: RewindParts) => ({
  /** Some of what waits; how many. */
  *holdSome(now: number): Asking<number> {
    const text = `SELECT id, ${EMAIL_ID}, status, due_at FROM ${waiting} WHERE due_at IS NOT NULL LIMIT ${STEP}`
    const rows = (yield* all(text)) as unknown as readonly Holdable[]
    yield* hold(rows, { id: RESTORED, reason: RESTORED }, now)
    return rows.length
  },
  /** Ends what was signed in, and tells what opens it. */
  *end({ actor, copy, held }: Rewound, now: number): Asking<Restored> {
    yield* run('DELETE FROM links')
    const sessions = yield* run('DELETE FROM sessions')
    const write = writeEntry({ places, now: () => now })
    const detail = { ...(copy !== null && { file: copy }), held, sessions_ended: sessions }
    const object = { type: 'database', id: null }
    for (const { id } of yield* all('SELECT id FROM accounts'))
      yield* write(
        { actor, entry: null },
        { accountId: String(id), action: 'database.restored', object, detail },
      )
    const due = Number((yield* first(`SELECT count(*) AS n FROM ${waiting} WHERE due_at IS NOT NULL`))?.n)
    return {
      ...{ held, due, sessions, keys: yield* accessOf(KEYS) },
      ...{ credentials: yield* accessOf(CREDENTIALS), people: yield* accessOf(PEOPLE) },
    }
  },
})
