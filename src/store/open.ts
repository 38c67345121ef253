/**
 * NAME      open - the store of an installation, whatever keeps it
 *   The only file outside of the engines that knows them: how a store is opened, how another
 *   thread reaches it, and what is done to a database beside it. An engine is loaded when it is
 *   asked for: no thread reads the one that this installation does not use.
 */
import { randomUUID } from 'node:crypto'
import { createFaultPoint, type FaultPoint } from '../base/crash.js'
import { databaseFile, makeDataFolder } from '../base/folder.js'
import type { Config } from '../config/config.js'
import type { Moved, Moving } from './move.js'
import type { About, WriterRole } from './port/cluster.js'
import type { Actor } from './port/identity.js'
import type { Store } from './port/store.js'
import type { Admin, Restored } from './port/upkeep.js'
import type { ExaminedServer } from './postgres/begin.js'
import type { PostgresOptions, SharedPostgres } from './postgres/open.js'
import type { Migrated } from './postgres/schema/migrate.js'
import type { ConnectedStore } from './sqlite/connected-store.js'
import type { SqliteOptions } from './sqlite/session.js'

/** A data folder, and which database belongs to it; unsaid, that in the folder. */
export type StorePlace = Pick<Config, 'data_dir'> & Partial<Pick<Config, 'store'>>

interface StoreOptions extends Omit<SqliteOptions, 'dataDir'> {
  readonly place: StorePlace
  /** What other daemons can read of this one. */
  readonly about?: Partial<Omit<About, 'version'>>
}

/** Whether the database is a file in the data folder. */
export const isLocal = ({ store }: StorePlace): boolean => store?.driver !== 'postgres'

const urlsIn = async ({ store }: StorePlace): Promise<string> =>
  (await import('./postgres/servers.js')).readUrls(store?.url_file ?? '')

const postgresOptions = async (options: StoreOptions): Promise<PostgresOptions> => {
  const { place, daemon, version, about, log, faultPoint } = options
  const { data_dir: dataDir, store } = place
  const { daemonId } = await import('./postgres/servers.js')
  const { takeDaemonLock } = await import('./sqlite/connect.js')
  const lock = () => {
    makeDataFolder(dataDir)
    const unlock = takeDaemonLock(dataDir)
    return { owner: daemonId(dataDir), unlock }
  }
  return {
    urls: { file: store?.url_file ?? '' },
    ...(version !== undefined && { version }),
    ...(daemon && { lock }),
    ...{ about, log, pooler: store?.pooler, faultPoint },
  }
}

/** How another thread reaches what was opened here. */
const sharing = new WeakMap<Store, (role: WriterRole) => SharedStore>()

/** Nothing is touched before `open`, which throws StoreBusyError or NewerDatabaseError. */
export const openStore = async (options: StoreOptions): Promise<Store> => {
  const { place, about: _, ...rest } = options
  if (isLocal(place)) {
    const { openSqliteStore, shareSqliteStore } = await import('./sqlite/open.js')
    const store = openSqliteStore({ ...rest, dataDir: place.data_dir })
    sharing.set(store, () => ({ driver: 'sqlite', port: shareSqliteStore(store) }))
    return store
  }
  const { openPostgresStore, sharePostgresStore } = await import('./postgres/open.js')
  const store = openPostgresStore(await postgresOptions(options))
  sharing.set(store, (role) => ({ driver: 'postgres', ...sharePostgresStore(store, role) }))
  return store
}

/** Where the database of a data folder is, when it is there. */
export const placeOf = databaseFile

/** The schema that this Postern makes, by engine. */
export const schemas = async (): Promise<{ readonly sqlite: number; readonly postgres: number }> => {
  const [{ NEWEST }, { SCHEMA }] = await Promise.all([
    import('./sqlite/migrate/steps.js'),
    import('./postgres/schema/steps.js'),
  ])
  return { sqlite: NEWEST, postgres: SCHEMA }
}

