/**
 * NAME      upstream - one member of a pool, alive, and how much it may be trusted with
 *   Holds its connections, kept open and used again, its breaker and its rate. A message counts against the
 *   limit from the moment that it chose this member, so the limit also holds while many connections are
 *   opening. A changed row makes a new Upstream; the old one finishes what it carries and closes.
 *   Closed, open, half-open, and a ramp. A new or returning upstream starts with few connections and gains
 *   one with each message it takes, so a host that accepts connections and then stalls can hold only a
 *   handful of mails. After a few failures in a row it is open: nothing is sent until a probe (a connection
 *   without a message) succeeds; then one message at a time until one has gone through. The pauses between
 *   probes double up to a ceiling. While other connections to the same upstream work, a failed one only
 *   stops the ramp for a while: that is a host saying "enough", not a dead one.
 */
import { ownAddresses } from '../base/network.js'
import type { OauthRow, UpstreamRow } from '../store/port/tenants.js'
import { type Carrier, Connection, type Timeouts } from './dialogue/connection.js'
import type { TokenSource, UpstreamLogin } from './dialogue/login.js'
import {
  openSession,
  type Patience,
  SetupFailure,
  type SetupTimeouts,
  type SmtpPeer,
} from './dialogue/session.js'
import { openService, SERVICE_OF, type ServiceUrls } from './service/connection.js'
import type { MailService } from './service/service.js'
import { type DaemonShare, partOf, type Warmup } from './warmup.js'

export type BreakerState = 'closed' | 'open' | 'half-open'

const FAILURES_TO_OPEN = 3
const FIRST_LIMIT = 4
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const PLATEAU_MS = 5_000

export class Breaker {
  state: BreakerState = 'closed'
  #limit = FIRST_LIMIT
  #failures = 0
  #pauses = 0
  #probeAt = 0
  #plateauUntil = 0
  readonly #random: () => number

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** How many connections it may have at once, of the `max` configured. */
  limit(max: number): number {
    if (this.state === 'open') return 0
    return this.state === 'half-open' ? Math.min(1, max) : Math.min(this.#limit, max)
  }

  /** True when an open breaker is due for a probe. */
  wantsProbe(now: number): boolean {
    return this.state === 'open' && now >= this.#probeAt
  }

  /** Somebody says that it works again: it is probed at once, and if that fails, soon after. */
  wake(): void {
    this.#probeAt = 0
    this.#pauses = 0
  }

  /** A probe found it answering. */
  probed(): void {
    if (this.state === 'open') this.state = 'half-open'
  }

  /** It dealt with a message, in whatever sense. */
  succeeded(now: number): void {
    if (this.state === 'half-open') this.#limit = FIRST_LIMIT
    this.state = 'closed'
    this.#failures = 0
    this.#pauses = 0
    if (now >= this.#plateauUntil) this.#limit++
  }

  /** It takes mail, and not so fast: half as many connections, and no more of them for a while. */
  slowDown(now: number): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / 2))
    this.#plateauUntil = now + PLATEAU_MS
  }

  /** It failed as a host: no connection, no greeting, no TLS, a lost connection. `others` of its connections still work. */
  failed(now: number, others: number): void {
    if (others > 0 && this.state === 'closed') {
      this.#limit = Math.max(1, others)
      this.#plateauUntil = now + PLATEAU_MS
      return
    }
    // attempts that were under way when it opened are no news
    if (this.state === 'open') return
    if (this.state === 'closed' && ++this.#failures < FAILURES_TO_OPEN) return
    this.#open(now)
  }

  /** A probe found it still dead. */
  probeFailed(now: number): void {
    if (this.state === 'open') this.#open(now)
  }

  #open(now: number): void {
    this.state = 'open'
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses++, 10), LONGEST_PAUSE_MS)
    this.#probeAt = now + pause * (0.75 + this.#random() / 2)
  }
}

interface Failure {
  /** On the tick clock. */
  readonly at: number
  readonly stage: string
  readonly message: string
}

