/**
 * NAME      daemon - the wiring
 * DESCRIPTION
 *   The only file that knows every folder. It builds the stages, starts them
 *   upward (store, sandbox, relay, doors) and stops them downward (doors first,
 *   so that what was accepted can still be relayed and recorded). The daemon's
 *   lock on the store is taken before any port is bound.
 */
import { existsSync } from 'node:fs'
import { type Clock, systemClock } from './base/clock.js'
import { readCrashPoint } from './base/crash-point.js'
import { dialSettings } from './base/dial/settings.js'
import type { DiskWatch } from './base/disk.js'
import { Budget } from './base/host/budget.js'
import { createNotifier, type Notifier } from './base/host/systemd.js'
import type { Listen } from './base/listen.js'
import type { Log } from './base/log.js'
import { findSpans } from './base/observe/trace.js'
import { besides, type Service, startAll, stopAll } from './base/service.js'
import type { Config } from './config/config.js'
import { changesIn, type Marks, marksAfter, marksOf } from './config/reload.js'
import { createSite } from './dashboard/lazy.js'
import { createFollowers } from './followers/followers.js'
import { createHttp, type Http } from './http/http.js'
import { relayState } from './http/live-upstream.js'
import { createManagement, type Management } from './http/management.js'
import { certificateMetric } from './http/measure/certificate.js'
import { diskMetric, diskText, watchDisk } from './http/measure/disk.js'
import { FlowMetrics } from './http/measure/flow.js'
import { relayMetrics } from './http/measure/relay.js'
import { ReportMetrics } from './http/measure/reports.js'
import { statisticsMetrics } from './http/measure/statistics.js'
import { clockMetric, incidentMetrics, writerMetrics } from './http/measure/store.js'
import { askThrough } from './http/wire/inject.js'
import { type Certificate, loadCertificate } from './keys/certificate.js'
import { loadPepper } from './keys/pepper.js'
import { returnPathKeys } from './keys/return-path.js'
import type { Rule } from './mail/report/category.js'
import { createIntake } from './outcome/intake.js'
import { longestWaitMs } from './outcome/reply.js'
import { rulesIn } from './outcome/rules.js'
import { logIncident, suppressLater } from './outcome/suppress.js'
import { createRelay, type Relay } from './relay/relay.js'
import type { CrashPoint } from './relay/settings.js'
import { attemptSpans } from './relay/span.js'
import { createSandbox } from './sandbox/sandbox.js'
import { type BounceDoor, createBounceDoor } from './smtp/bounce-door.js'
import { createSubmissionDoor, type SubmissionDoor } from './smtp/submission-door.js'
import { openStore, placeOf, shareStore } from './store/open.js'
import type { Store } from './store/port/store.js'
import { createUpkeep } from './store/upkeep.js'
import { createJobRunner } from './submission/bulk/runner.js'
import { createOwnMails } from './submission/own/own-mail.js'
import { createToPostmaster } from './submission/own/postmaster-mail.js'
import { createSubmission } from './submission/submission.js'
import { ensureAccount } from './tenant/account.js'
import { txtLookup } from './tenant/domain/check.js'
import { createSenderAllowed } from './tenant/domain/domain.js'
import { createDomainRecheck } from './tenant/domain/recheck.js'
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
  /** Where lifecycle is reported; by default nowhere. */
  readonly notifier?: Notifier
  /** How listeners get their sockets; by default they are bound. */
  readonly listen?: Listen | undefined
}

export interface Daemon {
  readonly store: Store
  readonly ground: TenantGround
  readonly ports: Ports
  /** Resolves when everything has stopped: null after a signal, the reason after a broken store or a dead relay thread. */
  readonly ended: Promise<Error | null>
}

/** The store can no longer keep its promise: the process ends with 74, and a restart may mend it. */
class StoreFailed extends Error {
  override readonly name = 'StoreFailed'
}

