/**
 * NAME      admin - what is done to a database while no daemon runs
 *   What was under way is treated as after a crash first; then all of it is put to rest (sql/rewound.ts), in
 *   one transaction. Rows stored from now on stand above all that the lost time had given out.
 */

import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Admin, type Examined, type Resting, type Restored, StoreBusyError } from '../port/upkeep.js'
import type { QueueWrites } from '../sql/orders.js'
import { atOnce } from '../sql/query.js'
import { rewinding, skipPosts } from '../sql/rewound.js'
import { backup, integrityFaults, isOurs, takeFiles } from './backup.js'
import { createBodyStore } from './body.js'
import { Database, type Db, logOf, openReader, takeDaemonLock } from './connect.js'
import { compactFile } from './disk-room.js'
import { versionIn, wantedBy } from './migrate/migrate.js'
import { NEWEST, OLDEST } from './migrate/steps.js'
import { createStatements } from './statements.js'
import { createWriteContext } from './write/context.js'
import { createAddEvent } from './write/events.js'
import { createHoldRecipients, createLeases } from './write/queue.js'

/** Makes the database file at `path` safe to start on, and writes down who did it. */
export const putToRest = (path: string, { send, now, actor, copy }: Resting): Restored => {
  const db = new Database(path)
  try {
    const context = createWriteContext(db)
    const addEvent = createAddEvent(context)
    const holdRecipients = createHoldRecipients(context, addEvent)
    const hold: QueueWrites['hold'] = (rows, hold, now) =>
      atOnce(() => {
        for (const one of rows) holdRecipients.hold(one, hold, now)
      })
    const { holdSome, end } = rewinding({ places: context.order, waiting: 'recipients', hold })
    const { ask } = context.sql
    return db.transaction((): Restored => {
      context.order.begin()
      context.order.follow()
      createLeases(context, addEvent, true).recover('earlier', now)
      let held = 0
      for (let some = send ? 0 : ask(holdSome(now)); some > 0; some = ask(holdSome(now))) held += some
      if (!send) ask(skipPosts(now))
      const restored = ask(end({ actor, copy, held }, Date.now()))
      context.order.keep()
      return restored
    })()
  } finally {
    db.close()
  }
}

const isLocked = (dataDir: string): boolean => {
  if (!existsSync(join(dataDir, 'daemon.lock'))) return false
  try {
    takeDaemonLock(dataDir)()
    return false
  } catch (error) {
    return error instanceof StoreBusyError
  }
}

const markIn = (file: string): string | null => {
  let db: Db | null = null
  try {
    db = openReader(file)
    return (db.prepare('SELECT mark FROM pepper').get() as { mark: string } | undefined)?.mark ?? null
  } catch {
    return null
  } finally {
    db?.close()
  }
}

const examine = async (file: string): Promise<Examined> => {
  const db = openReader(file)
  try {
    const version = Number(db.pragma('user_version', { simple: true }))
    const bodies = createBodyStore(dirname(file), createStatements(db), () => {})
    const log = logOf(file)
    return {
      version,
      opensFrom: OLDEST,
      current: NEWEST,
      wants: wantedBy(db),
      faults: integrityFaults(db),
      missing: version === NEWEST ? await bodies.missing() : [],
      log: { file: log, bytes: existsSync(log) ? statSync(log).size : 0 },
    }
  } finally {
    db.close()
  }
}

export const sqliteAdmin = (file: string): Admin => ({
  lock: () => takeDaemonLock(dirname(file)),
  isLocked: () => isLocked(dirname(file)),
  version: () => versionIn(file),
  pepperMark: () => markIn(file),
  examine: () => examine(file),
  compact: () => compactFile(file),
  backup: (path, files) => backup(file, path, files),
  isOurs: () => isOurs(file),
  putToRest: (how) => putToRest(file, how),
  takeFiles: () => takeFiles(file),
})
