/**
 * NAME      build - the wiring
 *   The only file that knows every folder: it makes each part of the daemon and hands it what it needs of the others.
 */
import { systemClock } from '../base/clock.js'
import { readCrashPoint } from '../base/crash.js'
import { diallerOf, tokenSettings } from '../base/dial.js'
import type { DiskWatch } from '../base/folder.js'
import { createGiveWay, type Reason } from '../base/give-way.js'
import { Kept } from '../base/kept.js'
import type { Listen } from '../base/listen.js'
import type { Log } from '../base/log.js'
import { Budget } from '../base/memory.js'
import { overIn, type Service, startInBackground, startLater, whileOurs } from '../base/service.js'
import type { Notifier } from '../base/systemd.js'
import { findSpans } from '../base/trace.js'
import { type Config, type Marks, marksOf } from '../config/config.js'
import { createSite } from '../dashboard/lazy.js'
import { createFollowers, type Followers } from '../followers/followers.js'
import { createHttp, type Http } from '../http/http.js'
import { createManagement, type Management } from '../http/management.js'
import {
  certificateMetric,
  clockMetric,
  clusterMetrics,
  diskMetric,
  diskText,
  FlowMetrics,
  incidentMetrics,
  ReportMetrics,
  relayMetrics,
  relayState,
  setupMetric,
  statisticsMetrics,
  UnsubscribeMetrics,
  warmupMetrics,
  watchDisk,
  writerMetrics,
} from '../http/metrics.js'
import { askThrough } from '../http/wire/listener.js'
import { type Certificate, loadCertificate } from '../keys/certificate.js'
import { devKeyFile, loadPepper, readDevKey } from '../keys/pepper.js'
import { bringRing, liveKeys } from '../keys/return-path.js'
import { collect } from '../lifecycle/page.js'
import type { CategoryRule } from '../mail/report/category.js'
import { createDomainReportIntake } from '../outcome/domain-report.js'
import { createIntake, type Recorded, reportSpans } from '../outcome/report.js'
import { rulesIn } from '../outcome/rules.js'
import { logIncident, suppressLater } from '../outcome/suppress.js'
import { attemptSpans, createRelay, type Relay } from '../relay/relay.js'
import { createSandbox } from '../sandbox/sandbox.js'
import { readSetup } from '../setup/files.js'
import { applyAtStart, readEnvironment, type SetupFailure, type SetupSource } from '../setup/start.js'
import { type BounceDoor, createBounceDoor } from '../smtp/bounce-door.js'
import { createSubmissionDoor, type SubmissionDoor } from '../smtp/submission-door.js'
import { isLocal, shareStore } from '../store/open.js'
import type { Store } from '../store/port/store.js'
import { createUpkeep } from '../store/upkeep.js'
import { createJobRunner } from '../submission/job-runner.js'
import { createNoticeMails, createToPostmaster } from '../submission/operator-mail.js'
import { createSenderDsns } from '../submission/own-mail.js'
import { createSubmission } from '../submission/submission.js'
import { createDomainRecheck, txtLookup } from '../tenant/domain/check.js'
import { createSenderAllowed } from '../tenant/domain/domain.js'
import type { TenantDeps } from '../tenant/principal.js'
import { createTenants } from '../tenant/tenants.js'
import { ensureAccount } from '../tenant/workspace.js'
import { ALL_ROLES, type DaemonRole } from './roles.js'

export interface DaemonOptions {
  readonly config: Config
  readonly log: Log
  readonly version: string
  /** `dev` sends every mail to the sandbox, whatever its pool. */
  readonly mode: 'serve' | 'dev'
  /** In dev: the dashboard shows a week of live mail, as that of a service does, and no first steps. */
  readonly isDemo?: boolean
  /** Reads the configuration again for SIGHUP; throws when it is bad. */
  readonly reload: (() => Config) | null
  /** Where lifecycle is reported; by default nowhere. */
  readonly notifier?: Notifier
  /** How listeners get their sockets; by default they are bound. */
  readonly listen?: Listen | undefined
  /** The parts that run here; by default all. */
  readonly only?: ReadonlySet<DaemonRole> | undefined
}

/** What is true of the daemon at the moment; every part that asks gets the same answer. */
interface State {
  /** Replaced by SIGHUP; only the settings that reload.ts calls live are read from here. */
  config: Config
  /** What `bounce.rules_file` holds; read again by SIGHUP. */
  rules: readonly CategoryRule[]
  certificate: Certificate
  /** The settings that are in force, wherever a restart would change them. */
  inForce: Marks
  phase: 'starting' | 'running' | 'draining'
  /** What failed of the setup that was to be applied at the start. */
  setupFailure: SetupFailure | null
}

