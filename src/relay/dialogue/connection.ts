/**
 * NAME      connection - one SMTP transaction after another, and where each stands
 * DESCRIPTION
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
 *   SMTPConnection.send() is not used, because three rules can not be kept with it: it
 *   reports the same error for a connection lost anywhere; it has one timeout for
 *   all commands; and it asks for SMTPUTF8 by the envelope alone, not by the header.
 */
import type { Reply } from '../../mail/reply.js'
import type { Offers } from './offers.js'
import type { Session } from './session.js'
import { createReplyReader, type Payload } from './wire.js'

type MailStage = 'mail' | 'rcpt' | 'data' | 'body' | 'dot'

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
export type Refused = ReadonlyMap<number, Reply>

export type Verdict =
  /** The upstream has spoken: 2xx at `dot` means taken, anything else refused at that stage. */
  | { readonly kind: 'reply'; readonly stage: MailStage; readonly reply: Reply; readonly refused: Refused }
  /** The connection died; what that means depends on the stage. */
  | { readonly kind: 'lost'; readonly stage: MailStage; readonly error: string; readonly refused: Refused }

const BLOCK = 64 * 1024
const LEFT = new Error('connection closed by us')

interface Command {
  readonly stage: 'mail' | 'rcpt' | 'data'
  readonly line: string
}

const RSET: Command = { stage: 'mail', line: 'RSET' }
const DATA: Command = { stage: 'data', line: 'DATA' }

/** Replies that are waited for. */
interface Exchange {
  readonly replies: Reply[]
  /** As many as there are commands. */
  readonly wanted: number
  /** Told of each reply but the last. */
  next(replies: number): void
  /** With fewer than wanted when the connection broke. */
  done(replies: readonly Reply[]): void
}

/** Ends the envelope without a message. */
interface No {
  readonly stage: MailStage
  readonly reply: Reply
}

/** The upstream waits for the message. */
const isGo = ({ code }: Reply): boolean => code >= 300 && code < 400

export class Connection {
  readonly offers: Offers
  readonly tls: string | null
  readonly verified: boolean
  /** Messages begun on this connection. */
  used = 0
  stage: MailStage | 'idle' = 'idle'
  /** When it last became idle, on the tick clock. */
  idleSince = 0
  readonly #socket: Session['socket']
  readonly #timeouts: Timeouts
  readonly #tick: () => number
  readonly #mayGo: () => boolean
  #exchange: Exchange | null = null
  #closed: Error | null = null
  #deadline = Number.POSITIVE_INFINITY
  #open = false
  /** It wanted none of the recipients of the mail before: DATA for nobody would be an error more that it counts. */
  #wantedNobody = false
  #onClosed: () => void = () => {}

