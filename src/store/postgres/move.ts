/**
 * NAME      move - the database that a move fills; a database that came back as it was earlier
 *   All tables are filled in one transaction, by COPY, with the row of the schema and those of all writers locked:
 *   nobody else begins here meanwhile. Each table is read again and compared before that is committed.
 *   The count of the fields, then each with its length (PostgreSQL, COPY, "Binary Format"): octets go as they are.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../base/clock.js'
import {
  type Arrival,
  type Column,
  createSum,
  isSame,
  MOVED,
  MoveRefusedError,
  NONE,
  SEPARATOR,
  type Sum,
  type TableSums,
  type Target,
} from '../move.js'
import type { Actor } from '../port/identity.js'
import { type Restored, StoreBusyError } from '../port/upkeep.js'
import { type Asking, all, first } from '../sql/query.js'
import { rewinding, skipPosts } from '../sql/rewound.js'
import { arrival, setArrival } from './begin.js'
import { type Connection, connect } from './connection.js'
import { HEARTBEAT_MS } from './heartbeat.js'
import { MAIL } from './mails.js'
import { createHints } from './notify.js'
import { createQueueWrites } from './orders.js'
import { answer } from './run.js'
import { migrate } from './schema/migrate.js'
import type { Pooling, Server } from './servers.js'
import { begin, type PostgresSession } from './session.js'

// A database that its operator brought back to an earlier time. Nobody else may write meanwhile. The daemons of then
// are taken for dead as always, once they have not moved for half a minute; one that moves is alive. When it is cut
// off, the same again finds less to do.

const OTHERS = 'SELECT boot, heartbeat, owner FROM writers WHERE boot IS NOT NULL AND boot <> ?'

/** Until all others are taken over. */
const untilAlone = async ({ writer, readers }: PostgresSession): Promise<void> => {
  const known = new Map<unknown, unknown>()
  for (;;) {
    const others = await readers.read(() => all(OTHERS, writer.boot))
    if (others.length === 0) return
    for (const { boot, heartbeat, owner } of others) {
      if (known.has(boot) && known.get(boot) !== heartbeat)
        throw new StoreBusyError(`a daemon (${String(owner)}) runs on this database: stop all of them first`)
      known.set(boot, heartbeat)
    }
    await sleep(HEARTBEAT_MS)
  }
}

// biome-ignore lint/correctness/useYield: it is not called
const NOTHING_SETTLED = function* (): Asking<readonly []> {
  return []
}

interface Rewinding {
  readonly urls: string
  readonly pooler: Pooling | undefined
  readonly version: string
  readonly actor: Actor
}

export const rewindPostgres = async ({ actor, ...options }: Rewinding): Promise<Restored> => {
  const session = await begin({ ...options, owner: null, role: 'command' }, createHints(), true, () => {})
  try {
    await untilAlone(session)
    const { writer, queue } = session
    const now = systemClock.now()
    await queue.recover('earlier', now)
    const { hold } = createQueueWrites(writer, NOTHING_SETTLED)
    const { holdSome, end } = rewinding({ places: writer.places, waiting: MAIL.waiting, hold })
    let held = 0
    for (let some = -1; some !== 0; held += some) some = await writer.write(() => holdSome(now))
    await writer.write(() => skipPosts(now))
    return await writer.write(() => end({ actor, copy: null, held }, now))
  } finally {
    await session.close()
  }
}

/** As much goes in a message, or one row that is larger. */
const CHUNK = 256 * 1024

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const END = Buffer.from([0xff, 0xff])

const integer = (octets: number, write: (buffer: Buffer, value: number) => unknown) => (value: unknown) => {
  const buffer = Buffer.allocUnsafe(octets)
  write(buffer, Number(value))
  return buffer
}

const text = (value: unknown): Buffer => Buffer.from(String(value))

const FIELDS: Readonly<Record<string, (value: unknown) => Uint8Array>> = {
  int2: integer(2, (buffer, value) => buffer.writeInt16BE(value)),
  int4: integer(4, (buffer, value) => buffer.writeInt32BE(value)),
  int8: integer(8, (buffer, value) => buffer.writeBigInt64BE(BigInt(value))),
  text,
  json: text,
  bytea: (value) => (value instanceof Uint8Array ? value : text(value)),
}

const encoders = (columns: readonly Column[]) =>
  columns.map(({ name, type }) => {
    const encode = FIELDS[type]
    if (encode === undefined) throw new Error(`${name} is of type ${type}, which does not move`)
    return encode
  })

const int16 = (value: number): Buffer => FIELDS.int2?.(value) as Buffer
const int32 = (value: number): Buffer => FIELDS.int4?.(value) as Buffer
const NOTHING = int32(-1)

/** `seen` hears of each row. */
export async function* binary(
  columns: readonly Column[],
  rows: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>,
  seen: (row: readonly unknown[]) => void,
): AsyncIterable<Uint8Array> {
  const fields = encoders(columns)
  const head = int16(columns.length)
  let parts: Uint8Array[] = [SIGNATURE]
  let octets = 0
  for await (const row of rows) {
    seen(row)
    parts.push(head)
    for (const [i, value] of row.entries()) {
      const encoded = value === null ? null : fields[i]?.(value)
      if (encoded == null) parts.push(NOTHING)
      else {
        parts.push(int32(encoded.byteLength), encoded)
        octets += encoded.byteLength
      }
    }
    octets += 2 + 4 * row.length
    if (octets < CHUNK) continue
    yield Buffer.concat(parts)
    parts = []
    octets = 0
  }
  yield Buffer.concat([...parts, END])
}

/** A large table is indexed and read in one statement. */
const DEADLINE_MS = 3600_000
const SESSION = "SET idle_in_transaction_session_timeout = 0; SET maintenance_work_mem = '256MB'"

