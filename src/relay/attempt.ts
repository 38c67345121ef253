/**
 * NAME      attempt - one message, one upstream, one transaction
 *   Carries a mail over a kept or a fresh connection and says how it ended: settled (an outcome for each
 *   recipient, final for this attempt), again (this member failed before any content was sent: let another
 *   one try, the recipient sees no delay), or released (nothing happened, the lease goes back). The journal
 *   is written when a connection is at hand, before MAIL, so that DATA may travel with it, and in one commit
 *   with the outcome of the mail that had the connection before.
 *   Reads the Received headers (RFC 5321, 6.3): more than 50, or two that we added ourselves, and the
 *   message is going in circles.
 */
import type { Claimed } from '../lifecycle/facts.js'
import { isAscii } from '../mail/address.js'
import type { Reply } from '../mail/reply.js'
import { type AttemptEnd, OUR_LOGIN } from '../outcome/reply.js'
import type { Queue } from '../store/port/mail.js'
import { MissingBodyError } from '../store/port/upkeep.js'
import type { Carrier, CarryVerdict, RefusedRecipients } from './dialogue/connection.js'
import { downgradeHeader, type Envelope, type EnvelopeNeeds, toEnvelope } from './dialogue/envelope.js'
import { SetupFailure } from './dialogue/session.js'
import { scan } from './dialogue/wire.js'
import type { Journal } from './journal.js'
import type { Pool } from './pools.js'
import type { CrashPoint } from './settings.js'
import type { ToSign } from './signing.js'
import { type RelayItem, recipientsOf } from './throttles.js'
import type { Upstream } from './upstream.js'

const LIMIT = 50
const HEADER_END = Buffer.from('\r\n\r\n')
/** Nearly every message has fewer, and is done with. */
const TWICE = /^received:.*?^received:/ims
const RECEIVED = /^received:[ \t]*((?:[^\r\n]|\r?\n[ \t])*)/gim

/** `token` is what our own Received header contains and no other does. */
const isLooping = (raw: Uint8Array, token: string): boolean => {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const end = bytes.indexOf(HEADER_END)
  const header = bytes.toString('latin1', 0, end === -1 ? Math.min(bytes.length, 256 * 1024) : end)
  if (!TWICE.test(header)) return false
  let all = 0
  let ours = 0
  for (const [, value = ''] of header.matchAll(RECEIVED)) {
    all++
    if (value.includes(token)) ours++
  }
  return all > LIMIT || ours > 1
}

export interface Surroundings {
  readonly queue: Pick<Queue, 'body'>
  readonly journal: Journal
  readonly now: () => number
  readonly tick: () => number
  /** Envelope sender of this mail in this pool. */
  readonly returnPath: (claimed: Claimed, pool: Pool) => string
  /** Our ENVID: the same on every attempt. */
  readonly envid: (claimed: Claimed) => string
  /** Our signed reference as a header line, with its CRLF. */
  readonly ref?: (claimed: Claimed, pool: Pool) => string
  /** Puts the signatures of its sending domain on top; at once where there are none. */
  readonly sign?: (
    claimed: Claimed,
    pool: Pool,
    mail: Omit<ToSign, 'now'>,
  ) => Uint8Array | Promise<Uint8Array>
  readonly receivedToken: string
  readonly stopping: () => boolean
  /** Rejects when the relay stops: waiting for a connection then makes no sense. */
  readonly stopped: Promise<never>
  readonly crash: (point: CrashPoint) => void
}

export type AttemptResult =
  /** `left`: the upstream wants these in a transaction of their own. */
  | { readonly kind: 'settled'; readonly ends: readonly AttemptEnd[]; readonly left: readonly Claimed[] }
  /** `hurried`: it was only too slow while another member took mail. */
  | { readonly kind: 'again'; readonly end: AttemptEnd; readonly stale: boolean; readonly hurried?: boolean }
  | { readonly kind: 'released' }

type Ended = AttemptEnd & { readonly detail: Record<string, string | number | boolean | null> }

const LOOP: Reply = { code: 554, enhanced: '5.4.6', text: 'Mail loop: this message has been here before' }
const LOST: Reply = { code: 451, enhanced: '4.3.0', text: 'The stored message is missing' }
const GONE: Reply = { code: 554, enhanced: '5.3.0', text: 'The message is no longer stored' }

const NONE_REFUSED: RefusedRecipients = new Map()

/** "Too many recipients" (RFC 5321, 4.5.3.1.10): no fault of this recipient, and no reason to wait. */
const isTooMany = (reply: Reply | undefined): boolean =>
  (reply?.code === 452 || reply?.code === 552) &&
  (/^[45]\.5\.3$/.test(reply.enhanced ?? '') || /too many recipients/i.test(reply.text))

