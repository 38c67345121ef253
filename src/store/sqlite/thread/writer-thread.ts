/**
 * NAME      writer-thread - the thread that writes, and the clients that it answers
 * DESCRIPTION
 *   Owns the only read-write connection. Calls pile up from every client while a batch is being committed,
 *   and the next batch takes them all: a lone call waits for nobody, a crowd shares one fsync, and there is
 *   no timer. Answers, then hints and freshly leased mail, leave after the commit and never before. When the
 *   store breaks, every client is told and the thread ends.
 *   Each client has a port and the topics it listens to. Answers go to who asked, hints to who listens, hot
 *   mail to its one taker.
 */

import { dirname } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createFaultPoint } from '../../../base/crash.js'
import { enterThread } from '../../../base/thread.js'
import { createBeat } from '../../load-counts.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import { type Db, openWriter } from '../connect.js'
import { createTightness } from '../disk-room.js'
import { migrate } from '../migrate/migrate.js'
import type { Answer, Call, FromWriter, Notice, Order, Topic, ToWriter, WriterSettings } from '../protocol.js'
import { createWriteContext, type WriteContext } from '../write/context.js'
import { createVerbs } from '../write/verbs.js'
import { BrokenStore, createBatch, createFence, createFileFence } from './batch.js'
import { RAW_OF_CLAIMED } from './wire.js'

interface Client {
  readonly port: MessagePort
  readonly topics: Set<Topic>
  /** The pools that it can carry mail for; null while it has not said. */
  ready: ReadonlySet<string> | null
}

interface Job {
  readonly client: Client
  readonly call: Call
}

interface Clients {
  connect(port: MessagePort): void
  /** Passes on what the committed batch leaves to tell. */
  publish(): void
  broken(error: Error): void
  closeAll(): void
}

const tell = (client: Client, message: FromWriter): void => client.port.postMessage(message)

/** Answers to their askers. Ids are unique per client only, so a batch numbers its calls by position in `jobs`. */
const answerAll = (jobs: readonly Job[], answers: readonly Answer[]): void => {
  const perClient = new Map<Client, Answer[]>()
  for (const answer of answers) {
    const job = jobs[answer[0]]
    if (job === undefined) continue
    const list = perClient.get(job.client) ?? []
    list.push([job.call[0], answer[1], answer[2]] as Answer)
    perClient.set(job.client, list)
  }
  for (const [client, list] of perClient) tell(client, { kind: 'answers', answers: list })
}

const createClients = (
  context: WriteContext,
  settings: WriterSettings,
  enqueue: (client: Client, calls: readonly Call[]) => void,
): Clients => {
  const clients = new Set<Client>()
  /** One at a time: two would send the same mail. */
  let taker: Client | null = null

  const takeHot = (client: Client, on: boolean): void => {
    if (on) taker = client
    else if (taker !== client) return
    else taker = null
    context.hot.ready = taker?.ready ?? null
    context.hot.open = taker !== null
    if (taker === null) context.hot.clear()
  }

  const listen = (client: Client, topic: Topic, on: boolean): void => {
    if (on) client.topics.add(topic)
    else client.topics.delete(topic)
    if (topic === 'leased' && settings.daemon) takeHot(client, on)
  }

  return {
    connect(port) {
      const client: Client = { port, topics: new Set(), ready: null }
      clients.add(client)
      port.on('message', (message: ToWriter) => {
        if (message.kind === 'calls') enqueue(client, message.calls)
        else if (message.kind === 'listen') listen(client, message.topic, message.on)
        else {
          client.ready = new Set(message.poolIds)
          if (taker === client) context.hot.ready = client.ready
        }
      })
      port.on('close', () => {
        clients.delete(client)
        takeHot(client, false)
      })
      tell(client, { kind: 'hello', file: settings.file })
    },

    publish() {
      const { due, leased, settled } = context.effects
      if (!due && leased.length === 0 && settled.length === 0) return
      context.forgetEffects()
      if (leased.length > 0 && taker !== null) {
        const raws = leased.map((one) => one[RAW_OF_CLAIMED]).filter((raw) => raw !== null)
        const buffers = new Set(raws.map((raw) => raw.buffer as ArrayBuffer))
        taker.port.postMessage({ kind: 'leased', claimed: leased } satisfies FromWriter, [...buffers])
      }
      for (const client of clients) {
        if (settled.length > 0 && client.topics.has('settled')) tell(client, { kind: 'settled', settled })
        if (due && client.topics.has('due')) tell(client, { kind: 'due' })
      }
    },

    broken(error) {
      for (const client of clients) tell(client, { kind: 'broken', message: error.message })
    },

    closeAll() {
      for (const client of clients) client.port.close()
    },
  }
}

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
  enterThread('postern-writer')
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
