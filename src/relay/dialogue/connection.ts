/**
 * NAME      connection - one SMTP transaction after another, and where each stands
 *   Takes an open Session and carries messages over it. At any moment `stage`
 *   tells how far a message has come, and that decides what a broken connection means:
 *   until `data` nothing was sent; in `body` the upstream can not
 *   have the whole; from `dot` on, when the last byte of CRLF.CRLF was handed to
 *   the socket, it may have. MAIL, RCPT and DATA travel together where PIPELINING is
 *   offered. Of several recipients some may be refused: the message goes to the others,
 *   and one reply after the dot speaks for all of these.
 *   Each command has its own deadline (RFC 5321, 4.5.3.2).
 *   Whose leases may be somebody else's by now sends nothing: asked before MAIL, before each block, and
 *   before the final dot, which is a write of its own where the message is larger than a block.
 * NOTES
 *   An upstream that has refused all recipients and takes DATA all the same is hung up on
 *   (RFC 2920, 3.1, would send it an empty message).
 *   A reply is weighed when it comes; what it leads to is done when all of its chunk were, since a reply that
 *   came before its question answers nothing.
 */
import type { Claimed } from '../../lifecycle/facts.js'
import type { Reply } from '../../mail/reply.js'
import type { Envelope, Offers } from './envelope.js'
import type { SmtpSession } from './session.js'
import { type Line, type Listener, type Payload, type Scan, toPayload } from './wire.js'

type MailStage = 'greeting' | 'auth' | 'mail' | 'rcpt' | 'data' | 'body' | 'dot'

export interface Timeouts {
  readonly mail: number
  readonly rcpt: number
  readonly data: number
  /** For each block of the body. */
  readonly block: number
  /** For the whole body, so that no trickle outlives its lease. */
  readonly body: number
  /** For the reply to the final dot. */
  readonly dot: number
}

interface Mail {
  readonly mail: string
  /** One command for each recipient. */
  readonly rcpt: readonly string[]
  readonly payload: Payload
}

/** The answers to those RCPT commands that were refused, by their place. */
export type RefusedRecipients = ReadonlyMap<number, Reply>

export type CarryVerdict =
  /** The upstream has spoken: 2xx at `dot` means taken, anything else refused at that stage. */
  | {
      readonly kind: 'reply'
      readonly stage: MailStage
      readonly reply: Reply
      readonly refused: RefusedRecipients
      /** What a service calls the mail that it took. */
      readonly id?: string
    }
  /** The connection died; what that means depends on the stage. */
  | {
      readonly kind: 'lost'
      readonly stage: MailStage
      readonly error: string
      readonly refused: RefusedRecipients
    }
  /** It has clearly not been taken, and somebody else may take it; the upstream is to blame for that, or our pace, or nobody. */
  | {
      readonly kind: 'elsewhere'
      readonly stage: MailStage
      readonly reply: Reply
      readonly blame: 'upstream' | { readonly waitMs: number } | null
    }

/** A mail for one transaction. */
export interface Load {
  readonly claimed: Claimed
  /** How many recipients it has, `claimed` the first. */
  readonly recipients: number
  readonly returnPath: string
  /** The return path is one for all mail of its pool. */
  readonly isFixed: boolean
  readonly envelope: Envelope
  readonly raw: Uint8Array
  readonly seen: Scan
  /** Header lines that go before it. */
  readonly head: string
}

/** What carries mail to an upstream, one after another: by SMTP, or to a service by HTTPS. */
export interface Carrier {
  readonly offers: Offers
  readonly tls: string | null
  readonly verified: boolean
  /** Messages begun on it. */
  readonly used: number
  readonly stage: MailStage | 'idle'
  /** When it last became idle, on the tick clock. */
  idleSince: number
  /** How long it may be idle, at most. */
  readonly keptMs: number
  readonly alive: boolean
  /** Calls back once, when the connection can take no more mail. */
  onClosed(callback: () => void): void
  /** To be called now and then: gives up on an upstream that lets a deadline pass. */
  sweep(now: number): void
  /** Ends an idle connection politely. */
  quit(): void
  /** Drops the connection as it stands. */
  abort(reason: string): void
  carry(load: Load): Promise<CarryVerdict>
  /** Where connecting alone does not show that we are let in: rejects with SetupFailure unless we are. */
  check?(): Promise<void>
}

