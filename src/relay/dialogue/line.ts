/**
 * NAME      line - the socket to an upstream, in clear or under TLS
 * DESCRIPTION
 *   Hands on each reply that comes in, and tells once that the line is broken, and why. One listens at a
 *   time: who opens it (session.ts), then who sends mail over it (connection.ts). What they throw breaks
 *   this line, and nothing else.
 * NOTES
 *   When TLS begins, what came in before is forgotten together with the reader that holds it (RFC 3207, 6).
 *   A line that we have left is destroyed with the next thing that is heard of it.
 */
import type { Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import type { Reply } from '../../mail/reply.js'
import { createReplyReader } from './wire.js'

export interface Listener {
  /** `lines` is the reply as it came, in latin1. */
  replied(reply: Reply, lines: string): void
  /** All replies of one chunk were told. */
  read?(): void
  closed(error: Error): void
}

const LEFT = new Error('connection closed by us')
const LEAVING_MS = 1_000
/** Keeps what translates addresses in between from forgetting a connection that is kept. */
const KEEPALIVE_MS = 30_000
const UNREAD = Buffer.from('\r\n')

export class Line {
  socket: Socket
  closed: Error | null = null
  listener: Listener
  /** Takes a last line without its end: some refuse a stranger so. */
  isLenient = true

  /** `socket` is not connected yet. */
  constructor(socket: Socket, listener: Listener) {
    this.listener = listener
    this.socket = socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, KEEPALIVE_MS)
    this.#hear(socket)
  }

  #hear(socket: Socket): void {
    const read = createReplyReader((reply, lines) => {
      if (this.closed === null) this.listener.replied(reply, lines)
    })
    const take = (chunk: Buffer): void => {
      if (socket !== this.socket) return
      if (this.closed !== null) return void socket.destroy()
      this.guard(() => {
        read(chunk)
        this.listener.read?.()
      })
    }
    const fail = (error: Error): void => {
      if (socket === this.socket) this.fail(error)
    }
    socket.on('data', take)
    socket.on('end', () => {
      if (this.isLenient) take(UNREAD)
      fail(new Error('connection closed by the upstream'))
    })
    socket.on('error', fail)
    socket.on('close', () => fail(new Error('connection closed')))
  }

  /** Begins TLS, and calls when it stands. */
  secure(options: ConnectionOptions, done: () => void): void {
    this.socket = connectTls({ ...options, socket: this.socket }, done)
    this.#hear(this.socket)
  }

  write(what: string | Uint8Array, done?: () => void): void {
    if (this.closed !== null) return
    this.socket.write(what, done && ((error) => error || this.guard(done)))
  }

  /** Leaves politely. */
  quit(): void {
    if (this.closed !== null) return
    this.#close(LEFT)
    this.socket.end('QUIT\r\n')
    this.socket.setTimeout(LEAVING_MS, () => this.socket.destroy())
  }

  fail(error: Error): void {
    this.socket.destroy()
    this.#close(error)
  }

  guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error as Error)
    }
  }

  #close(error: Error): void {
    if (this.closed !== null) return
    this.closed = error
    this.listener.closed(error)
  }
}
