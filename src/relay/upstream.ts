/**
 * NAME      upstream - one member of a pool, alive
 * DESCRIPTION
 *   Holds its connections, kept open and used again, its breaker and its rate. A
 *   message counts against the limit from the moment that it chose this member, so the limit
 *   also holds while many connections are opening. A changed row makes a new Upstream; the old one
 *   finishes what it carries and closes.
 */

import type { OauthRow, UpstreamRow } from '../store/port/tenants.js'
import { Breaker } from './breaker.js'
import { partOf, type Share } from './cluster/share.js'
import { Connection, type Timeouts } from './dialogue/connection.js'
import type { Login, TokenSource } from './dialogue/login.js'
import {
  openSession,
  type Patience,
  SetupFailure,
  type SetupTimeouts,
  type Target,
} from './dialogue/session.js'

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
  readonly unseal: (sealed: string) => string
  /** Where the tokens of one upstream come from, when it signs in by tokens. */
  readonly tokens: (row: () => OauthRow, user: string) => TokenSource
  readonly tick: () => number
  /** How much of its limits is ours now. */
  readonly share: () => Share | null
  /** Our leases are surely ours now; else nothing may be sent. */
  readonly mayGo: () => boolean
  /** What an operator should hear of this upstream. */
  readonly warn: (fact: string, fields: Readonly<Record<string, string | number>>) => void
}

export class Upstream {
  row: UpstreamRow
  readonly breaker = new Breaker()
  /** Open or opening. */
  readonly #connections = new Set<Connection>()
  #opening = 0
  /** Messages under way. */
  #taken = 0
  readonly #idle: Connection[] = []
  readonly #settings: UpstreamSettings
  #tokens: number
  #refilledAt: number
  #movedAt: number
  #retired = false
  #source: TokenSource | null = null
  #probing = false
  /** Its breaker has opened, and not closed since. */
  #avoided = false
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
    return partOf(this.row.maxConnections, this.#settings.share())
  }

  /** How many of them the breaker allows. */
  get limit(): number {
    return this.breaker.limit(this.most)
  }

  /** True when mail may go there from here. */
  get isOpen(): boolean {
    return this.row.state === 'active' && this.breaker.state !== 'open' && this.most > 0
  }

  /** True when a message could start now without breaking a limit. */
  hasRoom(): boolean {
    return this.#taken < this.limit && this.#refill() >= 1
  }

  /** Which of its limits is used up now. */
  get full(): 'rate' | 'connections' | null {
    if (this.#taken > 0 && this.#taken >= this.limit) return 'connections'
    return this.#refill() < 1 ? 'rate' : null
  }

  #refill(): number {
    if (this.row.rate === null) return Number.POSITIVE_INFINITY
    const rate = this.row.rate / (this.#settings.share()?.count ?? 1)
    const now = this.#settings.tick()
    this.#tokens = Math.min(Math.max(1, rate), this.#tokens + ((now - this.#refilledAt) / 1_000) * rate)
    this.#refilledAt = now
    return this.#tokens
  }

  /** True when it is full of messages and none has come to an end for a while: not worth waiting for. */
  isStuck(): boolean {
    const full = this.#taken > 0 && this.#taken >= this.limit
    return full && this.#settings.tick() - this.#movedAt > this.#settings.patience
  }

  /** Begins a message: a kept connection, or null when one must be opened. Ends with done(). */
  take(): Connection | null {
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
  async openConnection(hurry: Patience['hurry'] = () => false): Promise<Connection> {
    const { hostname, timeouts, tick, mayGo, warn } = this.#settings
    const slow: Patience['slow'] = (stage, words) => {
      this.lastError = { at: this.#settings.tick(), stage, message: `${words}, still waiting` }
      warn('upstream is silent', { stage, error: words })
    }
    this.#opening++
    try {
      const session = await openSession(this.#target(), hostname, timeouts, { hurry, slow })
      const connection = new Connection(session, timeouts, tick, mayGo)
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

  /** Takes a connection back after a message. */
  giveBack(connection: Connection): void {
    if (!connection.alive) return
    const spent = connection.used >= this.row.messagesPerConnection
    if (spent || this.#retired || this.open > this.limit) {
      connection.quit()
      return
    }
    connection.idleSince = this.#settings.tick()
    this.#idle.push(connection)
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
    while ((this.#idle[0]?.idleSince ?? Number.POSITIVE_INFINITY) + this.#settings.idle < now) {
      this.#idle.shift()?.quit()
    }
    // a newcomer has taken its part
    for (let over = this.open - this.most; over > 0 && this.#idle.length > 0; over--)
      this.#idle.shift()?.quit()
    if (this.most === 0) return
    if (this.#retired || this.#probing || this.row.state !== 'active' || !this.breaker.wantsProbe(now)) return
    this.#probing = true
    this.openConnection()
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

  #login(): Login | null {
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

  #target(): Target {
    const { row } = this
    return {
      host: row.host,
      port: row.port,
      tls: row.tls,
      fingerprint: row.fingerprint,
      login: this.#login(),
      caFile: row.caFile,
      clientCertFile: row.clientCertFile,
      clientKeyFile: row.clientKeyFile,
    }
  }
}
