/**
 * NAME      fence - a writer that has lost its database writes no more
 * DESCRIPTION
 *   Two ways to lose it. Another daemon: the lock dies with its process, so two
 *   can only meet where the lock's file was removed or replaced under one that was
 *   stopped; each daemon writes its boot into the database when it opens it, and
 *   every batch looks whether it is still there. Another file: whoever removes,
 *   renames or replaces postern.db under a writer leaves it an open file without a
 *   name, which takes every commit and is gone with the process. So the file at
 *   the path is looked at after each commit, before anybody hears of it, and twice
 *   a second while nothing is written.
 * NOTES
 *   SQLite would play the log of the old file into the one that has come in its
 *   place. So the log is taken out of its way, under a name of its own.
 * BUGS
 *   A copy written into the file itself (cp over it) keeps device and inode, and
 *   is not seen here.
 */
import { existsSync, renameSync, statSync } from 'node:fs'
import { leftLogName, logOf } from '../connect.js'
import type { WriteContext } from '../write/context.js'

/** The database belongs to another daemon, or another file has its name. */
export class FencedError extends Error {
  override readonly name = 'FencedError'
}

const isFull = (error: unknown): boolean =>
  String((error as { code?: unknown }).code).startsWith('SQLITE_FULL')

/** The answer is to be called inside each transaction, and throws FencedError. */
export const createFence = (
  { db, boot }: Pick<WriteContext, 'db' | 'boot'>,
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

interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

const identityOf = (file: string): Identity | null => {
  try {
    return statSync(file, { bigint: true })
  } catch {
    return null
  }
}

const setLogAside = (file: string): string | null => {
  const aside = leftLogName(file)
  try {
    renameSync(logOf(file), aside)
    return aside
  } catch {
    return null // none is there, or the folder has gone too
  }
}

/** To be called before the file is opened. The answer throws FencedError once another file, or none, has its name. */
export const createFileFence = (file: string): (() => void) => {
  const opened = identityOf(file)
  return () => {
    const now = identityOf(file)
    if (now !== null && now.dev === opened?.dev && now.ino === opened.ino) return
    const what = existsSync(file) ? 'another file has taken its place' : 'it was moved or removed'
    const aside = setLogAside(file)
    const rest = aside === null ? '' : `; what it had last written is in ${aside}`
    throw new FencedError(`${file} is no longer the database that was opened: ${what}${rest}`)
  }
}
