/**
 * Stands between a daemon and its PostgreSQL, and breaks something at a chosen packet: the connection is cut, somebody
 * is killed, the packet is kept back, an answer stays in the wire. Or it is away, as behind a cable that is cut.
 */
import { createServer, connect as dial, type Socket } from 'node:net'

/** The request never arrives, arrives in part, or its answer never comes back. */
export const WAYS = ['request', 'half', 'answer'] as const
export type Way = (typeof WAYS)[number]

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** What the client said and the server is not told yet. */
  kept: Buffer[] | null
}

/** What becomes of a connection from this packet on. */
type Break = (pair: Pair, chunk: Buffer) => void

/** `end` ends it. */
const at =
  (way: Way, end: (pair: Pair) => void): Break =>
  (pair, chunk) => {
    const { client, server } = pair
    if (way === 'half') server.end(chunk.subarray(0, chunk.length >> 1))
    if (way === 'request') server.destroy()
    if (way === 'answer') {
      // the server works on, and nobody hears of it
      server.removeAllListeners('data')
      server.once('data', () => {
        server.destroy()
        end(pair)
        client.destroy()
      })
      server.write(chunk)
      return
    }
    end(pair)
    client.destroy()
  }

interface Armed {
  readonly breaks: Break
  readonly whose: 'writer' | 'any'
  left: number
}

export class DatabaseProxy {
  port = 0
  cuts = 0
  #armed: Armed | null = null
  #stall: { readonly octets: number; readonly reached: (server: Socket) => void } | null = null
  #isAway = false
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#carry(client))

  /** To this port of the loopback; it is so far away (ms there and back). */
  constructor(
    public to: number,
    readonly roundTrip = 0,
  ) {}

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.port = (this.#server.address() as { port: number }).port
    return this
  }

  /** A writer's packet is the last of its connection, after so many others. */
  arm(way: Way, left: number): void {
    const cut: Break = (pair, chunk) => {
      this.cuts += 1
      at(way, ({ client }) => client.destroy())(pair, chunk)
    }
    this.#armed = { breaks: cut, whose: 'writer', left }
  }

  /** Calls when a packet of anybody is on its way, after so many others, and carries nothing more of its connection. */
  armed(way: Way, left: number, call: () => void): void {
    this.#armed = { breaks: at(way, call), whose: 'any', left }
  }

  /** Keeps back a writer's packet, after so many others, and all that follows on its connection; resolves then. */
  keepBack(left: number): Promise<() => void> {
    return new Promise((resolve) => {
      const breaks: Break = (pair, chunk) => {
        const kept = [chunk]
        pair.kept = kept
        resolve(() => {
          pair.kept = null
          for (const one of kept) pair.server.write(one)
        })
      }
      this.#armed = { breaks, whose: 'writer', left }
    })
  }

  /** An answer of more octets than that stays in the wire, and the server can say no more; resolves then. */
  stallAnswer(octets: number): Promise<() => void> {
    return new Promise((resolve) => {
      this.#stall = { octets, reached: (server) => resolve(() => void server.resume()) }
    })
  }

  /** Whoever is connected hears nothing more and is not answered; nor does the server hear of it. */
  leave(): void {
    this.#isAway = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** New connections are carried again; those of before are dead. */
  return(): void {
    this.#isAway = false
    for (const socket of this.#sockets) socket.destroy()
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
  }

  #later(work: () => void): void {
    if (this.roundTrip === 0) work()
    else setTimeout(work, this.roundTrip / 2)
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    if (this.#isAway) socket.pause()
  }

  #carry(client: Socket): void {
    this.#keep(client)
    if (this.#isAway) return
    const server = dial(this.to, '127.0.0.1')
    this.#keep(server)
    const pair: Pair = { client, server, kept: null }
    let isWriter: boolean | null = null
    let answered = 0
    client.on('data', (chunk) => {
      isWriter ??= chunk.includes('/writer\0')
      answered = 0
      const armed = this.#armed
      if (pair.kept !== null) pair.kept.push(chunk)
      else if (armed !== null && (isWriter || armed.whose === 'any') && armed.left-- === 0) {
        this.#armed = null
        armed.breaks(pair, chunk)
      } else this.#later(() => server.write(chunk))
    })
    server.on('data', (chunk) => {
      this.#later(() => client.write(chunk))
      answered += chunk.length
      if (this.#stall === null || answered < this.#stall.octets) return
      server.pause()
      this.#stall.reached(server)
      this.#stall = null
    })
    server.on('close', () => client.destroy())
    client.on('close', () => server.end())
  }
}
