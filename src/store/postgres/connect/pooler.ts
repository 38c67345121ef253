/**
 * NAME      pooler - whether something between us and the database gives sessions away
 * DESCRIPTION
 *   A pooler names a process of its own when it takes a connection. One that gives a client a session for as long as it stays is
 *   as good as none. One that gives it for a transaction lets another client have the same session in between: prepared
 *   statements, settings and the name by which a session can be ended would be anybody's. A daemon that is told so does without
 *   them. One that gives a session for a statement is of no use to anybody who needs transactions.
 */
import type { Connection } from './connection.js'
import { DatabaseRefusedError } from './servers.js'

const query = (text: string) => ({ text, values: [] })

/** The process that serves it now. */
const servedBy = async (connection: Connection): Promise<number> =>
  Number((await connection.query(query('SELECT pg_backend_pid() AS pid'))).rows[0]?.pid)

/** Of pgbouncer's `statement` mode. */
const NO_TRANSACTIONS = /transaction blocks not allowed/

const modeOf = async (one: Connection, two: Connection): Promise<Pooler> => {
  const before = await servedBy(one)
  try {
    await two.query(query('BEGIN'))
  } catch (error) {
    const { message, cause } = error as Error
    if (NO_TRANSACTIONS.test(`${message} ${String(cause)}`)) return 'statement'
    throw error
  }
  // it was free although its client is still there; or it is taken now, and its client gets another one
  const isGiven = (await servedBy(two)) === before || (await servedBy(one)) !== before
  return isGiven ? 'transaction' : 'session'
}

export type Pooler = 'none' | 'session' | 'transaction' | 'statement'

/** What mends one that will not do. */
export const remedyOf = (pooler: Pooler): string =>
  `${pooler === 'transaction' ? 'say store.pooler: transaction, ' : ''}set pool_mode = session there, or name the database itself in store.url_file`

export const poolerBefore = async (
  connection: Connection,
  open: () => Promise<Connection>,
): Promise<Pooler> => {
  if ((await servedBy(connection)) === connection.pid) return 'none'
  const other = await open()
  try {
    return await modeOf(connection, other)
  } finally {
    await other.close()
  }
}

export const refusePooler = async (
  connection: Connection,
  open: () => Promise<Connection>,
): Promise<void> => {
  const pooler = await poolerBefore(connection, open)
  if (pooler === 'statement' || (pooler === 'transaction' && !connection.isPooled))
    throw new DatabaseRefusedError(
      `a pooler before the database gives sessions away between ${pooler}s: ${remedyOf(pooler)}`,
    )
}
