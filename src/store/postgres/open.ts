/**
 * NAME      open - a store kept by PostgreSQL
 *   Several stores, in several processes and on several machines, are one on the same database. Each thread that needs the
 *   store opens a session of its own (session.ts); between the threads of a process go hints alone (notify.ts).
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { createFaultPoint, type FaultPoint } from '../../base/crash.js'
import { OutageError } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import { knownOf } from '../known.js'
import { createBeat, createLoadCounts, readPulse } from '../load-counts.js'
import type { About, WriterRole } from '../port/cluster.js'
import type { Store } from '../port/store.js'
import { failureOf } from './connection.js'
import { createHints, type Hints } from './notify.js'
import type { Pooling, Urls } from './servers.js'
import { begin, type PostgresSession } from './session.js'
import { storeOf } from './store-verbs.js'

export interface PostgresOptions {
  readonly urls: Urls
  readonly pooler?: Pooling | undefined
  /** Of this Postern. */
  readonly version?: string
  /** Takes the lock of the data folder, and answers the id of its daemon. */
  readonly lock?: () => { readonly owner: string; unlock(): void }
  /** What others can read of it. */
  readonly about?: Partial<Omit<About, 'version'>> | undefined
  readonly log?: Log | undefined
  /** Hints of other daemons are heard, and told; by default they are. */
  readonly listens?: boolean | undefined
  /** Crash tests only. */
  readonly faultPoint?: FaultPoint | null | undefined
}

/** All that another thread needs. */
export interface SharedPostgres {
  readonly port: MessagePort
  readonly urls: Urls
  readonly pooler: Pooling | undefined
  readonly version: string
  readonly owner: string
  readonly role: WriterRole
  readonly about: PostgresOptions['about']
  readonly faultPoint: PostgresOptions['faultPoint']
  readonly loadCounts: SharedArrayBuffer
}

/** `look` sees each error, and tells of what this process cannot mend. */
const watched = (hints: Hints) => {
  let fail: (error: Error) => void = () => {}
  const broken = new Promise<Error>((resolve) => {
    fail = resolve
  })
  hints.onBroken(fail)
  const look = (error: unknown): void => {
    if (failureOf(error) === 'broken') hints.broken(error as Error)
  }
  return { broken, look }
}

/** Of each session. */
const seenBy = (loadCounts: SharedArrayBuffer, faultPoint: PostgresOptions['faultPoint']) => ({
  observe: createBeat(loadCounts),
  pass: createFaultPoint(faultPoint ?? null),
})

/** What the threads of a process count together. */
const counted = (loadCounts: SharedArrayBuffer) => ({
  load: () => readPulse(loadCounts),
  async backup(): Promise<never> {
    throw new Error('a server has tools of its own for copies')
  },
})

const notOpen = (): never => {
  throw new OutageError('the store is not open')
}

const sharing = new WeakMap<object, (role: WriterRole) => SharedPostgres>()

/** What another thread opens a session of its own by; hand it over and call connectPostgresStore there. */
export const sharePostgresStore = (store: Store, role: WriterRole): SharedPostgres =>
  (sharing.get(store) ?? notOpen)(role)

/** Nothing is touched before `open`, which throws StoreBusyError, DatabaseRefusedError or NewerDatabaseError. */
export const openPostgresStore = (options: PostgresOptions): Store => {
  const { lock, pooler, version = '', about, log, listens, faultPoint } = options
  const hints = createHints()
  const loadCounts = createLoadCounts()
  let session: PostgresSession | null = null
  let unlock = (): void => {}
  const { broken, look } = watched(hints)
  const own = {
    broken,
    ...counted(loadCounts),
    ...(lock && { known: knownOf(() => (session ?? notOpen()).known) }),
    async open() {
      if (session !== null) return
      const locked = lock?.()
      unlock = locked?.unlock ?? unlock
      try {
        const role = locked === undefined ? 'command' : 'main'
        const own = { urls: options.urls, pooler, version, owner: locked?.owner ?? null, role } as const
        session = await begin(
          { ...own, about, log, listens, ...seenBy(loadCounts, faultPoint) },
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
  const store = storeOf(() => session ?? notOpen(), hints, own)
  sharing.set(store, (role) => {
    const { owner } = session ?? notOpen()
    const { port1, port2 } = new MessageChannel()
    hints.link(port1)
    const { urls } = options
    return { port: port2, urls, pooler, version, owner, role, about, loadCounts, faultPoint }
  })
  return store
}

/** The same store in another thread, with a session of its own. */
export const connectPostgresStore = async ({
  port,
  loadCounts,
  faultPoint,
  ...options
}: SharedPostgres): Promise<Store> => {
  const hints = createHints()
  hints.link(port)
  const { broken, look } = watched(hints)
  const session = await begin({ ...options, ...seenBy(loadCounts, faultPoint) }, hints, false, look)
  const own = {
    broken,
    ...counted(loadCounts),
    async open() {},
    async migrate() {},
    async close() {
      await session.close()
      hints.close()
    },
  }
  return storeOf(() => session, hints, own)
}
