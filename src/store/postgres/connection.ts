/**
 * NAME      connection - one connection to a server: statements, text and binary copies
 *     Statements go one after another. Each has a deadline of its own, after which the socket is destroyed: a server
 *     that does not answer, a cut cable and a paused machine look alike from here. A connection that failed is not mended;
 *     its owner opens another.
 *     Behind a pooler that gives a session for a transaction there is none of our own: statements have no names there, and
 *     what is set is set for each transaction.
 *   NOTES
 *     int8 is read as a number: all that is stored has at most 53 bits.
 *   COPY FROM STDIN as the driver can speak it (PostgreSQL 53.2.6): the server asks, chunks follow as fast
 *   as the socket takes them, and nothing is stored unless all of them came.
 *   Values are numbered, and each text has a name under which a connection prepares it once. Texts are few,
 *   but for filters put together from parts; beyond a limit they are not prepared.
 */
import { once } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import { TakenOverError } from '../port/upkeep.js'
import type { Found, SqlQuery } from '../sql/query.js'
import { DatabaseRefusedError, type Server } from './servers.js'

/**
 * What an error of the database asks for, by its SQLSTATE (PostgreSQL, appendix A). An error without one came from the
 * socket, or from looking up its name.
 *   away    the connection or the server is gone, or takes no writes: connect again, and wait a little
 *   full    no room: the caller may come again
 *   again   others were in the way: the same once more
 *   broken  what a restart of this process cannot mend, and waiting cannot either
 *   verb    the statement is at fault, and nothing else
 */
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

// Whether the database keeps what it acknowledges. Asked on every new connection. With any of these a mail that was
// acknowledged could be lost, or not be stored as it came. `synchronous_commit` stays in the session as it was found:
// whoever turns it off later has it for sessions that begin then, and these are refused.

/**
 * For statements that go by keys. A plan is kept from when a table was small, and must not be to read all of it, nor be
 * compiled; and what a batch brings is no reason to plan a statement anew, at the price of half of it.
 */
export const BY_KEY = ['enable_seqscan = off', 'jit = off', 'plan_cache_mode = force_generic_plan']

const ASK = `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS synchronous_commit, current_setting('server_encoding') AS encoding,
  current_setting('server_version_num') AS version, current_setting('default_transaction_read_only') AS read_only,
  CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END AS standby`

const OLDEST = 140_000

/** Each with its remedy. */
export const settingsFaults = async (connection: {
  query(query: SqlQuery): Promise<Found>
}): Promise<readonly string[]> => {
  const found = (await connection.query({ text: ASK, values: [] })).rows[0] ?? {}
  const faults: readonly (readonly [boolean, string])[] = [
    [Number(found.version) < OLDEST, 'PostgreSQL is older than 14: upgrade it'],
    [found.standby === 1, 'the server is a standby and takes no writes: name the primary, too'],
    [
      found.read_only === 'on',
      'it is read-only: set default_transaction_read_only = off for this role, or name the primary, too',
    ],
    [found.encoding !== 'UTF8', `the database is in ${found.encoding}: create it with ENCODING 'UTF8'`],
    [found.fsync !== 'on', 'fsync is off, so a power cut loses mail: set fsync = on'],
    [
      found.full_page_writes !== 'on',
      'full_page_writes is off, so a power cut can tear pages: set full_page_writes = on',
    ],
    [
      ['off', 'local'].includes(String(found.synchronous_commit)),
      `synchronous_commit is ${found.synchronous_commit}, so what is acknowledged can be lost: set it to on`,
    ],
  ]
  return faults.filter(([isFault]) => isFault).map(([, text]) => text)
}

