/**
 * How late this machine is with everything: a promise in seconds may take so much more while it does other work. A chain
 * of short waits in a thread of its own, since that of the tier stands still whenever it asks the database.
 */
import { isMainThread, Worker, workerData } from 'node:worker_threads'

const STEP_MS = 100

export class Delay {
  readonly #late = new Float64Array(new SharedArrayBuffer(8))
  readonly #thread = new Worker(new URL(import.meta.url), { workerData: this.#late })

  /** By how much all waits together ended later than they should, until now. */
  get ms(): number {
    return this.#late[0] ?? 0
  }

  async stop(): Promise<void> {
    await this.#thread.terminate()
  }
}

const wait = (late: Float64Array): void => {
  const began = performance.now()
  setTimeout(() => {
    late[0] = (late[0] ?? 0) + Math.max(0, performance.now() - began - STEP_MS)
    wait(late)
  }, STEP_MS)
}

if (!isMainThread) wait(workerData as Float64Array)
