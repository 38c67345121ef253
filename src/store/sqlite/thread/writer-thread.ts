/**
 * NAME      writer-thread - the thread that writes, and the clients that it answers
 *   Owns the only read-write connection. Calls pile up from every client while a batch is being committed,
 *   and the next batch takes them all: a lone call waits for nobody, a crowd shares one fsync, and there is
 *   no timer. Answers, then hints and freshly leased mail, leave after the commit and never before. When the
 *   store breaks, every client is told and the thread ends.
 *   Each client has a port and the topics it listens to. Answers go to who asked, hints to who listens, hot
 *   mail to its one taker.
 */

import { existsSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { createFaultPoint } from '../../../base/crash.js'
import { Fault, orElse, toPlainFault } from '../../../base/fault.js'
import { enterThread } from '../../../base/thread.js'
import { createBeat } from '../../load-counts.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import { audited, LOOKED } from '../../sql/audit.js'
import { type Db, leftLogName, logOf, openWriter } from '../connect.js'
import { createTightness, type Tightness } from '../disk-room.js'
import { migrate } from '../migrate/migrate.js'
import { createWriteContext, type WriteContext } from '../write/context.js'
import { createVerbs } from '../write/verbs.js'
import { createCountChanges, createRules } from './changes.js'
import {
  CLAIMED,
  type FromWriter,
  type Order,
  type Topic,
  type ToWriter,
  type WriterAnswer,
  type WriterCall,
  type WriterNotice,
  type WriterSettings,
  type WriterVerbs,
} from './wire.js'

// Calls that share one transaction. Runs the verbs of a batch in one transaction and answers none before it is
// committed. The first try runs them bare; when one throws, the batch is rolled back and run again with a savepoint
// around each verb, so that the one that failed harms no other and the common case pays for no savepoints. Errors of
// the disk or the file are the end: a failed fsync must not be retried (the kernel may have dropped the pages), so
// they are thrown as BrokenStore. A full disk is not: the ballast goes, new work is refused until there is room
// again, and the rest (settling what was sent) is stored. The fence: another daemon can come to the same database
// only where the lock's file was removed or replaced; each daemon writes its boot into the database when it opens it,
// and every batch compares it. And a file that was removed, renamed or replaced under the writer would take every
// commit and be gone with the process: so the file at the path is compared after each commit, before it is answered,
// and twice a second while nothing is written. The log of the old file is renamed, because SQLite would play it into
// the new one. BUGS A copy written into the file itself (cp over it) keeps device and inode, and is not seen here.

/** The database belongs to another daemon, or another file has its name. */
class FencedError extends Error {
  override readonly name = 'FencedError'
}

const isFullDisk = (error: unknown): boolean =>
  String((error as { code?: unknown }).code).startsWith('SQLITE_FULL')

/** The answer is to be called inside each transaction, and throws FencedError. */
const createFence = (
  { db, boot }: Pick<WriteContext, 'db' | 'boot'>,
  daemon: boolean,
  onFull: () => void,
): (() => void) => {
  if (!daemon) return () => {}
  const read = db.prepare<[], number>('SELECT boot FROM fence').pluck()
  const write = db.prepare('UPDATE fence SET boot = ?')
  try {
    write.run(boot)
  } catch (error) {
    if (!isFullDisk(error)) throw error
    onFull() // what must be settled is settled all the same
    write.run(boot)
  }
  return () => {
    if (read.get() !== boot) throw new FencedError('another daemon has opened this database')
  }
}

interface Identity {
  readonly dev: bigint
  readonly ino: bigint
}

const identityOf = (file: string): Identity | null => orElse(() => statSync(file, { bigint: true }), null)

const setLogAside = (file: string): string | null => {
  const aside = leftLogName(file)
  try {
    renameSync(logOf(file), aside)
    return aside
  } catch {
    return null // none is there, or the folder has gone too
  }
}

/** To be called before the file is opened. The answer throws FencedError once another file, or none, has its name. */
const createFileFence = (file: string): (() => void) => {
  const opened = identityOf(file)
  return () => {
    const now = identityOf(file)
    if (now !== null && now.dev === opened?.dev && now.ino === opened.ino) return
    const what = existsSync(file) ? 'another file has taken its place' : 'it was moved or removed'
    const aside = setLogAside(file)
    const rest = aside === null ? '' : `; what it had last written is in ${aside}`
    throw new FencedError(`${file} is no longer the database that was opened: ${what}${rest}`)
  }
}

export class BrokenStore extends Error {
  override readonly name = 'BrokenStore'
}

/** Not IOERR_SHMSIZE: that is a full disk met while the index of the log grows. */
const BROKEN = /^SQLITE_(IOERR(?!_SHMSIZE)|CORRUPT|NOTADB|READONLY|CANTOPEN|PROTOCOL|NOMEM)/

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '')
const isFull = (code: string): boolean => /^SQLITE_(FULL|IOERR_SHMSIZE)/.test(code)
const isPassing = (code: string): boolean => isFull(code) || code.startsWith('SQLITE_BUSY')