  constructor(session: Session, timeouts: Timeouts, tick: () => number, mayGo: () => boolean = () => true) {
    this.offers = session.offers
    this.tls = session.tls
    this.verified = session.verified
    this.#socket = session.socket
    this.#timeouts = timeouts
    this.#tick = tick
    this.#mayGo = mayGo
    const read = createReplyReader((reply) => this.#replied(reply))
    this.#socket.on('data', (chunk: Buffer) => {
      try {
        read(chunk)
      } catch (error) {
        this.#fail(error as Error)
      }
    })
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('end', () => this.#fail(new Error('connection closed by the upstream')))
    this.#socket.on('close', () => this.#fail(new Error('connection closed')))
    if (this.#socket.destroyed) this.#fail(new Error('connection closed'))
    this.#socket.resume()
  }

  get alive(): boolean {
    return this.#closed === null
  }

  /** Calls back once, when the connection can take no more mail. */
  onClosed(callback: () => void): void {
    if (this.#closed === null) this.#onClosed = callback
    else callback()
  }

  /** To be called now and then: gives up on an upstream that lets a deadline pass. */
  sweep(now: number): void {
    if (now > this.#deadline) this.#fail(new Error(`no answer in time (${this.stage})`))
  }

  /** Ends an idle connection politely. */
  quit(): void {
    if (this.#closed !== null) return
    this.#closing(LEFT)
    this.#socket.end('QUIT\r\n')
    this.#socket.setTimeout(1_000, () => this.#socket.destroy())
  }

  /** Drops the connection as it stands. */
  abort(reason: string): void {
    this.#fail(new Error(reason))
  }

  async transact(mail: Mail): Promise<Verdict> {
    this.used++
    this.stage = 'mail'
    const refused = new Map<number, Reply>()
    try {
      const no = await this.#envelope(mail, refused)
      if (no !== null) return { kind: 'reply', stage: no.stage, reply: no.reply, refused }
      const reply = await this.#content(mail.payload)
      this.#open = false
      // it may have been refused in the middle, and another reply be on its way: that must not meet the next mail
      if (reply.code >= 400 && mail.payload.body.length > BLOCK) this.quit()
      return { kind: 'reply', stage: 'dot', reply, refused }
    } catch (error) {
      return { kind: 'lost', stage: this.stage, error: (error as Error).message, refused }
    } finally {
      this.stage = 'idle'
      this.#deadline = Number.POSITIVE_INFINITY
    }
  }

  /** MAIL, RCPT and DATA; null when the upstream waits for the message. */
  async #envelope({ mail, rcpt }: Mail, refused: Map<number, Reply>): Promise<No | null> {
    this.#checkLease()
    const commands: Command[] = this.#open ? [RSET] : []
    this.#open = true
    commands.push({ stage: 'mail', line: mail })
    const first = commands.length
    for (const line of rcpt) commands.push({ stage: 'rcpt', line })
    commands.push(DATA)
    const isSaidAtOnce = this.offers.pipelining && !this.#wantedNobody
    const replies = isSaidAtOnce ? await this.#say(commands) : null
    let no: No | null = null
    for (const [i, command] of commands.entries()) {
      const reply = replies === null ? (await this.#say([command]))[0] : replies[i]
      if (command !== RSET) no = this.#heard(command.stage, reply, i - first, rcpt.length, refused)
      if (no !== null) break
    }
    this.#wantedNobody = no?.stage === 'rcpt'
    const last = replies?.[commands.length - 1]
    if (no !== null && no.stage !== 'data' && last !== undefined && isGo(last)) this.abort('no recipient')
    return no
  }

  /** What a reply to one of these commands means: null is to go on. */
  #heard(
    stage: MailStage,
    reply: Reply | undefined,
    place: number,
    count: number,
    refused: Map<number, Reply>,
  ): No | null {
    if (reply === undefined) throw this.#closed ?? LEFT
    if (stage === 'data') return isGo(reply) ? null : { stage, reply }
    if (reply.code < 300) return null
    if (isGo(reply)) throw this.#fail(new Error(`${reply.code} to ${stage.toUpperCase()}`))
    if (stage === 'mail') return { stage, reply }
    refused.set(place, reply)
    return refused.size === count || reply.code === 421 ? { stage, reply } : null
  }

  async #content({ head, body, end }: Payload): Promise<Reply> {
    // it may have gone away right after it said 354: then nothing was sent
    if (this.#closed !== null) throw this.#closed
    this.#checkLease()
    this.stage = 'body'
    // an upstream may refuse in the middle of the body; its reply then is the final one
    const replies = this.#expect(1, () => {})
    if (body.length > BLOCK) {
      if (await this.#blocks(head, body)) {
        this.#checkLease()
        this.stage = 'dot'
        this.#send(end, this.#timeouts.dot)
      }
    } else {
      // one write: a small copy costs less than a second system call
      this.stage = 'dot'
      this.#send(Buffer.concat([head, body, end]), this.#timeouts.dot)
    }
    const [reply] = await replies
    if (reply === undefined) throw this.#closed ?? LEFT
    return reply
  }

  /** False when it need not be sent to its end, since the upstream has spoken or gone. */
  async #blocks(head: Uint8Array, body: Uint8Array): Promise<boolean> {
    const latest = this.#tick() + this.#timeouts.body
    try {
      if (head.length > 0) await this.#block(head, latest)
      for (let at = 0; at < body.length && this.#exchange !== null; at += BLOCK) {
        await this.#block(body.subarray(at, at + BLOCK), latest)
      }
    } catch (error) {
      if (this.#exchange !== null) throw error
    }
    return this.#exchange !== null
  }

  #block(bytes: Uint8Array, latest: number): Promise<void> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    this.#checkLease()
    this.#deadline = Math.min(this.#tick() + this.#timeouts.block, latest)
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
  }

  /** Drops the connection when the store has been away for so long that others may send this mail. */
  #checkLease(): void {
    if (!this.#mayGo()) throw this.#fail(new Error('the store was away for too long'))
  }

  /** In one write. */
  #say(commands: readonly Command[]): Promise<readonly Reply[]> {
    const replies = this.#expect(commands.length, (next) => this.#step(commands[next] as Command))
    this.#step(commands[0] as Command)
    let text = ''
    for (const { line } of commands) text += `${line}\r\n`
    if (this.#closed === null) this.#socket.write(text)
    return replies
  }

  /** This command is the next to be answered. */
  #step({ stage }: Command): void {
    this.stage = stage
    this.#deadline = this.#tick() + this.#timeouts[stage]
  }

  #send(bytes: Uint8Array, timeout: number): void {
    if (this.#closed !== null) return
    this.#deadline = this.#tick() + timeout
    this.#socket.write(bytes)
  }

  #expect(wanted: number, next: (replies: number) => void): Promise<readonly Reply[]> {
    if (this.#closed !== null) return Promise.resolve([])
    return new Promise((done) => {
      this.#exchange = { replies: [], wanted, next, done }
    })
  }

  #replied(reply: Reply): void {
    const exchange = this.#exchange
    if (exchange === null) {
      this.#fail(new Error(`unexpected reply ${reply.code}`))
    } else if (reply.code < 200 || reply.code > 599) {
      this.#fail(new Error('not an SMTP reply'))
    } else if (this.stage === 'body' && reply.code < 400) {
      this.#fail(new Error(`${reply.code} before the message was sent`))
    } else {
      const answered = exchange.replies.push(reply)
      // 421 means the upstream is leaving (RFC 5321, 3.8): this reply counts, and no other will come
      if (reply.code === 421) this.#fail(new Error(`421 ${reply.text}`))
      else if (answered < exchange.wanted) exchange.next(answered)
      else this.#complete()
    }
  }

  #complete(): void {
    const exchange = this.#exchange
    this.#exchange = null
    exchange?.done(exchange.replies)
  }

  #closing(error: Error): void {
    if (this.#closed !== null) return
    this.#closed = error
    this.#complete()
    this.#onClosed()
  }

  #fail(error: Error): Error {
    this.#closing(error)
    this.#socket.destroy()
    return error
  }
}
