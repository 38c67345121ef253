/**
 * NAME      open - the store on one SQLite file
 *   Puts the whole port together: writes go through the writer's thread, reads run here on a read-only connection,
 *   which sees every commit from the moment that its promise resolves. open() migrates. With `daemon`, open() also
 *   takes the lock of the data folder (StoreBusyError when another daemon has it) and rates are counted in memory;
 *   without it, any number of processes may open the same folder beside the daemon.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { OutageError } from '../../base/fault.js'
import { knownOf } from '../known.js'
import type { Actor } from '../port/identity.js'
import type { Store } from '../port/store.js'
import { begin, finish, type SqliteOptions, type SqliteSession } from './session.js'
import { actingVerbs, readsOf, writesOf } from './store-verbs.js'

const ports = new WeakMap<object, () => MessagePort>()

/** A port on which another thread can reach this store; hand it over and call connectStore there. */
export const shareSqliteStore = (store: Store): MessagePort => {
  const connect = ports.get(store)
  if (connect === undefined) throw new Error('not a SQLite store')
  return connect()
}

/** The store of a data folder; nothing is touched before `open`, which throws StoreBusyError or NewerDatabaseError. */
export const openSqliteStore = (options: SqliteOptions): Store => {
  let opening: Promise<SqliteSession> | null = null
  let open: SqliteSession | null = null
  let breakWith: (error: Error) => void = () => {}
  const broken = new Promise<Error>((resolve) => {
    breakWith = resolve
  })

  const current = (): SqliteSession => {
    if (open === null) throw new OutageError('the store is not open')
    return open
  }

  const start = async (): Promise<SqliteSession> => {
    const session = await begin(options)
    open = session
    const report = (error: Error): void => {
      options.log?.fatal({ event: 'store_broken', reason: error.message })
      breakWith(error)
    }
    session.client.broken.then(report)
    session.writer.died.then(report)
    session.failed.then(report)
    return session
  }

  const lifecycle: Pick<Store, 'open' | 'close' | 'broken' | 'migrate'> = {
    async open() {
      opening ??= start()
      try {
        await opening
      } catch (error) {
        opening = null
        throw error
      }
    },
    async close() {
      const session = open
      open = null
      opening = null
      if (session !== null) await finish(session)
    },
    broken,
    migrate: () => lifecycle.open(),
  }
  const known = options.daemon ? { known: knownOf(() => current().known) } : {}
  const plain = { ...lifecycle, ...known, ...writesOf(current), ...readsOf(current) }
  const by = (actor: Actor, entry: string | null = null): Store => ({
    ...plain,
    ...writesOf(actingVerbs(current, actor, entry)),
    by,
  })
  const store: Store = { ...plain, by }
  ports.set(store, () => {
    const { port1, port2 } = new MessageChannel()
    current()
      .writer.take(port1)
      .catch(() => port1.close())
    return port2
  })
  return store
}
