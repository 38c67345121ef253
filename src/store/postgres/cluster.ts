/**
 * NAME      cluster - the daemons of one database, as its tables show them
 *   Each heartbeat brings the rows of all living daemons. Shares that are divided among them count a daemon that has
 *   just joined only after the time that others need to hear of it.
 *   A piece of work that only one daemon does (for example the sweep) belongs to the writer that took it, for as long
 *   as that writer lives; what it writes is fenced.
 *   Due times of several machines are compared, so every daemon uses the time of the database: a heartbeat's answer
 *   counts from the middle of its round trip and runs on by the monotonic clock. An answer that took long is not used.
 *   Whether the pools, domains or return paths have changed is asked by a digest once a second; NOTIFY says it sooner,
 *   and may be missed.
 */
import { followTime, STEP_MS, systemClock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import type {
  About,
  ClusterView,
  NotedPutBack,
  ServerState,
  Snapshot,
  WriterRole,
  WriterRow,
} from '../port/cluster.js'
import { timeOf } from '../sql/pages.js'
import { type Asking, all, first, type Row, run } from '../sql/query.js'

/** The time of the database in ms. */
export const NOW = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)'

/** So long a newcomer waits, and so long an answer holds. */
export const NEWCOMER_MS = 5000

/** So long after a heartbeat was sent its writer is surely not taken for dead, which takes 30 s. */
const PROMISE_MS = 20_000

const aboutOf = (row: Row): About => JSON.parse(String(row.about)) as About

/** What the heartbeats told, the latest; `rows` of none is from before the first. */
export const createView = (
  self: { readonly n: number; readonly boot: number },
  joined: number = systemClock.tick(),
  wall: () => number = Date.now,
  tick: () => number = systemClock.tick,
) => {
  const { n, boot } = self
  let view: ClusterView = {
    ...{ isShared: true, daemons: 1, relays: [], self: n },
    ...{ from: joined + NEWCOMER_MS, until: Number.NEGATIVE_INFINITY },
    promisedUntil: Number.NEGATIVE_INFINITY,
    putBacks: 0,
  }
  let isFirst = true
  let lead = 0
  /** The machine was suspended, and the tick clock with it; or the wall clock was set, which the next heartbeat mends. */
  const hasStood = (): boolean => Math.abs(wall() - tick() - lead) > STEP_MS
  return {
    view: () => (hasStood() ? { ...view, promisedUntil: Number.NEGATIVE_INFINITY } : view),
    putBack(): void {
      view = { ...view, putBacks: view.putBacks + 1 }
    },
    told(rows: readonly Row[], sent: number): void {
      const relays = rows
        .filter(({ role }) => role === 'relay')
        .map((row) => ({ n: Number(row.n), pools: aboutOf(row).pools }))
        .sort((a, b) => a.n - b.n)
      // nobody is there who would have to hear of it first
      const isAlone = isFirst && relays.every((one) => one.n === n)
      isFirst = false
      lead = wall() - tick()
      const living = rows.filter((row) => row.role !== 'command' || Number(row.boot) === boot)
      view = {
        ...view,
        ...{ isShared: true, relays, self: n, until: sent + NEWCOMER_MS, promisedUntil: sent + PROMISE_MS },
        daemons: Math.max(1, new Set(living.map(({ owner }) => owner)).size),
        from: isAlone ? Number.NEGATIVE_INFINITY : view.from,
      }
    },
  }
}

const LIVING = `SELECT n, owner, role, epoch, about, frontier, ${NOW} AS now FROM writers WHERE boot IS NOT NULL ORDER BY n`

export function* writers(): Asking<readonly WriterRow[]> {
  return (yield* all(LIVING)).map((row) => ({
    n: Number(row.n),
    daemonId: String(row.owner),
    role: row.role as WriterRole,
    epoch: Number(row.epoch),
    ...aboutOf(row),
    // each heartbeat brings the frontier to the present
    lagMs: Math.max(0, Number(row.now) - timeOf(Number(row.frontier))),
  }))
}

const HOLDER = 'SELECT k.boot FROM work k JOIN writers w ON w.boot = k.boot WHERE k.kind = ?'
const TAKE = `INSERT INTO work (kind, boot) VALUES (?, ?)
  ON CONFLICT (kind) DO UPDATE SET boot = excluded.boot`

/** Null: nobody. */
function* holder(kind: string): Asking<number | null> {
  return ((yield* first(HOLDER, kind))?.boot ?? null) as number | null
}

/** Those who come at the same time follow one another. */
function* take(kind: string, boot: number): Asking<boolean> {
  const found = yield* holder(kind)
  if (found === null) yield* run(TAKE, kind, boot)
  return found === null || found === boot
}

interface WorkParts {
  /** Of the writer. */
  readonly boot: number
  write<T>(verb: () => Asking<T>): Promise<T>
  read<T>(verb: () => Asking<T>): Promise<T>
}

export const createWork =
  ({ boot, write, read }: WorkParts) =>
  async (kind: string): Promise<boolean> => {
    const found = await read(() => holder(kind))
    return found === null ? write(() => take(kind, boot)) : found === boot
  }

const LONGEST_WAY_MS = 1000

/** `log` hears when the database and this machine begin to differ by more than a correction, and when they agree again. */
export const followDatabase = (log?: Log, wall: () => number = Date.now) => {
  let isFollowing = false
  let told = 0
  return (now: number, sent: number, answered: number): void => {
    if (isFollowing && answered - sent > LONGEST_WAY_MS) return
    isFollowing = true
    const at = now + (answered - sent) / 2
    followTime({ at, tick: answered })
    const by = at - wall()
    if (Math.abs(by - told) <= STEP_MS) return
    told = by
    log?.warn({ by_s: Math.round(by / 1000) }, 'clock of the database differs')
  }
}

/** Of whole rows: who adds a column need not think of it. Of a workspace, what a pool that follows another goes by. */
const MARK = `SELECT CAST(sum(hashtextextended(one, 0)) AS TEXT) AS mark FROM (
  SELECT CAST(p AS TEXT) AS one FROM pools p
  UNION ALL SELECT CAST(d AS TEXT) FROM domains d
  UNION ALL SELECT ring FROM return_path
  UNION ALL SELECT account_id || pool_id FROM workspaces WHERE is_default = 1) AS all_of_it`

export function* relayMark(): Asking<string | null> {
  return ((yield* first(MARK))?.mark ?? null) as string | null
}

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

/** Writers note it (heartbeat.ts). */
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
