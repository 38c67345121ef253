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

/** Connections may come through a TCP proxy. */
export interface Proxied {
  /** True: every connection comes from a trusted proxy and begins with its PROXY header. */
  readonly proxy_protocol: boolean
  readonly trusted_proxies: readonly string[]
}

export interface SubmissionListener extends ListenAddress, Proxied {
  readonly tls: 'starttls' | 'implicit' | 'none'
  /** True allows TLS 1.0, 1.1 and 1.2, and never 1.3, for old clients (OpenSSL security level 0). */
  readonly legacy: boolean
  /** True accepts IP-range credentials here; only on loopback and private addresses. */
  readonly ip_credentials: boolean
  /** True asks for client certificates, which may stand for a login. */
  readonly client_certificates: boolean
}

/** APIs of other providers that are spoken below /v1/as. */
export const DIALECTS = ['mailgun', 'postmark', 'sendgrid', 'ses'] as const

export interface Config {
  readonly hostname: string
  readonly base_url: string
  /** Who reads the API reference: everybody, or who has signed in. */
  readonly docs: 'open' | 'members'
  readonly data_dir: string
  /** Where the pepper is kept; null: in data_dir. */
  readonly pepper_file: string | null
  readonly http: ListenAddress & {
    readonly trusted_proxies: readonly string[]
    readonly max_body: number
    readonly request_timeout: number
    readonly tls: boolean
    /** True: TLS ends in a proxy of trusted_proxies, and nobody else may connect. */
    readonly behind_proxy: boolean
    readonly dialects: readonly (typeof DIALECTS)[number][]
  }
  readonly management: ListenAddress & {
    /** Whoever shows the token in it may ask for everything; null: nobody does. */
    readonly token_file: string | null
    /** Who may ask for health without a token, and for metrics where there is none. */
    readonly allow_networks: readonly string[]
  }
  readonly submission: readonly SubmissionListener[]
  readonly bounce: ListenAddress &
    Proxied & {
      readonly domain: string
      /** A site's own lines before the table that tells hard from soft. */
      readonly rules_file: string | null
      /** Who gets mail to postmaster@ and abuse@ of the domain; null: its beginning is kept in the log. */
      readonly postmaster: string | null
    }
  readonly tls: {
    readonly cert_file: string | null
    readonly key_file: string | null
    /** For clients that ask for another name. */
    readonly certificates: readonly { readonly cert_file: string; readonly key_file: string }[]
  }
  readonly store: {
    readonly driver: 'sqlite' | 'postgres'
    /** A file with the URLs of a PostgreSQL database, one a line. */
    readonly url_file: string | null
    /** What stands before it: nothing that it would have to know of, or a pooler that gives a session for a transaction. */
    readonly pooler: 'none' | 'transaction'
  }
  readonly domains: {
    /** How often sending domains are looked up again. */
    readonly recheck: number
    /** The name server to ask, with its port; null: the system's. */
    readonly resolver: string | null
  }
  readonly rate_limit: { readonly per_minute: number; readonly auth_failures: number }
  readonly relay: {
    readonly retry: readonly number[]
    readonly lifetime: number
    readonly poll: number
    /** The pools whose mail this daemon carries, by name or id; null: all. */
    readonly pools: readonly string[] | null
    /** Where services are asked in place of their own hosts. */
    readonly http_endpoints: readonly { readonly upstream: string; readonly url: string }[]
  }
  /** Files and folders that are applied at each start. */
  readonly setup: readonly string[]
  readonly events: {
    /** Event streams that one key or session may have open. */
    readonly streams_per_key: number
    readonly streams_per_address: number
  }
  readonly limits: {
    readonly message_size: number
    readonly recipients: number
    readonly connections: number
    /** Of one client: without a login, or at the bounce door. */
    readonly connections_per_address: number
    readonly connections_per_credential: number
    readonly idle: number
    /** Bytes that bodies on their way in may take, at both doors together. */
    readonly memory: number
    /** Below this many free bytes in data_dir nothing more is accepted. */
    readonly min_free_disk: number
  }
  readonly webhook: {
    /** Ranges that endpoints may lie in though they are private; plain http is for them alone. */
    readonly allow_networks: readonly string[]
    /** Through which endpoints are called; null: directly. */
    readonly proxy: string | null
    /** Who is written to when an endpoint fails. */
    readonly notify: readonly string[]
  }
  readonly oauth: {
    /** Ranges that token endpoints of upstreams may lie in though they are private; plain http is for them alone. */
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
