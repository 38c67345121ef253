/**
 * NAME      attempt - one recipient, one upstream, one transaction
 * DESCRIPTION
 *   Carries a mail over a kept or a fresh connection and says how it ended:
 *   settled (an outcome, final for this attempt), again (this member failed
 *   before any content was sent: let another one try, the recipient sees no delay), or
 *   released (nothing happened, the lease goes back). The journal is written
 *   after RCPT was accepted and before DATA.
 */

import type { Reply } from '../mail/reply.js'
import type { AttemptEnd } from '../outcome/reply.js'
import type { Claimed, Queue } from '../store/port.js'
import type { Item } from './backlog.js'
import type { Connection, Verdict } from './dialogue/connection.js'
import { type Envelope, toEnvelope } from './dialogue/envelope.js'
import { SetupFailure } from './dialogue/session.js'
import { isLooping } from './dialogue/trace.js'
import { type Scan, scan, toPayload } from './dialogue/wire.js'
import type { Journal } from './journal.js'
import type { Pool } from './pools.js'
import type { CrashPoint } from './settings.js'
import type { Upstream } from './upstream.js'

export interface Surroundings {
  readonly queue: Pick<Queue, 'body'>
  readonly journal: Journal
  readonly now: () => number
  readonly tick: () => number
  /** Envelope sender of this mail in this pool. */
  readonly returnPath: (claimed: Claimed, pool: Pool) => string
  /** Our ENVID: the same on every attempt. */
  readonly envid: (claimed: Claimed) => string
  /** Puts the signatures of its sending domain on top. */
  readonly sign?: (claimed: Claimed, pool: Pool, raw: Uint8Array) => Uint8Array
  readonly receivedToken: string
  readonly stopping: () => boolean
  /** Rejects when the relay stops: waiting for a connection then makes no sense. */
  readonly stopped: Promise<never>
  readonly crash: (point: CrashPoint) => void
}

export type AttemptResult =
  | { readonly kind: 'settled'; readonly end: AttemptEnd }
  | { readonly kind: 'again'; readonly end: AttemptEnd; readonly stale: boolean }
  | { readonly kind: 'released' }

const OUR_LOGIN = new Set([530, 534, 535, 538])
const LOOP: Reply = { code: 554, enhanced: '5.4.6', text: 'Mail loop: this message has been here before' }
const GONE: Reply = { code: 554, enhanced: '5.3.0', text: 'The message is no longer stored' }

export class Attempt {
  readonly #item: Item
  readonly #pool: Pool
  readonly #upstream: Upstream
  readonly #around: Surroundings
  readonly #started: number

  constructor(item: Item, pool: Pool, upstream: Upstream, around: Surroundings) {
    this.#item = item
    this.#pool = pool
    this.#upstream = upstream
    this.#around = around
    this.#started = around.tick()
  }

  /** Call it in the same turn in which the upstream was chosen. */
  async run(): Promise<AttemptResult> {
    const kept = this.#upstream.take()
    try {
      return await this.#carry(kept)
    } finally {
      this.#upstream.done()
    }
  }

