/**
 * NAME      metrics - the Prometheus text format (0.0.4), how mail passes through, and the state of this moment
 *   Flow: from acceptance to the first answer of an upstream, and from there to a report, as histograms; what came in and what
 *   became of recipients, per workspace. Labels are bounded: beyond the busiest workspaces the rest count as `other`, and only
 *   so many mails are followed at once. Mails that came back are counted by kind, by how far they were believed, and by what
 *   they did: moved a status or were heard as a complaint (`applied`), left an event and no more (`noted`), or nothing.
 *   State: the queue, the relay with its upstreams, the writer, the daemons, the disk, the certificate and the event loop. The
 *   workspaces of the queue are summed up, so the number of series is that of the pools.
 * NOTES
 *   The time of acceptance is that of the email's id, so a scheduled mail counts with its wait.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import { createDiskWatch, type DiskWatch } from '../base/folder.js'
import { idTime } from '../base/id.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import { formatSize } from '../config/forms.js'
import type { NewEmail, Settled } from '../lifecycle/facts.js'
import type { TakenReport } from '../outcome/domain-report.js'
import type { Recorded } from '../outcome/report.js'
import { throttle } from '../record/queue.js'
import { NO_UPSTREAM, type UpstreamHealth } from '../relay/health.js'
import type { LiveView, Relay } from '../relay/relay.js'
import { countedUntil } from '../statistics/record.js'
import type { Cluster, ServerState } from '../store/port/cluster.js'
import type { EmailSearch } from '../store/port/mail.js'
import type { HeldDepth } from '../store/port/operations.js'
import type { Tenants } from '../store/port/tenants.js'
import { CLOCK_AHEAD_MS, type Lifecycle, type QueueDepth, type WriterLoad } from '../store/port/upkeep.js'
import type { Incidents, StandingAlarm, Warmups } from '../store/port/watch.js'
import { warmupsOf } from '../tenant/pool.js'
import { upstreamText } from '../tenant/upstream.js'

const MOST_WORKSPACES = 100
const MOST_FOLLOWED = 20_000
const RELAY_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600]
const OUTCOME_BOUNDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400]

export class FlowMetrics {
  readonly #toRelay = new Histogram(RELAY_BOUNDS)
  readonly #toOutcome = new Histogram(OUTCOME_BOUNDS)
  readonly #accepted = new Busiest(MOST_WORKSPACES)
  readonly #settled = new Busiest(MOST_WORKSPACES)
  /** When recipients became `sent`, oldest first. */
  readonly #sent = new Map<string, number>()

  accepted(mails: readonly Pick<NewEmail, 'workspaceId' | 'source' | 'mode'>[]): void {
    for (const { workspaceId, source, mode } of mails) this.#accepted.add(workspaceId, { source, mode })
  }

  note(settled: readonly Settled[], now: number): void {
    for (const one of settled) {
      if (!one.applied) continue
      this.#settled.add(one.workspaceId, { status: one.to, mode: one.mode })
      if (one.from === 'queued') this.#toRelay.observe(Math.max(0, now - idTime(one.emailId)) / 1_000)
      if (one.to === 'sent') this.#follow(one.recipientId, now)
      else this.#arrived(one.recipientId, now)
    }
  }

  #follow(recipientId: string, now: number): void {
    this.#sent.set(recipientId, now)
    if (this.#sent.size <= MOST_FOLLOWED) return
    for (const oldest of this.#sent.keys()) {
      this.#sent.delete(oldest)
      return
    }
  }

  #arrived(recipientId: string, now: number): void {
    const sentAt = this.#sent.get(recipientId)
    if (sentAt === undefined) return
    this.#sent.delete(recipientId)
    this.#toOutcome.observe(Math.max(0, now - sentAt) / 1_000)
  }

  metrics(): readonly Metric[] {
    return [
      counter(
        'postern_emails_accepted_total',
        'Mails accepted since the start, by workspace, door and mode',
        this.#accepted.samples(),
      ),
      counter(
        'postern_recipients_settled_total',
        'Status changes of recipients since the start, by workspace, new status and mode',
        this.#settled.samples(),
      ),
      this.#toRelay.metric(
        'postern_accept_to_relay_seconds',
        'From acceptance to the first answer of an upstream',
      ),
      this.#toOutcome.metric('postern_relay_to_outcome_seconds', 'From the upstream taking it to a report'),
    ]
  }
}