const fieldOf = ({ name, type }: Column): string =>
  `coalesce(${type === 'bytea' ? `md5(${name})` : `${name}::text`}, E'\\x${NONE.charCodeAt(0).toString(16).padStart(2, '0')}')`

const sumOf = (table: string, columns: readonly Column[]): string => {
  const separator = ` || E'\\x${SEPARATOR.charCodeAt(0).toString(16)}' || `
  return `SELECT count(*) AS rows,
    coalesce(sum(('x' || substr(md5(${columns.map(fieldOf).join(separator)}), 1, 13))::bit(52)::bigint) % (1::bigint << 52), 0)::bigint AS sum
  FROM ${table}`
}

const COLUMNS = `SELECT table_name AS table, column_name AS name, udt_name AS type FROM information_schema.columns
  WHERE table_schema = current_schema() AND is_generated = 'NEVER' ORDER BY ordinal_position`

type Known = ReadonlyMap<string, readonly Column[]>

const readColumns = async (connection: Connection): Promise<Known> => {
  const { rows } = await connection.query({ text: COLUMNS, values: [] })
  const known = new Map<string, Column[]>()
  for (const { table, name, type } of rows as unknown as ({ readonly table: string } & Column)[])
    known.set(table, [...(known.get(table) ?? []), { name, type }])
  return known
}

const tablesOf = (known: Known): string[] => Object.keys(MOVED).filter((name) => known.has(name))

const ask = (connection: Connection, text: string) => connection.query({ text, values: [] })

const told =
  (place: string) =>
  (error: unknown): never => {
    if ((error as { code?: unknown }).code !== '55P03') throw error
    throw new MoveRefusedError(`${place} is in use: stop all daemons and commands there first`)
  }

/** Everybody who begins here takes one of these. */
const lock = async (connection: Connection, place: string): Promise<void> => {
  try {
    await ask(
      connection,
      'BEGIN; SELECT version FROM schema_version FOR UPDATE; SELECT n FROM writers ORDER BY n FOR UPDATE',
    )
  } catch (error) {
    await ask(connection, 'ROLLBACK')
    told(place)(error)
  }
}

const summed = async (connection: Connection, table: string, columns: readonly Column[]): Promise<Sum> => {
  const found = (await ask(connection, sumOf(table, columns))).rows[0]
  return { rows: Number(found?.rows), sum: Number(found?.sum) }
}

const copyOne =
  (connection: Connection): Target['copy'] =>
  async (table, columns, rows) => {
    const given = createSum()
    const text = `COPY ${table} (${columns.map(({ name }) => name).join(', ')}) FROM STDIN (FORMAT binary)`
    try {
      await connection.copyIn(text, binary(columns, rows, given.add))
    } catch (error) {
      throw new MoveRefusedError(
        `${table} cannot be stored: ${(error as Error).message}; nothing has moved`,
        {
          cause: error,
        },
      )
    }
    const stored = await summed(connection, table, columns)
    const total = given.total()
    if (!isSame(stored, total))
      throw new MoveRefusedError(
        `${table}: ${stored.rows} of ${total.rows} rows came as they are; nothing has moved`,
      )
    return stored
  }

/** The index is made anew of what comes. */
const NOT_INDEXED = 'TRUNCATE search_words; UPDATE search_state SET place = 0'

const OWNED = 'SELECT owner FROM writers WHERE owner IS NOT NULL LIMIT 1'

/** The parts that look. */
const looking = (
  connection: Connection,
  known: Known,
): Pick<Target, 'arrival' | 'isFree' | 'busy' | 'columns' | 'sums'> => ({
  arrival: () => answer(connection, arrival()),
  isFree: async () => (await answer(connection, first('SELECT id FROM accounts LIMIT 1'))) === null,
  async busy() {
    const found = await answer(connection, first(OWNED))
    return found === null ? null : String(found.owner)
  },
  columns: async (table) => known.get(table) ?? [],
  async sums(of) {
    const sums: Record<string, TableSums[string]> = {}
    for (const [table, { columns }] of Object.entries(of)) {
      const there = known.get(table)?.filter(({ name }) => columns.includes(name)) ?? []
      sums[table] = { ...(await summed(connection, table, there)), columns }
    }
    return sums
  },
})

/** Brings an empty database up to date; what stands there for a moment says that a move is on its way. */
export const openTarget = async (
  servers: readonly Server[],
  version: string,
  now: number,
  from: string,
): Promise<Target> => {
  const connection = await connect(servers, 'postern/move', DEADLINE_MS)
  const { host, port, database } = servers[0] as Server
  const place = `${host}:${port}/${database}`
  await ask(connection, SESSION)
  const fill = () => setArrival({ id: '', from, at: now, state: 'copying', sums: {} })
  await migrate(connection, { postern: version, now, fill }).catch(told(place))
  const known = await readColumns(connection)
  let isOpen = false
  const begin = async (): Promise<void> => {
    await lock(connection, place)
    isOpen = true
  }
  return {
    ...looking(connection, known),
    place,
    lock: begin,
    async begin(to) {
      await begin()
      await ask(connection, `TRUNCATE ${tablesOf(known).join(', ')}; ${NOT_INDEXED}`)
      await answer(connection, setArrival(to))
    },
    copy: copyOne(connection),
    async rise() {
      await ask(connection, 'UPDATE writers SET frontier = (SELECT last FROM order_state)')
      await ask(connection, 'ANALYZE')
    },
    async set(to: Arrival) {
      await answer(connection, setArrival(to))
      if (isOpen) await ask(connection, 'COMMIT')
      isOpen = false
    },
    close: () => connection.close(),
  }
}
