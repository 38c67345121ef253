/**
 * NAME      stream - from TCP chunks to command lines and the bytes between 354 and the final dot
 *     Replaces smtp-server's parser, whose data mode copies through a PassThrough and whose command mode works on
 *     strings. One command or body at a time is handed out; the next follows when its `done` was called, and the socket
 *     is held back when it runs too far ahead. `onidle` is called whenever the input has nothing more to give now: the
 *     moment to send the replies of a pipelined group in one go.
 *   NOTES
 *     Chunks do not pass through Writable's own queue: its callbacks cost more than most commands.
 *     Commands may end in a bare LF (telnet, old scripts): without a line mode inside a body there is nothing to
 *     smuggle them past. A line over the limit is read to its end, without keeping it, and reported as too long.
 *   Collects one message from chunks of any size. Only CRLF.CRLF ends it (RFC 5321 section 4.1.1.4), wherever the
 *   network cut the chunks; LF.LF, LF.CRLF, CRLF.LF and CR.CR are content, so nothing can be smuggled behind them. A
 *   dot that begins a line is taken away (section 4.5.2); all other bytes are kept as they came. Beyond `limit` bytes
 *   are counted, not kept; so they are when limits.memory has nothing left for them, and beyond `kept`, which is less
 *   than the limit where only the beginning is of use. A large message has memory of its own, which is given back at
 *   once. Before all but tiny ones there are some free octets, for what the message gets on top.
 */
import { SMTPStream } from 'smtp-server/lib/smtp-stream'
import { type Budget, free, Growing, type Share } from '../base/memory.js'

const CR = 13
const LF = 10
const DOT = 46
const CRLF_DOT = Buffer.from('\r\n.')
/** A message is read, and written anew with its trace line. */
const TIMES = 2
/** Up to this size a message is left to the collector. */
const SMALL = 64 * 1024
/** Up to this size it is kept in pieces, unless these are so many. */
const MEDIUM = 2 * 1024 * 1024
const MOST_PIECES = 256
/** Octets before a message; a trace line with a long name takes some hundred. */
const HEADROOM = 4096
/** Up to this size a copy costs less than more memory. */
const TINY = 2 * HEADROOM
const FREE = Buffer.alloc(HEADROOM)
const NOTHING = Buffer.alloc(0)

/** Where the last byte left us. */
type Place = 'text' | 'cr' | 'start' | 'dot' | 'dot-cr'

export class Body {
  /** Bytes of content so far, kept or not. */
  size = 0
  private parts: Buffer[] = []
  private joined = false
  private large: Growing | null = null
  private place: Place = 'start'
  private taken = 0
  private lost = false
  private released = false
  private readonly limit: number
  private readonly kept: number
  private readonly share: Share

  constructor(limit: number, memory: Budget, kept: number = limit) {
    this.limit = limit
    this.kept = Math.min(kept, limit)
    this.share = memory.share(TIMES)
  }

  get oversized(): boolean {
    return this.size > this.limit
  }

  /** True when bytes were dropped for want of room. */
  get crowdedOut(): boolean {
    return this.lost
  }

  /** Takes room for a message whose size was told before it; false when there is not so much. */
  reserve(octets: number): boolean {
    return this.share.cover(Math.min(octets, this.kept), true)
  }

  /** Takes a chunk; answers the offset just after the final dot's line, or -1 when it has not come. */
  feed(chunk: Buffer): number {
    let from = 0
    let i = 0
    while (i < chunk.length) {
      if (this.place === 'text') {
        const at = chunk.indexOf(CRLF_DOT, i)
        if (at === -1) {
          this.place = endOf(chunk, i)
          break
        }
        this.keep(chunk.subarray(from, at + 2))
        from = i = at + 3
        this.place = 'dot'
        continue
      }
      const byte = chunk[i]
      if (this.place === 'start' && byte === DOT) {
        this.keep(chunk.subarray(from, i))
        from = ++i
        this.place = 'dot'
      } else if (this.place === 'dot' && byte === CR) {
        this.place = 'dot-cr'
        i++
      } else if (this.place === 'dot-cr') {
        if (byte === LF) return i + 1
        // not the end after all: the dot was stuffing, and its CR (perhaps of the last chunk) is content
        if (i === 0) this.keep(Buffer.of(CR))
        this.place = 'cr'
      } else if (this.place === 'cr' && byte === LF) {
        this.place = 'start'
        i++
      } else {
        this.place = byte === CR ? 'cr' : 'text'
        i++
      }
    }
    // a CR after a dot is held back: it may be the end's
    this.keep(chunk.subarray(from, this.place === 'dot-cr' ? chunk.length - 1 : chunk.length))
    return -1
  }

  /** Octets before the message that are free to be written. */
  get headroom(): number {
    return this.large === null && this.taken <= TINY ? 0 : HEADROOM
  }

  /** The message, in one piece; gone with the release. */
  bytes(): Buffer {
    if (this.large !== null) return this.large.bytes(HEADROOM)
    const { headroom, parts } = this
    if (!this.joined && (headroom > 0 || parts.length !== 1)) {
      this.parts = [Buffer.concat(headroom > 0 ? [FREE, ...parts] : parts)]
      if (this.taken > SMALL) free(parts)
    }
    this.joined = true
    return (this.parts[0] as Buffer).subarray(headroom)
  }

