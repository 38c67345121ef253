/**
 * NAME      followers - the thread that follows the log, as a service
 *   Starts the thread, passes on its log lines, and starts it again when it dies unasked: what it follows has its
 *   place in the store, so nothing is missed, and no mail waits for it. One that does not stop when told is ended.
 */
import type { Worker } from 'node:worker_threads'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import { startThread, stopThread } from '../base/thread.js'
import type { Config } from '../config/config.js'
import type { CategoryRule } from '../mail/report/category.js'
import type { Recorded } from '../outcome/report.js'
import type { SharedStore } from '../store/open.js'

export interface FollowerStart {
  /** A way to the store, handed over. */
  readonly store: SharedStore
  readonly config: Config
  /** Opens what is sealed, and signs marks. */
  readonly pepper: Uint8Array
  /** All mail goes to the sandbox, that of live keys, too. */
  readonly capture: boolean
  /** What `bounce.rules_file` holds. */
  readonly rules: readonly CategoryRule[]
}

export interface FollowersLogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string | undefined
}

export type ToFollowers =
  | { readonly say: 'stop' }
  /** Live mail comes in. */
  | { readonly say: 'live' }
  /** Read anew. */
  | { readonly say: 'rules'; readonly rules: readonly CategoryRule[] }

export type FromFollowers =
  | { readonly say: 'ready' }
  | { readonly say: 'log'; readonly lines: readonly FollowersLogLine[] }
  /** Of the sandbox: what was made of its reports, and how many more were given up. */
  | { readonly say: 'reported'; readonly made: readonly Recorded[]; readonly lost: number }
  /** The log is read more slowly than records come. */
  | { readonly say: 'behind' }
  | { readonly say: 'stopped' }

const AGAIN_MS = 5_000
/** Longer than it needs to store where it is; what comes after it, the relay, must not wait for ever. */
const HALT_MS = 10_000
const LATE = {
  ms: HALT_MS,
  why: `still at work after ${HALT_MS / 1000} s; the next start goes on where it was`,
}

interface FollowerParts {
  /** A fresh way to the store, given away to the thread. */
  readonly share: () => SharedStore
  readonly config: Config
  readonly pepper: Uint8Array
  /** All mail goes to the sandbox (`postern dev`). */
  readonly capture: boolean
  /** Asked at each start of the thread. */
  readonly rules: () => readonly CategoryRule[]
  /** What came of reports of the sandbox, and how many more were given up. */
  readonly reported: (made: readonly Recorded[], lost: number) => void
  /** The log is read more slowly than records come. */
  readonly behind: () => void
  readonly log: Log
}

export interface Followers extends Service {
  /** The rules were read anew. */
  renew(): void
  /** Live mail comes in: the reports of the sandbox give way for a while. */
  live(): void
}

export const createFollowers = (parts: FollowerParts): Followers => {
  const { share, config, pepper, capture, rules, reported, behind, log } = parts
  let worker: Worker | null = null
  let again: NodeJS.Timeout | null = null
  let isStopping = false

  const order = (message: ToFollowers): void => worker?.postMessage(message)

  /** Resolves when it is ready, or has died. */
  const launch = (): Promise<void> =>
    new Promise((resolve) => {
      const store = share()
      const data: FollowerStart = { store, config, pepper, capture, rules: rules() }
      const started = startThread(new URL('./followers-thread.js', import.meta.url), {
        workerData: data,
        transferList: [store.port],
        name: 'followers',
      })
      worker = started
      started.on('message', (message: FromFollowers) => {
        if (message.say === 'ready') resolve()
        else if (message.say === 'reported') reported(message.made, message.lost)
        else if (message.say === 'behind') behind()
        else if (message.say === 'log')
          for (const { level, fields, text } of message.lines) log[level](fields, text)
      })
      started.on('error', (error) => log.error({ error: error.message }, 'followers failed'))
      started.on('exit', () => {
        worker = null
        resolve()
        if (!isStopping) again = setTimeout(() => void launch(), AGAIN_MS).unref()
      })
    })

  return {
    name: 'followers',
    async start() {
      if (worker === null && !isStopping) await launch()
    },
    async stop() {
      isStopping = true
      if (again !== null) clearTimeout(again)
      if (worker !== null) await stopThread(worker, LATE)
    },
    renew: () => order({ say: 'rules', rules: rules() }),
    live: () => order({ say: 'live' }),
  }
}
