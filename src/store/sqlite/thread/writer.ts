/**
 * NAME      writer - the thread that writes, as the main thread sees it
 * DESCRIPTION
 *   It starts when it is told to, or when the first client says something: a command that only reads never
 *   needs it, and it costs as much as all else that such a command does. If the thread ends without being
 *   told to, the store is broken.
 *   The daemon is the only one that grants sends, so it counts in memory and answers at once. What it
 *   granted is gathered, and travels to the writer with the next accept, in the same commit as the mail that
 *   it was granted for: a commit of its own would cost each mail an fsync. Grants that no mail follows are
 *   written within a second. A bucket seen for the first time starts from what the disk remembers.
 */
import type { MessagePort, Worker } from 'node:worker_threads'
import { startThread } from '../../../base/thread.js'
import { countSends, type WindowCount } from '../../../lifecycle/accept.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import type { Used } from '../../sql/suppressions.js'
import type { Notice, Order, WriterSettings } from '../protocol.js'

export interface Writer {
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
    worker.once('message', (notice: Notice) => {
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
  worker.on('message', (notice: Notice) => {
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

export const createWriter = (settings: WriterSettings): Writer => {
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
