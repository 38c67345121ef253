/**
 * NAME      connection - one SMTP transaction after another, and where each stands
 * DESCRIPTION
 *   Takes an open Session and carries messages over it. At any moment `stage`
 *   tells how far a message has come, and that decides what a broken connection means
 *   (RELAY.md G2): until `data` nothing was sent; in `body` the upstream can not
 *   have the whole; from `dot` on, when the last byte of CRLF.CRLF was handed to
 *   the socket, it may have. MAIL and RCPT travel together where PIPELINING is
 *   offered; DATA waits for both replies and for the journal (`mayGo`).
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
  readonly rcpt: string
  readonly payload: Payload
}

export type Verdict =
  /** The upstream has spoken: 2xx at `dot` means taken, anything else refused at that stage. */
  | { readonly kind: 'reply'; readonly stage: MailStage; readonly reply: Reply }
  /** The connection died; what that means depends on the stage. */
  | { readonly kind: 'lost'; readonly stage: MailStage; readonly error: string }
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

  async transact(mail: Mail, mayGo: () => Promise<boolean>): Promise<Verdict> {
    this.used++
    this.stage = 'mail'
    try {
      const refused = await this.#envelope(mail)
      if (refused !== null) return refused
      this.#deadline = Number.POSITIVE_INFINITY
      if (!(await mayGo())) return { kind: 'withheld' }
      this.stage = 'data'
      const go = await this.#ask(DATA, this.#timeouts.data)
      if (go.code < 300 || go.code >= 400) return { kind: 'reply', stage: 'data', reply: go }
      const reply = await this.#content(mail.payload)
      this.#open = false
      return { kind: 'reply', stage: 'dot', reply }
    } catch (error) {
      return { kind: 'lost', stage: this.stage, error: (error as Error).message }
    } finally {
      this.stage = 'idle'
      this.#deadline = Number.POSITIVE_INFINITY
    }
  }

  /** MAIL and RCPT; null when both were accepted. */
  async #envelope(mail: Mail): Promise<Verdict | null> {
    const timeouts = this.#timeouts
    const reset = this.#open ? 'RSET\r\n' : ''
    this.#open = true
    if (this.offers.pipelining) {
      const cleared = reset === '' ? null : this.#next()
      const [mailReply, rcptReply] = [this.#next(), this.#next()]
      rcptReply.catch(() => {})
      mailReply.catch(() => {})
      this.#send(`${reset}${mail.mail}\r\n${mail.rcpt}\r\n`, timeouts.mail)
      await cleared
      const first = await mailReply
      if (first.code >= 300) {
        // the reply to RCPT is read all the same, unless the upstream has hung up
        await rcptReply.catch(() => {})
        return { kind: 'reply', stage: 'mail', reply: first }
      }
      this.stage = 'rcpt'
      const second = await rcptReply
      return second.code >= 300 ? { kind: 'reply', stage: 'rcpt', reply: second } : null
    }
    if (reset !== '') await this.#ask(reset, timeouts.mail)
    const first = await this.#ask(`${mail.mail}\r\n`, timeouts.mail)
    if (first.code >= 300) return { kind: 'reply', stage: 'mail', reply: first }
    this.stage = 'rcpt'
    const second = await this.#ask(`${mail.rcpt}\r\n`, timeouts.rcpt)
    return second.code >= 300 ? { kind: 'reply', stage: 'rcpt', reply: second } : null
  }

  async #content({ body, end }: Payload): Promise<Reply> {
    this.stage = 'body'
    // an upstream may refuse in the middle of the body; its reply then is the final one
    const reply = this.#next()
    reply.catch(() => {})
    if (body.length > BLOCK) {
      const latest = this.#tick() + this.#timeouts.body
      for (let at = 0; at < body.length; at += BLOCK) {
        await this.#block(body.subarray(at, at + BLOCK), latest)
      }
      this.stage = 'dot'
      this.#send(end, this.#timeouts.dot)
    } else {
      // one write: a small copy costs less than a second system call
      this.stage = 'dot'
      this.#send(Buffer.concat([body, end]), this.#timeouts.dot)
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