export interface Parts {
  readonly store: Store
  readonly deps: TenantDeps
  readonly state: State
  readonly relay: Relay
  readonly http: Http
  readonly door: SubmissionDoor
  readonly bounce: BounceDoor
  readonly management: Management
  /** Applies the setup of this daemon. Throws SetupError where it can not start without. */
  setUp(): Promise<void>
  /** The rules were read anew. */
  renew(): void
  /** In the order of starting. */
  readonly services: readonly Service[]
  /** Starts those of them that the doors do not wait for. */
  begin(): Promise<void>
}

interface Observed {
  readonly disk: DiskWatch
  readonly flow: FlowMetrics
  readonly relay: Relay
  readonly reported: ReportMetrics
  readonly unsubscribes: UnsubscribeMetrics
  /** Attempts of the last run whose end nobody knows. */
  readonly ambiguous: number
}

/** A line for each mistake. */
const saidOf = ({ setupFailure }: State): readonly string[] | null =>
  setupFailure?.map(({ where, message }) => `${where}: ${message}`) ?? null

/** Health and metrics; it also logs what became of mail. */
const observe = (store: Store, options: DaemonOptions, state: State, observed: Observed): Management => {
  const { config, log, listen } = options
  const { disk, flow, relay, ambiguous, reported, unsubscribes } = observed
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
    // a failover of seconds is no reason to send nobody any work
    awayMs: store.cluster().isShared ? 10_000 : 0,
    checks: {
      migrations: () => 'ok', // open() migrated, or refused
      listeners: () => (state.phase === 'starting' ? 'starting: not all of them are open yet' : 'ok'),
      disk: () => (disk.isLow ? diskText(state.config, disk.free ?? 0) : 'ok'),
    },
    status: () => ({
      certificate: { fingerprint: state.certificate.fingerprint, expires_at: state.certificate.expiresAt },
      // of dev they are its own
      settings: options.mode === 'serve' ? state.inForce : null,
      setup_failed: saidOf(state),
    }),
    wake: relay.wake,
    upstreams: () => relayState(relay.upstreams(), relay.view(), systemClock.now()),
    metrics: async () => [
      clockMetric(await store.clockLead(systemClock.now())),
      ...(await statisticsMetrics(store, systemClock.now())),
      ...(await incidentMetrics(store)),
      ...(await warmupMetrics(store, systemClock.now())),
      ...(await clusterMetrics(store)),
      ...flow.metrics(),
      ...reported.metrics(),
      ...unsubscribes.metrics(),
      ...relayMetrics(relay, ambiguous),
      ...writerMetrics(store.load()),
      diskMetric(disk),
      certificateMetric(state.certificate.expiresAt),
      setupMetric(state.setupFailure !== null),
    ],
  })
}

const depsOf = (store: Store, config: Config, pepper: Buffer): TenantDeps => ({
  store,
  pepper,
  clock: systemClock,
  perMinute: config.rate_limit.per_minute,
  authFailures: config.rate_limit.auth_failures,
  daemons: () => store.cluster().daemons,
  sessions: config.identity.session,
  secondFactor: config.identity.second_factor,
})

/** What the parts share. */
const shareParts = async (store: Store, options: DaemonOptions) => {
  const { config, log, listen } = options
  const clock = systemClock
  // that of a file was made before the file; a database elsewhere says whether it has one
  const firstRun = !isLocal(config) && (await store.pepperMark()) === null
  const pepper = loadPepper(config, { credentials: process.env.CREDENTIALS_DIRECTORY, firstRun })
  const deps = depsOf(store, config, pepper)
  const { id: accountId } = await ensureAccount(deps)
  const certificate = await loadCertificate(config)
  await bringRing(store, config.data_dir)
  const rules = rulesIn(config.bounce.rules_file)
  const state: State = {
    config,
    rules,
    certificate,
    inForce: marksOf(config),
    phase: 'starting',
    setupFailure: null,
  }
  const disk = watchDisk(() => state.config, log)
  const spans = await findSpans(options.version)
  // draining is the doors' business: they take nothing new, and what is coming in is finished
  let broken = false
  void store.broken.then(() => {
    broken = true
  })
  const hearing: ((why: Reason) => void)[] = []
  return {
    ...{ store, options, config, log, clock, pepper, deps, accountId, certificate, state, disk, spans },
    /** Why test mail gives way, and who hears of it. */
    way: createGiveWay((why) => {
      for (const hear of hearing) hear(why)
    }),
    onReason: (hear: (why: Reason) => void) => void hearing.push(hear),
    accepting: (): boolean => !disk.isLow && !broken,
    ring: await liveKeys(store, pepper),
    begun: logIncident(log),
    /** For whatever takes mail in. */
    doors: { config, clock, log, listen, spans, memory: new Budget(config.limits.memory) },
  }
}

