/**
 * NAME      writer-client - one client's end of the port to the writer
 *   Turns calls into promises. An idle client sends at once (at the end of the current microtasks); while answers are
 *   outstanding, calls of one turn of the event loop share a message. The writer is asked to serve the client when it
 *   first says something. When the writer breaks or goes away, or can not begin, every open and every later call
 *   rejects.
 */
import type { MessagePort, Worker } from 'node:worker_threads'
import { systemClock } from '../../../base/clock.js'
import { fromPlainFault, OutageError } from '../../../base/fault.js'
import { newId } from '../../../base/id.js'
import { startThread } from '../../../base/thread.js'
import { countSends, type WindowCount } from '../../../lifecycle/accept.js'
import type { Claimed, Settled } from '../../../lifecycle/facts.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import type { Acting } from '../../rules/audit.js'
import type { Used } from '../../sql/suppressions.js'
import {
  CLAIMED,
  type FromWriter,
  type Order,
  packBodies,
  type Topic,
  type ToWriter,
  type Verb,
  type WireAcceptance,
  type WriterAnswer,
  type WriterCall,
  type WriterNotice,
  type WriterSettings,
  type WriterVerbs,
} from './wire.js'

// The thread that writes, as the main thread sees it. It starts when it is told to, or when the first client says
// something: a command that only reads never needs it, and it costs as much as all else that such a command does. If
// the thread ends without being told to, the store is broken. The daemon is the only one that grants sends, so it
// counts in memory and answers at once. What it granted is gathered, and travels to the writer with the next accept,
// in the same commit as the mail that it was granted for: a commit of its own would cost each mail an fsync. Grants
// that no mail follows are written within a second. A bucket seen for the first time starts from what the disk
// remembers.

export interface WriterThread {
  /** Resolves when the database is open, durable and migrated. */
  start(): Promise<void>
  /** Serves the client at the other end of this port; starts if it has not. */
  take(port: MessagePort): Promise<void>
  /** Ends the thread after what is queued; resolves when it is gone. */
  end(): Promise<void>
  /** Resolves when the thread has died unasked. */
  readonly died: Promise<Error>
}

const ready = (worker: Worker): Promise<void> =>
  new Promise((resolve, reject) => {
    worker.once('message', (notice: WriterNotice) => {
      if (notice.kind === 'ready') resolve()
      else if (notice.kind === 'broken') reject(new Error(notice.message))
      else if (notice.newer) reject(new NewerDatabaseError(notice.message))
      else reject(Object.assign(new Error(notice.message), { code: notice.code }))
    })
    worker.once('error', reject)
  })

interface Running {
  readonly worker: Worker
  readonly exited: Promise<void>
}

/** Resolves when the database is open, durable and migrated; `ended` is told when such a thread has ended, and why. */
const launch = async (settings: WriterSettings, ended: (reason: Error) => void): Promise<Running> => {
  const worker = startThread(new URL('./writer-thread.js', import.meta.url), { workerData: settings })
  let failure: Error | null = null
  let isReady = false
  worker.on('error', (error) => {
    failure ??= error instanceof Error ? error : new Error(String(error))
  })
  // the end of a thread may be seen before what it said to its clients, but never before what it said here
  worker.on('message', (notice: WriterNotice) => {
    if (notice.kind === 'broken') failure ??= new Error(notice.message)
  })
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      resolve()
      if (isReady) ended(failure ?? new Error(`the writer thread ended with code ${code}`))
    })
  })
  try {
    await ready(worker)
  } catch (error) {
    await exited
    throw error
  }
  isReady = true
  return { worker, exited }
}

export const createWriter = (settings: WriterSettings): WriterThread => {
  let running: Promise<Running> | null = null
  let ending = false
  let die: (error: Error) => void = () => {}
  const died = new Promise<Error>((resolve) => {
    die = resolve
  })
  const started = (): Promise<Running> => {
    running ??= launch(settings, (reason) => {
      if (!ending) die(reason)
    })
    return running
  }
  const order = ({ worker }: Running, message: Order, transfer: MessagePort[] = []): void =>
    worker.postMessage(message, transfer)

  return {
    async start() {
      await started()
    },
    async take(port) {
      order(await started(), { kind: 'connect', port }, [port])
    },
    async end() {
      const one = await running?.catch(() => null)
      if (!one) return
      ending = true
      order(one, { kind: 'close' })
      await one.exited
    },
    died,
  }
}