/** What the driver has for it, and its types do not name. */
interface Wire {
  readonly stream: Socket
  query(text: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

class CopyIn implements pg.Submittable {
  readonly asked: Promise<Wire>
  readonly done: Promise<void>
  isOver = false
  #ask: (wire: Wire) => void = () => {}
  #end: () => void = () => {}
  #fail: (error: Error) => void = () => {}

  constructor(private readonly text: string) {
    this.done = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    this.asked = new Promise((resolve, reject) => {
      this.#ask = resolve
      this.done.catch(reject)
    })
    this.asked.catch(() => {})
  }

  submit(connection: unknown): void {
    ;(connection as Wire).query(this.text)
  }
  handleCopyInResponse(connection: unknown): void {
    this.#ask(connection as Wire)
  }
  handleCommandComplete(): void {}
  handleError(error: Error): void {
    this.isOver = true
    this.#fail(error)
  }
  handleReadyForQuery(): void {
    this.isOver = true
    this.#end()
  }
}

const send = async (
  copy: CopyIn,
  wire: Wire,
  chunks: AsyncIterable<Uint8Array>,
  moved: () => void,
): Promise<void> => {
  for await (const chunk of chunks) {
    if (copy.isOver) return
    wire.sendCopyFromChunk(chunk)
    if (wire.stream.writableNeedDrain)
      await Promise.race([once(wire.stream, 'drain'), copy.done.catch(() => {})])
    moved()
  }
}

/** `moved` hears of each chunk that has gone. */
export const copyIn = async (
  client: pg.Client,
  text: string,
  chunks: AsyncIterable<Uint8Array>,
  moved: () => void,
): Promise<void> => {
  const copy = client.query(new CopyIn(text))
  const wire = await copy.asked
  try {
    await send(copy, wire, chunks, moved)
  } catch (error) {
    if (!copy.isOver) wire.sendCopyFail('the rows could not be read')
    await copy.done.catch(() => {})
    throw error
  }
  if (!copy.isOver) wire.endCopyFrom()
  await copy.done
}

interface Statement {
  readonly text: string
  readonly name?: string
}

const MOST = 1000
const known = new Map<string, Statement>()

/** A `?` within quotes is text. */
const numbered = (text: string): string => {
  let n = 0
  return text.replace(/'[^']*'|\?/g, (found) => (found === '?' ? `$${++n}` : found))
}

/** For a session that is somebody else's a moment later. */
const namelessOf = (text: string): Statement => ({ text: statementOf(text).text })

export const statementOf = (text: string): Statement => {
  const found = known.get(text)
  if (found !== undefined) return found
  if (known.size >= MOST) return { text: numbered(text) }
  const made = { text: numbered(text), name: `s${known.size}` }
  known.set(text, made)
  return made
}

const CONNECT_MS = 5000
const STATEMENT_MS = 10_000
const INT8 = 20

/** What a session of ours is started with. */
const SESSION = ["idle_in_transaction_session_timeout = '5s'", "lock_timeout = '5s'", "timezone = 'UTC'"]

export interface Connection {
  query(query: SqlQuery): Promise<Found>
  /** COPY FROM STDIN; the deadline is that of each chunk. */
  copyIn(text: string, chunks: AsyncIterable<Uint8Array>): Promise<void>
  /** What other sessions say, once this one listens. */
  onNotified(hear: (channel: string, payload: string) => void): void
  readonly isLost: boolean
  /** Each transaction may be in another session, and perhaps of another server. */
  readonly isPooled: boolean
  /** From now on: `name = value`. */
  set(settings: readonly string[]): Promise<void>
  /** It is not to be used again. */
  lose(why: Error): void
  /** The process of the server that took the connection, as it said itself. */
  readonly pid: number
  close(): Promise<void>
}

const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** The driver does not say for which address, and the name of this machine would be looked for. */
const tlsOptions = ({ anyName, ...tls }: NonNullable<Server['tls']>, host: string) => ({
  ...tls,
  host,
  ...(anyName === true && { checkServerIdentity: () => undefined }),
})

const clientOf = (server: Server, name: string, socket: Socket): pg.Client =>
  new pg.Client({
    host: server.host,
    port: server.port,
    user: server.user,
    password: server.password ?? '',
    database: server.database,
    ssl: server.tls === null ? false : tlsOptions(server.tls, server.host),
    application_name: name,
    stream: () => socket,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS,
    types,
  })

/** What TLS has against a certificate, as Node names it. */
const TLS = /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_CA$)/

const TLS_REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/^CERT_HAS_EXPIRED$/, 'renew it there'],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, 'name it in the URL as its certificate does'],
  [/^(?:UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|CERT_SIGNATURE_)/, 'name its CA by sslrootcert=FILE'],
]

const tlsRemedy = (code: string): string =>
  TLS_REMEDIES.find(([codes]) => codes.test(code))?.[1] ?? 'look at its certificate'

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
      `${to} does not prove that it is ${host}: ${message}; ${tlsRemedy(`${code}`)}`,
    )
  // ALLOW_CONNECTIONS false, as during somebody's maintenance
  if (code === '55000')
    return new ConnectionLostError(`${to} takes no connections to ${database}`, { cause: error })
  return code === undefined ? new ConnectionLostError(`${to} does not answer`, { cause: error }) : error
}