/** Verbs whose outcome would want room of its own. */
const NEW_WORK: ReadonlySet<string> = new Set(['accept', 'claimKey', 'claim', 'attempting', 'carryIn'])

const unavailable = (id: number): WriterAnswer => [
  id,
  'fault',
  toPlainFault(new Fault('service.unavailable', { retryAfter: 5 })),
]

const failed = (id: number, error: unknown): WriterAnswer =>
  error instanceof Fault
    ? [id, 'fault', toPlainFault(error)]
    : [id, 'error', error instanceof Error ? error.message : String(error)]

interface Round {
  readonly pass: (point: string) => void
  /** What the threads share of the rules. */
  readonly rules: SharedArrayBuffer
  readonly tightness: Tightness
  /** Called in each transaction. */
  readonly fence: () => void
  /** Called after each commit, before it is answered. */
  readonly fileFence: () => void
  /** So many verbs were committed, in so many milliseconds. */
  readonly beat: (verbs: number, commitMs: number) => void
}

export const createBatch = (
  context: WriteContext,
  verbs: WriterVerbs,
  { pass, rules: told, tightness, fence, fileFence, beat }: Round,
) => {
  const { db } = context
  const { ask } = context.sql
  const audit = audited(LOOKED, { places: context.order, now: Date.now })
  const countChanges = createCountChanges(db)
  const rules = createRules(db, told)
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')
  const rollback = db.prepare('ROLLBACK')
  const save = db.prepare('SAVEPOINT verb')
  const undo = db.prepare('ROLLBACK TO verb')
  const release = db.prepare('RELEASE verb')

  const perform = (call: WriterCall): WriterAnswer => {
    const [id, name, args, acting] = call
    if (rules.isStale(call)) return [id, 'value', 'stale']
    const verb = verbs[name] as (...args: readonly unknown[]) => unknown
    if (acting === undefined) return [id, 'value', verb(...args)]
    const tell = ask(audit(name, args, acting))
    const result = verb(...args)
    ask(tell(result))
    return [id, 'value', result]
  }

  const guarded = (call: WriterCall): WriterAnswer => {
    const { leased, settled } = context.effects
    const before = [leased.length, settled.length] as const
    save.run()
    try {
      return perform(call)
    } catch (error) {
      if (isPassing(codeOf(error)) || BROKEN.test(codeOf(error))) throw error
      undo.run()
      for (const lost of leased.splice(before[0])) context.hot.drop(lost.recipientId)
      settled.splice(before[1])
      context.rolledBack()
      return failed(call[0], error)
    } finally {
      if (db.inTransaction) release.run()
    }
  }

  const abandon = (): void => {
    if (db.inTransaction) rollback.run()
    for (const lost of context.effects.leased) context.hot.drop(lost.recipientId)
    context.forgetEffects()
    context.rolledBack()
  }

  const passAll = (calls: readonly WriterCall[], moment: string): void => {
    for (const call of calls) pass(`${call[1]}.${moment}`)
  }

  const attempt = (calls: readonly WriterCall[], run: (call: WriterCall) => WriterAnswer): WriterAnswer[] => {
    try {
      begin.run()
      fence()
      rules.look()
      context.holds.look()
      context.order.begin()
      const answers = calls.map(run)
      if (countChanges(calls)) rules.look()
      context.order.keep()
      passAll(calls, 'before-commit')
      const began = performance.now()
      commit.run()
      fileFence()
      rules.publish()
      beat(calls.length, performance.now() - began)
      passAll(calls, 'after-commit')
      return answers
    } catch (error) {
      abandon()
      if (error instanceof FencedError) throw new BrokenStore(error.message)
      if (BROKEN.test(codeOf(error))) throw new BrokenStore(`${codeOf(error)}: ${(error as Error).message}`)
      throw error
    }
  }

  /** New work waits for room; everything else is done. */
  const onlyEnding = (calls: readonly WriterCall[]): WriterAnswer[] => {
    const rest = calls.filter((call) => !NEW_WORK.has(call[1]))
    const refused = calls.filter((call) => NEW_WORK.has(call[1])).map((call) => unavailable(call[0]))
    if (rest.length === 0) return refused
    try {
      return [...refused, ...attempt(rest, guarded)]
    } catch (error) {
      if (!isPassing(codeOf(error))) throw error
      if (isFull(codeOf(error))) tightness.full()
      return calls.map((call) => unavailable(call[0]))
    }
  }

  const refused = (calls: readonly WriterCall[], error: unknown): WriterAnswer[] => {
    if (isFull(codeOf(error))) tightness.full()
    return onlyEnding(calls)
  }

  /** Answers come in any order. Throws BrokenStore, and nothing else. */
  return (calls: readonly WriterCall[]): WriterAnswer[] => {
    if (tightness.isTight) return onlyEnding(calls)
    try {
      return attempt(calls, perform)
    } catch (error) {
      if (error instanceof BrokenStore) throw error
      if (isPassing(codeOf(error))) return refused(calls, error)
    }
    try {
      return attempt(calls, guarded)
    } catch (error) {
      if (error instanceof BrokenStore) throw error
      if (isPassing(codeOf(error))) return refused(calls, error)
      throw new BrokenStore(error instanceof Error ? error.message : String(error))
    }
  }
}

