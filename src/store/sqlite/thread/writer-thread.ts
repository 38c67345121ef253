/**
 * NAME      writer-thread - the one that writes
 * DESCRIPTION
 *   Owns the only read-write connection. Calls pile up from every client while a
 *   batch is being committed, and the next batch takes them all: a lone call
 *   waits for nobody, a crowd shares one fsync, and there is no timer. Answers,
 *   then hints and freshly leased mail, leave after the commit and never before.
 *   When the store breaks, every client is told and the thread ends.
 */
import { dirname } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createFaultPoint } from '../../../base/crash.js'
import { nameThread } from '../../../base/thread.js'
import { createBeat } from '../../load-counts.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import { type Db, openWriter } from '../connect.js'
import { migrate } from '../migrate/migrate.js'
import type { Call, Notice, Order, WriterSettings } from '../protocol.js'
import { createTightness } from '../room/ballast.js'
import { createWriteContext } from '../write/context.js'
import { createVerbs } from '../write/verbs.js'
import { BrokenStore, createBatch } from './batch.js'
import { answerAll, type Client, createClients, type Job } from './clients.js'
import { createFence, createFileFence } from './fence.js'

/**
 * So many verbs share a commit, or a few more: beyond it, answers would be late
 * rather than cheap. Messages are not split, since their bodies share a buffer
 * that leaves with the first mail that goes to the relay.
 */
const ENOUGH = 1000

/** How often an idle writer looks whether its file is still there. */
const LOOK_MS = 500

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The messages of the next batch. */
const take = (waiting: Job[][]): Job[] => {
  let size = 0
  const count = waiting.findIndex((jobs) => {
    size += jobs.length
    return size >= ENOUGH
  })
  return waiting.splice(0, count === -1 ? waiting.length : count + 1).flat()
}

/** A clean end leaves no log behind; where somebody still reads, it is left to them. */
const emptyLog = (db: Db): void => {
  try {
    db.pragma('busy_timeout = 0')
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch {
    // the next start reads the log
  }
}

const run = (parent: MessagePort, settings: WriterSettings): void => {
  const fileFence = createFileFence(settings.file)
  const db = openWriter(settings.file)
  migrate(db, Date.now(), settings.version)
  const context = createWriteContext(db)
  const tightness = createTightness(dirname(settings.file), () => performance.now())
  const batch = createBatch(context, createVerbs(context, settings.daemon), {
    pass: createFaultPoint(settings.faultPoint),
    rules: settings.rules,
    tightness,
    fence: createFence(context, settings.daemon, tightness.full),
    fileFence,
    beat: createBeat(settings.loadCounts),
  })
  let waiting: Job[][] = []
  let closing = false

  /** At the end of the turn of the event loop, when every message that has arrived is here. */
  const enqueue = (client: Client, calls: readonly Call[]): void => {
    if (waiting.length === 0) setImmediate(pump)
    waiting.push(calls.map((call) => ({ client, call })))
  }
  const clients = createClients(context, settings, enqueue)

  const end = (): void => {
    clearInterval(looking)
    clients.closeAll()
    parent.close()
  }

  const breakDown = (error: unknown): void => {
    waiting = []
    const reason = error instanceof BrokenStore ? error : new BrokenStore(messageOf(error))
    clients.broken(reason)
    parent.postMessage({ kind: 'broken', message: reason.message } satisfies Notice)
    end()
  }

  const looking = setInterval(() => {
    try {
      fileFence()
    } catch (error) {
      breakDown(error)
    }
  }, LOOK_MS).unref()

  const pump = (): void => {
    try {
      while (waiting.length > 0) {
        const jobs = take(waiting)
        answerAll(jobs, batch(jobs.map((job, i): Call => [i, job.call[1], job.call[2], job.call[3]])))
        clients.publish()
      }
    } catch (error) {
      breakDown(error)
      return
    }
    if (!closing) return
    emptyLog(db)
    db.close()
    end()
  }

  parent.on('message', (order: Order) => {
    if (order.kind === 'connect') {
      clients.connect(order.port as MessagePort)
      return
    }
    closing = true
    if (waiting.length === 0) setImmediate(pump)
  })
}

if (parentPort !== null) {
  const parent = parentPort
  nameThread('postern-writer')
  const notify = (notice: Notice): void => parent.postMessage(notice)
  try {
    run(parent, workerData as WriterSettings)
    notify({ kind: 'ready' })
  } catch (error) {
    notify({
      kind: 'failed',
      message: messageOf(error),
      newer: error instanceof NewerDatabaseError,
      code: (error as { code?: string }).code ?? null,
    })
    parent.close()
  }
}