export class ReportMetrics {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  readonly #domains = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  #suppressed = 0
  #lost = 0

  note({ kind, tier, did, suppressed }: Pick<Recorded, 'kind' | 'tier' | 'did' | 'suppressed'>): void {
    const key = `${kind} ${tier} ${did}`
    const found = this.#counts.get(key) ?? { labels: { kind, tier, did }, value: 0 }
    found.value++
    this.#counts.set(key, found)
    if (suppressed) this.#suppressed++
  }

  /** Of a receiver, about a domain. */
  noteDomain({ kind, result }: Pick<TakenReport, 'kind' | 'result'>): void {
    const found = this.#domains.get(`${kind} ${result}`) ?? { labels: { kind: kind ?? '', result }, value: 0 }
    found.value++
    this.#domains.set(`${kind} ${result}`, found)
  }

  /** Reports of the sandbox that were given up. */
  lost(count: number): void {
    this.#lost += count
  }

  metrics(): readonly Metric[] {
    return [
      counter(
        'postern_reports_total',
        'Bounces, delays, complaints and replies that came in, by kind, tier of trust and what they did',
        [...this.#counts.values()],
      ),
      counter(
        'postern_domain_reports_total',
        'Mails to the addresses for reports about domains (DMARC, TLS), by kind and by what became of them',
        [...this.#domains.values()],
      ),
      counter(
        'postern_reports_suppressed_total',
        'Addresses that a report put on a suppression list',
        this.#suppressed,
      ),
      gauge(
        'postern_reports_lost',
        'Reports of the sandbox that were given up since the start; always 0, or this is a mistake of ours',
        this.#lost,
      ),
    ]
  }
}

/** What became of links to unsubscribe; `repeated`: it was done before. */
type Click = 'taken' | 'repeated' | 'forged'

export class UnsubscribeMetrics {
  readonly #counts: Record<Click, number> = { taken: 0, repeated: 0, forged: 0 }

  note(click: Click): void {
    this.#counts[click]++
  }

  metrics(): readonly Metric[] {
    return [
      counter(
        'postern_unsubscribes_total',
        'Links to unsubscribe that were followed to the end, by what became of it, and those that were none of ours',
        Object.entries(this.#counts).map(([result, value]) => ({ labels: { result }, value })),
      ),
    ]
  }
}

const QUEUE_STATES = ['due', 'leased', 'waiting'] as const

export const queueMetrics = (
  depth: readonly QueueDepth[],
  held: readonly HeldDepth[],
  now: number,
): readonly Metric[] => {
  const heldIn = new Map<string, number>()
  for (const { poolId, held: count } of held) heldIn.set(poolId, (heldIn.get(poolId) ?? 0) + count)
  const pools = [...new Set(depth.map(({ poolId }) => poolId))].map((pool) => {
    const rows = depth.filter(({ poolId }) => poolId === pool)
    const oldest = Math.min(...rows.map(({ oldestDueAt }) => oldestDueAt ?? now))
    return { pool, rows, age: Math.max(0, now - oldest) / 1_000 }
  })
  return [
    gauge(
      'postern_queue_recipients',
      'Recipients in the queue: due now, leased to relay, or waiting for their time',
      pools.flatMap(({ pool, rows }) =>
        QUEUE_STATES.map((state) => ({
          labels: { pool, state },
          value: rows.reduce((sum, row) => sum + row[state], 0),
        })),
      ),
    ),
    gauge(
      'postern_queue_oldest_due_seconds',
      'How long the recipient of a pool that waits longest has been due',
      pools.map(({ pool, age }) => ({ labels: { pool }, value: age })),
    ),
    gauge(
      'postern_queue_held_recipients',
      'Recipients at rest: somebody holds them, or their fate is unknown',
      [...heldIn].map(([pool, value]) => ({ labels: { pool }, value })),
    ),
  ]
}

const STATES = ['closed', 'half-open', 'open'] as const

const upstreamMetrics = (seen: ReturnType<Relay['upstreams']>): readonly Metric[] => {
  const upstreams = seen.map((one) => ({
    ...one,
    labels: { pool: one.poolId, upstream: one.upstreamId, host: `${one.host}:${one.port}` },
  }))
  return [
    gauge(
      'postern_upstream_breaker',
      'State of the breaker of each upstream: 1 at the state it is in',
      upstreams.flatMap(({ labels, breaker }) =>
        STATES.map((state) => ({ labels: { ...labels, state }, value: breaker === state ? 1 : 0 })),
      ),
    ),
    gauge(
      'postern_upstream_connections',
      'Open connections to each upstream',
      upstreams.map(({ labels, connections: value }) => ({ labels, value })),
    ),
    gauge(
      'postern_upstream_limit',
      'How many messages at once its breaker allows each upstream',
      upstreams.map(({ labels, limit: value }) => ({ labels, value })),
    ),
  ]
}

/** Of those that still have a limit. */
export const warmupMetrics = async (
  store: Pick<Tenants, 'allPools'> & Pick<Warmups, 'warmupDays'>,
  now: number,
): Promise<readonly Metric[]> => {
  const members = (await store.allPools()).flatMap(({ id: pool, upstreams }) =>
    upstreams.map((row) => ({ row, labels: { pool, upstream: row.id, host: upstreamText(row) } })),
  )
  const warmups = await warmupsOf(
    store,
    members.map(({ row }) => row),
    now,
  )
  const standing = members.flatMap(({ row, labels }) => {
    const { used, limit } = warmups.get(row.id) ?? { used: 0, limit: null }
    return limit === null ? [] : [{ labels, used, limit }]
  })
  return [
    gauge(
      'postern_upstream_warmup_recipients',
      'Recipients that an upstream which warms up was given today, or that a daemon may give it',
      standing.map(({ labels, used: value }) => ({ labels, value })),
    ),
    gauge(
      'postern_upstream_warmup_limit',
      'How many an upstream which warms up may be given today',
      standing.map(({ labels, limit: value }) => ({ labels, value })),
    ),
  ]
}

const poolMetrics = (pools: ReturnType<Relay['pools']>): readonly Metric[] => [
  gauge(
    'postern_pool_stalled',
    '1 while a pool has had due mail and begun nothing for a minute',
    pools.map(({ poolId: pool, stalled }) => ({
      labels: { pool },
      value: stalled === null ? 0 : 1,
    })),
  ),
  gauge(
    'postern_pool_no_upstream',
    '1 while mail waits in a pool that has no upstream, nor follows one that has',
    pools.map(({ poolId: pool, stalled }) => ({
      labels: { pool },
      value: stalled === NO_UPSTREAM ? 1 : 0,
    })),
  ),
  counter(
    'postern_pool_restarts_total',
    'How often the watchdog started the loop of a pool anew',
    pools.map(({ poolId: pool, restarts: value }) => ({ labels: { pool }, value })),
  ),
]

/** `ambiguous`: attempts of an earlier run whose end nobody knows. */
export const relayMetrics = (
  relay: Pick<Relay, 'stats' | 'upstreams' | 'pools'>,
  recoveredAmbiguous: number,
): readonly Metric[] => {
  const { inFlight, waiting, connections, ambiguous, throttledDomains, clockSteps, ...counted } =
    relay.stats()
  return [
    counter(
      'postern_relay_events_total',
      'What relay did since the start, by kind',
      Object.entries(counted).map(([kind, value]) => ({ labels: { kind }, value })),
    ),
    counter(
      'postern_ambiguous_attempts_total',
      'Attempts that broke off between the final dot and its answer; a second copy may have left',
      ambiguous + recoveredAmbiguous,
    ),
    counter(
      'postern_clock_steps_total',
      'How often the wall clock was set by more than five seconds while Postern ran',
      clockSteps,
    ),
    gauge('postern_relay_in_flight', 'Messages between MAIL and the last reply', inFlight),
    gauge('postern_relay_waiting', 'Recipients leased and not begun', waiting),
    gauge(
      'postern_relay_throttled_domains',
      'Recipient domains that asked for a slower pace, and get it',
      throttledDomains,
    ),
    gauge('postern_relay_connections', 'Open connections to upstreams', connections),
    ...upstreamMetrics(relay.upstreams()),
    ...poolMetrics(relay.pools()),
  ]
}

/** What the relay last saw of an upstream; nulls when it is not known to it. */
export const liveUpstream = (health: UpstreamHealth | undefined) => ({
  breaker: health?.breaker ?? null,
  connections: health?.connections ?? null,
  under_way: health?.underWay ?? null,
  limit: health?.limit ?? null,
  full: health?.full ?? null,
  last_success_at: timeOrNull(health?.lastSuccessAt ?? null),
  last_error: health?.lastError == null ? null : { ...health.lastError, at: toRfc3339(health.lastError.at) },
})

/** What the relay knows now, for the management listener: the command line asks it why mail waits. */
export const relayState = (upstreams: readonly UpstreamHealth[], view: LiveView | null, now: number) => ({
  data: upstreams.map((one) => ({ id: one.upstreamId, ...liveUpstream(one) })),
  throttled: (view?.throttled ?? []).map((row) => throttle(row, now)),
  captures: view?.captures ?? false,
})

export const writerMetrics = ({ verbsPerCommit, commitSeconds }: WriterLoad): readonly Metric[] => [
  histogram('postern_store_batch_verbs', 'Verbs that shared a commit of the writer', verbsPerCommit),
  histogram('postern_store_commit_seconds', 'Time of a commit, nearly all of it fsync', commitSeconds),
]

/** `lead`: how far the clock is ahead of the last stored row. */
export const clockMetric = (lead: number): Metric =>
  gauge(
    'postern_clock_ahead_seconds',
    'How far the clock is ahead of the last stored row while lists do not follow it; 0 when they do',
    lead > CLOCK_AHEAD_MS ? lead / 1000 : 0,
  )

/** What waits for somebody's decision. */
export const incidentMetrics = async (
  store: Pick<Incidents, 'openIncidents'>,
): Promise<readonly Metric[]> => {
  const { incidents, suppressions } = await store.openIncidents()
  return [
    gauge('postern_suppression_incidents', 'Refusals in common that nobody has decided', incidents),
    gauge('postern_suppressions_pending', 'Suppressions that wait for a decision', suppressions),
  ]
}

const stateMetrics = (state: ServerState | null): readonly Metric[] =>
  state === null
    ? []
    : [
        gauge(
          'postern_store_queue_dead_rows',
          'Rows that have left the queue and are not yet cleared away',
          state.queue.dead,
        ),
        gauge('postern_store_bytes', 'What the database takes on its disk', state.room.total),
        gauge('postern_store_bodies_bytes', 'What the bodies of mail take of it', state.room.bodies),
      ]

/** With SQLite there is nobody else. */
export const clusterMetrics = async (
  store: Cluster & Pick<Lifecycle, 'system'>,
): Promise<readonly Metric[]> => {
  if (store.system === 'sqlite') return []
  const [writers, state] = await Promise.all([store.writers(), store.serverState()])
  const { relays, daemons, putBacks } = store.cluster()
  const lag = Math.max(0, ...writers.map(({ lagMs }) => lagMs))
  return [
    gauge('postern_cluster_daemons', 'Daemons that live on this database, this one among them', daemons),
    gauge(
      'postern_cluster_relays',
      'Daemons that carry mail, and share the limits of upstreams',
      relays.length,
    ),
    gauge('postern_cluster_writers', 'Places for writers that are taken, of 256', writers.length),
    gauge(
      'postern_cluster_heartbeat_lag_seconds',
      'How long ago the most silent writer was heard of',
      lag / 1000,
    ),
    counter(
      'postern_store_put_back_total',
      'How often the database was found as it was earlier: acknowledged mail may be lost',
      putBacks,
    ),
    gauge(
      'postern_store_oldest_snapshot_seconds',
      'Age of the oldest transaction in the database: rows that ended since it began can not be cleaned up',
      (state?.oldest?.ageMs ?? 0) / 1000,
    ),
    ...stateMetrics(state),
  ]
}

export const statisticsMetrics = async (
  store: Parameters<typeof countedUntil>[0] & Pick<EmailSearch, 'notIndexedSince'>,
  now: number,
): Promise<readonly Metric[]> => [
  gauge(
    'postern_statistics_lag_seconds',
    'Age of the oldest record of the log that statistics have not counted; 0 when all are',
    (now - (await countedUntil(store, now))) / 1000,
  ),
  gauge(
    'postern_search_lag_seconds',
    'Age of the oldest mail that a search does not find yet; 0 when all are in the index',
    Math.max(0, now - ((await store.notIndexedSince()) ?? now)) / 1000,
  ),
]

export const alarmMetric = (standing: readonly StandingAlarm[]): Metric =>
  gauge(
    'postern_workspace_alarm',
    '1 while too much of the live mail of a workspace is complained of, bounces hard or is deferred',
    standing.map(({ workspaceId: workspace, alarm }) => ({ labels: { workspace, alarm }, value: 1 })),
  )

export const certificateMetric = (expiresAt: number): Metric =>
  gauge(
    'postern_certificate_expires_timestamp_seconds',
    'When the certificate that is served expires, in Unix time',
    Math.floor(expiresAt / 1_000),
  )

export const setupMetric = (isFailed: boolean): Metric =>
  gauge(
    'postern_setup_failed',
    '1 while the setup of this daemon was not applied at its start',
    Number(isFailed),
  )

/** Below limits.min_free_disk nothing more is accepted; said once each time. */
export const watchDisk = (config: () => Config, log: Log): DiskWatch =>
  createDiskWatch({
    folder: config().data_dir,
    mark: () => config().limits.min_free_disk,
    changed: (isLow, free) => {
      if (isLow)
        log.error({ free, key: 'limits.min_free_disk' }, 'disk nearly full, nothing more is accepted')
      else log.info({ free }, 'there is room on the disk again')
    },
  })

export const diskText = ({ limits, data_dir }: Config, free: number): string =>
  `low: ${Math.floor(free / 2 ** 20)}MiB are free in ${data_dir}, limits.min_free_disk is ${formatSize(limits.min_free_disk)}`

export const diskMetric = ({ free }: DiskWatch) =>
  gauge('postern_disk_free_bytes', 'Free space under data_dir', free ?? 0)

/**
 * How late this thread is: the delay of the event loop beyond the timer that measures it, over the last half minute to
 * minute. A look changes nothing, so two scrapers see the same.
 */
const RESOLUTION_MS = 20
const WINDOW_MS = 30_000

export class Lag {
  /** Two that begin in turns; the older one is told. */
  #older: IntervalHistogram | null = null
  #younger: IntervalHistogram | null = null
  #turning: NodeJS.Timeout | null = null

  start(): void {
    this.#older = this.#begin()
    this.#younger = this.#begin()
    this.#turning = setInterval(() => {
      this.#older?.disable()
      this.#older = this.#younger
      this.#younger = this.#begin()
    }, WINDOW_MS).unref()
  }

  stop(): void {
    if (this.#turning !== null) clearInterval(this.#turning)
    this.#older?.disable()
    this.#younger?.disable()
  }

  #begin(): IntervalHistogram {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    histogram.enable()
    return histogram
  }

  /** The histogram counts its own interval in. */
  #seconds(nanoseconds: number): number {
    return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3) : 0
  }

  metrics(): readonly Metric[] {
    const told = this.#older
    return [
      gauge(
        'nodejs_eventloop_lag_p99_seconds',
        'Delay of the event loop of the doors over the last minute, 99th percentile',
        this.#seconds(told?.percentile(99) ?? 0),
      ),
      gauge(
        'nodejs_eventloop_lag_max_seconds',
        'Longest delay of the event loop of the doors over the last minute',
        told === null || told.count === 0 ? 0 : this.#seconds(told.max),
      ),
    ]
  }
}