  /** Gives the room back; the bytes are gone. Twice is fine. */
  release(): void {
    if (this.taken > SMALL) free(this.parts)
    this.released = true
    this.joined = true
    this.taken = 0
    this.parts = [NOTHING]
    this.large?.free()
    this.large = null
    this.share.release()
  }

  private keep(whole: Buffer): void {
    this.size += whole.length
    if (this.oversized) this.release()
    const part = whole.subarray(0, this.kept - this.taken)
    // a connection that is gone may still hand in what it had read
    if (part.length === 0 || this.released) return
    if (!this.share.cover(this.taken + part.length)) {
      this.lost = true
      this.release()
      return
    }
    this.taken += part.length
    if (this.large !== null || this.taken > MEDIUM || this.parts.length === MOST_PIECES) this.append(part)
    else this.parts.push(part)
  }

  private append(part: Buffer): void {
    if (this.large === null) {
      this.large = new Growing(HEADROOM + this.kept)
      this.large.append(FREE)
      for (const piece of this.parts) this.large.append(piece)
      free(this.parts)
      this.parts = []
    }
    this.large.append(part)
  }
}

/** Where a run of text from `from` to the end of the chunk leaves us. */
const endOf = (chunk: Buffer, from: number): Place => {
  const last = chunk.length - 1
  if (chunk[last] === CR) return 'cr'
  return chunk[last] === LF && last > from && chunk[last - 1] === CR ? 'start' : 'text'
}

/** Lines handled in one go before other connections get their turn. */
const SYNC_LINES = 100
/** A client may be so many bytes ahead of its replies before its socket is held back. */
const AHEAD = 16 * 1024

type Done = () => void

export class DoorStream extends SMTPStream {
  online: (line: Buffer, done: Done) => void = (_line, done) => done()
  ontoolong: (done: Done) => void = (done) => done()
  onidle: () => void = () => {}
  /** True while lines are being handed out: replies said now may wait for onidle. */
  busy = false
  private pending: Buffer = NOTHING
  private scanned = 0
  private skipping = false
  private again = false
  private body: Body | null = null
  private onbody: ((done: Done) => void) | null = null
  /** A command or body is with its reader. */
  private handedOut = false
  private holding = false
  private onend: Done | null = null
  private readonly lineLimit: number

  constructor(lineLimit: number) {
    super()
    this.lineLimit = lineLimit
  }

  /** The bytes that follow are a body, until its final dot; then `onbody`. */
  collect(body: Body, onbody: (done: Done) => void): void {
    this.body = body
    this.onbody = onbody
  }

  /** False holds the socket back until `drain`. */
  override write(chunk: Buffer): boolean {
    if (this.isClosed) return true
    this.pending = this.pending.length === 0 ? chunk : Buffer.concat([this.pending, chunk])
    this.turn()
    const ahead = this.pending.length > AHEAD && (this.handedOut || this.again)
    this.holding = ahead
    return !this.holding
  }

  /** The end comes after what was sent before it. */
  override _final(done: Done): void {
    if (this.handedOut || this.again) this.onend = done
    else done()
  }

  private turn(): void {
    if (this.handedOut) return
    if (this.busy) {
      this.again = true
      return
    }
    this.busy = true
    let starved = false
    let lines = 0
    do {
      this.again = false
      if (this.isClosed || !this.step()) starved = true
    } while (this.again && !starved && ++lines < SYNC_LINES)
    this.busy = false
    this.onidle()
    if (starved) {
      this.starve()
    } else if (this.again) setImmediate(() => this.turn())
  }

  /** Everything usable is used: asks the socket for more. */
  private starve(): void {
    if (this.isClosed) this.pending = NOTHING
    this.onend?.()
    this.onend = null
    if (!this.holding) return
    this.holding = false
    this.emit('drain')
  }

  /** Hands out one body or line; false when there is none complete. */
  private step(): boolean {
    return this.body === null ? this.stepLine() : this.stepBody(this.body)
  }

  private stepBody(body: Body): boolean {
    const end = this.pending.length === 0 ? -1 : body.feed(this.pending)
    if (end === -1) {
      this.pending = NOTHING
      return false
    }
    this.pending = this.pending.subarray(end)
    const onbody = this.onbody
    this.body = null
    this.onbody = null
    onbody?.(this.doneOnce())
    return true
  }

  private stepLine(): boolean {
    const at = this.pending.indexOf(LF, this.scanned)
    if (at === -1) {
      if (this.pending.length > this.lineLimit) {
        this.skipping = true
        this.pending = NOTHING
      }
      this.scanned = this.pending.length
      return false
    }
    const line = this.pending.subarray(0, at > 0 && this.pending[at - 1] === CR ? at - 1 : at)
    this.pending = this.pending.subarray(at + 1)
    this.scanned = 0
    if (this.skipping || line.length > this.lineLimit) {
      this.skipping = false
      this.ontoolong(this.doneOnce())
    } else {
      this.online(line, this.doneOnce())
    }
    return true
  }

  private doneOnce(): Done {
    let called = false
    this.handedOut = true
    return () => {
      if (called) return
      called = true
      this.handedOut = false
      this.turn()
    }
  }
}
