/**
 * NAME      points - reads by key, gathered into one statement
 *   Who may do what is read for each request, and no answer is kept here: what was revoked is refused at once. A send
 *   may have its rows at hand (known.ts).
 *   Reads that come while an earlier round trip is under way go together: those of one text are one
 *   statement, joined to what each caller gave. A statement begins after all its callers have asked. One
 *   connection does, and it is never kept waiting by a long list.
 *   Opened when it is first wanted, and anew after it was lost.
 */

import type { Asking, SqlQuery } from '../sql/query.js'
import type { Connection } from './connection.js'
import { answerRead, askTogether, gather, persistently } from './run.js'

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

/** These verbs read few rows, and nothing large. */
export const POINTS: ReadonlySet<string> = new Set([
  ...['keyByLookup', 'key', 'credential', 'credentialsByUsername', 'credentialsByRange'],
  ...['credentialByCertificate', 'user', 'userByIdentity', 'session', 'sessionByLookup'],
  ...['account', 'workspace', 'pool', 'suppressed', 'domain'],
])

/** Calls of one text in one statement. */
const MOST = 200

export interface Points {
  read<T>(verb: () => Asking<T>): Promise<T>
  close(): Promise<void>
}

export const createPoints = (open: () => Promise<Connection>): Points => {
  const { inTurn, ready, close } = createOne(open)
  const run = async (queries: readonly SqlQuery[]) => askTogether((await ready()).query, queries)
  const query = gather({ run, inTurn, weigh: () => 1, most: MOST })
  return {
    read: (verb) => persistently(() => answerRead({ query }, verb())),
    close,
  }
}