/** By which another thread reaches a store: hand it over with its port, and call `reachStore` there. */
export type SharedStore =
  | ({ readonly driver: 'sqlite' } & Pick<SharedPostgres, 'port'>)
  | ({ readonly driver: 'postgres' } & SharedPostgres)

/** `role` is what the other thread does. */
export const shareStore = (store: Store, role: WriterRole): SharedStore => {
  const share = sharing.get(store)
  if (share === undefined) throw new Error('this store was not opened here')
  return share(role)
}

export type ReachedStore = ConnectedStore

/** Call it once, in the thread that owns the port. */
export const reachStore = async (shared: SharedStore): Promise<ReachedStore> =>
  shared.driver === 'sqlite'
    ? (await import('./sqlite/connected-store.js')).connectStore(shared.port)
    : (await import('./postgres/open.js')).connectPostgresStore(shared)

/** Of the database at `file`; a program that does not ask does not load it. */
export const adminOf = async (file: string): Promise<Admin> =>
  (await import('./sqlite/admin.js')).sqliteAdmin(file)

interface RewindOptions {
  readonly place: StorePlace
  readonly version: string
  /** Who says so. */
  readonly actor: Actor
}

/** Of a database that was brought back to an earlier time, by whatever means: what waits is held. Nobody else may run. */
export const rewindStore = async ({ place, version, actor }: RewindOptions): Promise<Restored> => {
  const { data_dir: dataDir, store } = place
  if (!isLocal(place)) {
    const { rewindPostgres } = await import('./postgres/move.js')
    return rewindPostgres({ urls: await urlsIn(place), pooler: store?.pooler, version, actor })
  }
  const { openSqliteStore } = await import('./sqlite/open.js')
  const current = openSqliteStore({ dataDir, daemon: true, version })
  await current.open().finally(current.close)
  const admin = await adminOf(databaseFile(dataDir))
  const unlock = admin.lock()
  try {
    return admin.putToRest({ send: false, copy: null, actor, now: Date.now() })
  } finally {
    unlock()
  }
}

interface MoveOptions {
  readonly dataDir: string
  /** A file that has the URLs of the database that the store goes into. */
  readonly urlFile: string
  readonly version: string
  readonly say: Moving['say']
  readonly faultPoint?: FaultPoint
}

const moving = async <T>(options: MoveOptions, work: (moving: Moving) => Promise<T>): Promise<T> => {
  const { openSource } = await import('./sqlite/move.js')
  const { openTarget } = await import('./postgres/move.js')
  const { readUrls } = await import('./postgres/servers.js')
  const { serversOf } = await import('./postgres/servers.js')
  const servers = serversOf(readUrls(options.urlFile))
  const source = openSource(databaseFile(options.dataDir))
  try {
    const now = Date.now()
    const target = await openTarget(servers, options.version, now, source.name)
    const pass = createFaultPoint(options.faultPoint ?? null)
    const id = randomUUID()
    return await work({ source, target, now, id, pass, say: options.say }).finally(target.close)
  } finally {
    source.close()
  }
}

/** Into a database that is empty; the store of the folder is refused from then on. */
export const moveStore = (options: MoveOptions): Promise<Moved> =>
  moving(options, async (one) => (await import('./move.js')).move(one))

/** And back, while nobody has used it there: the place where it was. */
export const undoMove = (options: MoveOptions): Promise<string> =>
  moving(options, async (one) => (await import('./move.js')).undo(one))

/** A database that is not in the data folder, brought up to date beside the daemons that serve it. */
export const migrateServerOf = async (place: StorePlace, version: string): Promise<Migrated> =>
  (await import('./postgres/begin.js')).migrateServer(await urlsIn(place), version)

/** A database that is not in the data folder, looked at without a change. */
export const examineServerOf = async (place: StorePlace): Promise<ExaminedServer> =>
  (await import('./postgres/begin.js')).examineServer(await urlsIn(place), place.store?.pooler)
