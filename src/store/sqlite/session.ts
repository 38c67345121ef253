/**
 * NAME      session - an open store's parts
 *   Begun in order (lock, writer, reader) and finished in reverse: a session that could not begin leaves nothing held.
 *   Only a daemon, and a database that must be made or migrated first, have their writer from the beginning.
 */
import { statSync } from 'node:fs'
import { MessageChannel } from 'node:worker_threads'
import { createFaultPoint, type FaultPoint } from '../../base/crash.js'
import type { Log } from '../../base/log.js'
import type { KnownReads } from '../known.js'
import { createLoadCounts } from '../load-counts.js'
import type { Reads, Store } from '../port/store.js'
import type { Known } from '../port/upkeep.js'
import { alarmReads, outageReads } from '../sql/alarms.js'
import { auditReads } from '../sql/audit.js'
import { incidentReads } from '../sql/bounces.js'
import { carryReads } from '../sql/carry.js'
import { identityReads } from '../sql/identity.js'
import { jobReads } from '../sql/jobs.js'
import { dsnReads, logReads } from '../sql/log/reads.js'
import { emailReads, mailReads } from '../sql/mails.js'
import { holdReads } from '../sql/orders.js'
import { answered, answeredLater } from '../sql/query.js'
import { depthReads, dueReads, heldReads, queueReads } from '../sql/queue.js'
import { readingReads } from '../sql/reading.js'
import { searchReads } from '../sql/search/reads.js'
import { indexReads } from '../sql/search/tokens.js'
import { setupReads } from '../sql/setup.js'
import { statisticsReads } from '../sql/statistics.js'
import {
  createTouches,
  domainReportReads,
  ringReads,
  type Touches,
  tenantReads,
  warmupReads,
} from '../sql/tenants.js'
import { hookReads } from '../sql/webhooks.js'
import { type BodyStore, createBodyStore } from './body.js'
import { type Db, openReader, prepareFile, takeDaemonLock } from './connect.js'
import { layBallast } from './disk-room.js'
import { copyBefore, versionIn } from './migrate/migrate.js'
import { NEWEST } from './migrate/steps.js'
import {
  createLeadRead,
  createMemory,
  createSnapshot,
  knownIn,
  type Remember,
  remembering,
} from './read/known.js'
import { WORDS } from './search.js'
import { createPerMailReads, createStatements, logEnds, MAIL, type Statements } from './statements.js'
import {
  createWindow,
  createWriter,
  createWriterClient,
  type Window,
  type WriterClient,
  type WriterThread,
} from './thread/writer-client.js'

export interface SqliteOptions {
  readonly dataDir: string
  /** True takes the daemon lock and counts rates in memory. */
  readonly daemon: boolean
  readonly log?: Log
  /** Of this Postern. */
  readonly version?: string
  /** Crash tests only. */
  readonly faultPoint?: FaultPoint
}

const REMEMBERED = [
  'workspace',
  'keyByLookup',
  'key',
  'credential',
  'credentialsByUsername',
  'credentialsByRange',
  'pool',
  'user',
  'sessionByLookup',
] as const

const createReads = (sql: Statements, remember: Remember) => {
  return {
    ...answered(emailReads(MAIL), sql.ask),
    ...answered(mailReads(MAIL), sql.ask),
    ...answered(logReads(MAIL, logEnds), sql.ask),
    ...answered(readingReads(logEnds), sql.ask),
    ...createPerMailReads(sql),
    ...remembering(answered({ ...tenantReads, ...identityReads }, sql.ask), REMEMBERED, remember),
    ...answered(auditReads, sql.ask),
    ...answered(dueReads(MAIL.waiting), sql.ask),
    ...answeredLater(depthReads(MAIL.waiting), sql.askLater),
    ...createLeadRead(sql),
    ...answered(holdReads, sql.ask),
    ...answered(heldReads(MAIL.waiting), sql.ask),
    ...answeredLater(queueReads(MAIL.waiting), sql.askLater),
    ...answered(carryReads(MAIL), sql.ask),
    ...answered(dsnReads, sql.ask),
    ...answered(hookReads, sql.ask),
    ...answered(statisticsReads, sql.ask),
    ...answeredLater(searchReads(WORDS), sql.askLater),
    ...answered(indexReads, sql.ask),
    ...answered(jobReads, sql.ask),
    ...answered(setupReads, sql.ask),
    ...answered(domainReportReads, sql.ask),
    ...answered(ringReads, sql.ask),
    ...answered({ ...alarmReads, ...outageReads, ...warmupReads, ...incidentReads }, sql.ask),
  } satisfies Omit<Reads<Store>, 'body' | 'carried' | 'depth' | 'writers' | 'serverState' | 'relayMark'>
}

