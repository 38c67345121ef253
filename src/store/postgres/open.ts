/**
 * NAME      open - a store kept by PostgreSQL
 * DESCRIPTION
 *   Not whole yet: verbs that are missing say so when they are called. Several stores, in several processes and on several
 *   machines, are one on the same database. Each thread that needs the store opens a session of its own (session.ts);
 *   between the threads of a process go hints alone (hints.ts).
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { OutageError } from '../../base/fault.js'
import type { Acceptance } from '../../lifecycle/facts.js'
import type { Store } from '../port/store.js'
import { TakenOverError } from '../port/upkeep.js'
import { readMark } from '../sql/log/places.js'
import { failureOf } from './connect/failure.js'
import { settingsFaults } from './connect/settings.js'
import { createHints, type Hints } from './hints.js'
import { begin, type Session } from './session.js'
import { type AnyVerb, missing, READS, writesOf } from './verbs.js'

export interface PostgresOptions {
  /** The text that has the URLs (connect/servers.ts). */
  readonly urls: string
  /** Of this Postern. */
  readonly version?: string
  /** Takes the lock of the data folder, and answers the id of its daemon. */
  readonly lock?: () => { readonly owner: string; unlock(): void }
}

/** All that another thread needs. */
export interface SharedPostgres {
  readonly port: MessagePort
  readonly urls: string
  readonly version: string
  readonly owner: string
}

type Current = () => Session

/** The verbs of the port, each answered by the database. */
const forwarded = (current: Current, told: (error: unknown) => never): Partial<Store> => {
  const read = (name: string, verb: AnyVerb) => [
    name,
    async (...args: readonly unknown[]) => current().readers.read(() => verb(...args)),
  ]
  const write = (name: string) => [
    name,
    async (...args: readonly unknown[]) => {
      const { writer, writes } = current()
      const verb = writes[name] as AnyVerb
      return writer.write(() => verb(...args)).catch(told)
    },
  ]
  return Object.fromEntries([
    ...Object.entries(READS).map(([name, verb]) => read(name, verb as unknown as AnyVerb)),
    ...Object.keys(writesOf({ next: () => 0 })).map(write),
    ['accept', async (acceptance: Acceptance) => current().accept(acceptance).catch(told)],
  ]) as Partial<Store>
}

const makeVerbs = (current: Current, hints: Hints) => {
  let fail: (error: Error) => void = () => {}
  const broken = new Promise<Error>((resolve) => {
    fail = resolve
  })
  hints.onBroken(fail)
  /** What this process cannot mend. */
  const look = (error: unknown): void => {
    if (failureOf(error) === 'broken') hints.broken(error as Error)
  }
  const told = (error: unknown): never => {
    look(error)
    throw error instanceof TakenOverError ? new OutageError(error.message) : error
  }
  const verbs = {
    system: 'postgresql',
    broken,
    ...forwarded(current, told),
    onDue: hints.onDue,
    onSettled: hints.onSettled,
    ready: hints.ready,
    isMark: (text: string) => readMark(text) !== null,
    async check() {
      const connection = await current().connect()
      return settingsFaults(connection).finally(() => connection.close())
    },
  }
  return { verbs, look }
}

const notOpen = (): never => {
  throw new OutageError('the store is not open')
}

const sharing = new WeakMap<object, () => SharedPostgres>()

/** What another thread opens a session of its own by; hand it over and call connectPostgresStore there. */
export const sharePostgresStore = (store: Store): SharedPostgres => (sharing.get(store) ?? notOpen)()

/** Nothing is touched before `open`, which throws StoreBusyError, DatabaseRefusedError or NewerDatabaseError. */
export const openPostgresStore = (options: PostgresOptions): Store => {
  const { version = '' } = options
  const hints = createHints()
  let session: Session | null = null
  let unlock = (): void => {}
  const { verbs, look } = makeVerbs(() => session ?? notOpen(), hints)
  const own = {
    async open() {
      if (session !== null) return
      const locked = options.lock?.()
      unlock = locked?.unlock ?? unlock
      try {
        session = await begin(
          { urls: options.urls, version, owner: locked?.owner ?? null },
          hints,
          true,
          look,
        )
      } catch (error) {
        unlock()
        throw error
      }
    },
    async migrate() {},
    async close() {
      const closing = session
      session = null
      if (closing === null) return
      await closing.close()
      hints.close()
      unlock()
    },
  }
  const store = { ...missing({ ...verbs, ...own }), ...verbs, ...own } as unknown as Store
  sharing.set(store, () => {
    const { owner } = session ?? notOpen()
    const { port1, port2 } = new MessageChannel()
    hints.link(port1)
    return { port: port2, urls: options.urls, version, owner }
  })
  return store
}

/** The same store in another thread, with a session of its own. */
export const connectPostgresStore = async ({ port, ...options }: SharedPostgres): Promise<Store> => {
  const hints = createHints()
  hints.link(port)
  let look = (_error: unknown): void => {}
  const session = await begin(options, hints, false, (error) => look(error))
  const made = makeVerbs(() => session, hints)
  look = made.look
  const own = {
    async close() {
      await session.close()
      hints.close()
    },
  }
  return { ...missing({ ...made.verbs, ...own }), ...made.verbs, ...own } as unknown as Store
}
