/** A far mail server that takes everything but mail for `nobody@`, offers no DSN, and keeps what it got. */
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

const refusal = (text: string, responseCode: number): Error =>
  Object.assign(new Error(text), { responseCode })

export class PlainMx {
  readonly messages: string[] = []
  port = 0
  open = 0
  /** Connections at once, since somebody set it to 0. */
  mostOpen = 0
  /** Takes nothing for now: 451 to each recipient. */
  isAway = false
  private readonly sockets = new Set<Socket>()
  private readonly server: SMTPServer

  private readonly answers: SMTPServerOptions = {
    authOptional: true,
    disableReverseLookup: true,
    logger: false,
    onConnect: (_session, done) => {
      this.open += 1
      this.mostOpen = Math.max(this.mostOpen, this.open)
      done()
    },
    onClose: () => {
      this.open -= 1
    },
    onRcptTo: ({ address }, _session, done) => {
      if (this.isAway) return done(refusal('come again', 451))
      done(address.startsWith('nobody@') ? refusal('no such user', 550) : null)
    },
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        this.messages.push(this.keep(Buffer.concat(chunks).toString('latin1')))
        done()
      })
    },
  }

  /** What it keeps of a message: all of it, or what somebody who sends many makes of it. With a `pair` it offers STARTTLS. */
  constructor(
    private readonly keep: (raw: string) => string = (raw) => raw,
    pair: { readonly key: string; readonly cert: string } | null = null,
  ) {
    const disabledCommands = pair === null ? ['AUTH', 'STARTTLS'] : ['AUTH']
    this.server = new SMTPServer({ ...this.answers, ...pair, disabledCommands })
  }

  async start(port = 0): Promise<this> {
    // clients that are killed take their connections with them
    this.server.on('error', () => {})
    this.server.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket)
      socket.once('close', () => this.sockets.delete(socket))
    })
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', () => resolve()))
    this.port = (this.server.server.address() as AddressInfo).port
    return this
  }

  /** Cuts every connection, wherever its mail is. */
  cut(): void {
    for (const socket of this.sockets) socket.resetAndDestroy()
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
