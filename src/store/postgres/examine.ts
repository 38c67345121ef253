/**
 * NAME      examine - a database on a server, looked at without a change
 * DESCRIPTION
 *   What `postern doctor` asks of it.
 */
import { systemClock } from '../../base/clock.js'
import type { ServerState, WriterRow } from '../port/cluster.js'
import { type Asking, first } from '../sql/query.js'
import { type Pooler, poolerBefore, remedyOf } from './begin.js'
import { type Follower, lastFollower, serverState, unconfirmed, writers } from './cluster.js'
import { answer } from './run.js'
import { SCHEMA } from './schema/steps.js'
import { versionThere } from './schema/version.js'
import { type Pooling, serversOf } from './servers.js'

export interface ExaminedServer extends ServerState {
  /** `host:port`, and the database there. */
  readonly place: string
  /** Of PostgreSQL, in words. */
  readonly release: string
  /** The schema; 0 when there is none yet. */
  readonly version: number
  /** Whose Postern can serve it. */
  readonly compatibleFrom: number
  /** The schema that this Postern makes. */
  readonly current: number
  /** Which Postern made the schema. */
  readonly madeBy: string
  /** The mark of the pepper that it belongs to. */
  readonly pepperMark: string | null
  /** By how many ms its clock is ahead of ours. */
  readonly ahead: number
  readonly pooler: Pooler
  /** What mends a pooler that will not do. */
  readonly remedy: string
  /** A slot or a standby for which rows are kept, the one that is furthest behind. */
  readonly follower: Follower | null
  /** Commits that wait in vain for a synchronous standby. */
  readonly unconfirmed: number
  /** Whether its role may make tables, and how it is called. */
  readonly mayCreate: boolean
  readonly role: string
  /** The daemons that live, and what they are set to. */
  readonly daemons: readonly Pick<WriterRow, 'daemonId' | 'host' | 'settings'>[]
}

const ASK = `SELECT current_setting('server_version') AS release,
  CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now, current_user AS role,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create`

const PEPPER = 'SELECT mark FROM pepper'

type Looked = Omit<ExaminedServer, 'place' | 'pooler' | 'remedy' | 'ahead'> & {
  readonly now: number
}

function* look(): Asking<Looked> {
  const server = yield* first(ASK)
  const made = yield* versionThere()
  const state = yield* serverState()
  const follower = yield* lastFollower()
  const all = made === null ? [] : yield* writers()
  return {
    release: String(server?.release),
    now: Number(server?.now),
    ...(made ?? { version: 0, compatibleFrom: 0, madeBy: '' }),
    current: SCHEMA,
    pepperMark: made === null ? null : (((yield* first(PEPPER))?.mark ?? null) as string | null),
    ...state,
    follower,
    unconfirmed: yield* unconfirmed(),
    mayCreate: server?.may_create === true,
    role: String(server?.role),
    daemons: all.filter(({ role }) => role === 'main'),
  }
}

/** Throws DatabaseRefusedError when it would lose mail, or when it lets us not in. */
export const examineServer = async (urls: string, pooling: Pooling = 'none'): Promise<ExaminedServer> => {
  const { connect } = await import('./connection.js')
  const servers = serversOf(urls, pooling)
  const open = () => connect(servers, 'postern/doctor')
  const connection = await open()
  try {
    const asked = systemClock.now()
    const { now, ...looked } = await answer(connection, look())
    const [{ host, port, database } = { host: '', port: 0, database: '' }] = servers
    const pooler = await poolerBefore(connection, open)
    return {
      ...looked,
      ...{ pooler, remedy: remedyOf(pooler) },
      place: `${host}:${port}, ${database}`,
      ahead: now - (asked + systemClock.now()) / 2,
    }
  } finally {
    await connection.close()
  }
}
