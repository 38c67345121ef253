/**
 * NAME      open - the store of a data folder, whatever keeps it
 * DESCRIPTION
 *   The only file outside of the engines that knows them: how a store is opened, how another
 *   thread reaches it, and what is done to a database beside it.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Admin } from './port/admin.js'
import type { Store } from './port/store.js'
import { databaseFile } from './sqlite/connect.js'
import { type ConnectedStore, connectStore } from './sqlite/connected-store.js'
import { openSqliteStore, shareSqliteStore } from './sqlite/open.js'
import type { SqliteOptions } from './sqlite/session.js'

export type StoreOptions = SqliteOptions

/** Nothing is touched before `open`, which throws StoreBusyError or NewerDatabaseError. */
export const openStore = (options: StoreOptions): Store => openSqliteStore(options)

/** Where the database of a data folder is. */
export const placeOf = (dataDir: string): string => databaseFile(dataDir)

/** A port on which another thread can reach this store; hand it over and call `reachStore` there. */
export const shareStore = (store: Store): MessagePort => shareSqliteStore(store)

export type ReachedStore = ConnectedStore

/** Call it once, in the thread that owns the port. */
export const reachStore = (port: MessagePort): Promise<ReachedStore> => connectStore(port)

/** Of the database at `file`; a program that does not ask does not load it. */
export const adminOf = async (file: string): Promise<Admin> =>
  (await import('./sqlite/admin.js')).sqliteAdmin(file)
