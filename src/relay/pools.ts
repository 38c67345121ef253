/**
 * NAME      pools - which upstream carries the next mail
 *   The pools of the store as live objects, brought up to date without losing the state of
 *   what did not change. A pool that follows another has no upstreams of its own: it uses
 *   the very objects of its leader, so that their connections, rate, breaker and pauses
 *   are one budget, and it takes the leader's return path and DSN settings. Choice: among the active members that have not failed
 *   this mail yet, the lowest priority number that is healthy; within it, weighted
 *   random among those with room. A busy first choice is waited for, since spare
 *   members are for failure, not for load; unless it finishes nothing any more.
 */
import { led } from '../store/pools.js'
import type { KnownPool, PoolRow, UpstreamRow, WarmupRow } from '../store/port/tenants.js'
import type { RelayItem } from './throttles.js'
import { Upstream, type UpstreamSettings } from './upstream.js'
import { type DaemonShare, Warmup, type WarmupSettings, WHOLE } from './warmup.js'

/** `busy`: wait for room. `none`: no healthy member is left for this mail. */
type Choice = Upstream | 'busy' | 'none'

const NOTHING_TRIED: ReadonlySet<string> = new Set()

const isBack = ({ row, succeededAt }: Upstream, left: RelayItem['left']): boolean =>
  (succeededAt ?? Number.NEGATIVE_INFINITY) > (left.get(row.id) ?? Number.POSITIVE_INFINITY)

export class Pool {
  /** As it is in force: with the settings of the leader, if it has one. */
  row: PoolRow
  /** Its own. */
  members: readonly Upstream[] = []
  #leader: Pool | null = null
  /** All that use its own members, itself the first. */
  #users: readonly Pool[] = [this]

  constructor(row: PoolRow) {
    this.row = row
  }

  /** From now on it uses the upstreams of `leader`, or its own. */
  follow(leader: Pool | null): void {
    const before = this.#leader
    if (before !== null) before.#users = before.#users.filter((one) => one !== this)
    this.#leader = leader
    if (leader === null) return
    leader.#users = [...leader.#users, this]
    this.row = led(this.row, leader.row)
  }

  /** Whose members it uses: another's, or its own. */
  get leader(): Pool {
    return this.#leader ?? this
  }

  get upstreams(): readonly Upstream[] {
    return this.leader.members
  }

  /** All that use the same upstreams, this one among them. */
  get sharing(): readonly Pool[] {
    return this.leader.#users
  }

  choose(random: () => number, tried: ReadonlySet<string> = NOTHING_TRIED): Choice {
    let best = Number.POSITIVE_INFINITY
    let total = 0
    let free: Upstream[] = []
    let stuck = false
    for (const upstream of this.upstreams) {
      const { row } = upstream
      if (!upstream.isOpen || tried.has(row.id)) continue
      if (upstream.isStuck()) {
        stuck = true
        continue
      }
      if (row.priority < best) {
        best = row.priority
        free = []
        total = 0
      }
      if (row.priority !== best || !upstream.hasRoom()) continue
      free.push(upstream)
      total += Math.max(row.weight, 0.001)
    }
    if (best === Number.POSITIVE_INFINITY) return stuck ? 'busy' : 'none'
    let at = random() * total
    for (const upstream of free) {
      at -= Math.max(upstream.row.weight, 0.001)
      if (at < 0) return upstream
    }
    return free.at(-1) ?? 'busy'
  }

  /** True when a mail under way at `upstream` could go elsewhere: another member takes mail, and is not stuck itself. */
  hasOther(upstream: Upstream, { tried, left }: Pick<RelayItem, 'tried' | 'left'>): boolean {
    return this.upstreams.some(
      (one) =>
        one !== upstream && (!tried.has(one.row.id) || isBack(one, left)) && one.isOpen && !one.isStuck(),
    )
  }

