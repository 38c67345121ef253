/**
 * NAME      batch - many verbs, one commit
 * DESCRIPTION
 *   Runs the verbs of a batch in one transaction and answers none before it is
 *   committed. The first try runs them bare; only when one throws is the batch
 *   rolled back and run again with a savepoint around each verb, so that the one
 *   that failed harms nobody else and the common case pays for no savepoints.
 * NOTES
 *   Errors of the disk or the file are the end: a failed fsync must not be
 *   retried (the kernel may have dropped the pages), so they are thrown as
 *   BrokenStore. A full disk is not: what could not be stored is refused, what
 *   still fits (settling what was sent) is stored, and the next batch tries anew.
 */
import { Fault, toPlainFault } from '../../../base/fault.js'
import type { Answer, Call, WriterVerbs } from '../protocol.js'
import type { Desk } from '../write/desk.js'

export class BrokenStore extends Error {
  override readonly name = 'BrokenStore'
}

const BROKEN = /^SQLITE_(IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|PROTOCOL|NOMEM)/

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')
const isPassing = (code: string): boolean => code.startsWith('SQLITE_FULL') || code.startsWith('SQLITE_BUSY')

const unavailable = (id: number): Answer => [
  id,
  'fault',
  toPlainFault(new Fault('service.unavailable', { retryAfter: 5 })),
]

const failed = (id: number, error: unknown): Answer =>
  error instanceof Fault
    ? [id, 'fault', toPlainFault(error)]
    : [id, 'error', error instanceof Error ? error.message : String(error)]

export const createBatch = (desk: Desk, verbs: WriterVerbs, pass: (point: string) => void) => {
  const { db } = desk
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const save = db.prepare('SAVEPOINT verb')
  const undo = db.prepare('ROLLBACK TO verb')
  const release = db.prepare('RELEASE verb')

  const perform = (call: Call): Answer => {
    const verb = verbs[call[1]] as (...args: readonly unknown[]) => unknown
    return [call[0], 'value', verb(...call[2])]
  }

  const guarded = (call: Call): Answer => {
    const { leased, settled } = desk.effects
    const before = [leased.length, settled.length] as const
    save.run()
    try {
      return perform(call)
    } catch (error) {
      if (isPassing(codeOf(error)) || BROKEN.test(codeOf(error))) throw error
      undo.run()
      for (const lost of leased.splice(before[0])) desk.hot.drop(lost[0])
      settled.splice(before[1])
      desk.rolledBack()
      return failed(call[0], error)
    } finally {
      if (db.inTransaction) release.run()
    }
  }

  const abandon = (): void => {
    if (db.inTransaction) rollback.run()
    for (const lost of desk.effects.leased) desk.hot.drop(lost[0])
    desk.forgetEffects()
    desk.rolledBack()
  }

  const passAll = (calls: readonly Call[], moment: string): void => {
    for (const call of calls) pass(`${call[1]}.${moment}`)
  }

  const attempt = (calls: readonly Call[], run: (call: Call) => Answer): Answer[] => {
    try {
      begin.run()
      desk.holds.look()
      const answers = calls.map(run)
      passAll(calls, 'before-commit')
      commit.run()
      passAll(calls, 'after-commit')
      return answers
    } catch (error) {
      abandon()
      if (BROKEN.test(codeOf(error))) throw new BrokenStore(`${codeOf(error)}: ${(error as Error).message}`)
      throw error
    }
  }

  /** New mail waits for room; everything else gets another chance. */
  const withoutAccepts = (calls: readonly Call[]): Answer[] => {
    const rest = calls.filter((call) => call[1] !== 'accept')
    const refused = calls.filter((call) => call[1] === 'accept').map((call) => unavailable(call[0]))
    if (rest.length === 0 || refused.length === 0) return calls.map((call) => unavailable(call[0]))
    try {
      return [...refused, ...attempt(rest, guarded)]
    } catch (error) {
      if (!isPassing(codeOf(error))) throw error
      return calls.map((call) => unavailable(call[0]))
    }
  }

  /** Answers come in any order. Throws BrokenStore, and nothing else. */
  return (calls: readonly Call[]): Answer[] => {
    try {
      return attempt(calls, perform)
    } catch (error) {
      if (error instanceof BrokenStore) throw error
      if (isPassing(codeOf(error))) return withoutAccepts(calls)
    }
    try {
      return attempt(calls, guarded)
    } catch (error) {
      if (error instanceof BrokenStore) throw error
      if (isPassing(codeOf(error))) return withoutAccepts(calls)
      throw new BrokenStore(error instanceof Error ? error.message : String(error))
    }
  }
}
