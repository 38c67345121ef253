/**
 * NAME      event-stream - the log, as one client gets it
 * DESCRIPTION
 *   Holds a place in the log and at most one chunk on its way to the socket. It asks
 *   for more when the socket has room and not before, so a slow reader costs its
 *   place and that chunk, whatever happens meanwhile. What the kernel keeps of a
 *   connection comes on top of that (Linux: up to net.ipv4.tcp_wmem).
 */
import { Readable } from 'node:stream'
import type { Taken, View } from './window.js'

interface StreamOptions {
  readonly view: View
  /** Where it begins. */
  readonly mark: string
  /** False when whoever opened it may not read any more. Streams with one `holder` are asked once. */
  readonly isAllowed: () => Promise<boolean>
  readonly holder: string
  /** It has room. */
  readonly serve: (stream: EventStream) => void
}

export class EventStream extends Readable {
  readonly view: View
  readonly holder: string
  readonly isAllowed: () => Promise<boolean>
  readonly #serve: StreamOptions['serve']
  /** Everything up to here has been given. */
  mark: string
  /** Has room, and was given nothing since. */
  isHungry = false
  /** Of a merged one: the span of time in which it was given something last. */
  span = -1

  constructor({ view, mark, isAllowed, holder, serve }: StreamOptions) {
    // no reading ahead: one chunk in the response is enough
    super({ highWaterMark: 0 })
    this.view = view
    this.mark = mark
    this.isAllowed = isAllowed
    this.holder = holder
    this.#serve = serve
  }

  override _read(): void {
    this.isHungry = true
    this.#serve(this)
  }

  give({ chunk, mark }: Taken): void {
    this.mark = mark
    if (chunk !== null) this.say(chunk)
  }

  /** Adds bytes that move no place. */
  say(bytes: Buffer | string): void {
    if (this.destroyed || this.readableEnded) return
    this.isHungry = false
    this.push(bytes)
  }

  /** Ends it, behind some last words. */
  close(last?: string): void {
    if (last !== undefined) this.say(last)
    if (!this.destroyed) this.push(null)
  }
}
