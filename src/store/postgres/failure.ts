/**
 * NAME      failure - what an error of the database asks for
 * DESCRIPTION
 *   By its SQLSTATE (PostgreSQL, appendix A). An error without one came from the socket, or from looking up its name.
 *     away    the connection or the server is gone, or takes no writes: connect again, and wait a little
 *     full    no room: the caller may come again
 *     again   others were in the way: the same once more
 *     broken  what a restart of this process cannot mend, and waiting cannot either
 *     verb    the statement is at fault, and nothing else
 */
import { TakenOverError } from '../port/upkeep.js'

type Failure = 'away' | 'full' | 'again' | 'broken' | 'verb'

/** The deadline of a statement has passed, or its connection is gone. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError'
}

/** Nobody answers where the database should be. */
export class DatabaseAwayError extends Error {
  override readonly name = 'DatabaseAwayError'
}

const STATES: readonly (readonly [Failure, RegExp])[] = [
  ['again', /^(?:40001|40P01|55P03)$/],
  // connections; shut down, or starting; too many connections; a read-only server; idle for too long in a transaction
  ['away', /^(?:08...|57P0[1-3]|53300|25006|25P03)$/],
  ['full', /^53[14]00$/],
  ['broken', /^(?:XX00[12]|58030)$/],
]

const SOCKET = /^E(?:AI_)?[A-Z]+$/

export const failureOf = (error: unknown): Failure => {
  if (error instanceof ConnectionLostError) return 'away'
  if (error instanceof TakenOverError) return 'broken'
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  if (SOCKET.test(code)) return 'away'
  return STATES.find(([, states]) => states.test(code))?.[0] ?? 'verb'
}