export interface Window {
  consume(bucket: string, window: number, n: number, limit: number): WindowCount
  /** Hands over what was granted since the last time; to be called ahead of each accept. */
  flush(): void
}

/** Buckets kept in memory; one that is forgotten starts from the disk again. */
const MAX_BUCKETS = 20_000
const GATHER_MS = 1000

export const createWindow = (
  seed: (bucket: string, window: number) => number,
  persist: (used: readonly Used[]) => void,
): Window => {
  let granted = new Map<string, [bucket: string, window: number, n: number]>()
  let timer: NodeJS.Timeout | null = null

  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (granted.size === 0) return
    const used = [...granted.values()]
    granted = new Map()
    persist(used)
  }

  const grant = (bucket: string, window: number, n: number): void => {
    const place = `${window} ${bucket}`
    const before = granted.get(place)
    if (before === undefined) granted.set(place, [bucket, window, n])
    else before[2] += n
    timer ??= setTimeout(flush, GATHER_MS).unref()
  }

  /** Per bucket its last two windows: calls may straddle the turn of the minute. */
  const buckets = new Map<string, Map<number, number>>()

  const countsOf = (bucket: string, window: number): Map<number, number> => {
    let counts = buckets.get(bucket)
    if (counts === undefined) {
      counts = new Map()
      buckets.set(bucket, counts)
      const eldest = buckets.size > MAX_BUCKETS ? buckets.keys().next().value : undefined
      if (eldest !== undefined) buckets.delete(eldest)
    }
    if (!counts.has(window)) {
      counts.set(window, seed(bucket, window))
      if (counts.size > 2) counts.delete(Math.min(...counts.keys()))
    }
    return counts
  }

  return {
    consume(bucket, window, n, limit) {
      const counts = countsOf(bucket, window)
      const count = countSends(counts.get(window) ?? 0, n, limit)
      if (count.allowed && n > 0) {
        counts.set(window, count.used)
        grant(bucket, window, n)
      }
      return count
    },
    flush,
  }
}

export interface WriterClient {
  call<V extends Verb>(verb: V, ...args: Parameters<WriterVerbs[V]>): Promise<ReturnType<WriterVerbs[V]>>
  /** The same client, whose calls say who acts; those of `asOrder` have one entry in the audit. */
  by(acting: Acting): WriterClient
  /** For the calls of one order: they share an entry. */
  asOrder(): WriterClient
  /** Sends a call whose answer nobody waits for, before any later call. */
  post<V extends Verb>(verb: V, ...args: Parameters<WriterVerbs[V]>): void
  onDue(wake: () => void): () => void
  onLeased(take: (claimed: readonly Claimed[]) => void): () => void
  /** Which pools the taker of leased mail can carry mail for. */
  ready(poolIds: readonly string[]): void
  onSettled(listener: (settled: readonly Settled[]) => void): () => void
  /** The database file, once the writer has said hello. */
  readonly file: Promise<string>
  readonly broken: Promise<Error>
  /** Resolves when every call so far has its answer. */
  idle(): Promise<void>
  close(): void
}

interface Pending {
  readonly resolve: (value: never) => void
  readonly reject: (reason: Error) => void
}

