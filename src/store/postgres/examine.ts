/**
 * NAME      examine - a database on a server, looked at without a change
 * DESCRIPTION
 *   What `postern doctor` asks of it. The oldest snapshot is that of whoever keeps dead rows from being cleared away.
 */
import { systemClock } from '../../base/clock.js'
import { type Asking, first } from '../sql/query.js'
import { type Pooler, poolerBefore } from './connect/pooler.js'
import { serversOf } from './connect/servers.js'
import { answer } from './run.js'
import { SCHEMA } from './schema/migrate.js'
import { type NotedPutBack, notedPutBack } from './write/put-back.js'

export interface ExaminedServer {
  /** `host:port`, and the database there. */
  readonly place: string
  /** Of PostgreSQL, in words. */
  readonly release: string
  /** The schema; 0 when there is none yet. */
  readonly version: number
  /** The schema that this Postern makes. */
  readonly current: number
  /** Which Postern made the schema. */
  readonly madeBy: string
  /** The mark of the pepper that it belongs to. */
  readonly pepperMark: string | null
  /** By how many ms its clock is ahead of ours. */
  readonly ahead: number
  readonly pooler: Pooler
  /** When a daemon found it as it was earlier, the last time. */
  readonly putBack: NotedPutBack | null
  /** How old the oldest snapshot is that anybody holds, and who. */
  readonly oldest: { readonly seconds: number; readonly holder: string } | null
  /** Rows of the queue that live, and that are dead and not yet cleared away. */
  readonly queue: { readonly live: number; readonly dead: number; readonly cleared: number | null }
}

const ASK = `SELECT current_setting('server_version') AS release,
  CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now,
  to_regclass('schema_version') IS NOT NULL AS made`

const OLDEST = `SELECT CAST(extract(epoch FROM clock_timestamp() - xact_start) AS BIGINT) AS seconds,
  coalesce(nullif(application_name, ''), usename, 'pid ' || pid) AS holder
  FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
  ORDER BY xact_start LIMIT 1`

const QUEUE = `SELECT n_live_tup AS live, n_dead_tup AS dead,
  CAST(extract(epoch FROM greatest(last_vacuum, last_autovacuum)) * 1000 AS BIGINT) AS cleared
  FROM pg_stat_user_tables WHERE relname = 'queue'`

const MADE = `SELECT version, made_by, (SELECT mark FROM pepper) AS mark FROM schema_version`

type Looked = Omit<ExaminedServer, 'place' | 'pooler' | 'ahead'> & {
  readonly now: number
}

function* look(): Asking<Looked> {
  const server = yield* first(ASK)
  const made = server?.made === true ? yield* first(MADE) : null
  const putBack = made === null ? null : yield* notedPutBack()
  const oldest = yield* first(OLDEST)
  const queue = yield* first(QUEUE)
  return {
    release: String(server?.release),
    now: Number(server?.now),
    version: Number(made?.version ?? 0),
    current: SCHEMA,
    madeBy: String(made?.made_by ?? ''),
    pepperMark: (made?.mark ?? null) as string | null,
    putBack,
    oldest: oldest === null ? null : { seconds: Number(oldest.seconds), holder: String(oldest.holder) },
    queue: {
      live: Number(queue?.live ?? 0),
      dead: Number(queue?.dead ?? 0),
      cleared: (queue?.cleared ?? null) as number | null,
    },
  }
}

/** Throws DatabaseRefusedError when it would lose mail, or when it lets us not in. */
export const examineServer = async (urls: string): Promise<ExaminedServer> => {
  const { connect } = await import('./connect/connection.js')
  const servers = serversOf(urls)
  const open = () => connect(servers, 'postern/doctor')
  const connection = await open()
  try {
    const asked = systemClock.now()
    const { now, ...looked } = await answer(connection, look())
    const [{ host, port, database } = { host: '', port: 0, database: '' }] = servers
    return {
      ...looked,
      place: `${host}:${port}, ${database}`,
      ahead: now - (asked + systemClock.now()) / 2,
      pooler: await poolerBefore(connection, open),
    }
  } finally {
    await connection.close()
  }
}
