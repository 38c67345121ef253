/**
 * NAME      admin - a SQLite database beside the store
 */
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Admin, type Examined, StoreBusyError } from '../port/upkeep.js'
import { backup, integrityFaults, isOurs } from './backup.js'
import { createBodyStore } from './body/body-store.js'
import { type Db, logOf, openReader } from './connect.js'
import { takeFiles } from './kept-files.js'
import { takeDaemonLock } from './lock.js'
import { versionIn } from './migrate/before.js'
import { wantedBy } from './migrate/migrate.js'
import { STEPS } from './migrate/steps.js'
import { createStatements } from './read/statements.js'
import { putToRest } from './restored.js'
import { compactFile } from './room/shrink.js'

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
      current: STEPS.length,
      wants: wantedBy(db),
      faults: integrityFaults(db),
      missing: version === STEPS.length ? await bodies.missing() : [],
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
