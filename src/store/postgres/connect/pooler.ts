/**
 * NAME      pooler - whether something between us and the database gives sessions away
 * DESCRIPTION
 *   A pooler names a process of its own when it takes a connection. One that gives a client a session for as long as it stays is
 *   as good as none. One that gives it for a transaction lets another client have the same session in between: prepared
 *   statements, settings and the name by which a session can be ended would be anybody's.
 */
import type { Connection } from './connection.js'
import { DatabaseRefusedError } from './servers.js'

const query = (text: string) => ({ text, values: [] })

/** The process that serves it now. */
const servedBy = async (connection: Connection): Promise<number> =>
  Number((await connection.query(query('SELECT pg_backend_pid() AS pid'))).rows[0]?.pid)

/** Of pgbouncer's `statement` mode. */
const NO_TRANSACTIONS = /transaction blocks not allowed/

const givesTransactions = async (one: Connection, two: Connection): Promise<boolean> => {
  const before = await servedBy(one)
  try {
    await two.query(query('BEGIN'))
  } catch (error) {
    const { message, cause } = error as Error
    if (NO_TRANSACTIONS.test(`${message} ${String(cause)}`)) return true
    throw error
  }
  // it was free although its client is still there; or it is taken now, and its client gets another one
  return (await servedBy(two)) === before || (await servedBy(one)) !== before
}

export type Pooler = 'none' | 'session' | 'transaction'

export const poolerBefore = async (
  connection: Connection,
  open: () => Promise<Connection>,
): Promise<Pooler> => {
  if ((await servedBy(connection)) === connection.pid) return 'none'
  const other = await open()
  try {
    return (await givesTransactions(connection, other)) ? 'transaction' : 'session'
  } finally {
    await other.close()
  }
}

export const refusePooler = async (
  connection: Connection,
  open: () => Promise<Connection>,
): Promise<void> => {
  if ((await poolerBefore(connection, open)) === 'transaction')
    throw new DatabaseRefusedError(
      'a pooler before the database gives sessions away between transactions: set pool_mode = session there, or name the database itself in store.url_file',
    )
}
