/** A far mail server that takes everything but mail for `nobody@`, offers no DSN, and keeps what it got. */
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export class PlainMx {
  readonly messages: string[] = []
  port = 0
  open = 0
  /** Connections at once, since somebody set it to 0. */
  mostOpen = 0
  private readonly server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
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
    onRcptTo: ({ address }, _session, done) =>
      done(
        address.startsWith('nobody@')
          ? Object.assign(new Error('no such user'), { responseCode: 550 })
          : null,
      ),
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        this.messages.push(this.keep(Buffer.concat(chunks).toString('latin1')))
        done()
      })
    },
  })

  /** What it keeps of a message: all of it, or what somebody who sends many makes of it. */
  constructor(private readonly keep: (raw: string) => string = (raw) => raw) {}

  async start(port = 0): Promise<this> {
    // clients that are killed take their connections with them
    this.server.on('error', () => {})
    await new Promise<void>((resolve) => this.server.listen(port, '127.0.0.1', () => resolve()))
    this.port = (this.server.server.address() as AddressInfo).port
    return this
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}
