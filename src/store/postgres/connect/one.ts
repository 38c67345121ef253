/**
 * NAME      one - a connection on which work goes one after another
 * DESCRIPTION
 *   Opened when it is first wanted, and anew after it was lost.
 */
import type { Connection } from './connection.js'

export const createOne = (open: () => Promise<Connection>) => {
  let connection: Connection | null = null
  let before: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = before.then(work)
    before = done.catch(() => {})
    return done
  }
  return {
    inTurn,
    async ready(): Promise<Connection> {
      if (connection?.isLost === true) {
        await connection.close()
        connection = null
      }
      connection ??= await open()
      return connection
    },
    close: () => inTurn(async () => connection?.close()),
  }
}