  /** A member that a mail left in a hurry, and that has taken another since, may have it after all. */
  forgive({ tried, left }: Pick<RelayItem, 'tried' | 'left'>): void {
    for (const one of this.upstreams) {
      if (!isBack(one, left)) continue
      left.delete(one.row.id)
      tried.delete(one.row.id)
    }
  }

  /** True when recipients of one message share a transaction; to a service each goes alone. */
  get isShared(): boolean {
    return this.row.returnPath === 'fixed' && this.upstreams.every(({ service }) => service === null)
  }

  /** True while nobody wants its mail to go. */
  get isPaused(): boolean {
    return this.upstreams.length > 0 && this.upstreams.every(({ row }) => row.state !== 'active')
  }

  /** True when some member could carry mail, now or when it has room. */
  get isUp(): boolean {
    return this.upstreams.some(({ isOpen }) => isOpen)
  }

  /** True while it waits for a day on which its upstreams may be given more. */
  get isResting(): boolean {
    return !this.isUp && this.upstreams.some(({ mayBeOpen, isSpent }) => mayBeOpen && isSpent)
  }

  /** True while it is for other daemons to carry its mail. */
  get isElsewhere(): boolean {
    return this.upstreams.length > 0 && this.upstreams.every(({ most, isAbsent }) => most === 0 && !isAbsent)
  }

  /** True while another daemon sees to it that mail ends which nobody can carry. */
  get endsElsewhere(): boolean {
    return this.upstreams.length > 0 && this.upstreams.every(({ most, endsHere }) => most === 0 && !endsHere)
  }

  /** Room for this many more messages at once, over all members. */
  get capacity(): number {
    let sum = 0
    for (const { row, limit } of this.upstreams) {
      if (row.state === 'active') sum += limit
    }
    return sum
  }
}

/** What makes a connection to it a different one; a refresh token that was rotated is none of it. */
const dialOf = (row: UpstreamRow): string =>
  JSON.stringify([
    row.host,
    row.port,
    row.tls,
    row.fingerprint,
    row.user,
    row.sealedPassword,
    row.authMechanism ?? null,
    row.oauth == null ? null : { ...row.oauth, sealedRefreshToken: null },
    row.caFile ?? null,
    row.bind ?? null,
    row.helo ?? null,
    row.service ?? null,
    row.region ?? null,
    row.clientCertFile,
    row.clientKeyFile,
    row.rate,
  ])

interface PoolsSettings extends Omit<UpstreamSettings, 'warn' | 'share' | 'mayGo'> {
  /** How much of the limits of a pool's members is ours now; unsaid, all. */
  readonly share?: (pool: PoolRow) => DaemonShare | null
  /** Unsaid: always. */
  readonly mayGo?: () => boolean
  readonly log: (level: 'warn', ...line: Parameters<UpstreamSettings['warn']>) => void
  /** Unsaid: nothing warms up. */
  readonly warmup?: WarmupSettings
  /** More mail may go through the pool than before. */
  readonly changed?: (pool: Pool) => void
  /** Where the sandbox listens; the pools of kind `sandbox` have no other upstream. */
  readonly sandboxAddress: () => { readonly host: string; readonly port: number } | null
}

const sandboxUpstream = (pool: PoolRow, address: { host: string; port: number }): UpstreamRow => ({
  id: pool.upstreams[0]?.id ?? `up_sandbox_${pool.id}`,
  host: address.host,
  port: address.port,
  tls: 'none',
  fingerprint: null,
  user: null,
  sealedPassword: null,
  clientCertFile: null,
  clientKeyFile: null,
  weight: 1,
  priority: 0,
  maxConnections: 20,
  messagesPerConnection: 1_000,
  rate: null,
  state: 'active',
})

export class Pools {
  readonly #pools = new Map<string, Pool>()
  readonly #leaving = new Set<Upstream>()
  /** By id; each outlives the objects of its upstream. */
  readonly #warmups = new Map<string, Warmup>()
  readonly #settings: PoolsSettings

  constructor(settings: PoolsSettings) {
    this.#settings = settings
  }

