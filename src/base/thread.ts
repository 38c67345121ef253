/**
 * NAME      thread - starting one, wherever the program lies
 *     In a checkout and in a package a thread is a file beside the one that starts it. The single executable has no
 *     files: there it is an asset of that name, and a data: URL, since only a module may wait at its top level.
 *     No flags of the main thread: a test runner's import hooks would be loaded there, too.
 *   NOTES
 *     V8 doubles the nursery of a busy thread up to 32 MiB or more, and keeps it. What our threads leave behind dies
 *     young: with more than 4 MiB they gain no time. The main thread does; its limit can only be set when node starts,
 *     as bin/postern's first line does. That flag would go before the limit of every thread; the main thread has read
 *     it by now.
 */
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { getAsset, isSea } from 'node:sea'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker, type WorkerOptions } from 'node:worker_threads'

const assetUrl = (name: string): URL =>
  new URL(`data:text/javascript;base64,${Buffer.from(getAsset(name)).toString('base64')}`)

export const startThread = (file: URL, options: WorkerOptions): Worker => {
  setFlagsFromString('--max-semi-space-size=0')
  return new Worker(isSea() ? assetUrl(basename(file.pathname)) : file, {
    ...options,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 4, ...options.resourceLimits },
  })
}

/** By then all that begins has begun. */
const STARTED_MS = 2_000

/**
 * Gives back what the start of this thread has left behind in its heap, a while after it: about 20 MiB in the main thread,
 * 5 in each other, which V8 would keep as long as little happens. The thread stands still for it, for about 0.05 s.
 */
export const compactLater = (): void => {
  const compact = (): void => {
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')()
  }
  setTimeout(compact, STARTED_MS).unref()
}

/**
 * The first call of a thread. Names it as `top -H` and profilers show it: on Linux, at most 15 octets, elsewhere nothing
 * happens.
 */
export const enterThread = (name: `postern-${'writer' | 'relay' | 'follow' | 'bodies'}`): void => {
  compactLater()
  try {
    writeFileSync('/proc/thread-self/comm', name)
  } catch {
    // no such system, or it may not be written here
  }
}

/** Tells a thread to stop and ends it when it says that it has; rejects with `late` when it has not within that time. */
export const stopThread = (
  thread: Worker,
  late: { readonly ms: number; readonly why: string } | null = null,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer =
      late &&
      setTimeout(() => {
        reject(new Error(late.why))
        void thread.terminate()
      }, late.ms)
    thread.once('exit', () => {
      if (timer !== null) clearTimeout(timer)
      resolve()
    })
    thread.on('message', ({ say }: { readonly say: string }) => {
      if (say === 'stopped') void thread.terminate()
    })
    thread.postMessage({ say: 'stop' })
  })
