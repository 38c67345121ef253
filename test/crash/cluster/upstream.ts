/**
 * The MTA behind all daemons. It knows by EHLO whose connection it is, counts connections and final dots, and can
 * stand still in the middle of one mail until it is let go.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { digest } from '../load.js'

/** Where it stands still: RCPT or DATA is not answered, the content is not read, the final dot is not answered. */
export const STAGES = ['rcpt', 'data', 'content', 'dot'] as const
export type Stage = (typeof STAGES)[number]

export interface Dot {
  readonly id: string
  /** The name that was said with EHLO. */
  readonly by: string
  readonly at: number
}

interface Peer {
  readonly socket: Socket
  by: string
  rest: string
  rcpt: string
  content: Buffer[] | null
  /** Its last octets. */
  tail: string
  isStill: boolean
  hasQuit: boolean
}

const END = '\r\n.\r\n'
const PIPELINING = '250-PIPELINING\r\n'

export interface Crowd {
  readonly count: number
  readonly whose: string
}

/** Mail that is on its way when a newcomer takes its part ends as it began. */
const LOOK_MS = 500
/** From the final dot to its answer, as far MTAs have it: all connections are used, and whoever dies has mail there. */
const TAKING_MS = 150

interface Still {
  readonly stage: Stage
  readonly rcpt: string
  readonly reached: (by: string, letGo: () => void) => void
}

export class Upstream {
  /** Of each message that came to its end: whose it is, and whether it is whole. */
  readonly messages: string[] = []
  readonly dots: Dot[] = []
  port = 0
  #most: Crowd = { count: 0, whose: '' }
  #before: Crowd = { count: 0, whose: '' }
  readonly #peers = new Set<Peer>()
  #connections = 0
  #still: Still | null = null
  #refused: string | null = null
  #looking: NodeJS.Timeout | undefined
  readonly #server = createServer({ noDelay: true }, (socket) => this.#serve(socket))

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.#looking = setInterval(() => this.#look(), LOOK_MS)
    this.port = (this.#server.address() as AddressInfo).port
    return this
  }

  async stop(): Promise<void> {
    clearInterval(this.#looking)
    for (const { socket } of this.#peers) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  /** Connections at once since it was asked the last time, for longer than a look: one goes as another comes. */
  takeMostOpen(): Crowd {
    const most = this.#most
    this.#most = { count: 0, whose: '' }
    return most
  }

  #look(): void {
    const open = [...this.#peers].filter(({ hasQuit }) => !hasQuit)
    const now = {
      count: open.length,
      whose: open
        .map(({ by }) => by)
        .sort()
        .join(' '),
    }
    const less = now.count < this.#before.count ? now : this.#before
    if (less.count > this.#most.count) this.#most = less
    this.#before = now
  }

  /** With the next mail to this address it stands still at the stage. Resolves then. */
  standStill(stage: Stage, rcpt: string): Promise<{ readonly by: string; letGo(): void }> {
    return new Promise((resolve) => {
      this.#still = { stage, rcpt, reached: (by, letGo) => resolve({ by, letGo }) }
    })
  }

  /** Whoever says this name is heard no more, as behind a cable that is cut; null: from now on all are. */
  refuse(name: string | null): void {
    for (const { by, socket } of this.#peers) if (by === this.#refused) socket.destroy()
    this.#refused = name
  }

  #serve(socket: Socket): void {
    const peer: Peer = {
      socket,
      by: '',
      rest: '',
      rcpt: '',
      content: null,
      tail: '',
      isStill: false,
      hasQuit: false,
    }
    this.#peers.add(peer)
    this.#connections += 1
    const offers = this.#connections % 2 === 0 ? PIPELINING : ''
    socket.on('close', () => this.#peers.delete(peer))
    socket.on('error', () => {})
    socket.write('220 mx.sink.test ESMTP\r\n')
    socket.on('data', (chunk) => {
      if (peer.by === this.#refused) return
      if (peer.content === null) {
        peer.rest += chunk.toString('latin1')
        this.#lines(peer, offers)
      } else this.#content(peer, peer.content, chunk)
    })
  }

  /** Says it now, or when it is let go. */
  #answer(peer: Peer, stage: Stage | null, reply: string, then: () => void = () => {}): void {
    const say = (): void => {
      peer.isStill = false
      if (!peer.socket.destroyed) peer.socket.write(`${reply}\r\n`)
      then()
    }
    const still = this.#still
    if (still === null || still.stage !== stage || !peer.rcpt.includes(still.rcpt)) {
      say()
      return
    }
    this.#still = null
    peer.isStill = true
    if (stage !== 'content') {
      still.reached(peer.by, say)
      return
    }
    say()
    peer.socket.pause()
    still.reached(peer.by, () => void peer.socket.resume())
  }

  #lines(peer: Peer, offers: string): void {
    for (let end = peer.rest.indexOf('\r\n'); end !== -1; end = peer.rest.indexOf('\r\n')) {
      if (peer.isStill || peer.content !== null) return
      const line = peer.rest.slice(0, end)
      peer.rest = peer.rest.slice(end + 2)
      this.#command(peer, line, offers)
    }
  }

  #command(peer: Peer, line: string, offers: string): void {
    const verb = line.slice(0, 4).toUpperCase()
    const goOn = (): void => this.#lines(peer, offers)
    if (verb === 'EHLO') {
      peer.by = line.slice(5)
      if (peer.by === this.#refused) return
      this.#answer(peer, null, `250-mx.sink.test\r\n${offers}250-8BITMIME\r\n250 SIZE 50000000`)
    } else if (verb === 'RCPT') {
      peer.rcpt = line
      this.#answer(peer, 'rcpt', '250 2.1.5 Ok', goOn)
    } else if (verb === 'DATA') {
      const isStill = this.#still?.stage === 'content' ? 'content' : 'data'
      this.#answer(peer, isStill, '354 go ahead', () => {
        peer.content = []
        peer.tail = ''
      })
    } else if (verb === 'QUIT') {
      peer.hasQuit = true
      peer.socket.end('221 2.0.0 Bye\r\n')
    } else this.#answer(peer, null, '250 2.0.0 Ok')
  }

  #content(peer: Peer, content: Buffer[], chunk: Buffer): void {
    content.push(chunk)
    peer.tail = (peer.tail + chunk.subarray(-END.length).toString('latin1')).slice(-END.length)
    if (peer.tail !== END) return
    const kept = digest(Buffer.concat(content).subarray(0, -END.length).toString('latin1'))
    peer.content = null
    this.dots.push({ id: kept.split(' ')[0] ?? '', by: peer.by, at: performance.now() })
    this.messages.push(kept)
    setTimeout(() => this.#answer(peer, 'dot', '250 2.0.0 Ok: taken'), TAKING_MS)
  }
}