export interface UpstreamSettings {
  readonly hostname: string
  readonly timeouts: Timeouts & SetupTimeouts
  /** How long an unused connection is kept, in milliseconds. */
  readonly idle: number
  /** How long mails wait for a busy upstream that finishes nothing, before they turn to one of lower rank. */
  readonly patience: number
  /** Where services are asked instead. */
  readonly endpoints?: ServiceUrls
  readonly unseal: (sealed: string) => string
  /** Where the tokens of one upstream come from, when it signs in by tokens. */
  readonly tokens: (row: () => OauthRow, user: string) => TokenSource
  readonly tick: () => number
  /** How much of its limits is ours now. */
  readonly share: () => DaemonShare | null
  /** Our leases are surely ours now; else nothing may be sent. */
  readonly mayGo: () => boolean
  /** What an operator should hear of this upstream. */
  readonly warn: (fact: string, fields: Readonly<Record<string, string | number>>) => void
}

export class Upstream {
  row: UpstreamRow
  /** While it is new: how much it may be given. */
  warmup: Warmup | null = null
  readonly breaker = new Breaker()
  /** Open or opening. */
  readonly #connections = new Set<Carrier>()
  #opening = 0
  /** Messages under way. */
  #taken = 0
  readonly #idle: Carrier[] = []
  readonly #settings: UpstreamSettings
  #tokens: number
  #refilledAt: number
  #movedAt: number
  #retired = false
  #source: TokenSource | null = null
  #probing = false
  /** Its breaker has opened, and not closed since. */
  #avoided = false
  /** Until when it wants no mail, as it said, on the tick clock. */
  #restsUntil = Number.NEGATIVE_INFINITY
  /** When it last dealt with a message, on the tick clock. */
  succeededAt: number | null = null
  lastError: Failure | null = null

  constructor(row: UpstreamRow, settings: UpstreamSettings) {
    this.row = row
    this.#settings = settings
    this.#tokens = Math.max(1, row.rate ?? 0)
    this.#refilledAt = settings.tick()
    this.#movedAt = settings.tick()
  }

  /** What it is when it is no mail server. */
  get service(): MailService | null {
    return this.row.service == null ? null : SERVICE_OF[this.row.service]
  }

  /** Fields of a message that it writes anew. */
  get rewrites(): readonly string[] | undefined {
    return this.service?.rewrites
  }

  get open(): number {
    return this.#connections.size + this.#opening
  }

  get idle(): number {
    return this.#idle.length
  }

  get underWay(): number {
    return this.#taken
  }

