/**
 * NAME      wire - the bytes of SMTP, both ways, in clear or under TLS
 *   Incoming: chunks to complete replies, whatever the chunking. Outgoing: a message to what may follow 354:
 *   every line ends in CRLF, a leading dot is doubled (RFC 5321, 4.5.2), the end is CRLF.CRLF, also when the
 *   message did not end in CRLF. Stored messages are clean already; the mending of bare CR, bare LF and NUL
 *   is a second lock on the same door, since a bare line end before a dot is how one message smuggles in
 *   another.
 *     Hands on each reply that comes in, and tells once that the line is broken, and why. One listens at a
 *     time: who opens it (session.ts), then who sends mail over it (connection.ts). What they throw breaks
 *     this line, and nothing else.
 *   NOTES
 *     When TLS begins, what came in before is forgotten together with the reader that holds it (RFC 3207, 6).
 *     A line that we have left is destroyed with the next thing that is heard of it.
 */
import { isAscii } from 'node:buffer'
import type { Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { asBuffer, normalizeLineEnds, scanLineEnds } from '../../mail/header.js'
import { parseReply, type Reply } from '../../mail/reply.js'

const CR = 13
const LF = 10
const DOT = 46
const LONGEST_REPLY = 64 * 1024
const LONGEST_KNOWN = 200
const NOT_ASCII = /[\x80-\xff]/

/** True when all lines bear the same code (RFC 5321, 4.2.1): what else could be believed? */
const agrees = (lines: string): boolean => {
  const code = lines.slice(0, 3)
  for (let at = lines.indexOf('\n') + 1; at > 0 && at < lines.length; at = lines.indexOf('\n', at) + 1) {
    if (!lines.startsWith(code, at)) return false
  }
  return true
}

const MOST_KNOWN = 100
/** What upstreams say again and again, read once; a reply that names its mail is soon forgotten. */
const known = new Map<string, Reply>()

const replyOf = (lines: string): Reply => {
  const found = known.get(lines)
  if (found !== undefined) return found
  const text = NOT_ASCII.test(lines) ? Buffer.from(lines, 'latin1').toString('utf8') : lines
  const said = agrees(lines) ? parseReply(text) : null
  const reply = said ?? { code: 0, enhanced: null, text: text.trim().slice(0, 200) }
  if (known.size >= MOST_KNOWN) known.clear()
  if (lines.length <= LONGEST_KNOWN) known.set(lines, reply)
  return reply
}

/** Gathers chunks into replies. Throws for a peer that never comes to an end. */
export const createReplyReader = (
  onReply: (reply: Reply, lines: string) => void,
): ((chunk: Buffer) => void) => {
  let rest = ''
  let lines = ''
  const isLast = (line: string): boolean => line[3] !== '-' || !/^\d{3}-/.test(line)
  return (chunk) => {
    // latin1 keeps each byte apart, so that a character split between chunks survives
    rest += chunk.toString('latin1')
    let at = 0
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', at)) {
      const line = rest.slice(at, end + 1)
      at = end + 1
      if (line.trim() === '') continue
      lines += line
      if (!isLast(line)) continue
      const whole = lines
      lines = ''
      onReply(replyOf(whole), whole)
    }
    rest = rest.slice(at)
    if (rest.length + lines.length > LONGEST_REPLY) throw new Error('reply too long')
  }
}

export interface Scan {
  /** Lines that start with a dot. */
  readonly dots: number
  /** A bare CR, a bare LF or a NUL is inside. */
  readonly dirty: boolean
  readonly eightBit: boolean
}

const CRLF_DOT = Buffer.from('\r\n.')

/** How often a run of bytes is there. Native searches: a loop over all bytes takes twice as long. */
const count = (raw: Buffer, what: Buffer): number => {
  let found = 0
  for (let at = raw.indexOf(what); at !== -1; at = raw.indexOf(what, at + what.length)) found++
  return found
}

export const scan = (message: Uint8Array): Scan => {
  const raw = asBuffer(message)
  const { hasBareCr, hasBareLf, hasNul } = scanLineEnds(raw)
  return {
    dots: (raw[0] === DOT ? 1 : 0) + count(raw, CRLF_DOT),
    dirty: hasBareCr || hasBareLf || hasNul,
    eightBit: !isAscii(raw),
  }
}

const stuff = (raw: Buffer, dots: number): Uint8Array => {
  const out = Buffer.allocUnsafe(raw.length + dots)
  let n = 0
  let from = 0
  if (raw[0] === DOT) out[n++] = DOT
  for (let at = raw.indexOf(CRLF_DOT); at !== -1; at = raw.indexOf(CRLF_DOT, from)) {
    n += raw.copy(out, n, from, at + 2)
    out[n++] = DOT
    from = at + 2
  }
  raw.copy(out, n, from)
  return out
}

/** The message as it is, for another protocol than SMTP: CRLF throughout, no NUL, `head` before it. */
export const toMessage = (raw: Uint8Array, { dirty }: Scan, head: string): Uint8Array => {
  const body = dirty ? normalizeLineEnds(raw) : raw
  return head === '' ? body : Buffer.concat([Buffer.from(head), body])
}

const DOT_LINE = Buffer.from('.\r\n')
const CRLF_DOT_LINE = Buffer.from('\r\n.\r\n')

export interface Payload {
  /** Header lines that go before it. */
  readonly head: Uint8Array
  /** The stuffed message, without its end. */
  readonly body: Uint8Array
  /** What ends it: the final dot's line, with a CRLF before it where the message had none. */
  readonly end: Uint8Array
}

/** The octets of DATA: CRLF throughout, dots stuffed, no NUL, and the closing line. */
export const toPayload = (raw: Uint8Array, seen: Scan = scan(raw), head = ''): Payload => {
  let body = raw
  let dots = seen.dots
  if (seen.dirty) {
    body = normalizeLineEnds(raw)
    dots = scan(body).dots
  }
  if (dots > 0) body = stuff(asBuffer(body), dots)
  const n = body.length
  const closed = n === 0 || (body[n - 1] === LF && body[n - 2] === CR)
  return { head: Buffer.from(head), body, end: closed ? DOT_LINE : CRLF_DOT_LINE }
}

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
  #unhear: () => void = () => {}

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
    const end = (): void => {
      if (this.isLenient) take(UNREAD)
      fail(new Error('connection closed by the upstream'))
    }
    const close = (): void => fail(new Error('connection closed'))
    socket.on('data', take).on('end', end).on('error', fail).on('close', close)
    this.#unhear = () => socket.off('data', take).off('end', end).off('error', fail).off('close', close)
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

  /** Gives the socket away: what comes on it is no more read here. */
  release(): Socket {
    this.closed = LEFT
    this.#unhear()
    return this.socket.pause()
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
