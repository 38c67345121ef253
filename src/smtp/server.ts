/**
 * NAME      server - one listener of a door
 * DESCRIPTION
 *   smtp-server's listener with our connections. It never presents the
 *   certificate that smtp-server ships, whose private key is public: contexts
 *   are made from our certificate alone, and a listener without TLS has none.
 *   Stopping: no new connection; 421 4.3.2 to idle sessions; a message that is
 *   coming in gets its reply first, for at most `grace`.
 */
import type { AddressInfo, Socket } from 'node:net'
import { createSecureContext, type TLSSocket } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import type { SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection'
import type { Clock } from '../base/clock.js'
import type { Listen } from '../base/listen.js'
import type { Log } from '../base/log.js'
import { DoorConnection } from './connection.js'
import type { Listener, Rules } from './rules.js'

export interface Certificate {
  readonly key: string | Buffer
  readonly cert: string | Buffer
}

export interface ServerOptions<Who> {
  /** How to get its socket, and under which key. */
  readonly listen: Listen
  readonly key: string
  readonly host: string
  readonly port: number
  readonly tls: 'starttls' | 'implicit' | 'none'
  /** TLS 1.0 and 1.1 too. */
  readonly legacy: boolean
  readonly certificate: Certificate | null
  readonly connections: number
  readonly idle: number
  readonly rules: Rules<Who>
  readonly clock: Clock
  readonly log: Log
}

/** Milliseconds that a client has to read the last reply and hang up, once or twice. */
const LINGER = 250

export class DoorServer<Who> extends SMTPServer implements Listener<Who> {
  readonly rules: Rules<Who>
  readonly clock: Clock
  readonly log: Log
  readonly mostConnections: number
  private readonly setup: ServerOptions<Who>
  /** Every connection whose socket is open; the parent's set leaves out those that are closing. */
  private readonly present = new Set<DoorConnection<Who>>()
  private visits = 0
  private port = 0
  private sweeper: NodeJS.Timeout | null = null

  constructor(setup: ServerOptions<Who>) {
    if (setup.tls !== 'none' && setup.certificate === null)
      throw new Error('a TLS listener needs a certificate')
    super({
      ...(setup.tls === 'none' ? {} : tlsOptions(setup)),
      secure: setup.tls === 'implicit',
      name: setup.rules.hostname,
      disabledCommands: setup.tls === 'starttls' ? [] : ['STARTTLS'],
      disableReverseLookup: true,
      maxClients: setup.connections,
      socketTimeout: setup.idle,
      logger: false,
      noDelay: true,
    })
    this.setup = setup
    this.rules = setup.rules
    this.clock = setup.clock
    this.log = setup.log
    this.mostConnections = setup.connections
    this.on('error', (error) => this.log.debug({ event: 'smtp_connection_error', err: error }))
  }

  override connect(socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null): void {
    const connection = new DoorConnection(this, socket, options)
    this.connections.add(connection)
    this.present.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.init()
  }

  /** There is no PROXY header here, and an id needs no randomness: per connection that is time. */
  override _handleProxy(
    _socket: Socket,
    callback: (error: Error | null, options: SMTPConnectionOptions & { id: string }) => void,
  ): void {
    callback(null, { id: String(++this.visits), localAddress: this.setup.host, localPort: this.port })
  }

  /** Called by the constructor of the parent too; makes contexts of our own certificate only. */
  override updateSecureContext(options?: Partial<Certificate> | null): void {
    Object.assign(this.options, options)
    const { key, cert } = this.options
    this.secureContext = new Map()
    if (key !== undefined && cert !== undefined) {
      this.secureContext.set('*', createSecureContext(this.options))
    }
  }

  get address(): { host: string; port: number } {
    const { address, port } = this.server.address() as AddressInfo
    return { host: address, port }
  }

  async open(): Promise<void> {
    const { listen, key, host, port, idle } = this.setup
    await listen(this.server, key, { host, port })
    this.port = this.address.port
    this.sweeper = setInterval(() => this.sweep(), Math.max(50, Math.min(1000, idle / 4))).unref()
  }

  /** Ends within `grace` milliseconds, whatever clients do. */
  async shut(grace: number): Promise<void> {
    if (!this.server.listening) return
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    for (const socket of this._pendingSockets.values()) socket.destroy()
    for (const connection of this.present) connection.stop()
    const deadline = this.clock.tick() + grace
    const told = new Set<DoorConnection<Who>>()
    const usher = setInterval(() => {
      for (const connection of this.present) {
        const late = this.clock.tick() > deadline
        if (late || told.has(connection)) connection._socket.destroy()
        else if (!connection.receiving) told.add(connection)
      }
    }, LINGER)
    await closed
    clearInterval(usher)
    if (this.sweeper !== null) clearInterval(this.sweeper)
  }

  left(connection: object): void {
    if (connection instanceof DoorConnection) this.present.delete(connection)
  }

  private sweep(): void {
    const now = this.clock.tick()
    for (const connection of this.present) connection.sweep(now, this.setup.idle)
  }
}

/** OpenSSL 3 speaks TLS 1.0 and 1.1 at security level 0 only. */
const tlsOptions = <Who>({ certificate, legacy }: ServerOptions<Who>) => ({
  key: certificate?.key,
  cert: certificate?.cert,
  honorCipherOrder: true,
  minVersion: legacy ? ('TLSv1' as const) : ('TLSv1.2' as const),
  ...(legacy ? { ciphers: 'DEFAULT@SECLEVEL=0' } : {}),
})
