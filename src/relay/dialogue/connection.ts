/**
 * NAME      connection - one SMTP transaction after another, and where each stands
 * DESCRIPTION
 *   Takes an open Session and carries messages over it. At any moment `stage`
 *   tells how far a message has come, and that decides what a broken connection means:
 *   until `data` nothing was sent; in `body` the upstream can not
 *   have the whole; from `dot` on, when the last byte of CRLF.CRLF was handed to
 *   the socket, it may have. MAIL and RCPT travel together where PIPELINING is
 *   offered; DATA waits for all replies and for the journal (`mayGo`). Of several
 *   recipients some may be refused: the message goes to the others, and one reply
 *   after the dot speaks for all of these.
 *   Each command has its own deadline (RFC 5321, 4.5.3.2).
 * NOTES
 *   SMTPConnection.send() is not used, because four rules can not be kept with it:
 *   it pipelines DATA with MAIL, so the journal would have to precede RCPT; it reports
 *   the same error for a connection lost anywhere; it has one timeout for
 *   all commands; and it asks for SMTPUTF8 by the envelope alone, not by the header.
 */
import type { Reply } from '../../mail/reply.js'
import type { Offers } from './offers.js'
import type { Session } from './session.js'
import { createReplyReader, type Payload } from './wire.js'

export type MailStage = 'mail' | 'rcpt' | 'data' | 'body' | 'dot'

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

export interface Mail {
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
  /** The journal said no: nothing was sent. */
  | { readonly kind: 'withheld' }

const BLOCK = 64 * 1024
const LEFT = new Error('connection closed by us')
const DATA = Buffer.from('DATA\r\n')

interface Waiting {
  resolve(reply: Reply): void
  reject(error: Error): void
}

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
  readonly #waiting: Waiting[] = []
  #closed: Error | null = null
  #deadline = Number.POSITIVE_INFINITY
  #open = false
  #onClosed: () => void = () => {}

  constructor(session: Session, timeouts: Timeouts, tick: () => number) {
    this.offers = session.offers
    this.tls = session.tls
    this.verified = session.verified
    this.#socket = session.socket
    this.#timeouts = timeouts
    this.#tick = tick
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

  /** `mayGo` is asked before DATA, for all recipients but the refused ones. */
  async transact(mail: Mail, mayGo: (refused: Refused) => Promise<boolean>): Promise<Verdict> {
    this.used++
    this.stage = 'mail'
    const refused = new Map<number, Reply>()
    try {
      const no = await this.#envelope(mail, refused)
      if (no !== null) return { kind: 'reply', stage: this.stage, reply: no, refused }
      this.#deadline = Number.POSITIVE_INFINITY
      if (!(await mayGo(refused))) return { kind: 'withheld' }
      this.stage = 'data'
      const go = await this.#ask(DATA, this.#timeouts.data)
      if (go.code < 300 || go.code >= 400) return { kind: 'reply', stage: 'data', reply: go, refused }
      const reply = await this.#content(mail.payload)
      this.#open = false
      return { kind: 'reply', stage: 'dot', reply, refused }
    } catch (error) {
      return { kind: 'lost', stage: this.stage, error: (error as Error).message, refused }
    } finally {
      this.stage = 'idle'
      this.#deadline = Number.POSITIVE_INFINITY
    }
  }

  /** MAIL and RCPT; null when a recipient was accepted, else the reply that decides. `stage` tells where. */
  async #envelope({ mail, rcpt }: Mail, refused: Map<number, Reply>): Promise<Reply | null> {
    const timeouts = this.#timeouts
    const reset = this.#open ? 'RSET\r\n' : ''
    this.#open = true
    if (!this.offers.pipelining) {
      if (reset !== '') await this.#ask(reset, timeouts.mail)
      const first = await this.#ask(`${mail}\r\n`, timeouts.mail)
      if (first.code >= 300) return first
      return this.#recipients(rcpt.length, refused, (i) => this.#ask(`${rcpt[i]}\r\n`, timeouts.rcpt))
    }
    const cleared = reset === '' ? null : this.#next()
    const mailReply = this.#next()
    const replies = rcpt.map(() => this.#next())
    mailReply.catch(() => {})
    for (const reply of replies) reply.catch(() => {})
    this.#send(`${reset}${mail}\r\n${rcpt.join('\r\n')}\r\n`, timeouts.mail)
    await cleared
    const first = await mailReply
    if (first.code >= 300) {
      // the replies to RCPT are read all the same, unless the upstream has hung up
      await Promise.allSettled(replies)
      return first
    }
    return this.#recipients(rcpt.length, refused, (i) => replies[i] as Promise<Reply>)
  }

  async #recipients(
    count: number,
    refused: Map<number, Reply>,
    replyTo: (place: number) => Promise<Reply>,
  ): Promise<Reply | null> {
    this.stage = 'rcpt'
    let last: Reply | null = null
    for (let i = 0; i < count; i++) {
      const reply = await replyTo(i)
      // each recipient may take the upstream a while
      if (count > 1) this.#deadline = this.#tick() + this.#timeouts.rcpt
      if (reply.code < 300) continue
      refused.set(i, reply)
      last = reply
      if (reply.code === 421) return reply
    }
    return refused.size === count ? last : null
  }

