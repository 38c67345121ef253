/**
 * NAME      source - the rows of a database that moves elsewhere
 *   Holds the lock of the data folder, and one write transaction from `begin` to `depart`: commands beside the daemon
 *   write nothing meanwhile, and a move that is cut off has changed nothing. Leases end as after a crash, by the same law.
 *   A body comes from its file where it is in one, and gets the place of its mail.
 *   Text that was stored before the port asked for well-formed text is mended.
 */
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { wellFormed } from '../../mail/encoding.js'
import { type Departure, MOVED, type MovedRows, MoveRefusedError, type MoveSource } from '../move.js'
import { MissingBodyError, NewerDatabaseError, refuseOlder } from '../port/upkeep.js'
import { type BodyFiles, createBodyFiles } from './body.js'
import { type Db, openWriter, takeDaemonLock } from './connect.js'
import { comeBack, depart, departureOf, versionIn } from './migrate/migrate.js'
import { NEWEST, OLDEST } from './migrate/steps.js'
import { createWriteContext } from './write/context.js'
import { createAddEvent } from './write/events.js'
import { createLeases } from './write/queue.js'

interface From {
  readonly from: string
  readonly order?: string
  /** Columns of the target that are called otherwise here. */
  readonly as?: Readonly<Record<string, string>>
}

const WAITING = '(due_at IS NOT NULL OR boot IS NOT NULL OR held IS NOT NULL)'

const FROM: Readonly<Record<string, From>> = {
  bodies: {
    from: 'emails e CROSS JOIN bodies b ON b.n = e.body AND b.email_id = e.id',
    order: 'e.ord',
    as: { n: 'e.ord', email_id: 'b.email_id', created_at: 'b.created_at' },
  },
  emails: { from: 'emails', as: { body: 'ord' } },
  recipient_rows: { from: 'recipients', as: { last_gen: 'lease_gen' } },
  queue: { from: `recipients WHERE ${WAITING}`, as: { recipient_id: 'id', gen: 'lease_gen' } },
}

const fromOf = (table: string): Required<From> => ({
  order: MOVED[table] ?? '1',
  as: {},
  from: table,
  ...FROM[table],
})

/** What this side has of these columns. */
const columnsOf = (db: Db, table: string, wanted: readonly string[]): readonly string[] => {
  const { from, as } = fromOf(table)
  const names = new Set(
    (from.match(/\b(?:emails|bodies|\w+)\b/g) ?? []).flatMap((name) =>
      db.prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?)').pluck().all(name),
    ),
  )
  return wanted.filter((name) => name in as || names.has(name))
}

/** JSON that statements look into: what is escaped there counts, too. */
const READ_AS_JSON = new Set(['lists', 'more'])

const storable = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? wellFormed(value) : value

const whole = (column: string | undefined, value: unknown): unknown =>
  typeof value === 'string' && READ_AS_JSON.has(column ?? '') && value.includes('\\u')
    ? JSON.stringify(JSON.parse(value, storable))
    : storable('', value)

function* rowsOf(db: Db, table: string, columns: readonly string[]): Iterable<readonly unknown[]> {
  const { from, order, as } = fromOf(table)
  const text = `SELECT ${columns.map((name) => as[name] ?? name).join(', ')} FROM ${from} ORDER BY ${order}`
  for (const row of db.prepare(text).raw().iterate() as Iterable<unknown[]>)
    yield row.map((value, i) => whole(columns[i], value))
}

/** `missing` hears of those that are not there. */
async function* bodiesOf(
  db: Db,
  files: BodyFiles,
  columns: readonly string[],
  missing: (id: string) => void,
): AsyncIterable<readonly unknown[]> {
  const raw = columns.indexOf('raw')
  for (const found of rowsOf(db, 'bodies', [...columns, 'beside', 'email_id'])) {
    const row = found.slice(0, -2)
    const id = String(found.at(-1))
    try {
      if (found.at(-2) === 1) row[raw] = await files.read(id)
    } catch (error) {
      if (!(error instanceof MissingBodyError)) throw error
      missing(id)
      continue
    }
    yield row
  }
}

/** Of a whole folder, since a name of a host says little of a machine with several. */
const nameOf = (file: string): string => `${hostname()}:${dirname(file)}`

const open = (file: string): Db => {
  refuseOlder(versionIn(file), OLDEST)
  const db = openWriter(file)
  const version = Number(db.pragma('user_version', { simple: true }))
  if (version === NEWEST || departureOf(db) !== null) return db
  db.close()
  if (version > NEWEST)
    throw new NewerDatabaseError(`${file} has schema version ${version}, this Postern knows ${NEWEST}`)
  throw new MoveRefusedError(`${file} has schema version ${version}: run postern migrate first`)
}

/** Throws StoreBusyError while a daemon runs. */
export const openSource = (file: string): MoveSource => {
  const unlock = takeDaemonLock(dirname(file))
  let db: Db
  try {
    db = open(file)
  } catch (error) {
    unlock()
    throw error
  }
  const missing: string[] = []
  return {
    name: nameOf(file),
    missing,
    departure: () => departureOf(db),
    begin(now) {
      const context = createWriteContext(db)
      const addEvent = createAddEvent(context)
      db.exec('BEGIN IMMEDIATE')
      context.order.begin()
      createLeases(context, addEvent, true).recover('earlier', now)
      context.order.keep()
    },
    rows(table, wanted): MovedRows {
      const columns = columnsOf(db, table, wanted)
      const rows =
        table === 'bodies'
          ? bodiesOf(db, createBodyFiles(dirname(file)), columns, (id) => missing.push(id))
          : rowsOf(db, table, columns)
      return { columns, rows }
    },
    depart(to: Departure) {
      depart(db, to)
      db.exec('COMMIT')
    },
    comeBack: () => comeBack(db),
    close() {
      if (db.inTransaction) db.exec('ROLLBACK')
      db.close()
      unlock()
    },
  }
}