export const runDaemon = async (options: DaemonOptions): Promise<Daemon> => {
  const { config, log } = options
  const faultPoint = readCrashPoint(process.env.POSTERN_CRASH_AT)
  // with a database there must be a pepper; without one it is the first run, and makes it
  const { CREDENTIALS_DIRECTORY: credentials } = process.env
  if (!existsSync(placeOf(config.data_dir))) loadPepper(config, { credentials })
  const store = openStore({
    dataDir: config.data_dir,
    daemon: true,
    log,
    version: options.version,
    ...(faultPoint && { faultPoint }),
  })
  await store.open()
  try {
    return await live(options, await build(store, options))
  } catch (error) {
    await store.close()
    throw error
  } finally {
    log.flush()
  }
}

/** What is true of the daemon at the moment; every part that asks gets the same answer. */
interface State {
  /** Replaced by SIGHUP; only the settings that reload.ts calls live are read from here. */
  config: Config
  /** What `bounce.rules_file` holds; read again by SIGHUP. */
  rules: readonly Rule[]
  certificate: Certificate
  /** The settings that are in force, wherever a restart would change them. */
  inForce: Marks
  phase: 'starting' | 'running' | 'draining'
}

interface Parts {
  readonly store: Store
  readonly ground: TenantGround
  readonly state: State
  readonly relay: Relay
  readonly http: Http
  readonly door: SubmissionDoor
  readonly bounce: BounceDoor
  readonly management: Management
  /** In the order of starting. */
  readonly services: readonly Service[]
}

/** The store must be sound before anything is built on it. */
const examine = async (store: Store, log: Log, now: number, retry: readonly number[]): Promise<number> => {
  await store.migrate()
  const faults = await store.check()
  if (faults.length > 0) throw new StoreFailed(`the store is not sound: ${faults.join('; ')}`)
  const recipients = await store.adjustTimes(now, 0, longestWaitMs(retry))
  if (recipients > 0) log.warn({ recipients }, 'clock was ahead')
  const recovered = await store.recover('earlier', now)
  if (recovered.released > 0) log.info({ ...recovered }, 'recovered')
  return recovered.ambiguous
}

interface Observed {
  readonly disk: DiskWatch
  readonly flow: FlowMetrics
  readonly relay: Relay
  readonly reported: ReportMetrics
  /** Attempts of the last run whose end nobody knows. */
  readonly ambiguous: number
}

/** Health and metrics; it also logs what became of mail. */
const observe = (store: Store, options: DaemonOptions, state: State, observed: Observed): Management => {
  const { config, log, listen } = options
  const { disk, flow, relay, ambiguous, reported } = observed
  store.onSettled((settled) => {
    flow.note(settled, systemClock.now())
    for (const { emailId: email, recipientId: recipient, from, to, applied } of settled)
      if (applied && options.mode === 'serve') log.info({ email, recipient, from, to }, 'settled')
  })
  return createManagement({
    config,
    store,
    listen,
    draining: () => state.phase === 'draining',
    checks: {
      migrations: () => 'ok', // open() migrated, or refused
      listeners: () => (state.phase === 'starting' ? 'starting: not all of them are open yet' : 'ok'),
      disk: () => (disk.isLow ? diskText(state.config, disk.free ?? 0) : 'ok'),
    },
    status: () => ({
      certificate: { fingerprint: state.certificate.fingerprint, expires_at: state.certificate.expiresAt },
      // of dev they are its own
      settings: options.mode === 'serve' ? state.inForce : null,
    }),
    wake: relay.wake,
    upstreams: () => relayState(relay.upstreams(), relay.view(), systemClock.now()),
    metrics: async () => [
      clockMetric(await store.clockLead(systemClock.now())),
      ...(await statisticsMetrics(store, systemClock.now())),
      ...(await incidentMetrics(store)),
      ...flow.metrics(),
      ...reported.metrics(),
      ...relayMetrics(relay, ambiguous),
      ...writerMetrics(store.load()),
      diskMetric(disk),
      certificateMetric(state.certificate.expiresAt),
    ],
  })
}