/** What the verbs of the port need, in whatever thread they are called. */
export interface Verbs {
  readonly file: string
  readonly daemon: boolean
  readonly version: string
  readonly db: Db
  readonly reads: ReturnType<typeof createReads>
  /** Of these, without a memory. */
  readonly asIs: KnownReads
  readonly client: WriterClient
  readonly window: Window
  readonly touches: Touches
  readonly bodyStore: BodyStore
  readonly loadCounts: SharedArrayBuffer
  /** Resolves when a body could not be written: nothing more can be promised. */
  readonly failed: Promise<Error>
}

export interface SqliteSession extends Verbs {
  readonly known: Known
  readonly writer: WriterThread
  readonly unlock: () => void
  /** Lays the ballast in again when there is room. */
  readonly keeping: Keeping
}

const LAY_MS = 2000

interface Keeping {
  stop(): Promise<void>
}

/** Looks now and then whether the ballast is there; without it the writer does what it can. */
const keepBallast = (dataDir: string): Keeping => {
  let laying: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    laying = laying.then(() => layBallast(dataDir)).catch(() => {})
  }, LAY_MS).unref()
  return {
    async stop() {
      clearInterval(timer)
      await laying
    },
  }
}

/** The verbs over a line to the writer; reads run on a connection of the calling thread. */
export const attach = (
  client: WriterClient,
  options: Pick<SqliteOptions, 'dataDir' | 'daemon' | 'faultPoint' | 'version'>,
  file: string,
  loadCounts: SharedArrayBuffer,
  db: Db = openReader(file),
): Verbs => {
  const enter = createSnapshot(db)
  const sql = createStatements(db, enter)
  const reads = createReads(sql, createMemory(db, enter))
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })
  const bodyStore = createBodyStore(options.dataDir, sql, fail, createFaultPoint(options.faultPoint ?? null))
  const window = createWindow(reads.usedIn, (used) => client.post('addUsed', used))
  const touches = createTouches((touched) => client.post('touchAll', touched))
  const { daemon, version = '' } = options
  const asIs = answered(tenantReads, sql.ask)
  return { file, daemon, version, db, reads, asIs, client, window, touches, bodyStore, failed, loadCounts }
}

export const begin = async (options: SqliteOptions): Promise<SqliteSession> => {
  const file = prepareFile(options.dataDir)
  const unlock = options.daemon ? takeDaemonLock(options.dataDir) : () => {}
  const loadCounts = createLoadCounts()
  const rules = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const writer = createWriter({
    file,
    daemon: options.daemon,
    faultPoint: options.faultPoint ?? null,
    loadCounts,
    rules,
    version: options.version ?? '',
  })
  try {
    const from = versionIn(file)
    const copy = await copyBefore(file, from)
    const began = performance.now()
    if (copy !== null) {
      options.log?.info(
        { event: 'migrating', from, copy, bytes: statSync(copy).size },
        'migrating, after a copy',
      )
    }
    // of a database that needs no step a command reads without one
    if (options.daemon || from !== NEWEST) await writer.start()
    if (copy !== null) {
      const ms = Math.round(performance.now() - began)
      options.log?.info({ event: 'migrated', from, ms, bytes: statSync(file).size }, 'migrated')
    }
    const { port1, port2 } = new MessageChannel()
    const client = createWriterClient(port2, () => writer.take(port1))
    const keeping = options.daemon ? keepBallast(options.dataDir) : { stop: async () => {} }
    const verbs = attach(client, options, file, loadCounts, openReader(file, !options.daemon))
    return { ...verbs, known: knownIn(verbs.db, verbs.asIs, rules), writer, unlock, keeping }
  } catch (error) {
    await writer.end()
    unlock()
    throw error
  }
}

/** Waits for calls under way, and lets go of the line and the file. */
export const detach = async (verbs: Verbs): Promise<void> => {
  verbs.window.flush()
  verbs.touches.flush()
  await verbs.client.idle()
  verbs.client.close()
  verbs.db.close()
}

export const finish = async (session: SqliteSession): Promise<void> => {
  await session.keeping.stop()
  await detach(session) // before the writer: the last connection empties the log, and only the writer's can
  await session.writer.end()
  session.unlock()
}