export class Attempt {
  readonly #item: RelayItem
  readonly #pool: Pool
  readonly #upstream: Upstream
  readonly #around: Surroundings
  readonly #began: AttemptEnd['began']

  constructor(item: RelayItem, pool: Pool, upstream: Upstream, around: Surroundings) {
    this.#item = item
    this.#pool = pool
    this.#upstream = upstream
    this.#around = around
    this.#began = { at: around.now(), tick: around.tick() }
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

  async #carry(kept: Carrier | null): Promise<AttemptResult> {
    const { claimed } = this.#item
    let raw: Uint8Array | null
    try {
      raw = claimed.raw ?? (await this.#around.queue.body(claimed.emailId))
    } catch (error) {
      // it may come back from a backup before the mail's time is over
      if (error instanceof MissingBodyError) return this.#refused(kept, LOST)
      if (kept !== null) this.#upstream.giveBack(kept)
      throw error
    }
    if (raw === null) return this.#refused(kept, GONE)
    if (isLooping(raw, this.#around.receivedToken)) return this.#refused(kept, LOOP)
    let connection: Carrier
    try {
      connection = kept ?? (await this.#open())
    } catch (error) {
      return this.#notOpened(error as Error)
    }
    try {
      return await this.#transact(connection, raw)
    } catch (error) {
      // whoever threw, nobody else has it
      connection.abort('the attempt failed')
      throw error
    }
  }

  async #transact(connection: Carrier, stored: Uint8Array): Promise<AttemptResult> {
    const { claimed } = this.#item
    // where the address itself is plain, no hop behind the upstream shall need SMTPUTF8 for mere text
    const ascii = claimed.needsSmtpUtf8 && isAscii(claimed.address) ? downgradeHeader(stored) : null
    let raw = ascii ?? stored
    const form = ascii === null ? 'plain' : 'downgraded'
    const signed = this.#around.sign?.(claimed, this.#pool, { raw, form, rewritten: this.#upstream.rewrites })
    if (signed !== undefined) raw = signed instanceof Uint8Array ? signed : await signed
    const head = this.#reference()
    const seen = scan(raw)
    const size = head.length + raw.length
    const returnPath = this.#around.returnPath(claimed, this.#pool)
    const needsSmtpUtf8 = ascii === null && claimed.needsSmtpUtf8
    const needs = { returnPath, size, eightBit: seen.eightBit, needsSmtpUtf8 }
    const envelope = this.#envelope(connection, needs)
    if ('code' in envelope) {
      this.#upstream.giveBack(connection)
      return { kind: 'again', end: this.#end('mail', envelope, null, connection), stale: false }
    }
    if (!(await this.#mayGo())) {
      this.#upstream.giveBack(connection)
      return { kind: 'released' }
    }
    const recipients = 1 + this.#item.others.length
    const isFixed = this.#pool.row.returnPath === 'fixed'
    const load = { claimed, recipients, returnPath, isFixed, envelope, raw, seen, head }
    return this.#judge(connection, await connection.carry(load))
  }

  /**
   * By it a complaint finds its mail, whose return path feedback loops cut away; and where the return path
   * is fixed, a report. Only in a message of its own: whoever reads a reference could speak for its recipient.
   */
  #reference(): string {
    const { claimed, others } = this.#item
    if (others.length > 0 || claimed.nullSender === true) return ''
    return this.#around.ref?.(claimed, this.#pool) ?? ''
  }

  #open(): Promise<Carrier> {
    const opening = this.#upstream.openConnection(() => this.#pool.hasOther(this.#upstream, this.#item))
    return Promise.race([opening, this.#around.stopped]).catch((error) => {
      opening.then(
        (late) => late.quit(),
        () => {},
      )
      throw error
    })
  }

  #envelope(
    { verified, offers }: Carrier,
    needs: Pick<EnvelopeNeeds, 'returnPath' | 'size' | 'eightBit' | 'needsSmtpUtf8'>,
  ): Envelope | Reply {
    const { claimed, others } = this.#item
    const { notifySuccess } = this.#pool.row
    const envid = (): string => this.#around.envid(claimed)
    return toEnvelope({ ...needs, claimed, others, envid, notifySuccess, verified }, offers)
  }

  /** The last question: are these leases still ours, and is it written that we try? */
  async #mayGo(): Promise<boolean> {
    const { journal, now, stopping, crash } = this.#around
    if (stopping()) return false
    const at = now()
    const upstreamId = this.#upstream.row.id
    const marks = recipientsOf(this.#item).map(({ recipientId, leaseGen, attempts }) =>
      journal.mark({ recipientId, leaseGen, attempt: attempts + 1, upstreamId, at }),
    )
    // they share a transaction: when one is no longer ours, nobody goes
    const mine = (await Promise.all(marks)).every((one) => one)
    if (mine) crash('relay.before-data')
    return mine && !stopping()
  }

  #judge(connection: Carrier, verdict: CarryVerdict): AttemptResult {
    const upstream = this.#upstream
    if (verdict.kind === 'lost') return this.#lost(connection, verdict)
    if (verdict.kind === 'elsewhere') return this.#elsewhere(connection, verdict)
    const { stage, reply, refused, id } = verdict
    if (stage === 'dot') this.#around.crash('relay.after-dot')
    if (stage !== 'dot' && (reply.code === 421 || OUR_LOGIN.has(reply.code))) {
      // about this connection or our login, not about this mail
      const stale = connection.used > 1 && reply.code === 421 && !this.#item.stale
      connection.abort('refused')
      if (!stale) upstream.failed(stage, `${reply.code} ${reply.text}`)
      return { kind: 'again', end: this.#end(stage, reply, null, connection), stale }
    }
    upstream.succeeded()
    upstream.giveBack(connection)
    const end = this.#end(stage, reply, null, connection)
    if (id !== undefined) end.detail.upstream_message_id = id
    return this.#settled(end, refused, connection)
  }

  #elsewhere(
    connection: Carrier,
    { stage, reply, blame }: Extract<CarryVerdict, { kind: 'elsewhere' }>,
  ): AttemptResult {
    const upstream = this.#upstream
    if (blame === 'upstream') {
      connection.abort('refused')
      upstream.failed(stage, `${reply.code} ${reply.text}`)
    } else {
      if (blame !== null) upstream.slowDown(blame.waitMs, reply.text)
      upstream.giveBack(connection)
    }
    return { kind: 'again', end: this.#end(stage, reply, null, connection), stale: false }
  }

  /** How the message ended, for each recipient that was not refused before it. */
  #settled(end: AttemptEnd, refused: RefusedRecipients, connection: Carrier | null): AttemptResult {
    if (this.#item.others.length === 0) return { kind: 'settled', ends: [end], left: [] }
    const all = recipientsOf(this.#item)
    const left = refused.size === all.length ? [] : all.filter((_, i) => isTooMany(refused.get(i)))
    const ends = all.flatMap((claimed, i) => {
      const no = refused.get(i)
      if (no === undefined) return { ...end, claimed }
      return left.includes(claimed) ? [] : { ...this.#end('rcpt', no, null, connection), claimed }
    })
    return { kind: 'settled', ends, left }
  }

  #lost(
    connection: Carrier,
    { stage, error, refused }: Extract<CarryVerdict, { kind: 'lost' }>,
  ): AttemptResult {
    const sent = stage === 'body' || stage === 'dot'
    if (!sent && this.#around.stopping()) return { kind: 'released' }
    const stale = !sent && connection.used > 1 && !this.#item.stale
    if (!stale) this.#upstream.failed(stage, error)
    const end = this.#end(stage, null, error, connection)
    return sent ? this.#settled(end, refused, connection) : { kind: 'again', end, stale }
  }

  #notOpened(error: Error): AttemptResult {
    if (!(error instanceof SetupFailure)) {
      if (this.#around.stopping()) return { kind: 'released' }
      throw error
    }
    this.#upstream.failed(error.stage, error.message)
    const end = this.#end(error.stage, error.reply, error.message, null)
    return { kind: 'again', end, stale: false, hurried: error.hurried }
  }

  #refused(kept: Carrier | null, reply: Reply): AttemptResult {
    if (kept !== null) this.#upstream.giveBack(kept)
    return this.#settled(this.#end('mail', reply, null, null), NONE_REFUSED, null)
  }

  /** A client wants to hear of success, and this upstream will not tell us. */
  #unreported(connection: Carrier | null): boolean {
    if (connection?.offers.dsn === true && this.#pool.row.notifySuccess) return false
    return recipientsOf(this.#item).some(({ dsn }) => /SUCCESS/i.test(dsn?.notify ?? ''))
  }

  #end(stage: string, reply: Reply | null, error: string | null, connection: Carrier | null): Ended {
    const { row } = this.#upstream
    const { before } = this.#item
    const ms = Math.round(this.#around.tick() - this.#began.tick)
    const detail: Ended['detail'] = { port: row.port, tls: connection?.tls ?? null, ms }
    if (stage === 'dot' && reply === null) detail.ambiguous = true
    if (this.#unreported(connection)) detail.reports = false
    if (before.length > 0) detail.tried_before = before.join('; ')
    return {
      claimed: this.#item.claimed,
      at: this.#around.now(),
      began: this.#began,
      upstreamId: row.id,
      host: row.host,
      stage,
      reply,
      error,
      detail,
    }
  }
}