const build = async (store: Store, options: DaemonOptions): Promise<Parts> => {
  const { config, log, listen } = options
  const clock = systemClock
  const ambiguous = await examine(store, log, clock.now(), config.relay.retry)
  const pepper = loadPepper(config, { credentials: process.env.CREDENTIALS_DIRECTORY, firstRun: false })
  const ground = groundOf(store, config, pepper, clock)
  const { id: accountId } = await ensureAccount(ground)
  const certificate = await loadCertificate(config)
  const rules = rulesIn(config.bounce.rules_file)
  const state: State = { config, rules, certificate, inForce: marksOf(config), phase: 'starting' }
  const keys = returnPathKeys(config.data_dir, pepper)
  const tenants = createTenants(ground)
  const disk = watchDisk(() => state.config, log)
  const flow = new FlowMetrics()
  const spans = await findSpans(options.version)
  // draining is the doors' business: they take nothing new, and what is coming in is finished
  let broken = false
  void store.broken.then(() => {
    broken = true
  })
  const accepting = (): boolean => !disk.isLow && !broken
  const submission = createSubmission({
    store,
    config,
    clock,
    accepting,
    senderAllowed: createSenderAllowed(store),
    spans,
    accepted: (mails) => flow.accepted(mails),
  })
  const doors = { config, clock, log, listen, spans, memory: new Budget(config.limits.memory) }
  const reported = new ReportMetrics()
  const begun = logIncident(log)
  const { lifetime } = config.relay
  const intake = createIntake(
    { store, keys, clock, rules: () => state.rules, lifetime, domain: config.bounce.domain, begun },
    (made) => {
      reported.note(made)
      const { kind, tier, emailId: email, recipientId: recipient, status, suppressed, did } = made
      log.info({ kind, tier, email, recipient, status, suppressed, did }, 'report')
    },
  )
  const toPostmaster = createToPostmaster({ ...doors, store, accountId, accepting })
  const bounce = createBounceDoor({ ...doors, ...intake, certificate, toPostmaster })
  const sandbox = createSandbox({ hostname: config.hostname, log, bounceAddress: () => bounce.innerAddress })
  const crashAt = (readCrashPoint(process.env.POSTERN_CRASH_AT)?.name ?? null) as CrashPoint | null
  const relay = createRelay({
    queuePort: () => shareStore(store),
    config,
    log,
    keys,
    pepper,
    rules: state.rules,
    ...{ dial: dialSettings(config), rotated: store.rotateToken },
    capture: options.mode === 'dev',
    outages: options.mode === 'serve' ? store : undefined,
    crashAt,
    attempted: spans === null ? undefined : attemptSpans(spans, (emailId) => store.trace(emailId)),
    onDead: suppressLater({ store, clock, begun, log }),
  })
  const door = createSubmissionDoor({ ...doors, certificate, tenants, submission })
  const tls = config.http.tls ? certificate : null
  const site = createSite({
    ask: askThrough((request) => http.inject(request)),
    follow: (session, { after, address }) => http.follow(session, after, address),
    baseUrl: () => http.baseUrl,
    addressOf: ({ app }) => app.address,
    ...{ pepper, log, version: options.version, isDev: options.mode === 'dev' },
    ...{ tenant: ground, accountId, identity: config.identity, isTls: tls !== null },
    provePerson: tenants.provePerson,
  })
  const http: Http = createHttp({ ...doors, store, tenants, submission, pepper, tls, relay, site, door })
  const management = observe(store, options, state, { disk, flow, relay, ambiguous, reported })
  // the relay thread takes a while to load: it does so while the doors open, and is waited for at the end
  const [launching, launched] = besides(relay, () => relay.useSandbox(sandbox.address))
  const { recheck: every, resolver } = config.domains
  const recheck = createDomainRecheck({ ...ground, store }, { lookup: txtLookup(resolver), every, log })
  // management is up first and gone last, so that it can tell
  const services = [
    management,
    disk,
    createUpkeep({ store, retention: () => state.config.retention, log, clock, retry: config.relay.retry }),
    bounce,
    sandbox,
    launching,
    createFollowers({ storePort: () => shareStore(store), config, pepper, log }),
    ...createOwnMails({ store, config, clock, log, accepting }),
    createJobRunner({ store, submission, clock, log }),
    // of dev nothing leaves the machine
    ...(options.mode === 'serve' ? [recheck] : []),
    door,
    http,
    launched,
  ]
  return { store, ground, state, relay, http, door, bounce, management, services }
}

