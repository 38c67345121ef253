/**
 * NAME      connection - one session with the database
 * DESCRIPTION
 *   Statements go one after another. Each has a deadline of its own, after which the socket is destroyed: a server
 *   that does not answer, a cut cable and a paused machine look alike from here. A connection that failed is not mended;
 *   its owner opens another.
 * NOTES
 *   int8 is read as a number: all that is stored has at most 53 bits.
 */
import { Socket } from 'node:net'
import pg from 'pg'
import type { Found, Query } from '../../sql/query.js'
import { copyIn } from './copy.js'
import { ConnectionLostError, failureOf } from './failure.js'
import { DatabaseRefusedError, type Server } from './servers.js'
import { settingsFaults } from './settings.js'
import { statementOf } from './statement.js'

const CONNECT_MS = 5000
const STATEMENT_MS = 10_000
const INT8 = 20

/** What a session of ours is started with. */
const SESSION =
  "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'; SET timezone = 'UTC'"

export interface Connection {
  query(query: Query): Promise<Found>
  /** COPY FROM STDIN; the deadline is that of each chunk. */
  copyIn(text: string, chunks: AsyncIterable<Uint8Array>): Promise<void>
  readonly isLost: boolean
  /** The process of the server that took the connection, as it said itself. */
  readonly pid: number
  close(): Promise<void>
}

const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

const clientOf = (server: Server, name: string, socket: Socket): pg.Client =>
  new pg.Client({
    host: server.host,
    port: server.port,
    user: server.user,
    password: server.password ?? '',
    database: server.database,
    ssl: server.tls === null ? false : server.tls,
    application_name: name,
    stream: () => socket,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS,
    types,
  })

/** What TLS has against a certificate, as Node names it. */
const TLS = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_CA$)/

/** What only the operator can mend; another error as it is. */
const refusalOf = (error: unknown, { host, port, user, database }: Server): unknown => {
  const { code, message } = error as { readonly code?: string; readonly message: string }
  const to = `${host}:${port}`
  if (code === '28P01' || code === '28000')
    return new DatabaseRefusedError(
      `${to} refuses the user ${user}: look at the password in the URL, and at pg_hba.conf`,
    )
  if (code === '3D000')
    return new DatabaseRefusedError(`${to} has no database ${database}: create it with ENCODING 'UTF8'`)
  if (code === '42501')
    return new DatabaseRefusedError(
      `${to} lets the user ${user} not into ${database}: GRANT ALL ON DATABASE ${database} TO ${user}`,
    )
  if (/does not support SSL/.test(message))
    return new DatabaseRefusedError(`${to} speaks no TLS: set ssl = on there, with a certificate for ${host}`)
  if (TLS.test(code ?? ''))
    return new DatabaseRefusedError(
      `${to} does not prove that it is ${host}: ${message}; look at its certificate, and at sslrootcert`,
    )
  return code === undefined ? new ConnectionLostError(`${to} does not answer`, { cause: error }) : error
}

/** Text here has no U+0000 (SQLSTATE 22021). A reader that looks for some finds nothing, as in a file, and fails nobody with it. */
const storable = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(storable)
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
}

/**
 * The wait for a synchronous standby was broken off: the commit is in here and perhaps nowhere else, and its answer says
 * success. Known by the function in the server, since the words are in its language.
 */
const isUnconfirmed = (notice: { readonly routine?: string | undefined }): boolean =>
  notice.routine === 'SyncRepWaitForLSN'

/** Why a connection is gone; null: it is not. */
const watching = (client: pg.Client, socket: Socket) => {
  let lost: Error | null = null
  const lose = (error: Error): void => {
    lost ??= error
    socket.destroy()
  }
  client.on('error', lose)
  client.on('notice', (notice) => {
    if (isUnconfirmed(notice)) lose(new Error('no standby has confirmed the commit'))
  })
  client.on('end', () => lose(new Error('the server closed the connection')))
  return { lose, why: (): Error | null => lost }
}

const connectTo = async (server: Server, name: string, deadline: number): Promise<Connection> => {
  const socket = new Socket()
  const client = clientOf(server, name, socket)
  const { lose, why } = watching(client, socket)
  await client.connect().catch((error: unknown) => {
    socket.destroy()
    throw refusalOf(error, server)
  })

  const send = async ({ text, values }: Query): Promise<Found> => {
    if (why() !== null) throw new ConnectionLostError('the connection is gone', { cause: why() })
    const timer = setTimeout(lose, deadline, new Error(`no answer for ${deadline / 1000} s`))
    try {
      const query = values.length === 0 ? { text } : { ...statementOf(text), values: values.map(storable) }
      const { rows, rowCount } = await client.query(query)
      // what came behind a warning
      if (why() !== null) throw why()
      return { rows, changes: rowCount ?? 0 }
    } catch (error) {
      if (why() !== null) throw new ConnectionLostError('the connection was lost', { cause: error })
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    query: send,
    async copyIn(text, chunks) {
      const timer = setTimeout(lose, deadline, new Error(`no answer for ${deadline / 1000} s`))
      try {
        await copyIn(client, text, chunks, () => timer.refresh())
      } finally {
        clearTimeout(timer)
      }
    },
    pid: Number((client as unknown as { readonly processID: number }).processID),
    get isLost() {
      return why() !== null
    },
    async close() {
      if (why() === null) await client.end().catch(() => {})
      socket.destroy()
    },
  }
}

/**
 * Of these servers the first that takes writes and keeps what it is told. One that is away comes back, or another is
 * promoted: that a standby refuses us is no answer as long as there is one.
 */
export const connect = async (
  servers: readonly Server[],
  name: string,
  deadline = STATEMENT_MS,
): Promise<Connection> => {
  let failed: unknown = null
  for (const server of servers) {
    let connection: Connection | null = null
    try {
      connection = await connectTo(server, name, deadline)
      await connection.query({ text: SESSION, values: [] })
      const [fault] = await settingsFaults(connection)
      if (fault === undefined) return connection
      throw new DatabaseRefusedError(`${server.host}:${server.port}: ${fault}`)
    } catch (error) {
      if (failed === null || failureOf(failed) !== 'away') failed = error
      await connection?.close()
    }
  }
  throw failed
}

/**
 * The same once it was connected before: of what a start would refuse, such as a standby that nobody has promoted yet, a
 * daemon that runs waits for the end.
 */
export const connectAgain = async (servers: readonly Server[], name: string): Promise<Connection> => {
  try {
    return await connect(servers, name)
  } catch (error) {
    if (!(error instanceof DatabaseRefusedError)) throw error
    throw new ConnectionLostError(error.message, { cause: error })
  }
}