  /** How many connections we may have at once, of those that all daemons may have. */
  get most(): number {
    return this.isHere ? partOf(this.row.maxConnections, this.#settings.share()) : 0
  }

  /** False while we have none of the addresses that it is to be reached from: another daemon may. */
  get isHere(): boolean {
    const { bind } = this.row
    return bind == null || ownAddresses(bind).length > 0
  }

  /** It is not here, and there is no other daemon that might have the address. */
  get isAbsent(): boolean {
    return !this.isHere && this.#settings.share()?.count === 1
  }

  /** It is not here, and of all daemons this is the one that lets mail end which none of them can carry. */
  get endsHere(): boolean {
    return !this.isHere && this.#settings.share()?.rank === 0
  }

  /** As its breaker; without an address to reach it from, which no other daemon may have either, it fails as well. */
  get state(): BreakerState {
    const { bind } = this.row
    if (!this.isAbsent || bind == null) return this.breaker.state
    const message = `this machine has none of the addresses to connect from (${bind.join(', ')})`
    this.lastError = { at: this.#settings.tick(), stage: 'connect', message }
    return 'open'
  }

  /** How many of them the breaker allows. */
  get limit(): number {
    return this.breaker.limit(this.most)
  }

  /** It has been given what its warm-up allows today. */
  get isSpent(): boolean {
    return this.warmup?.isSpent === true
  }

  /** True when nothing but its warm-up may keep mail from it. */
  get mayBeOpen(): boolean {
    return this.row.state === 'active' && this.breaker.state !== 'open' && this.most > 0
  }

  /** True when mail may go there from here. */
  get isOpen(): boolean {
    return this.mayBeOpen && !this.isSpent
  }

  /** True when a message could start now without breaking a limit. */
  hasRoom(): boolean {
    const hasRoom = this.#taken < this.limit && this.#refill() >= 1
    return hasRoom && (this.warmup === null || this.warmup.hasRoom())
  }

  /** Which of its limits is used up now. */
  get full(): 'warmup' | 'rate' | 'connections' | null {
    if (this.isSpent) return 'warmup'
    if (this.#taken > 0 && this.#taken >= this.limit) return 'connections'
    return this.#refill() < 1 ? 'rate' : null
  }

  #refill(): number {
    const isResting = this.#restsUntil > 0 && this.#restsUntil > this.#settings.tick()
    if (this.row.rate === null) return isResting ? 0 : Number.POSITIVE_INFINITY
    const rate = this.row.rate / (this.#settings.share()?.count ?? 1)
    const now = this.#settings.tick()
    this.#tokens = Math.min(Math.max(1, rate), this.#tokens + ((now - this.#refilledAt) / 1_000) * rate)
    this.#refilledAt = now
    return isResting ? 0 : this.#tokens
  }

  /** True when it is full of messages and none has come to an end for a while: not worth waiting for. */
  isStuck(): boolean {
    const full = this.#taken > 0 && this.#taken >= this.limit
    return full && this.#settings.tick() - this.#movedAt > this.#settings.patience
  }

  /** Begins a message: a kept connection, or null when one must be opened. Ends with done(). */
  take(): Carrier | null {
    this.#tokens--
    if (this.#taken++ === 0) this.#movedAt = this.#settings.tick()
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined || connection.alive) return connection ?? null
    }
  }

  done(): void {
    this.#taken--
  }

  /** `hurry`: the mail that waits for it has another place to be. Rejects with SetupFailure. */
  async openConnection(hurry: Patience['hurry'] = () => false): Promise<Carrier> {
    const { warn } = this.#settings
    const slow: Patience['slow'] = (stage, words) => {
      this.lastError = { at: this.#settings.tick(), stage, message: `${words}, still waiting` }
      warn('upstream is silent', { stage, error: words })
    }
    this.#opening++
    try {
      const connection = await this.#connect({ hurry, slow })
      this.#connections.add(connection)
      connection.onClosed(() => {
        this.#connections.delete(connection)
        const at = this.#idle.indexOf(connection)
        if (at !== -1) this.#idle.splice(at, 1)
      })
      return connection
    } finally {
      this.#opening--
    }
  }

  async #connect(patience: Patience): Promise<Carrier> {
    const { hostname, timeouts, tick, mayGo, endpoints } = this.#settings
    const target = this.#target()
    const { service = null } = this.row
    if (service !== null)
      return openService({ ...this.row, service }, target, { endpoints, timeouts, tick, mayGo }, patience)
    const session = await openSession(target, hostname, timeouts, patience)
    return new Connection(session, timeouts, tick, mayGo)
  }

  /** Takes a connection back after a message. */
  giveBack(connection: Carrier): void {
    if (!connection.alive) return
    const spent = connection.used >= this.row.messagesPerConnection
    if (spent || this.#retired || this.open > this.limit) {
      connection.quit()
      return
    }
    connection.idleSince = this.#settings.tick()
    this.#idle.push(connection)
  }

  /** It takes mail, and less of it for a while. */
  slowDown(ms: number, message: string): void {
    const at = this.#settings.tick()
    this.lastError = { at, stage: 'mail', message }
    this.#restsUntil = Math.max(this.#restsUntil, at + ms)
    this.breaker.slowDown(at)
  }

  /** The host failed us. */
  failed(stage: string, message: string): void {
    const at = this.#settings.tick()
    this.lastError = { at, stage, message }
    this.breaker.failed(at, this.#connections.size)
    this.#tellBreaker(stage, message)
  }

  succeeded(): void {
    this.#movedAt = this.#settings.tick()
    this.succeededAt = this.#movedAt
    this.breaker.succeeded(this.#movedAt)
    if (this.#avoided) this.#tellBreaker('dot', '')
  }

  /** Half-open is neither: one line when it is avoided, and one when it is trusted again. */
  #tellBreaker(stage: string, error: string): void {
    const { state } = this.breaker
    if (state === 'open' && !this.#avoided) this.#settings.warn('breaker opened', { stage, error })
    else if (state === 'closed' && this.#avoided) this.#settings.warn('breaker closed', {})
    if (state !== 'half-open') this.#avoided = state === 'open'
  }

  /** Deadlines, idle connections, and the probe of an open breaker. Calls `changed` when a probe succeeded. */
  sweep(changed: () => void): void {
    const now = this.#settings.tick()
    for (const connection of this.#connections) connection.sweep(now)
    if (!this.#settings.mayGo()) this.#giveUp()
    for (let [first] = this.#idle; first !== undefined; [first] = this.#idle) {
      if (first.idleSince + Math.min(this.#settings.idle, first.keptMs) >= now) break
      this.#idle.shift()?.quit()
    }
    // a newcomer has taken its part
    for (let over = this.open - this.most; over > 0 && this.#idle.length > 0; over--)
      this.#idle.shift()?.quit()
    if (this.most === 0) return
    if (this.#retired || this.#probing || this.row.state !== 'active' || !this.breaker.wantsProbe(now)) return
    this.#probing = true
    this.#probe()
      .then(
        (connection) => {
          this.breaker.probed()
          this.giveBack(connection)
          changed()
        },
        (error: Error) => {
          const at = this.#settings.tick()
          const stage = error instanceof SetupFailure ? error.stage : 'connect'
          this.lastError = { at, stage, message: error.message }
          this.breaker.probeFailed(at)
        },
      )
      .finally(() => {
        this.#probing = false
      })
  }

  async #probe(): Promise<Carrier> {
    const connection = await this.openConnection()
    await connection.check?.()
    return connection
  }

  /** Others may have our part of the connections by now: only what was handed over is waited for. */
  #giveUp(): void {
    for (const connection of this.#connections)
      if (connection.stage !== 'body' && connection.stage !== 'dot')
        connection.abort('the store was away for too long')
  }

  /** No new messages; what is under way finishes. */
  retire(): void {
    this.#retired = true
    for (const connection of this.#idle.splice(0)) connection.quit()
  }

  /** Drops every connection whose message has not reached DATA. */
  abortEarly(): void {
    this.retire()
    for (const connection of this.#connections) {
      if (connection.stage === 'mail' || connection.stage === 'rcpt') connection.abort('stopping')
    }
  }

  abortAll(): void {
    for (const connection of this.#connections) connection.abort('stopping')
  }

  #login(): UpstreamLogin | null {
    const { user, oauth, sealedPassword, authMechanism: mechanism } = this.row
    if (user === null) return null
    if (oauth != null) {
      this.#source ??= this.#settings.tokens(() => this.row.oauth ?? oauth, user)
      return { user, secret: this.#source, mechanism }
    }
    try {
      return sealedPassword === null
        ? null
        : { user, secret: this.#settings.unseal(sealedPassword), mechanism }
    } catch {
      throw new SetupFailure('auth', 'the stored password can not be read: set it again', null)
    }
  }

  #target(): SmtpPeer {
    const { row } = this
    return {
      host: row.host,
      port: row.port,
      tls: row.tls,
      fingerprint: row.fingerprint,
      login: this.#login(),
      caFile: row.caFile,
      bind: row.bind,
      helo: row.helo,
      clientCertFile: row.clientCertFile,
      clientKeyFile: row.clientKeyFile,
    }
  }
}