const BLOCK = 64 * 1024

interface Command {
  readonly stage: 'mail' | 'rcpt' | 'data'
  readonly line: string
}

const RSET: Command = { stage: 'mail', line: 'RSET' }
const DATA: Command = { stage: 'data', line: 'DATA' }

/** Ends the envelope without a message. */
interface No {
  readonly stage: MailStage
  readonly reply: Reply
}

/** A mail on its way. */
interface Transaction {
  readonly commands: readonly Command[]
  /** The place of the first RCPT among them. */
  readonly first: number
  readonly recipients: number
  /** All commands go in one write. */
  readonly isSaidAtOnce: boolean
  readonly payload: Payload
  readonly refused: Map<number, Reply>
  readonly done: (verdict: CarryVerdict) => void
  said: number
  answered: number
  no: No | null
}

/** The upstream waits for the message. */
const isGo = ({ code }: Reply): boolean => code >= 300 && code < 400

export class Connection implements Listener, Carrier {
  readonly offers: Offers
  readonly tls: string | null
  readonly verified: boolean
  used = 0
  stage: MailStage | 'idle' = 'idle'
  idleSince = 0
  readonly keptMs = Number.POSITIVE_INFINITY
  readonly #line: Line
  readonly #timeouts: Timeouts
  readonly #tick: () => number
  readonly #mayGo: () => boolean
  #current: Transaction | null = null
  #deadline = Number.POSITIVE_INFINITY
  #open = false
  /** It wanted none of the recipients of the mail before: DATA for nobody would be an error more that it counts. */
  #wantedNobody = false
  #onClosed: () => void = () => {}

  constructor(
    session: SmtpSession,
    timeouts: Timeouts,
    tick: () => number,
    mayGo: () => boolean = () => true,
  ) {
    this.offers = session.offers
    this.tls = session.tls
    this.verified = session.verified
    this.#line = session.line
    this.#timeouts = timeouts
    this.#tick = tick
    this.#mayGo = mayGo
    this.#line.listener = this
  }

  get alive(): boolean {
    return this.#line.closed === null
  }

  onClosed(callback: () => void): void {
    if (this.alive) this.#onClosed = callback
    else callback()
  }

  sweep(now: number): void {
    if (now > this.#deadline) this.abort(`no answer in time (${this.stage})`)
  }

  quit(): void {
    this.#line.quit()
  }

  abort(reason: string): void {
    this.#line.fail(new Error(reason))
  }

  carry({ envelope: { mail, rcpt }, raw, seen, head }: Load): Promise<CarryVerdict> {
    return this.transact({ mail, rcpt, payload: toPayload(raw, seen, head) })
  }

  transact({ mail, rcpt, payload }: Mail): Promise<CarryVerdict> {
    this.used++
    this.stage = 'mail'
    const commands: Command[] = this.#open ? [RSET] : []
    commands.push({ stage: 'mail', line: mail })
    const first = commands.length
    for (const line of rcpt) commands.push({ stage: 'rcpt', line })
    commands.push(DATA)
    const isSaidAtOnce = this.offers.pipelining && !this.#wantedNobody
    return new Promise((done) => {
      const rest = { payload, refused: new Map(), done, said: 0, answered: 0, no: null }
      this.#current = { commands, first, recipients: rcpt.length, isSaidAtOnce, ...rest }
      this.#line.guard(() => this.#begin())
    })
  }

  #begin(): void {
    const { closed } = this.#line
    if (closed !== null) this.#lost(closed.message)
    if (this.#current === null || !this.#hasLease()) return
    this.#open = true
    this.#say(this.#current)
  }

  /** Drops the connection when the store has been away for so long that others may send this mail. */
  #hasLease(): boolean {
    const has = this.#mayGo()
    if (!has) this.abort('the store was away for too long')
    return has
  }