const groundOf = (store: Store, config: Config, pepper: Buffer, clock: Clock): TenantGround => ({
  store,
  pepper,
  clock,
  perMinute: config.rate_limit.per_minute,
  authFailures: config.rate_limit.auth_failures,
  sessions: config.identity.session,
})

/** Starts everything, says so, and answers signals until the end. */
const live = async (options: DaemonOptions, parts: Parts): Promise<Daemon> => {
  const { store, ground, state, relay, http, door, bounce, management, services } = parts
  const { log } = options
  await startAll(services)
  state.phase = 'running'
  const ports: Ports = {
    http: http.address.port,
    submission: door.addresses.map(({ port }) => port),
    bounce: bounce.address.port,
    management: management.address.port,
  }
  const notifier = options.notifier ?? createNotifier({}, process.pid)
  notifier.say('READY=1', `STATUS=${statusText(ports)}`)
  const watchdog =
    notifier.watchEvery === null ? null : setInterval(() => notifier.say('WATCHDOG=1'), notifier.watchEvery)

  const ended = new Promise<Error | null>((resolve) => {
    const stop = async (reason: Error | null): Promise<void> => {
      if (state.phase === 'draining') {
        // told twice: now
        log.warn({ in_flight: relay.stats().inFlight }, 'stopped at once')
        process.exit(reason === null ? 0 : 74)
      }
      state.phase = 'draining'
      http.drain()
      await drain(parts, notifier, log)
      if (watchdog !== null) clearInterval(watchdog)
      resolve(reason)
    }
    const renew = (): void => void reload(options, parts, notifier)
    process.on('SIGTERM', () => void stop(null))
    process.on('SIGINT', () => void stop(null))
    // a terminal that hangs up ends what has nothing to reload
    process.on('SIGHUP', options.reload === null ? () => void stop(null) : renew)
    void store.broken.then((error) => stop(new StoreFailed(`the store failed: ${error.message}`)))
    void relay.failed.then((error) => stop(new Error(`the relay thread died: ${error.message}`)))
  })
  return { store, ground, ended, ports }
}

const statusText = ({ http, submission, bounce }: Ports): string =>
  `http ${http}, submission ${submission.join(' ')}, bounce ${bounce}`

const PROGRESS_MS = 1_000

/** Stops downward, doors first, and tells how far it is. */
const drain = async ({ services, store, relay }: Parts, notifier: Notifier, log: Log): Promise<void> => {
  const tell = (): void => notifier.say(`STATUS=draining: ${relay.stats().inFlight} mails with upstreams`)
  notifier.say('STOPPING=1', 'STATUS=draining')
  log.info({ in_flight: relay.stats().inFlight }, 'draining')
  const progress = setInterval(tell, PROGRESS_MS)
  await stopAll(services, ({ name }, error) =>
    log.error({ service: name, error: error.message }, 'stop failed'),
  )
  clearInterval(progress)
  await store.close().catch((error: Error) => log.error({ error: error.message }, 'close failed'))
  notifier.say('STATUS=stopped')
  await notifier.said()
  log.info('stopped')
}

/** SIGHUP: certificate and live settings take effect together; anything wrong keeps what was and says so. */
const reload = async (options: DaemonOptions, parts: Parts, notifier: Notifier): Promise<void> => {
  const { state, door, http, bounce, relay } = parts
  const { log } = options
  notifier.say('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`)
  try {
    const fresh = options.reload?.() ?? state.config
    const certificate = await loadCertificate(fresh)
    const rules = rulesIn(fresh.bounce.rules_file)
    const marks = marksOf(fresh)
    const { live: now, restart } = changesIn(state.inForce, marks)
    for (const one of [door, http, bounce]) one.renew(certificate)
    log.level = fresh.log.level
    state.config = fresh
    state.rules = rules
    state.certificate = certificate
    state.inForce = marksAfter(state.inForce, marks)
    relay.renew(rules)
    log.info({ changed: now, certificate_expires: new Date(certificate.expiresAt).toISOString() }, 'reloaded')
    if (restart.length > 0) log.warn({ keys: restart }, 'these settings take effect after a restart')
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    log.error({ error: words }, 'reload refused, the old configuration stays')
  }
  notifier.say('READY=1')
}
