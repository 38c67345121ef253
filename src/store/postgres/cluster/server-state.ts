/**
 * NAME      server-state - what the database takes, and who keeps dead rows from being cleared away
 * DESCRIPTION
 *   It is a transaction that is open or prepared, by its age. A replication slot, or a standby that gives feedback, has no age: of
 *   those the number of transactions tells since whose end nothing was cleared away.
 */
import type { NotedPutBack, ServerState, Snapshot } from '../../port/cluster.js'
import { type Asking, first } from '../../sql/query.js'

const OLDEST = `SELECT holder, CAST(extract(epoch FROM clock_timestamp() - since) * 1000 AS BIGINT) AS age FROM (
  SELECT coalesce(nullif(application_name, ''), usename, 'pid ' || pid) AS holder, xact_start AS since
  FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
  UNION ALL
  SELECT 'prepared transaction ' || gid, prepared FROM pg_prepared_xacts WHERE database = current_database()) h
ORDER BY since LIMIT 1`

function* oldestSnapshot(): Asking<Snapshot | null> {
  const found = yield* first(OLDEST)
  return found === null ? null : { ageMs: Number(found.age), holder: String(found.holder) }
}

const QUEUE = `SELECT n_live_tup AS live, n_dead_tup AS dead,
  CAST(extract(epoch FROM greatest(last_vacuum, last_autovacuum)) * 1000 AS BIGINT) AS cleared
  FROM pg_stat_user_tables WHERE relid = to_regclass('queue')`

/** How many of its rows are dead, and not cleared away. */
export function* deadInQueue(): Asking<number> {
  return Number((yield* first(QUEUE))?.dead ?? 0)
}

const ROOM = `SELECT pg_database_size(current_database()) AS total,
  coalesce(pg_total_relation_size(to_regclass('bodies')), 0) AS bodies`

/** Writers note it (write/put-back.ts). */
function* notedPutBack(): Asking<NotedPutBack | null> {
  const found = yield* first("SELECT value FROM settings WHERE name = 'put_back'")
  return found === null ? null : (JSON.parse(String(found.value)) as NotedPutBack)
}

export function* serverState(): Asking<ServerState> {
  const queue = yield* first(QUEUE)
  const room = yield* first(ROOM)
  return {
    oldest: yield* oldestSnapshot(),
    queue: {
      live: Number(queue?.live ?? 0),
      dead: Number(queue?.dead ?? 0),
      cleared: (queue?.cleared ?? null) as number | null,
    },
    room: { total: Number(room?.total), bodies: Number(room?.bodies) },
    // before the first start there are no tables
    putBack: queue === null ? null : yield* notedPutBack(),
  }
}

const UNCONFIRMED = `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'
  AND clock_timestamp() - query_start > INTERVAL '5 s'`

/** Commits that wait in vain for a synchronous standby; whoever writes next waits for them. */
export function* unconfirmed(): Asking<number> {
  return Number((yield* first(UNCONFIRMED))?.n)
}

/** Whoever reads elsewhere, and for whom rows are kept here. */
export interface Follower {
  readonly name: string
  /** So many transactions have begun since. */
  readonly behind: number
}

const FOLLOWER = `SELECT name, age(oldest) AS behind FROM (
  SELECT 'the replication slot ' || slot_name AS name, xmin AS oldest FROM pg_replication_slots WHERE xmin IS NOT NULL
  UNION ALL
  SELECT 'the standby ' || application_name, backend_xmin FROM pg_stat_replication WHERE backend_xmin IS NOT NULL) f
ORDER BY behind DESC LIMIT 1`

export function* lastFollower(): Asking<Follower | null> {
  const found = yield* first(FOLLOWER)
  return found === null ? null : { name: String(found.name), behind: Number(found.behind) }
}
