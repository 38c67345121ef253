/**
 * NAME      writer - starting and ending the writer's thread
 * DESCRIPTION
 *   It starts when it is told to, or when the first client says something: a
 *   command that only reads never needs it, and it costs as much as all else that
 *   such a command does. If the thread ends without being told to, the store is
 *   broken.
 */
import type { MessagePort, Worker } from 'node:worker_threads'
import { startThread } from '../../../base/thread.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
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
