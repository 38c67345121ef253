/**
 * NAME      writer - starting and ending the writer's thread
 * DESCRIPTION
 *   Start resolves when the database is open, durable and migrated. If the
 *   thread ends without being told to, the store is broken.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { startThread } from '../../../base/host/thread.js'
import { NewerDatabaseError } from '../../port/upkeep.js'
import type { Notice, Order, WriterSettings } from '../protocol.js'

export interface Writer {
  /** A new client's port to the writer. */
  connect(): MessagePort
  /** Ends the thread after what is queued; resolves when it is gone. */
  end(): Promise<void>
  /** Resolves when the thread has died unasked. */
  readonly died: Promise<Error>
}

export const startWriter = async (settings: WriterSettings): Promise<Writer> => {
  const worker = startThread(new URL('./writer-thread.js', import.meta.url), {
    workerData: settings,
  })
  let ending = false
  let failure: Error | null = null
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve())
  })
  worker.on('error', (error) => {
    failure ??= error instanceof Error ? error : new Error(String(error))
  })
  // the end of a thread may be seen before what it said to its clients, but never before what it said here
  worker.on('message', (notice: Notice) => {
    if (notice.kind === 'broken') failure ??= new Error(notice.message)
  })
  const died = new Promise<Error>((resolve) => {
    worker.once('exit', (code) => {
      if (!ending) resolve(failure ?? new Error(`the writer thread ended with code ${code}`))
    })
  })
  const ready = new Promise<void>((resolve, reject) => {
    worker.once('message', (notice: Notice) => {
      if (notice.kind === 'ready') resolve()
      else if (notice.kind === 'broken') reject(new Error(notice.message))
      else if (notice.newer) reject(new NewerDatabaseError(notice.message))
      else reject(Object.assign(new Error(notice.message), { code: notice.code }))
    })
    worker.once('error', reject)
  })
  const order = (message: Order, transfer: MessagePort[] = []): void => worker.postMessage(message, transfer)
  try {
    await ready
  } catch (error) {
    ending = true
    await exited
    throw error
  }
  return {
    connect() {
      const { port1, port2 } = new MessageChannel()
      order({ kind: 'connect', port: port1 }, [port1])
      return port2
    },
    async end() {
      ending = true
      order({ kind: 'close' })
      await exited
    },
    died,
  }
}
