/**
 * Stands between a daemon and its PostgreSQL: cuts the connection of a writer at one of its next packets, or is away
 * as behind a cable that is cut.
 */
import { createServer, connect as dial, type Socket } from 'node:net'

/** The request never arrives, arrives in part, or its answer never comes back. */
export const WAYS = ['request', 'half', 'answer'] as const
export type Way = (typeof WAYS)[number]

const cutOff = (way: Way, chunk: Buffer, client: Socket, server: Socket): void => {
  if (way === 'half') server.end(chunk.subarray(0, chunk.length >> 1))
  if (way === 'request') server.destroy()
  if (way === 'answer') {
    // the server works on, and nobody hears of it
    server.removeAllListeners('data')
    server.once('data', () => server.destroy())
    server.write(chunk)
  }
  client.destroy()
}

export class DatabaseProxy {
  port = 0
  cuts = 0
  #armed: { readonly way: Way; left: number } | null = null
  #isAway = false
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#carry(client))

  /** To this port of the loopback. */
  constructor(private readonly to: number) {}

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.port = (this.#server.address() as { port: number }).port
    return this
  }

  /** A writer's packet is the last of its connection, after so many others. */
  arm(way: Way, left: number): void {
    this.#armed = { way, left }
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
    let isWriter: boolean | null = null
    client.on('data', (chunk) => {
      isWriter ??= chunk.includes('/writer\0')
      if (isWriter && this.#armed !== null && this.#armed.left-- === 0) {
        const { way } = this.#armed
        this.#armed = null
        this.cuts += 1
        cutOff(way, chunk, client, server)
      } else server.write(chunk)
    })
    server.on('data', (chunk) => client.write(chunk))
    server.on('close', () => client.destroy())
    client.on('close', () => server.end())
  }
}