interface Sample {
  /** Of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly samples: readonly Sample[]
}

const metric =
  (type: Metric['type']) =>
  (name: string, help: string, of: number | readonly Sample[]): Metric => ({
    ...{ name, help, type },
    samples: typeof of === 'number' ? [{ value: of }] : of,
  })

export const gauge = metric('gauge')
export const counter = metric('counter')

/** How long things took, in buckets: counts for each, their sum and their number. */
const histogram = (
  name: string,
  help: string,
  {
    bounds,
    counts,
    sum,
  }: { readonly bounds: readonly number[]; readonly counts: readonly number[]; readonly sum: number },
): Metric => {
  let below = 0
  const buckets = counts.map((count, i) => {
    below += count
    return { suffix: '_bucket', labels: { le: String(bounds[i] ?? '+Inf') }, value: below }
  })
  const samples = [...buckets, { suffix: '_sum', value: sum }, { suffix: '_count', value: below }]
  return { name, help, type: 'histogram', samples }
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

const escaped = (text: string, chars: RegExp): string => text.replace(chars, (char) => ESCAPES[char] ?? '')

const labelText = (labels: Readonly<Record<string, string>> = {}): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, /[\\"\n]/g)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join()}}`
}

export const metricsText = (metrics: readonly Metric[]): string =>
  metrics
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${escaped(help, /[\\\n]/g)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${labelText(labels)} ${value}`),
    ])
    .join('\n')
    .concat('\n')

/** How long things took, in buckets. One observation costs a short walk over the bounds; nothing is allocated. */
class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sum += value
  }

  metric(name: string, help: string): Metric {
    return histogram(name, help, { bounds: this.#bounds, counts: this.#counts, sum: this.#sum })
  }
}

/* Counters of the busiest workspaces, the rest as `other`. A label must have few values, and there may be ten thousand
   workspaces. Each look (a scrape) keeps a name for those that count most lately; a quiet one makes room for a busy one, and
   its series ends. Counters only rise: what a workspace counted without a name stays in `other`, and its own series then
   begins with what comes next, so that sums of rates stay true. */

type Labels = Readonly<Record<string, string>>

interface Count {
  readonly labels: Labels
  value: number
}

/** Newcomers must be that much busier, or two of a size would take turns. */
const MARGIN = 2
/** Without a name, so many are compared at a time; the rest is `other` without a chance until the next look. */
const MOST_COMPARED = 10_000

export class Busiest {
  readonly #most: number
  readonly #named = new Map<string, Map<string, Count>>()
  readonly #other = new Map<string, Count>()
  /** What each counted lately; halved at each look. */
  readonly #lately = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** `labels` must hold few different values: a status, a door. */
  add(workspace: string, labels: Labels, by = 1): void {
    const lately = this.#lately.get(workspace)
    if (lately !== undefined || this.#lately.size < MOST_COMPARED)
      this.#lately.set(workspace, (lately ?? 0) + by)
    if (!this.#named.has(workspace) && this.#named.size < this.#most) this.#named.set(workspace, new Map())
    const counts = this.#named.get(workspace) ?? this.#other
    const key = Object.values(labels).join()
    const count = counts.get(key)
    if (count === undefined) counts.set(key, { labels, value: by })
    else count.value += by
  }

  samples(): readonly Sample[] {
    this.#rename()
    const told = [...this.#named, ...(this.#other.size > 0 ? [['other', this.#other] as const] : [])]
    return told.flatMap(([workspace, counts]) =>
      [...counts.values()].map(({ labels, value }) => ({ labels: { workspace, ...labels }, value })),
    )
  }

  #rename(): void {
    const weigh = (workspace: string): number => this.#lately.get(workspace) ?? 0
    const rising = [...this.#lately.keys()]
      .filter((workspace) => !this.#named.has(workspace))
      .sort((a, b) => weigh(b) - weigh(a))
    const falling = [...this.#named.keys()].sort((a, b) => weigh(a) - weigh(b))
    for (const [i, workspace] of rising.slice(0, falling.length).entries()) {
      const quiet = falling[i] ?? ''
      if (weigh(workspace) <= MARGIN * Math.max(1, weigh(quiet))) break
      this.#named.delete(quiet)
      this.#named.set(workspace, new Map())
    }
    for (const [workspace, lately] of this.#lately) {
      if (lately >= 2) this.#lately.set(workspace, lately / 2)
      else this.#lately.delete(workspace)
    }
  }
}
