/**
 * NAME      reader - large bodies go to a thread of their own
 *   One thread, started for the first body that needs it and ended when none has
 *   come for a while, so that its memory goes back to the system. One body at a
 *   time: what waits is counted by limits.memory.
 * NOTES
 *   V8 ends the whole process when the heap of a thread is full in the middle of
 *   one large value. So the thread may have more than any body can take; what it
 *   really takes is bounded before, by limits.memory and http.max_body.
 */
import type { Worker } from 'node:worker_threads'
import { fromPlainFault, type PlainFault } from '../../base/fault.js'
import { startThread } from '../../base/thread.js'
import type { BodyDone, BodyJob, ContentJob } from './job.js'

export type ReaderAnswer =
  | { readonly done: BodyDone }
  | { readonly refused: PlainFault }
  | { readonly failed: string }

export interface BodyReader {
  /** Takes the octets of the job away. Throws the Fault to answer with. */
  read(job: BodyJob | ContentJob): Promise<BodyDone>
  end(): Promise<void>
}

const IDLE_MS = 2_000
const MIB = 1024 * 1024
/** A list of small numbers takes this many times its text. */
const DEAREST = 20
const LEAST_HEAP_MB = 512

interface Waiting {
  readonly job: BodyJob | ContentJob
  readonly resolve: (done: BodyDone) => void
  readonly reject: (error: Error) => void
}

/** Not started to keep the process alive; with more heap than any body can take. */
const startReader = (maxBody: number): Worker => {
  const thread = startThread(new URL('./body-thread.js', import.meta.url), {
    resourceLimits: {
      maxOldGenerationSizeMb: Math.max(LEAST_HEAP_MB, DEAREST * Math.ceil(maxBody / MIB)),
      maxYoungGenerationSizeMb: 8,
    },
  })
  thread.unref()
  return thread
}

const tell = ({ resolve, reject }: Waiting, answer: ReaderAnswer): void => {
  if ('done' in answer) resolve(answer.done)
  else if ('refused' in answer) reject(fromPlainFault(answer.refused))
  else reject(new Error(answer.failed))
}

/** A job as it is handed over. */
const handed = (job: BodyJob | ContentJob): BodyJob | ContentJob => {
  const { bytes } = job
  // small Buffers share memory with strangers
  const own = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength
  return own ? job : { ...job, bytes: new Uint8Array(bytes) }
}

export const createBodyReader = (maxBody: number): BodyReader => {
  const waiting: Waiting[] = []
  let worker: Worker | null = null
  let current: Waiting | null = null
  let idle: NodeJS.Timeout | null = null

  const end = async (): Promise<void> => {
    if (idle !== null) clearTimeout(idle)
    const ending = worker
    worker = null
    await ending?.terminate()
  }

  const settle = (give: (one: Waiting) => void): void => {
    if (current !== null) give(current)
    current = null
    next()
  }

  const start = (): Worker => {
    const made = startReader(maxBody).on('message', (answer) => settle((one) => tell(one, answer)))
    made.on('error', (error) => {
      if (worker === made) worker = null
      settle(({ reject }) => reject(error))
    })
    return made
  }

  const next = (): void => {
    if (current !== null) return
    const one = waiting.shift()
    if (one === undefined) {
      idle = setTimeout(() => void end(), IDLE_MS).unref()
      return
    }
    if (idle !== null) clearTimeout(idle)
    current = one
    worker ??= start()
    worker.postMessage(one.job, [one.job.bytes.buffer as ArrayBuffer])
  }

  return {
    read: (job) =>
      new Promise((resolve, reject) => {
        waiting.push({ job: handed(job), resolve, reject })
        next()
      }),
    end,
  }
}