/** A promise and the hand that resolves it. */
const promised = <T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } => {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

type Send = (message: ToWriter, transfer?: readonly ArrayBuffer[]) => void

const flushed = (send: Send, calls: readonly WriterCall[]): void => {
  const bodies = packBodies(
    calls.filter((call) => call[1] === 'accept').map((call) => call[2][0] as WireAcceptance),
  )
  send({ kind: 'calls', calls }, bodies)
}

/** Calls on their way out and back. */
const createCalls = (post: Send) => {
  const pending = new Map<number, Pending>()
  let outbox: WriterCall[] = []
  let resting: (() => void)[] = []
  let gone: Error | null = null
  let lastId = 0

  const flush = (): void => {
    const sending = outbox
    outbox = []
    flushed(post, sending)
  }
  const rest = (): void => {
    for (const resolve of resting) resolve()
    resting = []
  }
  const settle = (answer: WriterAnswer): void => {
    const waiting = pending.get(answer[0])
    if (waiting === undefined) return
    pending.delete(answer[0])
    if (answer[1] === 'value') waiting.resolve(answer[2] as never)
    else waiting.reject(answer[1] === 'fault' ? fromPlainFault(answer[2]) : new Error(answer[2]))
  }

  const send = (verb: Verb, args: readonly unknown[], acting?: Acting): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (gone !== null) {
        reject(gone)
        return
      }
      if (outbox.length === 0) {
        if (pending.size === 0) queueMicrotask(flush)
        else setImmediate(flush)
      }
      lastId++
      outbox.push(acting === undefined ? [lastId, verb, args] : [lastId, verb, args, acting])
      pending.set(lastId, { resolve, reject })
    })

  return {
    call: ((verb, ...args) => send(verb, args)) as WriterClient['call'],
    callBy: (acting: Acting) => ((verb, ...args) => send(verb, args, acting)) as WriterClient['call'],

    answered(answers: readonly WriterAnswer[]): void {
      for (const answer of answers) settle(answer)
      if (pending.size === 0) rest()
    },

    /** No call works from here on; answers the first reason. */
    fail(error: Error): Error {
      gone ??= error
      for (const waiting of pending.values()) waiting.reject(gone)
      pending.clear()
      rest()
      return gone
    },

    idle: (): Promise<void> =>
      pending.size === 0 ? Promise.resolve() : new Promise((resolve) => resting.push(resolve)),
  }
}

/** Listeners of one topic; the writer is told of the first and of the last. */
const createTopic = <T>(send: Send, topic: Topic) => {
  const listeners = new Set<(value: T) => void>()
  const announce = (on: boolean): void => send({ kind: 'listen', topic, on })
  return {
    listeners,
    on(listener: (value: T) => void): () => void {
      if (listeners.size === 0) announce(true)
      listeners.add(listener)
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) announce(false)
      }
    },
    emit(value: T): void {
      for (const listener of listeners) listener(value)
    },
  }
}

/** `begin` has the writer take the other end of the port, where that is still to be done. */
export const createWriterClient = (port: MessagePort, begin?: () => Promise<void>): WriterClient => {
  let hasBegun = begin === undefined
  const send: Send = (message, transfer = []) => {
    port.postMessage(message, transfer)
    if (hasBegun) return
    hasBegun = true
    begin?.().catch(fail)
  }
  const calls = createCalls(send)
  const due = createTopic<void>(send, 'due')
  const leased = createTopic<readonly Claimed[]>(send, 'leased')
  const settled = createTopic<readonly Settled[]>(send, 'settled')
  const file = promised<string>()
  const broken = promised<Error>()
  let closed = false

  // A failure of a posted call also fails what follows it, or is a hint lost: there is nobody to tell.
  const post: WriterClient['post'] = (verb, ...args) => void calls.call(verb, ...args).catch(() => {})

  const fail = (error: Error): void => {
    const reason = calls.fail(error)
    if (!closed) broken.resolve(reason)
  }
  const take = (claimed: readonly Claimed[]): void => {
    if (leased.listeners.size > 0) leased.emit(claimed)
    else
      post(
        'release',
        claimed.map(({ recipientId, leaseGen }) => ({ recipientId, leaseGen })),
        systemClock.now(),
      )
  }
  port.on('message', (message: FromWriter) => {
    if (message.kind === 'answers') calls.answered(message.answers)
    else if (message.kind === 'leased') take(message.claimed.map(CLAIMED.unpack))
    else if (message.kind === 'settled') settled.emit(message.settled)
    else if (message.kind === 'due') due.emit()
    else if (message.kind === 'hello') file.resolve(message.file)
    else fail(new OutageError(message.message))
  })
  port.on('close', () => fail(new OutageError('the store is closed')))

  const by = (acting: Acting): WriterClient => ({
    ...client,
    call: calls.callBy(acting),
    asOrder: () => (acting.entry === null ? by({ ...acting, entry: newId('aud') }) : by(acting)),
  })
  const client: WriterClient = {
    call: calls.call,
    by,
    asOrder: () => client,
    post,
    onDue: due.on,
    onLeased: leased.on,
    ready: (poolIds) => send({ kind: 'ready', poolIds }),
    onSettled: settled.on,
    file: file.promise,
    broken: broken.promise,
    idle: calls.idle,
    close() {
      closed = true
      fail(new OutageError('the store is closed'))
      port.close()
    },
  }
  return client
}
