/**
 * NAME      restored - a copy that is about to be the database again
 * DESCRIPTION
 *   What waited when the copy was made may have been sent since, so all of it is
 *   put to rest: held as `restored`, until somebody releases or purges it; webhooks
 *   go on from the end of the log. What was
 *   under way is treated as after a crash first. Sessions and links end, since one that was
 *   ended or used later would live again; keys, credentials and people are told, for the
 *   same reason. Rows stored from now on stand above all that the lost time had given out.
 */
import type { Access, Resting, Restored } from '../port/admin.js'
import { writeEntry } from '../sql/audit/write.js'
import { EMAIL_ID } from '../sql/mails/short.js'
import type { Holdable } from '../sql/operate/queue-writes.js'
import type { Db } from './connect.js'
import { Database } from './driver.js'
import { createHoldRecipients } from './operate/hold-recipient.js'
import { createWriteContext } from './write/context.js'
import { createAddEvent } from './write/events.js'
import { createLeases } from './write/lease.js'

/** In `held`: nobody's hold, but a mail that a copy brought back. */
export const RESTORED = 'restored'

/** What was to be posted may have been posted since: endpoints go on from the end of the log. */
const skipPosts = (db: Db, now: number): void => {
  db.exec('UPDATE webhook_places SET mark = NULL, generation = generation + 1; DELETE FROM replays')
  db.prepare(
    `UPDATE posts SET state = 'canceled', due_at = NULL, updated_at = ?, cause = 'the database was restored from a copy'
     WHERE due_at IS NOT NULL`,
  ).run(now)
}

const WAITING = `SELECT id, ${EMAIL_ID}, status, due_at FROM recipients WHERE due_at IS NOT NULL`

/** Makes the database file at `path` safe to start on, and writes down who did it. */
export const putToRest = (path: string, { send, now, actor, copy }: Resting): Restored => {
  const db = new Database(path)
  try {
    const context = createWriteContext(db)
    const addEvent = createAddEvent(context)
    const write = writeEntry({ places: context.order, now: Date.now })
    const holdRecipients = createHoldRecipients(context, addEvent)
    return db.transaction((): Restored => {
      db.exec('DELETE FROM links')
      context.order.begin()
      context.order.follow()
      createLeases(context, addEvent, true).recover('earlier', now)
      const waiting = db.prepare<[], Holdable>(WAITING).all()
      const held = send ? [] : waiting
      for (const one of held) holdRecipients.hold(one, { id: RESTORED, reason: RESTORED }, now)
      if (!send) skipPosts(db, now)
      const restored: Restored = {
        held: held.length,
        due: waiting.length - held.length,
        sessions: db.prepare('DELETE FROM sessions').run().changes,
        keys: db
          .prepare<[], Access>('SELECT id, name, workspace_id, created_at FROM keys ORDER BY ord DESC')
          .all(),
        credentials: db
          .prepare<[], Access>(
            `SELECT id, coalesce(username, cidr, certificate_fingerprint) AS name, workspace_id, created_at FROM credentials ORDER BY ord DESC`,
          )
          .all(),
        people: db
          .prepare<[], Access>(
            `SELECT id, email || ' ' || role AS name, NULL AS workspace_id, created_at FROM users
             WHERE disabled_at IS NULL ORDER BY ord DESC`,
          )
          .all(),
      }
      const accounts = db.prepare<[], string>('SELECT id FROM accounts').pluck().all()
      for (const accountId of accounts) {
        const detail = { file: copy, held: restored.held, sessions_ended: restored.sessions }
        const object = { type: 'database', id: null }
        context.sql.ask(
          write({ actor, entry: null }, { accountId, action: 'database.restored', object, detail }),
        )
      }
      context.order.keep()
      return restored
    })()
  } finally {
    db.close()
  }
}
