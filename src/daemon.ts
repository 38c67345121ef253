/**
 * NAME      daemon - the wiring
 * DESCRIPTION
 *   The only file that knows every folder. It builds the stages, starts them
 *   upward (store, sandbox, relay, doors) and stops them downward (doors first,
 *   so that what was accepted can still be relayed and recorded). The daemon's
 *   lock on the store is taken before any port is bound.
 */
import { execFile } from 'node:child_process'
import { type Clock, systemClock } from './base/clock.js'
import { Fault } from './base/fault.js'
import type { Log } from './base/log.js'
import { loadPepper } from './base/secret.js'
import type { Service } from './base/service.js'
import { loadCertificate } from './config/certificate.js'
import type { Config } from './config/config.js'
import { createHttp } from './http/http.js'
import { createManagement } from './http/management.js'
import { gauge, type Metric } from './http/metrics.js'
import { deriveKeys, type ReturnPathKeys, readReturnPath, verifyReturnPath } from './mail/return-path.js'
import { recordReport } from './outcome/report.js'
import { createRelay, type Relay } from './relay/relay.js'
import type { CrashPoint } from './relay/settings.js'
import { createSandbox } from './sandbox/sandbox.js'
import { createBounceDoor } from './smtp/bounce-door.js'
import type { BounceIntake } from './smtp/ports.js'
import { createSubmissionDoor } from './smtp/submission-door.js'
import type { Store } from './store/port.js'
import { openSqliteStore, shareSqliteQueue } from './store/sqlite/open.js'
import { createSubmission } from './submission/submission.js'
import { ensureAccount } from './tenant/account.js'
import type { TenantGround } from './tenant/principal.js'
import { createTenants } from './tenant/tenants.js'

export interface Ports {
  readonly http: number
  readonly submission: readonly number[]
  readonly bounce: number
  readonly management: number
}

export interface DaemonOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  /** `dev` sends every mail to the sandbox, whatever its pool. */
  readonly mode: 'serve' | 'dev'
  /** Reads the configuration again for SIGHUP; throws when it is bad. */
  readonly reload: (() => Config) | null
}

export interface Daemon {
  readonly store: Store
  readonly ground: TenantGround
  readonly ports: Ports
  /** Resolves when everything has stopped: null after a signal, the reason after a broken store or a dead relay thread. */
  readonly ended: Promise<Error | null>
}

const bounceIntake = (store: Store, keys: ReturnPathKeys, log: Log, clock: Clock): BounceIntake => ({
  verifyRecipient: async (address) => {
    const token = readReturnPath(address)
    const owner = token === null ? null : await store.recipient(token.recipientId)
    return token !== null && owner !== null && verifyReturnPath(keys, token, owner, clock.now())
  },
  ingest: async (address, raw) => {
    const said = await recordReport({ store, keys, clock }, address, raw)
    log.info({ ...said }, 'report')
  },
})

/** Tells systemd, when it asked to be told (sd_notify(3)); never waits. */
const notify = (...words: readonly string[]): void => {
  if (process.env.NOTIFY_SOCKET) execFile('systemd-notify', words, () => {})
}

const SWEEP_MS = 60_000