type Shared = Awaited<ReturnType<typeof shareParts>>

/** Whatever comes of a report, of the door or of the sandbox. */
const hearReports = ({ store, spans }: Shared, metrics: ReportMetrics): ((made: Recorded) => void) => {
  const trace = spans === null ? null : reportSpans(spans, (emailId) => store.trace(emailId))
  return (made) => {
    metrics.note(made)
    trace?.(made)
  }
}

const buildBounceDoor = (
  shared: Shared,
  reported: (made: Recorded) => void,
  metrics: ReportMetrics,
): BounceDoor => {
  const { store, config, clock, log, ring, state, begun, doors, accountId, accepting, certificate } = shared
  const { lifetime } = config.relay
  const intake = createIntake(
    {
      store,
      keys: ring.keys,
      lookAtKeys: ring.look,
      clock,
      rules: () => state.rules,
      lifetime,
      domain: config.bounce.domain,
      begun,
    },
    (made) => {
      reported(made)
      const { kind, tier, emailId: email, recipientId: recipient, status, suppressed, did } = made
      log.info({ kind, tier, email, recipient, status, suppressed, did }, 'report')
    },
  )
  const domainReports = createDomainReportIntake({ store, clock, domain: config.bounce.domain }, (taken) => {
    metrics.noteDomain(taken)
    const { kind, result, why, domains } = taken
    log.info({ kind, result, why, domains }, 'domain report')
  })
  const toPostmaster = createToPostmaster({ ...doors, store, accountId, accepting })
  return createBounceDoor({ ...doors, ...intake, domainReports, certificate, toPostmaster })
}

const buildRelay = ({ store, options, config, clock, log, pepper, state, spans, begun }: Shared): Relay =>
  createRelay({
    queue: () => shareStore(store, 'relay'),
    config,
    log,
    pepper,
    rules: state.rules,
    ...{ dial: tokenSettings(config), rotated: store.rotateToken },
    capture: options.mode === 'dev',
    outages: options.mode === 'serve' ? store : undefined,
    faultPoint: readCrashPoint(process.env.POSTERN_CRASH_AT),
    attempted: spans === null ? undefined : attemptSpans(spans, (emailId) => store.trace(emailId)),
    onDead: suppressLater({ store, clock, begun, log }),
  })

const buildDoors = (shared: Shared, relay: Relay, flow: FlowMetrics) => {
  const { store, options, config, clock, log, pepper, deps, accountId, certificate, doors } = shared
  const { accepting, spans, way, onReason, state } = shared
  onReason(relay.giveWay)
  const tenants = createTenants(deps)
  const submission = createSubmission({
    ...{ store, config, clock, pepper, accepting, spans },
    senderAllowed: createSenderAllowed(store),
    accepted: (mails) => flow.accepted(mails),
    way,
  })
  const door = createSubmissionDoor({ ...doors, certificate, tenants, submission })
  const tls = config.http.tls ? certificate : null
  const kept = new Kept(clock)
  const site = createSite({
    kept,
    ask: askThrough((request) => http.inject(request)),
    follow: (session, { after, address }) => http.follow(session, after, address),
    baseUrl: () => http.baseUrl,
    addressOf: ({ app }) => app.address,
    ...{ pepper, log, version: options.version, isDev: options.mode === 'dev' && options.isDemo !== true },
    devKey: () => (options.mode === 'dev' ? readDevKey(devKeyFile(config)) : null),
    ...{ tenant: deps, accountId, identity: config.identity, docs: config.docs, isTls: tls !== null },
    provePerson: tenants.provePerson,
    proveFactor: tenants.proveFactor,
  })
  const unsubscribes = new UnsubscribeMetrics()
  const http: Http = createHttp({
    ...{ ...doors, store, tenants, submission, pepper, tls, relay, site, kept, door, unsubscribes },
    setupFailed: () => saidOf(state),
  })
  return { submission, door, http, unsubscribes }
}

/** Services of a part that runs here. */
const running =
  ({ only = ALL_ROLES }: DaemonOptions) =>
  (role: DaemonRole, ...services: readonly Service[]): readonly Service[] =>
    only.has(role) ? services : []

const WORK_MS = 5_000

/** Of several daemons on one database one does it, and another when that is gone. */
const byOne =
  (store: Store, log: Log) =>
  (kind: string, make: () => Service): Service =>
    store.cluster().isShared
      ? whileOurs(kind, make, {
          isOurs: () => store.holdsWork(kind),
          everyMs: WORK_MS,
          told: ({ message }) =>
            log.error({ event: 'work_failed', kind, error: message }, 'nobody may do it'),
          over: overIn(log, 'nobody may do it'),
        })
      : make()