  async #content({ head, body, end }: Payload): Promise<Reply> {
    // it may have gone away right after it said 354: then nothing was sent
    if (this.#closed !== null) throw this.#closed
    this.stage = 'body'
    // an upstream may refuse in the middle of the body; its reply then is the final one
    const reply = this.#next()
    reply.catch(() => {})
    if (body.length > BLOCK) {
      const latest = this.#tick() + this.#timeouts.body
      if (head.length > 0) await this.#block(head, latest)
      for (let at = 0; at < body.length; at += BLOCK) {
        await this.#block(body.subarray(at, at + BLOCK), latest)
      }
      if (this.#closed !== null) throw this.#closed
      this.stage = 'dot'
      this.#send(end, this.#timeouts.dot)
    } else {
      // one write: a small copy costs less than a second system call
      this.stage = 'dot'
      this.#send(Buffer.concat([head, body, end]), this.#timeouts.dot)
    }
    return reply
  }

  #block(bytes: Uint8Array, latest: number): Promise<void> {
    if (this.#closed !== null) return Promise.reject(this.#closed)
    this.#deadline = Math.min(this.#tick() + this.#timeouts.block, latest)
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()))
    })
  }

  #ask(command: string | Uint8Array, timeout: number): Promise<Reply> {
    const reply = this.#next()
    this.#send(command, timeout)
    return reply
  }

  #send(bytes: string | Uint8Array, timeout: number): void {
    if (this.#closed !== null) return
    this.#deadline = this.#tick() + timeout
    this.#socket.write(bytes)
  }

  #next(): Promise<Reply> {
    const closed = this.#closed
    if (closed !== null) return Promise.reject(closed)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
    })
  }

  #replied(reply: Reply): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) {
      this.#fail(new Error(`unexpected reply ${reply.code}`))
    } else if (reply.code < 200 || reply.code > 599) {
      this.#fail(new Error('not an SMTP reply'), waiting)
    } else if (this.stage === 'body' && reply.code < 400) {
      this.#fail(new Error(`${reply.code} before the message was sent`), waiting)
    } else {
      waiting.resolve(reply)
      // 421 means the upstream is leaving (RFC 5321, 3.8): this reply counts, and no other will come
      if (reply.code === 421) this.#fail(new Error(`421 ${reply.text}`))
    }
  }

  #closing(error: Error): void {
    if (this.#closed !== null) return
    this.#closed = error
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
    this.#onClosed()
  }

  #fail(error: Error, waiting?: Waiting): void {
    waiting?.reject(error)
    this.#closing(error)
    this.#socket.destroy()
  }
}
