/**
 * NAME      relay - the way out, as a service
 *   Starts the relay thread, gives it the queue's port and its settings, and
 *   passes on its log lines and counters. Nothing waits for the thread while mail is
 *   accepted. When it dies unasked, `failed` resolves: the daemon then exits, and
 *   a restart takes over its leases.
 */

import type { Worker } from 'node:worker_threads'
import { systemClock } from '../base/clock.js'
import type { FaultPoint } from '../base/crash.js'
import type { DialSettings } from '../base/dial.js'
import type { Reason } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import { startThread, stopThread } from '../base/thread.js'
import type { Spans, Traceparent } from '../base/trace.js'
import type { Config } from '../config/config.js'
import type { CategoryRule } from '../mail/report/category.js'
import type { Refusal } from '../outcome/suppress.js'
import type { SharedStore } from '../store/open.js'
import type { RelayView } from '../tenant/pool.js'
import type { Timeouts } from './dialogue/connection.js'
import type { SetupTimeouts } from './dialogue/session.js'
import { Outages, type OutagesParts, type PoolProgress, type UpstreamHealth } from './health.js'
import { endpointsOf } from './service/connection.js'
import {
  type AttemptTold,
  emptyStats,
  type FromWorker,
  type RelaySettings,
  type RelayStats,
  RFC_TIMEOUTS,
  type ToWorker,
  type WorkerStart,
} from './settings.js'
import type { SlowedDomain } from './throttles.js'

interface RelayParts {
  /** A fresh way to the store, given away to the thread. */
  readonly queue: () => SharedStore
  readonly config: Pick<Config, 'hostname' | 'relay' | 'bounce'>
  /** Opens sealed upstream passwords. */
  readonly pepper: Uint8Array
  readonly log: Log
  readonly sandboxAddress?: { readonly host: string; readonly port: number } | null
  /** How token endpoints are called: public ones by https, by default. */
  readonly dial?: DialSettings
  /** A refresh token of an upstream was rotated. */
  readonly rotated?: (was: string, is: string) => Promise<unknown>
  /** A site's own lines before the table that tells hard from soft. */
  readonly rules?: readonly CategoryRule[]
  readonly timeouts?: Partial<Timeouts & SetupTimeouts>
  /** How long an unused connection is kept, in milliseconds. */
  readonly idle?: number
  readonly drain?: number
  /** For how long a pool may have due mail and begin nothing, before that is an alert. */
  readonly watchdog?: number
  /** An upstream said that this recipient's address is dead (see outcome/suppress.ts). */
  readonly onDead?: (recipientId: string, refusal: Refusal) => void
  /** Told of each attempt's end, when somebody makes spans. */
  readonly attempted?: ((attempts: readonly AttemptTold[]) => void) | undefined
  /** Where upstreams that are down, and up again, are told; nowhere by default. */
  readonly outages?: OutagesParts['store'] | undefined
  /** True sends the mail of every pool to the sandbox (`postern dev`). */
  readonly capture?: boolean
  /** For tests: the process kills itself there. */
  readonly faultPoint?: FaultPoint | null
}

/** Also how slow a pace each domain has, and why. */
export interface LiveView extends RelayView {
  readonly throttled: readonly SlowedDomain[]
}

export interface Relay extends Service {
  /** Counters since the start; at most a second old. */
  stats(): RelayStats
  upstreams(): readonly UpstreamHealth[]
  /** What the watchdog found. */
  pools(): readonly PoolProgress[]
  /** What tells why mail waits; null when the thread, which tells each second, has been silent for a while. */
  view(): LiveView | null
  /** Pools have changed: read them now instead of within a second. */
  reload(): void
  /** Upstreams that are avoided are tried now instead of after their pause. */
  wake(): void
  /** Mail of the sandbox gives way for a while. */
  giveWay(why: Reason): void
  /** Settings were read anew: the next reply is judged by these rules, and told as the log wants it now. */
  renew(rules: readonly CategoryRule[]): void
  /** The sandbox listens there from now on. */
  useSandbox(address: { readonly host: string; readonly port: number }): void
  /** Resolves, with the reason, when the thread has died unasked. */
  readonly failed: Promise<Error>
}

const STALE_MS = 5_000

const isQuiet = (log: Log): boolean => !log.isLevelEnabled('info')

const settingsOf = (parts: RelayParts): RelaySettings => ({
  hostname: parts.config.hostname,
  bounceDomain: parts.config.bounce.domain,
  retry: parts.config.relay.retry,
  lifetime: parts.config.relay.lifetime,
  rules: parts.rules ?? [],
  poll: parts.config.relay.poll,
  pepper: parts.pepper,
  sandboxAddress: parts.sandboxAddress ?? null,
  timeouts: { ...RFC_TIMEOUTS, ...parts.timeouts },
  idle: parts.idle ?? 30_000,
  endpoints: endpointsOf(parts.config.relay),
  drain: parts.drain ?? 25_000,
  watchdog: parts.watchdog ?? 60_000,
  capture: parts.capture ?? false,
  dial: parts.dial ?? { allow: [], proxy: null, setting: 'oauth.allow_networks', ownPorts: [] },
  faultPoint: parts.faultPoint ?? null,
  traced: parts.attempted !== undefined,
  quiet: isQuiet(parts.log),
})