/** What works on the store by itself, beside the mail that comes and goes. */
const buildFollowers = (shared: Shared, heard: (made: Recorded) => void, metrics: ReportMetrics) => {
  const { store, options, config, clock, log, pepper, state, accepting, way, onReason } = shared
  const when = running(options)
  const own = { store, config, clock, log, accepting }
  const retention = () => state.config.retention
  const upkeep = () => createUpkeep({ store, retention, log, clock, retry: config.relay.retry })
  let following: Followers | null = null
  onReason((why) => why === 'live' && following?.live())
  const followers = () => {
    following = createFollowers({
      ...{ share: () => shareStore(store, 'followers'), config, pepper, log },
      ...{ capture: options.mode === 'dev', rules: () => state.rules },
      reported(made, lost) {
        for (const one of made) heard(one)
        metrics.lost(lost)
      },
      behind: way.behind,
    })
    return following
  }
  const once = byOne(store, log)
  return {
    upkeep: once('upkeep', upkeep),
    renew: () => following?.renew(),
    own: [
      ...when('webhook', once('followers', followers)),
      once('sender dsns', () => createSenderDsns(own)),
      ...(config.webhook.notify.length > 0 ? [once('notice mails', () => createNoticeMails(own))] : []),
    ],
  }
}

const applySetup = async ({ store, options, config, log, deps, accountId, state }: Shared): Promise<void> => {
  if (options.mode !== 'serve') return
  const { setup: paths } = config
  const { env } = process
  const sources: SetupSource[] = []
  const rows = await collect((page) => store.workspaces(accountId, page))
  const slug = rows.find(({ isDefault }) => isDefault)?.slug ?? 'default'
  const { setup, said } = readEnvironment(env, env.POSTERN_IMAGE === 'true', slug)
  for (const { isWarning, variable, says } of said)
    if (isWarning) log.warn({ variable, says }, 'variable of another image, not as it should be')
    else log.info({ variable, says }, 'variable of another image')
  if (setup !== null) sources.push({ from: 'environment', read: () => setup })
  if (paths.length > 0) sources.push({ from: paths.join(' '), read: () => readSetup(paths, null) })
  if (sources.length === 0) return
  const dialler = diallerOf(config)
  const starting = { deps: { ...deps, store, dialler, dataDir: config.data_dir }, accountId, log }
  try {
    state.setupFailure = await applyAtStart(starting, sources)
  } finally {
    await dialler.close()
  }
}

/** `ambiguous`: attempts of the last run whose end nobody knows. */
export const build = async (store: Store, options: DaemonOptions, ambiguous: number): Promise<Parts> => {
  const shared = await shareParts(store, options)
  const { config, clock, log, deps, state, disk } = shared
  const flow = new FlowMetrics()
  const reported = new ReportMetrics()
  const heard = hearReports(shared, reported)
  const bounce = buildBounceDoor(shared, heard, reported)
  const when = running(options)
  const sandbox = createSandbox({ hostname: config.hostname, store, log })
  const relay = buildRelay(shared)
  const { submission, door, http, unsubscribes } = buildDoors(shared, relay, flow)
  const observed = { disk, flow, relay, ambiguous, reported, unsubscribes }
  const management = observe(store, options, state, observed)
  const { recheck: every, resolver } = config.domains
  const once = byOne(store, log)
  const recheck = once('domains', () =>
    createDomainRecheck({ ...deps, store }, { lookup: txtLookup(resolver), every, log }),
  )
  const { upkeep, own, renew } = buildFollowers(shared, heard, reported)
  // the relay thread takes a while to load, and does so while the doors open: it sees each step of the clock from then on
  const [launching, launched] = startInBackground(relay, () => relay.useSandbox(sandbox.address))
  // what these do is on the disk: the doors open without them
  const { later, begin } = startLater()
  // nobody here wants mail: it is for others from its first moment
  if (when('relay', relay).length === 0) store.ready([])
  const services: readonly Service[] = [
    // first up and last gone, so that it can tell
    management,
    disk,
    upkeep,
    ...when('bounce', bounce),
    ...when('relay', sandbox, launching),
    ...own.map(later),
    later(once('jobs', () => createJobRunner({ store, submission, clock, log }))),
    // of dev nothing leaves the machine
    ...(options.mode === 'serve' ? [later(recheck)] : []),
    ...when('submission', door),
    ...when('http', http),
    ...when('relay', launched),
  ]
  const setUp = () => applySetup(shared)
  return { store, deps, state, relay, http, door, bounce, management, services, begin, renew, setUp }
}
