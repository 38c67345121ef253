/**
 * NAME      settings - what the relay thread is told, and what it tells
 *   Plain values only: they cross the thread boundary by structured clone.
 */

import type { FaultPoint } from '../base/crash.js'
import type { DialSettings } from '../base/dial.js'
import type { Reason } from '../base/give-way.js'
import type { CategoryRule } from '../mail/report/category.js'
import type { AttemptEnd } from '../outcome/reply.js'
import type { Refusal } from '../outcome/suppress.js'
import type { SharedStore } from '../store/open.js'
import type { Timeouts } from './dialogue/connection.js'
import type { SetupTimeouts } from './dialogue/session.js'
import type { PoolProgress, UpstreamHealth } from './health.js'
import type { ServiceUrls } from './service/connection.js'
import type { SlowedDomain } from './throttles.js'

/** Where the relay may be killed by a test. */
export type CrashPoint = 'relay.before-data' | 'relay.after-dot' | 'relay.before-settle'

/** RFC 5321, section 4.5.3.2; `connect`, `hurried` and `body` are ours. */
export const RFC_TIMEOUTS: Timeouts & SetupTimeouts = {
  connect: 30_000,
  greeting: 300_000,
  hurried: 10_000,
  mail: 300_000,
  rcpt: 300_000,
  data: 120_000,
  block: 180_000,
  body: 1_800_000,
  dot: 600_000,
}

export interface RelaySettings {
  readonly hostname: string
  readonly bounceDomain: string
  readonly retry: readonly number[]
  readonly lifetime: number
  /** A site's own lines before the table that tells hard from soft. */
  readonly rules: readonly CategoryRule[]
  readonly poll: number
  readonly pepper: Uint8Array
  readonly sandboxAddress: { readonly host: string; readonly port: number } | null
  readonly timeouts: Timeouts & SetupTimeouts
  /** How long an unused connection is kept. */
  readonly idle: number
  /** Where services are asked instead. */
  readonly endpoints: ServiceUrls
  /** How long stop() waits for messages in DATA. */
  readonly drain: number
  /** For how long a pool may have due mail and begin nothing, before the watchdog barks. */
  readonly watchdog: number
  /** Every pool ends at the sandbox: nothing leaves this machine. */
  readonly capture: boolean
  readonly faultPoint: FaultPoint | null
  /** How token endpoints are called. */
  readonly dial: DialSettings
  /** Somebody makes spans: each attempt is told. */
  readonly traced: boolean
  /** The log leaves out what is only `info`: then it is not made. */
  readonly quiet: boolean
}

export const emptyStats = () => ({
  attempts: 0,
  accepted: 0,
  postponed: 0,
  rejected: 0,
  expired: 0,
  released: 0,
  failovers: 0,
  ambiguous: 0,
  /** Mails that waited because their domain is slowed down. */
  throttled: 0,
  throttledDomains: 0,
  /** Messages between MAIL and the last reply. */
  inFlight: 0,
  /** Leased and not begun. */
  waiting: 0,
  connections: 0,
  /** How often the wall clock was set while we ran. */
  clockSteps: 0,
})

export type RelayStats = ReturnType<typeof emptyStats>

export interface WorkerStart {
  readonly settings: RelaySettings
  readonly queue: SharedStore
}

export type ToWorker =
  | { readonly say: 'stop' }
  | { readonly say: 'reload' }
  | { readonly say: 'wake' }
  /** Why mail of the sandbox gives way. */
  | { readonly say: Reason }
  | { readonly say: 'renewed'; readonly rules: readonly CategoryRule[]; readonly quiet: boolean }
  | { readonly say: 'sandbox'; readonly address: { readonly host: string; readonly port: number } }

export interface RelayLogLine {
  readonly level: 'info' | 'warn' | 'error'
  readonly fact: string
  readonly fields: Readonly<Record<string, string | number | boolean | null>>
}

/** An attempt's end as it crosses the threads; no address, no text of a reply. */
export interface AttemptTold {
  readonly emailId: string
  readonly recipientId: string
  readonly workspaceId: string
  readonly poolId: string
  readonly upstreamId: string | null
  readonly host: string | null
  readonly port: number | null
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly stage: string
  readonly code: number | null
  readonly enhanced: string | null
  readonly ambiguous: boolean
}

export const toldOf = ({ claimed, at, upstreamId, host, stage, reply, detail }: AttemptEnd): AttemptTold => ({
  emailId: claimed.emailId,
  recipientId: claimed.recipientId,
  workspaceId: claimed.workspaceId,
  poolId: claimed.poolId,
  upstreamId,
  host,
  port: typeof detail?.port === 'number' ? detail.port : null,
  attempt: claimed.attempts + 1,
  startedAt: at - (typeof detail?.ms === 'number' ? detail.ms : 0),
  endedAt: at,
  stage,
  code: reply?.code ?? null,
  enhanced: reply?.enhanced ?? null,
  ambiguous: detail?.ambiguous === true,
})

export type FromWorker =
  | { readonly say: 'ready' }
  | { readonly say: 'stopped' }
  | { readonly say: 'attempts'; readonly attempts: readonly AttemptTold[] }
  | {
      readonly say: 'stats'
      readonly stats: RelayStats
      readonly upstreams: readonly UpstreamHealth[]
      readonly pools: readonly PoolProgress[]
      readonly throttled: readonly SlowedDomain[]
    }
  | { readonly say: 'dead'; readonly recipientId: string; readonly refusal: Refusal }
  /** A refresh token, sealed, in place of another. */
  | { readonly say: 'rotated'; readonly was: string; readonly is: string }
  | { readonly say: 'log'; readonly lines: readonly RelayLogLine[] }
