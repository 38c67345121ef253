/**
 * NAME      body - the bytes between 354 and the final dot
 * DESCRIPTION
 *   Collects one message from chunks of any size. Only CRLF.CRLF ends it
 *   (RFC 5321 section 4.1.1.4), wherever the network cut the chunks; LF.LF,
 *   LF.CRLF, CRLF.LF and CR.CR are content, so nothing can be smuggled behind
 *   them. A dot that begins a line is taken away (section 4.5.2); all other
 *   bytes are kept as they came. Beyond `limit` bytes are counted, not kept; so
 *   they are when the door has no more room for messages on their way in.
 */
const CR = 13
const LF = 10
const DOT = 46
const CRLF_DOT = Buffer.from('\r\n.')

/** Where the last byte left us. */
type Place = 'text' | 'cr' | 'start' | 'dot' | 'dot-cr'

/** Memory that the messages of a door share while they come in. */
export class Room {
  private free: number

  constructor(bytes: number) {
    this.free = bytes
  }

  take(bytes: number): boolean {
    if (bytes > this.free) return false
    this.free -= bytes
    return true
  }

  give(bytes: number): void {
    this.free += bytes
  }
}

export class Body {
  /** Bytes of content so far, kept or not. */
  size = 0
  private parts: Buffer[] = []
  private place: Place = 'start'
  private taken = 0
  private lost = false
  private readonly limit: number
  private readonly room: Room

  constructor(limit: number, room: Room) {
    this.limit = limit
    this.room = room
  }

  get oversized(): boolean {
    return this.size > this.limit
  }

  /** True when bytes were dropped for want of room. */
  get crowdedOut(): boolean {
    return this.lost
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

  /** The message, in one piece. */
  bytes(): Buffer {
    return this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts)
  }

  /** Gives the room back; the bytes are gone. Twice is fine. */
  release(): void {
    this.room.give(this.taken)
    this.taken = 0
    this.parts = []
  }

  private keep(part: Buffer): void {
    if (part.length === 0) return
    this.size += part.length
    if (!this.oversized && !this.lost && this.room.take(part.length)) {
      this.taken += part.length
      this.parts.push(part)
    } else {
      this.lost ||= !this.oversized
      this.release()
    }
  }
}

/** Where a run of text from `from` to the end of the chunk leaves us. */
const endOf = (chunk: Buffer, from: number): Place => {
  const last = chunk.length - 1
  if (chunk[last] === CR) return 'cr'
  return chunk[last] === LF && last > from && chunk[last - 1] === CR ? 'start' : 'text'
}