  get(id: string): Pool | undefined {
    return this.#pools.get(id)
  }

  all(): IterableIterator<Pool> {
    return this.#pools.values()
  }

  /** Brings the living in line with the rows. */
  update(rows: readonly KnownPool[]): void {
    const gone = new Set(this.#pools.keys())
    for (const row of rows) {
      gone.delete(row.id)
      const pool = this.#pools.get(row.id) ?? new Pool(row)
      this.#pools.set(row.id, pool)
      pool.row = row
      const sandboxAddress = this.#settings.sandboxAddress()
      const wanted =
        row.kind === 'sandbox'
          ? sandboxAddress
            ? [sandboxUpstream(row, sandboxAddress)]
            : []
          : row.upstreams
      this.#reconcile(pool, wanted)
    }
    for (const { id, follows } of rows) {
      this.#pools.get(id)?.follow(this.#pools.get(follows ?? '') ?? null)
    }
    for (const id of gone) {
      const pool = this.#pools.get(id)
      pool?.follow(null)
      if (pool) this.#reconcile(pool, [])
      this.#pools.delete(id)
    }
    if (this.#settings.warmup !== undefined) this.#warm(this.#settings.warmup)
  }

  #warm(settings: WarmupSettings): void {
    const gone = new Set(this.#warmups.keys())
    for (const pool of this.#pools.values()) {
      for (const upstream of pool.members) {
        const { warmup: row = null } = upstream.row
        upstream.warmup = row === null ? null : this.#warmupOf(row, settings, pool)
        if (row !== null) gone.delete(row.id)
      }
    }
    for (const id of gone) {
      void this.#warmups.get(id)?.close()
      this.#warmups.delete(id)
    }
  }

  #warmupOf(row: WarmupRow, settings: WarmupSettings, pool: Pool): Warmup {
    const known = this.#warmups.get(row.id)
    known?.update(row)
    const found = known ?? new Warmup(row, settings, () => this.#settings.changed?.(pool))
    this.#warmups.set(row.id, found)
    return found
  }

  /** Nothing is sent any more: what upstreams might have been given today is free for others. */
  async close(): Promise<void> {
    await Promise.all([...this.#warmups.values()].map((one) => one.close()))
  }

  #reconcile(pool: Pool, wanted: readonly UpstreamRow[]): void {
    const before = new Map(pool.members.map((upstream) => [upstream.row.id, upstream]))
    pool.members = wanted.map((row) => {
      const old = before.get(row.id)
      if (old === undefined || dialOf(old.row) !== dialOf(row)) return this.#upstream(pool, row)
      before.delete(row.id)
      old.row = row
      return old
    })
    for (const old of before.values()) {
      old.retire()
      this.#leaving.add(old)
    }
  }

  #upstream(pool: Pool, row: UpstreamRow): Upstream {
    const { host, port } = row
    const warn: UpstreamSettings['warn'] = (fact, fields) => {
      const { id, name } = pool.row
      this.#settings.log('warn', fact, { pool: id, pool_name: name, upstream: row.id, host, port, ...fields })
    }
    const share = () => this.#settings.share?.(pool.row) ?? null
    return new Upstream(row, {
      ...this.#settings,
      share: this.#settings.share === undefined ? () => WHOLE : share,
      mayGo: this.#settings.mayGo ?? (() => true),
      warn,
    })
  }

  upstreams(): Upstream[] {
    return [...[...this.#pools.values()].flatMap((pool) => pool.members), ...this.#leaving]
  }

  /** Time passes: deadlines, idle connections, probes. */
  sweep(changed: (pool: Pool) => void): void {
    for (const warmup of this.#warmups.values()) warmup.sweep()
    for (const pool of this.#pools.values()) {
      for (const upstream of pool.members) upstream.sweep(() => changed(pool))
    }
    for (const upstream of this.#leaving) {
      upstream.sweep(() => {})
      if (upstream.open === 0) this.#leaving.delete(upstream)
    }
  }
}