/** What a role without rights may not do; its remedy is for a role that is not to own the tables. */
const lackOf = (error: unknown, { host, port, user }: Server): DatabaseRefusedError => {
  const { message } = error as Error
  const refused = new DatabaseRefusedError(
    `${host}:${port}: ${message}: as the owner of the tables, GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "${user}"`,
    { cause: error },
  )
  return Object.assign(refused, { code: '42501' })
}

/**
 * The wait for a synchronous standby was broken off: the commit is in here and perhaps nowhere else, and its answer says
 * success. Known by the function in the server, since the words are in its language.
 */
const isUnconfirmed = (notice: { readonly routine?: string | undefined }): boolean =>
  notice.routine === 'SyncRepWaitForLSN'

/**
 * A table has changed since a statement was prepared that answers with all its columns, which is known by the function, too;
 * or the server takes no writes any more, and another one does.
 */
const isOutdated = (error: unknown): boolean => {
  const { code, routine } = error as { readonly code?: string; readonly routine?: string }
  return routine === 'RevalidateCachedQuery' || code === '25006'
}

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

/** Behind a pooler what is set is set as a transaction begins. */
const createSettings = (isPooled: boolean, run: (text: string) => Promise<unknown>) => {
  let each = ''
  return {
    local: (text: string): string => (each === '' ? text : text.replace(/^BEGIN[^;]*/, `$&${each}`)),
    async set(settings: readonly string[]): Promise<void> {
      if (isPooled) each += settings.map((one) => `; SET LOCAL ${one}`).join('')
      else await run(settings.map((one) => `SET ${one}`).join('; '))
    },
  }
}

/** What is done until then is in time. */
const within = async <T>(
  deadline: number,
  lose: (why: Error) => void,
  work: (timer: NodeJS.Timeout) => Promise<T>,
): Promise<T> => {
  const timer = setTimeout(lose, deadline, new Error(`no answer for ${deadline / 1000} s`))
  return work(timer).finally(() => clearTimeout(timer))
}

const connectTo = async (server: Server, name: string, deadline: number): Promise<Connection> => {
  const socket = new Socket()
  const client = clientOf(server, name, socket)
  const { lose, why } = watching(client, socket)
  const { isPooled } = server
  await client.connect().catch((error: unknown) => {
    socket.destroy()
    throw refusalOf(error, server)
  })

  const { local, set } = createSettings(isPooled, (text) => send({ text, values: [] }))
  const asSent = ({ text, values }: SqlQuery) =>
    values.length === 0
      ? { text: local(text) }
      : { ...(isPooled ? namelessOf : statementOf)(text), values: values as unknown[] }
  const inTime = <T>(work: (timer: NodeJS.Timeout) => Promise<T>): Promise<T> => within(deadline, lose, work)
  const send = async (query: SqlQuery): Promise<Found> => {
    if (why() !== null) throw new ConnectionLostError('the connection is gone', { cause: why() })
    try {
      const { rows, rowCount } = await inTime(() => client.query(asSent(query)))
      // what came behind a warning
      if (why() !== null) throw why()
      return { rows, changes: rowCount ?? 0 }
    } catch (error) {
      // of what is away the end follows, and is perhaps not yet here
      if (isOutdated(error) || failureOf(error) === 'away') lose(error as Error)
      if (why() !== null) throw new ConnectionLostError('the connection was lost', { cause: error })
      throw (error as { readonly code?: unknown }).code === '42501' ? lackOf(error, server) : error
    }
  }
  return {
    ...{ query: send, set, lose, isPooled },
    copyIn: (text, chunks) => inTime((timer) => copyIn(client, text, chunks, () => timer.refresh())),
    onNotified: (hear) =>
      void client.on('notification', ({ channel, payload = '' }) => hear(channel, payload)),
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
      await connection.set(SESSION)
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
export const connectAgain = async (servers: () => readonly Server[], name: string): Promise<Connection> => {
  const lost = (error: unknown): ConnectionLostError =>
    new ConnectionLostError((error as Error).message, { cause: error })
  let now: readonly Server[]
  try {
    now = servers()
  } catch (error) {
    throw lost(error)
  }
  return connect(now, name).catch((error: unknown) => {
    throw error instanceof DatabaseRefusedError ? lost(error) : error
  })
}