  /** The next command, or all of them, in one write. */
  #say(current: Transaction): void {
    const { commands, answered } = current
    this.#await(commands[answered] as Command)
    if (!current.isSaidAtOnce) current.said++
    else current.said = commands.length
    let text = ''
    for (let i = answered; i < current.said; i++) text += `${commands[i]?.line}\r\n`
    this.#line.write(text)
  }

  /** This command is the next to be answered. */
  #await({ stage }: Command): void {
    this.stage = stage
    this.#deadline = this.#tick() + this.#timeouts[stage]
  }

  replied(reply: Reply): void {
    const { code, text } = reply
    const current = this.#current
    if (current === null) this.abort(`unexpected reply ${code}`)
    else if (code < 200 || code > 599) this.abort('not an SMTP reply')
    else if (this.stage === 'body' || this.stage === 'dot') this.#concluded(current, reply)
    else this.#answered(current, reply)
    // 421 means the upstream is leaving (RFC 5321, 3.8): this reply counts, and no other will come
    if (code === 421) this.abort(`421 ${text}`)
  }

  /** A command of the envelope was answered. */
  #answered(current: Transaction, reply: Reply): void {
    const { commands, first, recipients, refused, said } = current
    const { code } = reply
    const place = current.answered++
    const command = commands[place]
    if (command === undefined || place >= said) {
      this.abort(`unexpected reply ${code}`)
      return
    }
    const { stage } = command
    if (place + 1 < said) this.#await(commands[place + 1] as Command)
    if (isGo(reply)) {
      // it has lost count, or wants a message for nobody
      if (stage !== 'data' || current.no !== null) this.abort(`${code} to ${stage.toUpperCase()}`)
      return
    }
    if (command === RSET || current.no !== null) return
    if (stage === 'rcpt' && code >= 400) refused.set(place - first, reply)
    const isNo = stage === 'mail' || refused.size === recipients || code === 421
    if (stage === 'data' || (code >= 400 && isNo)) current.no = { stage, reply }
  }

  /** All that came in was weighed. */
  read(): void {
    const current = this.#current
    if (current === null || this.stage === 'body' || this.stage === 'dot') return
    const { answered, said, commands, no, refused } = current
    if (answered < said) return
    this.#wantedNobody = no?.stage === 'rcpt'
    if (no !== null) this.#end({ kind: 'reply', ...no, refused })
    else if (said < commands.length) this.#say(current)
    else this.#content(current)
  }

  #content(current: Transaction): void {
    if (!this.#hasLease()) return
    this.stage = 'body'
    const { head, body, end } = current.payload
    if (body.length > BLOCK) {
      const block = Buffer.concat([head, body.subarray(0, BLOCK)])
      this.#block(current, block, BLOCK, this.#tick() + this.#timeouts.body)
    } else {
      // one write: a small copy costs less than a second system call
      this.#last(Buffer.concat([head, body, end]))
    }
  }

  /** A block of a large message, and when it is gone those from `next` on; an upstream may refuse it in the middle. */
  #block(current: Transaction, bytes: Uint8Array, next: number, latest: number): void {
    this.#deadline = Math.min(this.#tick() + this.#timeouts.block, latest)
    this.#line.write(bytes, () => {
      if (current !== this.#current || !this.#hasLease()) return
      const { body, end } = current.payload
      if (next < body.length) this.#block(current, body.subarray(next, next + BLOCK), next + BLOCK, latest)
      else this.#last(end)
    })
  }

  #last(bytes: Uint8Array): void {
    this.stage = 'dot'
    this.#deadline = this.#tick() + this.#timeouts.dot
    this.#line.write(bytes)
  }

  /** The message was answered, at its end or before it. */
  #concluded({ payload, refused }: Transaction, reply: Reply): void {
    if (this.stage === 'body' && reply.code < 400) {
      this.abort(`${reply.code} before the message was sent`)
      return
    }
    this.#open = false
    this.#end({ kind: 'reply', stage: 'dot', reply, refused })
    // it may have been refused in the middle, and another reply be on its way: that must not meet the next mail
    if (reply.code >= 400 && payload.body.length > BLOCK) this.quit()
  }

  closed({ message }: Error): void {
    this.#lost(message)
    this.#onClosed()
  }

  #lost(error: string): void {
    const current = this.#current
    if (current === null) return
    const { no, refused } = current
    if (no !== null) this.#end({ kind: 'reply', ...no, refused })
    else this.#end({ kind: 'lost', stage: this.stage as MailStage, error, refused })
  }

  #end(verdict: CarryVerdict): void {
    const current = this.#current
    this.#current = null
    this.stage = 'idle'
    this.#deadline = Number.POSITIVE_INFINITY
    current?.done(verdict)
  }
}
