/**
 * NAME      snapshot - what one callback reads, it reads from one state of the database
 * DESCRIPTION
 *   A read by itself takes SQLite's locks, finds the end of the log and forgets the pages of the read before,
 *   which costs more than most reads. So the first read of a callback of the event loop begins a transaction, and
 *   it ends when that callback has run with all promises that it has settled. A request, an answer of the writer
 *   and a message of another thread each come in a callback of their own, and so whatever was committed before
 *   they came is seen.
 */
import type { Db } from '../connect.js'

/** Begins a snapshot unless one is open; answers its number. */
export type Enter = () => number

export const createSnapshot = (db: Db): Enter => {
  const begin = db.prepare('BEGIN')
  const commit = db.prepare('COMMIT')
  let number = 0
  let isOpen = false
  const end = (): void => {
    isOpen = false
    // a read that met a broken disk has ended it already; whoever read was told, and here is nobody to tell
    if (!db.open || !db.inTransaction) return
    try {
      commit.run()
    } catch {
      if (db.inTransaction) db.exec('ROLLBACK')
    }
  }
  // a tick that a microtask asks for comes when no microtask is left
  const endLater = (): void => process.nextTick(end)
  return () => {
    if (isOpen) return number
    begin.run()
    isOpen = true
    queueMicrotask(endLater)
    return ++number
  }
}
