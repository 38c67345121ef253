/**
 * NAME      body - the bytes between 354 and the final dot
 * DESCRIPTION
 *   Collects one message from chunks of any size. Only CRLF.CRLF ends it
 *   (RFC 5321 section 4.1.1.4), wherever the network cut the chunks; LF.LF,
 *   LF.CRLF, CRLF.LF and CR.CR are content, so nothing can be smuggled behind
 *   them. A dot that begins a line is taken away (section 4.5.2); all other
 *   bytes are kept as they came. Beyond `limit` bytes are counted, not kept; so
 *   they are when limits.memory has nothing left for them, and beyond `kept`, which is
 *   less than the limit where only the beginning is of use.
 *   A large message has memory of its own, which is given back at once. Before all but
 *   tiny ones there are some free octets, for what the message gets on top.
 */
import type { Budget, Share } from '../base/host/budget.js'
import { free, Growing } from '../base/host/growing.js'

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
