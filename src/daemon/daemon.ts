/**
 * NAME      daemon - from the first start to the last stop
 *   Opens the store, has everything built (build.ts), starts it in the order of
 *   `services`, then what only works on what is stored, and stops it in the other
 *   (doors first, so that what was accepted can still be relayed and recorded).
 *   The daemon's lock on the store is taken before any port is bound, and what the
 *   last run left under way is looked at before anything is sent.
 */
import { existsSync } from 'node:fs'
import { systemClock } from '../base/clock.js'
import { readCrashPoint } from '../base/crash.js'
import type { Log } from '../base/log.js'
import { startAll, stopAll } from '../base/service.js'
import { createNotifier, type Notifier } from '../base/systemd.js'
import { compactLater } from '../base/thread.js'
import { changesIn, marksAfter, marksOf } from '../config/config.js'
import { loadCertificate } from '../keys/certificate.js'
import { loadPepper } from '../keys/pepper.js'
import { longestWaitMs } from '../outcome/reply.js'
import { rulesIn } from '../outcome/rules.js'
import { isLocal, openStore, placeOf } from '../store/open.js'
import type { Store } from '../store/port/store.js'
import { TakenOverError } from '../store/port/upkeep.js'
import type { TenantDeps } from '../tenant/principal.js'
import { build, type DaemonOptions, type Parts } from './build.js'
import { ALL_ROLES, settingsDigest } from './roles.js'

/** 0 where none is open. */
export interface Ports {
  readonly http: number
  readonly submission: readonly number[]
  readonly bounce: number
  readonly management: number
}

export interface Daemon {
  readonly store: Store
  readonly deps: TenantDeps
  readonly ports: Ports
  /** Resolves when everything has stopped: null after a signal, the reason after a broken store or a dead relay thread. */
  readonly ended: Promise<Error | null>
}

/** The store can no longer keep its promise: the process ends with 74, and a restart may mend it. */
class StoreFailed extends Error {
  override readonly name = 'StoreFailed'
}

/** Whoever was taken over may begin anew at once. */
const failure = (error: Error): Error =>
  error instanceof TakenOverError ? error : new StoreFailed(`the store failed: ${error.message}`)

export const runDaemon = async (options: DaemonOptions): Promise<Daemon> => {
  const { config, log } = options
  const faultPoint = readCrashPoint(process.env.POSTERN_CRASH_AT)
  // with a database there must be a pepper; without one it is the first run, and makes it
  const { CREDENTIALS_DIRECTORY: credentials } = process.env
  if (isLocal(config) && !existsSync(placeOf(config.data_dir))) loadPepper(config, { credentials })
  const store = await openStore({
    place: config,
    daemon: true,
    log,
    version: options.version,
    about: { settings: settingsDigest(config), pools: config.relay.pools },
    ...(faultPoint && { faultPoint }),
  })
  await store.open()
  try {
    const ambiguous = await examine(store, log, systemClock.now(), config.relay.retry)
    return await live(options, await build(store, options, ambiguous))
  } catch (error) {
    await store.close()
    throw error
  } finally {
    log.flush()
  }
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
  await followFrom(store, now)
  return recovered.ambiguous
}

/** What begins at the end of the log begins at the end that it has now: its thread starts when mail may have come in. */
const followFrom = async (store: Store, now: number): Promise<void> => {
  const { sandbox, alarms } = await store.readPlaces()
  if (sandbox !== null && alarms !== null) return
  const { newest: to } = await store.logEnds()
  await store.keepRead({
    to,
    ...(sandbox === null && { sandbox: { from: null } }),
    ...(alarms === null && { alarms: { from: null, counts: [], now } }),
  })
}

/** Starts everything, says so, and answers signals until the end. */
const live = async (options: DaemonOptions, parts: Parts): Promise<Daemon> => {
  const { store, deps, state, relay, http, door, bounce, management, services, begin, setUp } = parts
  const { log, only = ALL_ROLES } = options
  await setUp()
  await startAll(services)
  state.phase = 'running'
  const ports: Ports = {
    http: only.has('http') ? http.address.port : 0,
    submission: door.addresses.map(({ port }) => port),
    bounce: only.has('bounce') ? bounce.address.port : 0,
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
        process.exit(reason === null ? 0 : reason instanceof TakenOverError ? 75 : 74)
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
    // after whoever waits for the doors was told
    setImmediate(() => {
      http.warm()
      compactLater()
      begin().catch((error) => {
        if (state.phase !== 'draining') void stop(error)
      })
    })
    void store.broken.then((error) => stop(failure(error)))
    void relay.failed.then((error) =>
      stop(new Error(`the relay thread died: ${error.message}`, { cause: error })),
    )
  })
  return { store, deps, ended, ports }
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
  const { state, door, http, bounce, relay, renew: renewed } = parts
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
    renewed()
    log.info({ changed: now, certificate_expires: new Date(certificate.expiresAt).toISOString() }, 'reloaded')
    if (restart.length > 0) log.warn({ keys: restart }, 'these settings take effect after a restart')
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    log.error({ error: words }, 'reload refused, the old configuration stays')
  }
  notifier.say('READY=1')
}