/** What the thread tells once a second. */
type Told = Omit<Extract<FromWorker, { say: 'stats' }>, 'say'>

const outagesOf = ({ outages: store, log }: RelayParts): Outages | null =>
  store === undefined
    ? null
    : new Outages({
        ...{ store, now: systemClock.now, tick: systemClock.tick },
        failed: (error) => log.error({ error: error.message }, 'outages not told'),
      })

/** What the thread tells and this room does not keep. */
const passOn = (message: FromWorker, { log, rotated, attempted, onDead }: RelayParts): void => {
  if (message.say === 'log') {
    for (const { level, fact, fields } of message.lines) log[level](fields, fact)
  } else if (message.say === 'rotated') {
    rotated?.(message.was, message.is).catch((error: Error) =>
      log.error({ error: error.message }, 'refresh token not stored'),
    )
  } else if (message.say === 'attempts') attempted?.(message.attempts)
  else if (message.say === 'dead') onDead?.(message.recipientId, message.refusal)
}

export const createRelay = (parts: RelayParts): Relay => {
  let worker: Worker | null = null
  let told: Told = { stats: emptyStats(), upstreams: [], pools: [], throttled: [] }
  let toldAt = Number.NEGATIVE_INFINITY
  let sandbox = parts.sandboxAddress ?? null
  let stopping = false
  let gone = false
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })
  const outages = outagesOf(parts)
  const order = (message: ToWorker): void => worker?.postMessage(message)

  const launch = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const queue = parts.queue()
      const data: WorkerStart = { settings: { ...settingsOf(parts), sandboxAddress: sandbox }, queue }
      const started = startThread(new URL('./worker.js', import.meta.url), {
        workerData: data,
        transferList: [queue.port],
        name: 'relay',
      })
      worker = started
      started.on('message', (message: FromWorker) => {
        if (message.say === 'ready') resolve()
        else if (message.say === 'stats') {
          told = message
          toldAt = performance.now()
          void outages?.look(told.upstreams)
        } else passOn(message, parts)
      })
      started.on('error', (error) => {
        parts.log.error({ error: error.message }, 'relay thread failed')
        reject(error)
        fail(error)
      })
      started.on('exit', (code) => {
        gone = true
        const error = new Error(`relay thread ended with code ${code}`)
        reject(error)
        if (!stopping) fail(error)
      })
    })

  return {
    name: 'relay',
    failed,
    async start() {
      if (worker === null) await launch()
    },
    async stop() {
      const running = worker
      if (running === null || stopping) return
      stopping = true
      if (!gone) await stopThread(running)
      worker = null
    },
    stats: () => ({ ...told.stats }),
    upstreams: () => told.upstreams,
    pools: () => told.pools,
    view() {
      if (performance.now() - toldAt > STALE_MS) return null
      const known = new Map(told.upstreams.map((one) => [one.upstreamId, one]))
      return { upstreams: known, throttled: told.throttled, captures: parts.capture ?? false }
    },
    reload: () => order({ say: 'reload' }),
    wake: () => order({ say: 'wake' }),
    giveWay: (why) => order({ say: why }),
    renew: (rules) => order({ say: 'renewed', rules, quiet: isQuiet(parts.log) }),
    useSandbox(address) {
      sandbox = address
      order({ say: 'sandbox', address })
    },
  }
}

/* What became of a mail at an upstream is a span under the request that brought the mail, and linked to it: a retry can
 * be hours later, after a restart, and still belongs to that trace. It is made on the main thread, where the SDK is. */

const failureOf = ({ stage, code, ambiguous }: AttemptTold): string | null => {
  if (code === null) return ambiguous ? 'ambiguous' : `lost at ${stage}`
  return stage === 'dot' && code < 300 ? null : `${code} at ${stage}`
}

const record = (spans: Spans, told: AttemptTold, origin: Traceparent | null): void => {
  const failed = failureOf(told)
  const span = spans.start({
    name: 'relay attempt',
    kind: 'client',
    parent: origin,
    link: origin,
    at: told.startedAt,
    attributes: {
      'network.protocol.name': 'smtp',
      'postern.email_id': told.emailId,
      'postern.recipient_id': told.recipientId,
      'postern.workspace_id': told.workspaceId,
      'postern.pool_id': told.poolId,
      'postern.attempt': told.attempt,
      'postern.smtp.stage': told.stage,
      ...(told.host !== null && { 'server.address': told.host }),
      ...(told.port !== null && { 'server.port': told.port }),
      ...(told.upstreamId !== null && { 'postern.upstream_id': told.upstreamId }),
      ...(told.code !== null && { 'postern.smtp.code': told.code }),
      ...(told.enhanced !== null && { 'postern.smtp.enhanced': told.enhanced }),
      ...(failed !== null && { 'error.type': failed }),
    },
  })
  span.end(failed, told.endedAt)
}

/** A listener for what the relay thread tells. `traceOf` finds what was kept with a mail. */
export const attemptSpans =
  (spans: Spans, traceOf: (emailId: string) => Promise<Traceparent | null>) =>
  (attempts: readonly AttemptTold[]): void => {
    for (const told of attempts) {
      traceOf(told.emailId)
        .catch(() => null)
        .then((origin) => record(spans, told, origin))
    }
  }
