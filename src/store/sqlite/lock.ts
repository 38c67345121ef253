/**
 * NAME      lock - one daemon per data folder
 * DESCRIPTION
 *   An exclusive transaction on a small SQLite file of its own. The lock belongs
 *   to the process and dies with it, however it dies, so there is never a stale
 *   one to clear. The second daemon is told at once and exits 75.
 */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { StoreBusyError } from '../port/upkeep.js'
import { Database } from './connect.js'

/** Takes the lock or throws StoreBusyError. The answer gives it back. */
export const takeDaemonLock = (dataDir: string): (() => void) => {
  const file = join(dataDir, 'daemon.lock')
  const db = new Database(file, { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
    chmodSync(file, 0o600)
  } catch (error) {
    db.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') {
      throw new StoreBusyError(`another daemon is running on ${dataDir}: stop it first`)
    }
    throw error
  }
  return () => {
    db.close()
  }
}