  async #carry(kept: Connection | null): Promise<AttemptResult> {
    const { claimed } = this.#item
    let raw: Uint8Array | null
    try {
      raw = claimed.raw ?? (await this.#around.queue.body(claimed.emailId))
    } catch (error) {
      if (kept !== null) this.#upstream.giveBack(kept)
      throw error
    }
    if (raw === null) return this.#refused(kept, GONE)
    if (isLooping(raw, this.#around.receivedToken)) return this.#refused(kept, LOOP)
    let connection: Connection
    try {
      connection = kept ?? (await this.#open())
    } catch (error) {
      return this.#notOpened(error as Error)
    }
    raw = this.#around.sign?.(claimed, this.#pool, raw) ?? raw
    const seen = scan(raw)
    const envelope = this.#envelope(connection, raw, seen)
    if ('code' in envelope) {
      this.#upstream.giveBack(connection)
      return { kind: 'again', end: this.#end('mail', envelope, null, connection), stale: false }
    }
    const verdict = await connection.transact({ ...envelope, payload: toPayload(raw, seen) }, () =>
      this.#mayGo(),
    )
    return this.#judge(connection, verdict)
  }

  #open(): Promise<Connection> {
    const opening = this.#upstream.openConnection()
    return Promise.race([opening, this.#around.stopped]).catch((error) => {
      opening.then(
        (late) => late.quit(),
        () => {},
      )
      throw error
    })
  }

  #envelope(connection: Connection, raw: Uint8Array, seen: Scan): Envelope | Reply {
    const { claimed } = this.#item
    return toEnvelope(
      {
        claimed,
        returnPath: this.#around.returnPath(claimed, this.#pool),
        envid: () => this.#around.envid(claimed),
        notifySuccess: this.#pool.row.notifySuccess,
        size: raw.length,
        eightBit: seen.eightBit,
      },
      connection.offers,
    )
  }

  /** The last question before DATA: is this lease still ours, and is it written that we try? */
  async #mayGo(): Promise<boolean> {
    const { claimed } = this.#item
    const { journal, now, stopping, crash } = this.#around
    if (stopping()) return false
    const mine = await journal.mark({
      recipientId: claimed.recipientId,
      leaseGen: claimed.leaseGen,
      attempt: claimed.attempts + 1,
      upstreamId: this.#upstream.row.id,
      at: now(),
    })
    if (mine) crash('relay.before-data')
    return mine && !stopping()
  }

  #judge(connection: Connection, verdict: Verdict): AttemptResult {
    const upstream = this.#upstream
    if (verdict.kind === 'withheld') {
      upstream.giveBack(connection)
      return { kind: 'released' }
    }
    if (verdict.kind === 'lost') return this.#lost(connection, verdict)
    const { stage, reply } = verdict
    if (stage === 'dot') this.#around.crash('relay.after-dot')
    const end = this.#end(stage, reply, null, connection)
    if (stage !== 'dot' && (reply.code === 421 || OUR_LOGIN.has(reply.code))) {
      // about this connection or our login, not about this mail
      const stale = connection.used > 1 && reply.code === 421 && !this.#item.stale
      connection.abort('refused')
      if (!stale) upstream.failed()
      return { kind: 'again', end, stale }
    }
    upstream.succeeded()
    upstream.giveBack(connection)
    return { kind: 'settled', end }
  }

  #lost(connection: Connection, { stage, error }: Extract<Verdict, { kind: 'lost' }>): AttemptResult {
    const sent = stage === 'body' || stage === 'dot'
    if (!sent && this.#around.stopping()) return { kind: 'released' }
    const stale = !sent && connection.used > 1 && !this.#item.stale
    if (!stale) this.#upstream.failed()
    const end = this.#end(stage, null, error, connection)
    return sent ? { kind: 'settled', end } : { kind: 'again', end, stale }
  }

  #notOpened(error: Error): AttemptResult {
    if (!(error instanceof SetupFailure)) {
      if (this.#around.stopping()) return { kind: 'released' }
      throw error
    }
    this.#upstream.failed()
    return { kind: 'again', end: this.#end(error.stage, error.reply, error.message, null), stale: false }
  }

  #refused(kept: Connection | null, reply: Reply): AttemptResult {
    if (kept !== null) this.#upstream.giveBack(kept)
    return { kind: 'settled', end: this.#end('mail', reply, null, null) }
  }

  #end(stage: string, reply: Reply | null, error: string | null, connection: Connection | null): AttemptEnd {
    const { row } = this.#upstream
    return {
      claimed: this.#item.claimed,
      at: this.#around.now(),
      upstreamId: row.id,
      host: row.host,
      stage,
      reply,
      error,
      detail: {
        port: row.port,
        tls: connection?.tls ?? null,
        ms: Math.round(this.#around.tick() - this.#started),
        ...(stage === 'dot' && reply === null ? { ambiguous: true } : {}),
      },
    }
  }
}
