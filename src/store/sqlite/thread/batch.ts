/**
 * NAME      batch - calls that share one transaction
 * DESCRIPTION
 *   Runs the verbs of a batch in one transaction and answers none before it is committed. The first try runs them bare;
 *   when one throws, the batch is rolled back and run again with a savepoint around each verb, so that the one that
 *   failed harms no other and the common case pays for no savepoints.
 *   Errors of the disk or the file are the end: a failed fsync must not be retried (the kernel may have dropped the
 *   pages), so they are thrown as BrokenStore. A full disk is not: the ballast goes, new work is refused until there is
 *   room again, and the rest (settling what was sent) is stored.
 *   The fence: another daemon can come to the same database only where the lock's file was removed or replaced; each
 *   daemon writes its boot into the database when it opens it, and every batch compares it. And a file that was removed,
 *   renamed or replaced under the writer would take every commit and be gone with the process: so the file at the path
 *   is compared after each commit, before it is answered, and twice a second while nothing is written. The log of the
 *   old file is renamed, because SQLite would play it into the new one.
 * BUGS
 *   A copy written into the file itself (cp over it) keeps device and inode, and is not seen here.
 */
import { existsSync, renameSync, statSync } from 'node:fs'
import { Fault, toPlainFault } from '../../../base/fault.js'
import { audited, LOOKED } from '../../sql/audit.js'
import { leftLogName, logOf } from '../connect.js'
import type { Tightness } from '../disk-room.js'
import type { Answer, Call, WriterVerbs } from '../protocol.js'
import type { WriteContext } from '../write/context.js'
import { createCountChanges, createRules } from './changes.js'

/** The database belongs to another daemon, or another file has its name. */
class FencedError extends Error {
  override readonly name = 'FencedError'
}

const isFullDisk = (error: unknown): boolean =>
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
    if (!isFullDisk(error)) throw error
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

export class BrokenStore extends Error {
  override readonly name = 'BrokenStore'
}

/** Not IOERR_SHMSIZE: that is a full disk met while the index of the log grows. */
const BROKEN = /^SQLITE_(IOERR(?!_SHMSIZE)|CORRUPT|NOTADB|READONLY|CANTOPEN|PROTOCOL|NOMEM)/

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')
const isFull = (code: string): boolean => /^SQLITE_(FULL|IOERR_SHMSIZE)/.test(code)
const isPassing = (code: string): boolean => isFull(code) || code.startsWith('SQLITE_BUSY')

/** Verbs whose outcome would want room of its own. */
const NEW_WORK: ReadonlySet<string> = new Set(['accept', 'claimKey', 'claim', 'attempting', 'carryIn'])

const unavailable = (id: number): Answer => [
  id,
  'fault',
  toPlainFault(new Fault('service.unavailable', { retryAfter: 5 })),
]

const failed = (id: number, error: unknown): Answer =>
  error instanceof Fault
    ? [id, 'fault', toPlainFault(error)]
    : [id, 'error', error instanceof Error ? error.message : String(error)]

interface Round {
  readonly pass: (point: string) => void
  /** What the threads share of the rules. */
  readonly rules: SharedArrayBuffer
  readonly tightness: Tightness
  /** Called in each transaction. */
  readonly fence: () => void
  /** Called after each commit, before it is answered. */
  readonly fileFence: () => void
  /** So many verbs were committed, in so many milliseconds. */
  readonly beat: (verbs: number, commitMs: number) => void
}

export const createBatch = (
  context: WriteContext,
  verbs: WriterVerbs,
  { pass, rules: told, tightness, fence, fileFence, beat }: Round,
) => {
  const { db } = context
  const { ask } = context.sql
  const audit = audited(LOOKED, { places: context.order, now: Date.now })
  const countChanges = createCountChanges(db)
  const rules = createRules(db, told)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const save = db.prepare('SAVEPOINT verb')
  const undo = db.prepare('ROLLBACK TO verb')
  const release = db.prepare('RELEASE verb')

  const perform = (call: Call): Answer => {
    const [id, name, args, acting] = call
    if (rules.isStale(call)) return [id, 'value', 'stale']
    const verb = verbs[name] as (...args: readonly unknown[]) => unknown
    if (acting === undefined) return [id, 'value', verb(...args)]
    const tell = ask(audit(name, args, acting))
    const result = verb(...args)
    ask(tell(result))
    return [id, 'value', result]
  }

  const guarded = (call: Call): Answer => {
    const { leased, settled } = context.effects
    const before = [leased.length, settled.length] as const
    save.run()
    try {
      return perform(call)
    } catch (error) {
      if (isPassing(codeOf(error)) || BROKEN.test(codeOf(error))) throw error
      undo.run()
      for (const lost of leased.splice(before[0])) context.hot.drop(lost[0])
      settled.splice(before[1])
      context.rolledBack()
      return failed(call[0], error)
    } finally {
      if (db.inTransaction) release.run()
    }
  }

  const abandon = (): void => {
    if (db.inTransaction) rollback.run()
    for (const lost of context.effects.leased) context.hot.drop(lost[0])
    context.forgetEffects()
    context.rolledBack()
  }

  const passAll = (calls: readonly Call[], moment: string): void => {
    for (const call of calls) pass(`${call[1]}.${moment}`)
  }

  const attempt = (calls: readonly Call[], run: (call: Call) => Answer): Answer[] => {
    try {
      begin.run()
      fence()
      rules.look()
      context.holds.look()
      context.order.begin()
      const answers = calls.map(run)
      if (countChanges(calls)) rules.look()
      context.order.keep()
      passAll(calls, 'before-commit')
      const began = performance.now()
      commit.run()
      fileFence()
      rules.publish()
      beat(calls.length, performance.now() - began)
      passAll(calls, 'after-commit')
      return answers
    } catch (error) {
      abandon()
      if (error instanceof FencedError) throw new BrokenStore(error.message)
      if (BROKEN.test(codeOf(error))) throw new BrokenStore(`${codeOf(error)}: ${(error as Error).message}`)
      throw error
    }
  }

  /** New work waits for room; everything else is done. */
  const onlyEnding = (calls: readonly Call[]): Answer[] => {
    const rest = calls.filter((call) => !NEW_WORK.has(call[1]))
    const refused = calls.filter((call) => NEW_WORK.has(call[1])).map((call) => unavailable(call[0]))
    if (rest.length === 0) return refused
    try {
      return [...refused, ...attempt(rest, guarded)]
    } catch (error) {
      if (!isPassing(codeOf(error))) throw error
      if (isFull(codeOf(error))) tightness.full()
      return calls.map((call) => unavailable(call[0]))
    }
  }

  const refused = (calls: readonly Call[], error: unknown): Answer[] => {
    if (isFull(codeOf(error))) tightness.full()
    return onlyEnding(calls)
  }

  /** Answers come in any order. Throws BrokenStore, and nothing else. */
  return (calls: readonly Call[]): Answer[] => {
    if (tightness.isTight) return onlyEnding(calls)
    try {
      return attempt(calls, perform)
    } catch (error) {
      if (error instanceof BrokenStore) throw error
      if (isPassing(codeOf(error))) return refused(calls, error)
    }
    try {
      return attempt(calls, guarded)
    } catch (error) {
      if (error instanceof BrokenStore) throw error
      if (isPassing(codeOf(error))) return refused(calls, error)
      throw new BrokenStore(error instanceof Error ? error.message : String(error))
    }
  }
}