/** Housekeeping once a minute: retention, dead locks, deadlines of mail that others hold. */
const createUpkeep = (store: Store, config: Config, log: Log, clock: Clock): Service => {
  let timer: NodeJS.Timeout | null = null
  const sweep = (): void => {
    store
      .sweep(clock.now(), { bodiesMs: config.retention.bodies, emailsMs: config.retention.emails })
      .catch((error: Error) => log.error({ error: error.message }, 'sweep failed'))
  }
  return {
    name: 'upkeep',
    async start() {
      timer ??= setInterval(sweep, SWEEP_MS).unref()
    },
    async stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}

/** Starts in order; when one fails, those that run are stopped again before the error goes on. */
const startAll = async (services: readonly Service[]): Promise<void> => {
  const started: Service[] = []
  try {
    for (const service of services) {
      await service.start()
      started.push(service)
    }
  } catch (error) {
    await stopAll(started, null)
    throw error
  }
}

const stopAll = async (services: readonly Service[], log: Log | null): Promise<void> => {
  for (const service of [...services].reverse()) {
    await service
      .stop()
      .catch((error: Error) => log?.error({ service: service.name, error: error.message }, 'stop failed'))
  }
}

const logSettled = (store: Store, log: Log): (() => void) =>
  store.onSettled((settled) => {
    for (const { emailId, recipientId, from, to, applied } of settled) {
      if (applied) log.info({ email: emailId, recipient: recipientId, from, to }, 'settled')
    }
  })

const relayMetrics = (relay: Relay): readonly Metric[] => {
  const { inFlight, waiting, connections, ...counters } = relay.stats()
  const counted = Object.entries(counters).map(([name, value]) => ({ labels: { result: name }, value }))
  return [
    {
      name: 'postern_relay_total',
      type: 'counter',
      help: 'What the relay thread did, by result',
      samples: counted,
    },
    gauge('postern_relay_in_flight', 'Messages between MAIL and the last reply', inFlight),
    gauge('postern_relay_leased', 'Recipients leased and not begun', waiting),
    gauge('postern_relay_connections', 'Open connections to upstreams', connections),
  ]
}

export const runDaemon = async (options: DaemonOptions): Promise<Daemon> => {
  const { config, log } = options
  const clock = systemClock
  const store = openSqliteStore({ dataDir: config.data_dir, daemon: true })
  await store.open()
  try {
    return await runOn(store, options, clock)
  } catch (error) {
    await store.close()
    throw error
  } finally {
    log.flush()
  }
}

const runOn = async (store: Store, options: DaemonOptions, clock: Clock): Promise<Daemon> => {
  const { config, log } = options
  await store.migrate()
  const faults = await store.check()
  if (faults.length > 0) throw new Error(`the store is not sound: ${faults.join('; ')}`)
  const pepper = loadPepper(config.data_dir)
  const ground: TenantGround = {
    store,
    pepper,
    clock,
    perMinute: config.rate_limit.per_minute,
    authFailures: config.rate_limit.auth_failures,
  }
  await ensureAccount(ground)
  const recovered = await store.recover(clock.now())
  if (recovered.released > 0) log.info({ ...recovered }, 'recovered')

  const certificate = await loadCertificate(config)
  const keys = deriveKeys(pepper)
  const tenants = createTenants(ground)
  let draining = false
  const submission = createSubmission({ store, config, clock, accepting: () => !draining })
  const bounce = createBounceDoor({ config, clock, log, ...bounceIntake(store, keys, log, clock) })
  const sandbox = createSandbox({ hostname: config.hostname, log, bounceAddress: () => bounce.address })
  const relay = createRelay({
    queuePort: () => shareSqliteQueue(store),
    config,
    log,
    keys,
    pepper,
    crashAt: (process.env.POSTERN_CRASH_AT ?? null) as CrashPoint | null,
  })
  const door = createSubmissionDoor({
    config,
    certificate,
    tenants,
    submission,
    clock,
    log,
  })
  const http = createHttp({
    store,
    tenants,
    submission,
    config,
    clock,
    log,
    pepper,
    tls: config.http.tls ? certificate : null,
  })
  const management = createManagement({
    config,
    store,
    draining: () => draining,
    metrics: () => relayMetrics(relay),
  })
  const services: readonly Service[] = [
    createUpkeep(store, config, log, clock),
    bounce,
    sandbox,
    {
      ...relay,
      start: () => {
        relay.useSandbox(sandbox.address)
        return relay.start()
      },
    },
    door,
    http,
    management,
  ]
  const stopLogging = options.mode === 'serve' ? logSettled(store, log) : () => {}
  await startAll(services)
  notify('--ready')

  const ended = new Promise<Error | null>((resolve) => {
    let stopping = false
    const stop = async (reason: Error | null): Promise<void> => {
      if (stopping) process.exit(reason === null ? 0 : 74) // told twice: now
      stopping = true
      draining = true
      notify('--stopping')
      http.drain()
      await stopAll(services, log)
      stopLogging()
      await store.close().catch((error: Error) => log.error({ error: error.message }, 'close failed'))
      resolve(reason)
    }
    process.on('SIGTERM', () => void stop(null))
    process.on('SIGINT', () => void stop(null))
    process.on('SIGHUP', () => void renew(options, door, log))
    void store.broken.then(stop)
    void relay.failed.then(stop)
  })
  return {
    store,
    ground,
    ended,
    ports: {
      http: http.address.port,
      submission: door.addresses.map(({ port }) => port),
      bounce: bounce.address.port,
      management: management.address.port,
    },
  }
}

/** SIGHUP: the certificate and the log level take effect; anything wrong keeps what was and says so. */
const renew = async (
  options: DaemonOptions,
  door: { renew(certificate: Awaited<ReturnType<typeof loadCertificate>>): void },
  log: Log,
): Promise<void> => {
  if (options.reload === null) return
  try {
    const fresh = options.reload()
    door.renew(await loadCertificate(fresh))
    log.level = fresh.log.level
    log.info('reloaded')
  } catch (error) {
    const words = error instanceof Fault || error instanceof Error ? error.message : String(error)
    log.error({ error: words }, 'reload refused, the old configuration stays')
  }
}
