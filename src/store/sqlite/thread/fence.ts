/**
 * NAME      fence - a daemon that was taken for dead writes no more
 * DESCRIPTION
 *   The daemon's lock dies with its process, so two daemons can only meet where
 *   the lock's file was removed or replaced under one that was stopped. Each
 *   daemon writes its boot into the database when it opens it, and every batch
 *   looks whether it is still there: the older one ends instead of writing.
 */
import type { Desk } from '../write/desk.js'

/** Another daemon has opened this database. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

const isFull = (error: unknown): boolean =>
  String((error as { code?: unknown }).code).startsWith('SQLITE_FULL')

/** The answer is to be called inside each transaction, and throws FencedError. */
export const createFence = (
  { db, boot }: Pick<Desk, 'db' | 'boot'>,
  daemon: boolean,
  onFull: () => void,
): (() => void) => {
  if (!daemon) return () => {}
  const read = db.prepare<[], number>('SELECT boot FROM fence').pluck()
  const write = db.prepare('UPDATE fence SET boot = ?')
  try {
    write.run(boot)
  } catch (error) {
    if (!isFull(error)) throw error
    onFull() // what must be settled is settled all the same
    write.run(boot)
  }
  return () => {
    if (read.get() !== boot) throw new FencedError('another daemon has opened this database')
  }
}
