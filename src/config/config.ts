/**
 * NAME      config - the daemon's settings, as a frozen value, and what a new one changes
 *   What schema.ts makes of the file, the environment and the flags. Everything has a default that works on loopback
 *   without root. Times are milliseconds, sizes bytes, ports 0 mean any free port.
 *   SIGHUP puts a few settings into effect at once; the others wait for a restart, and are named in the log so that
 *   nobody believes they are in force.
 */
import { createHash } from 'node:crypto'
import type { LogLevel } from '../base/log.js'
import type { IdentitySettings } from './identity.js'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

export interface Proxied {
  readonly proxy_protocol: boolean
  readonly trusted_proxies: readonly string[]
}

export interface SubmissionListener extends ListenAddress, Proxied {
  readonly tls: 'starttls' | 'implicit' | 'none'
  readonly legacy: boolean
  readonly ip_credentials: boolean
  readonly client_certificates: boolean
}

/** APIs of other providers that are spoken below /v1/as. */
export const DIALECTS = ['mailgun', 'postmark', 'sendgrid', 'ses'] as const

export interface Config {
  readonly hostname: string
  readonly base_url: string
  readonly docs: 'open' | 'members'
  readonly data_dir: string
  readonly pepper_file: string | null
  readonly http: ListenAddress & {
    readonly trusted_proxies: readonly string[]
    readonly max_body: number
    readonly request_timeout: number
    readonly tls: boolean
    readonly behind_proxy: boolean
    readonly dialects: readonly (typeof DIALECTS)[number][]
  }
  readonly management: ListenAddress & {
    readonly token_file: string | null
    readonly allow_networks: readonly string[]
  }
  readonly submission: readonly SubmissionListener[]
  readonly bounce: ListenAddress &
    Proxied & {
      readonly domain: string
      readonly rules_file: string | null
      readonly postmaster: string | null
    }
  readonly tls: {
    readonly cert_file: string | null
    readonly key_file: string | null
    readonly certificates: readonly { readonly cert_file: string; readonly key_file: string }[]
  }
  readonly store: {
    readonly driver: 'sqlite' | 'postgres'
    readonly url_file: string | null
    readonly pooler: 'none' | 'transaction'
  }
  readonly domains: {
    readonly recheck: number
    readonly resolver: string | null
  }
  readonly rate_limit: { readonly per_minute: number; readonly auth_failures: number }
  readonly relay: {
    readonly retry: readonly number[]
    readonly lifetime: number
    readonly poll: number
    readonly pools: readonly string[] | null
    readonly http_endpoints: readonly { readonly upstream: string; readonly url: string }[]
  }
  readonly setup: readonly string[]
  readonly events: {
    readonly streams_per_key: number
    readonly streams_per_address: number
  }
  readonly limits: {
    readonly message_size: number
    readonly recipients: number
    readonly connections: number
    readonly connections_per_address: number
    readonly connections_per_credential: number
    readonly idle: number
    readonly memory: number
    readonly min_free_disk: number
  }
  readonly webhook: {
    readonly allow_networks: readonly string[]
    readonly proxy: string | null
    readonly notify: readonly string[]
  }
  readonly oauth: {
    readonly allow_networks: readonly string[]
  }
  readonly retention: {
    readonly bodies: number
    readonly emails: number
    readonly log: number
    readonly reports: number
    readonly domain_reports: number
  }
  readonly identity: IdentitySettings
  readonly default_from: string | null
  readonly log: { readonly level: LogLevel; readonly format: 'auto' | 'json' | 'pretty' }
}

/** Settings, or groups of them, that take effect without a restart. */
const LIVE = ['tls', 'log.level', 'retention', 'limits.min_free_disk', 'bounce.rules_file']

const flat = (value: unknown, key = ''): readonly (readonly [string, string])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, part]) => flat(part, key === '' ? name : `${key}.${name}`))
    : [[key, JSON.stringify(value ?? null)]]

interface Changes {
  readonly live: readonly string[]
  readonly restart: readonly string[]
}

const isLive = (key: string): boolean => LIVE.some((name) => key === name || key.startsWith(`${name}.`))

/** Settings by a mark of their value, so that two can be compared and none is shown. */
export type Marks = Readonly<Record<string, string>>

export const marksOf = (config: Config): Marks =>
  Object.fromEntries(
    flat(config).map(([key, value]) => [
      key,
      createHash('sha256').update(`${key}=${value}`).digest('hex').slice(0, 16),
    ]),
  )

/** What a reload puts in force: live settings as they are now, all others as they were at the start. */
export const marksAfter = (before: Marks, after: Marks): Marks => ({
  ...before,
  ...Object.fromEntries(Object.entries(after).filter(([key]) => isLive(key))),
})

/** The keys that differ, by whether a reload is enough for them. What `before` does not tell is passed over. */
export const changesIn = (before: Marks, after: Marks): Changes => {
  const changed = Object.keys(after).filter((key) => key in before && before[key] !== after[key])
  return { live: changed.filter(isLive), restart: changed.filter((key) => !isLive(key)) }
}
