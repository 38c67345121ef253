/**
 * NAME      stream - from TCP chunks to command lines and bodies
 * DESCRIPTION
 *   Replaces smtp-server's parser, whose data mode copies through a PassThrough
 *   and whose command mode works on strings. One command or body at a time is
 *   handed out; the next follows when its `done` was called, and the socket is
 *   held back when it runs too far ahead. `onidle` is called whenever the input has
 *   nothing more to give now: the moment to send the replies of a pipelined group in one go.
 * NOTES
 *   Chunks do not pass through Writable's own queue: its callbacks cost more than
 *   most commands.
 *   Commands may end in a bare LF (telnet, old scripts): without a line mode
 *   inside a body there is nothing to smuggle them past. A line over the limit is read
 *   to its end, without keeping it, and reported as too long.
 */
import { SMTPStream } from 'smtp-server/lib/smtp-stream'
import type { Body } from './body.js'

const LF = 10
const CR = 13
const NOTHING = Buffer.alloc(0)
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