interface Client {
  readonly port: MessagePort
  readonly topics: Set<Topic>
  /** The pools that it can carry mail for; null while it has not said. */
  ready: ReadonlySet<string> | null
}

interface Job {
  readonly client: Client
  readonly call: WriterCall
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
const answerAll = (jobs: readonly Job[], answers: readonly WriterAnswer[]): void => {
  const perClient = new Map<Client, WriterAnswer[]>()
  for (const answer of answers) {
    const job = jobs[answer[0]]
    if (job === undefined) continue
    const list = perClient.get(job.client) ?? []
    list.push([job.call[0], answer[1], answer[2]] as WriterAnswer)
    perClient.set(job.client, list)
  }
  for (const [client, list] of perClient) tell(client, { kind: 'answers', answers: list })
}

const createClients = (
  context: WriteContext,
  settings: WriterSettings,
  enqueue: (client: Client, calls: readonly WriterCall[]) => void,
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
        const raws = leased.map(({ raw }) => raw).filter((raw) => raw !== null)
        const buffers = new Set(raws.map((raw) => raw.buffer as ArrayBuffer))
        const message: FromWriter = { kind: 'leased', claimed: leased.map(CLAIMED.pack) }
        taker.port.postMessage(message, [...buffers])
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
  const enqueue = (client: Client, calls: readonly WriterCall[]): void => {
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
    parent.postMessage({ kind: 'broken', message: reason.message } satisfies WriterNotice)
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
        answerAll(jobs, batch(jobs.map((job, i): WriterCall => [i, job.call[1], job.call[2], job.call[3]])))
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
  const notify = (notice: WriterNotice): void => parent.postMessage(notice)
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
