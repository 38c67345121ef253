/**
 * NAME      server - one listener of a door, and its sessions on sockets
 *   smtp-server's listener with our connections. Who comes in is decided before TLS and before the greeting: behind a
 *   proxy its header is read first; then a client may hold so many connections; and when the listener is full, the
 *   oldest connection that has not shown what it came for goes. Where TLS comes first a refusal has no words: nothing
 *   can be said before the handshake. It never presents the certificate that smtp-server ships, whose private key is
 *   public: contexts are made from our certificate alone, and a listener without TLS has none. Stopping: no new
 *   connection; 421 4.3.2 to idle sessions; a message that is coming in gets its reply first, for at most `grace`.
 *   smtp-server accepts sockets, speaks TLS and closes them; this subclass gives it our parser and our conversation. It
 *   greets at once (the library waits 100 ms with no option for it) and never asks the DNS. Replies to a pipelined
 *   group leave in one write. Time is kept here: a client that owes us a whole command, or the next bytes of a body,
 *   for longer than `idle`, is cut, however it trickles; one without a login or MAIL sooner. One that sends everything
 *   and shuts down its side gets its replies, and then our side ends too.
 */
import type { AddressInfo, Socket } from 'node:net'
import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'
import { SMTPServer } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection'
import type { Clock } from '../base/clock.js'
import { contextsOf, type FindContext, type Listen, type NamedPair } from '../base/listen.js'
import type { Log } from '../base/log.js'
import { clientOf, isLoopback, plainAddress, rangesOf } from '../base/network.js'
import { type Tally, takeProxyHeader } from './admission.js'
import { SAY } from './commands.js'
import type { AcceptedSocket, ListenerRules, SmtpListener } from './rules.js'
import { Session, type Wire } from './session.js'
import { type Body, DoorStream } from './stream.js'

/** RFC 4954 wants 12,288 octets for AUTH lines; nothing else comes near. */
const LONGEST_LINE = 12_288
/** After its first idle period a body must come at this rate on average, bytes per second. */
const SLOWEST = 256

/** What server.ts hands in through smtp-server. */
interface ArrivedOptions extends SMTPConnectionOptions {
  readonly arrival: AcceptedSocket
}

class DoorConnection<Who> extends SMTPConnection implements Wire {
  private readonly door: SMTPServer & SmtpListener<Who>
  private readonly talk: Session<Who>
  private readonly arrival: AcceptedSocket
  private out = ''
  private opening: Promise<void> | null = null
  /** When the client began to owe us something; null while we owe it a reply. */
  private owesSince: number | null
  private body: Body | null = null
  private bodySeen = 0
  private bodySince = 0

  constructor(door: SMTPServer & SmtpListener<Who>, socket: Socket | TLSSocket, options: ArrivedOptions) {
    super(door, socket, options)
    this.door = door
    this.arrival = options.arrival
    this.owesSince = door.clock.tick()
    this.talk = new Session(door.rules, this, options.arrival, door.log)
  }

  override init(): void {
    this._setListeners(() => {
      this._ready = true
      if (this.secure) this.talk.secured(this.tlsName(), this.fingerprint())
      this.owesSince = null
      this.opening = this.talk.open().finally(() => {
        this.opening = null
        this.owesSince = this.door.clock.tick()
      })
    })
  }

  /** Called by the constructor of the parent, before any field here exists. */
  override _createParser(): DoorStream {
    const parser = new DoorStream(LONGEST_LINE)
    parser.online = (line, done) => {
      if (this._upgrading || this._closing) return done()
      const begin = (): void => {
        this.owesSince = null
        this.talk.command(line, () => this.next(done))
      }
      // a client that talks before it was greeted is answered after
      if (this.opening === null) begin()
      else void this.opening.then(begin)
    }
    parser.ontoolong = (done) => this.talk.tooLong(done)
    parser.onidle = () => this.flush()
    parser.on('error', () => this.close())
    // a client that shut down its side has had its replies by now, and can say nothing more
    parser.on('finish', () => parser === this._parser && this.close())
    return parser
  }

  /** The next command, once the client has read what we said so far. */
  private next(done: () => void): void {
    this.owesSince = this.door.clock.tick()
    if (this._socket.writableNeedDrain && !this._socket.destroyed) this._socket.once('drain', done)
    else done()
  }

  say(reply: string): void {
    this.out += `${reply}\r\n`
    if (reply.startsWith('421')) {
      this.flush()
      this.close()
    } else if (!(this._parser instanceof DoorStream && this._parser.busy)) this.flush()
  }

  private flush(): void {
    if (this.out === '') return
    const out = this.out
    this.out = ''
    // in the middle of a handshake a reply would be clear text between TLS records
    if (!this._upgrading && this._socket.writable) this._socket.write(out, 'latin1')
  }

  /** What smtp-server itself has to say, which is next to nothing. */
  override send(code: number, data?: string | string[] | null): void {
    this.say(
      `${code} ${code >= 500 ? '5.0.0' : '4.0.0'} ${Array.isArray(data) ? data.join(' ') : (data ?? '')}`,
    )
  }

  override close(): void {
    this.flush()
    super.close()
  }

  collect(body: Body, onbody: (done: () => void) => void): void {
    if (!(this._parser instanceof DoorStream)) return
    this.body = body
    this.bodySeen = 0
    this.bodySince = this.door.clock.tick()
    this._parser.collect(body, (done) => {
      this.body = null
      this.owesSince = null
      onbody(() => this.next(done))
    })
  }

  startTls(): void {
    this.say('220 2.0.0 Ready to start TLS')
    this.flush()
    this.upgrade(
      () => {},
      () => {
        this.talk.secured(this.tlsName(), this.fingerprint())
        this.opening = this.talk.begin().finally(() => {
          this.opening = null
          this.owesSince = this.door.clock.tick()
        })
      },
    )
  }

  private tlsName(): string {
    const socket = this._socket as TLSSocket
    return `${socket.getProtocol?.() ?? 'TLS'} ${socket.getCipher?.()?.name ?? ''}`.trim()
  }

  /** Of the client's certificate, which its handshake has proved to be its own. */
  private fingerprint(): string | null {
    const { fingerprint256 } = (this._socket as TLSSocket).getPeerCertificate?.() ?? {}
    return fingerprint256?.replaceAll(':', '').toLowerCase() ?? null
  }

  /** The service stops. */
  stop(): void {
    this.talk.stop()
  }

  begun(): void {
    this.arrival.isSilent = false
  }

  known(): void {
    this.door.known(this.arrival)
  }

  /** Makes room for others, at once. */
  evict(): void {
    this.cut(SAY.busy)
    this._socket.destroySoon()
  }

  get receiving(): boolean {
    return this.talk.receiving
  }

  /** Cuts a client that has kept us waiting, or has not said who it is; called every now and then. */
  sweep(now: number, idle: number, silence: number): void {
    if (this.owesSince === null || this._closing) return
    if (this.arrival.isSilent && now - this.arrival.since > silence) {
      this.cut(SAY.idle)
      return
    }
    if (this.body !== null && this.body.size > this.bodySeen) {
      this.bodySeen = this.body.size
      this.owesSince = now
    }
    if (now - this.owesSince > idle) {
      this.cut(SAY.idle)
    } else if (this.body !== null) {
      const late = now - this.bodySince - idle
      if (late > 0 && this.body.size < (late / 1000) * SLOWEST) this.cut(SAY.tooSlow)
    }
  }

  private cut(reply: string): void {
    if (this._upgrading) this._socket.destroy()
    else this.say(reply)
  }

  override _onClose(): void {
    this.body?.release()
    this.talk.leave()
    this.door.left(this)
    super._onClose()
  }

  /** Time is kept by sweep(). */
  override _armTimeout(): void {}
}

export interface TlsPair {
  readonly key: string | Buffer
  readonly cert: string | Buffer
  /** Shown to those who ask for one of their names. */
  readonly others?: readonly NamedPair[]
}

/** As node:tls names them. */
interface TlsVersions {
  readonly minVersion: 'TLSv1' | 'TLSv1.2'
  readonly maxVersion?: 'TLSv1.2'
  readonly ciphers?: string
}

/** OpenSSL 3 speaks TLS 1.0 and 1.1 at security level 0 only. */
const OLD = { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const

export const VERSIONS = {
  modern: { minVersion: 'TLSv1.2' },
  /** Programs of that age can hang where TLS 1.3 is offered (libesmtp waits for what it does not send). */
  legacy: { ...OLD, maxVersion: 'TLSv1.2' },
  /** For mail that would else come in clear. */
  any: OLD,
} as const satisfies Record<string, TlsVersions>

interface ServerOptions<Who> {
  /** How to get its socket, and under which key. */
  readonly listen: Listen
  readonly key: string
  readonly host: string
  readonly port: number
  readonly tls: 'starttls' | 'implicit' | 'none'
  readonly versions: TlsVersions
  readonly certificate: TlsPair | null
  /** Clients are asked for a certificate; any is taken, for its fingerprint alone counts. */
  readonly client_certificates: boolean
  readonly connections: number
  readonly idle: number
  /** Connections of each client, over all listeners of the door; where a login is asked for, until then. */
  readonly addresses: Tally
  /** Clients that `addresses` does not bind; asked only once one has too many. */
  isExempt(ip: string): Promise<boolean>
  readonly trusted_proxies: readonly string[]
  /** Every connection comes from a trusted proxy and begins with its header. */
  readonly proxy_protocol: boolean
  readonly rules: ListenerRules<Who>
  readonly clock: Clock
  readonly log: Log
}

/** Milliseconds that a client has to read the last reply and hang up, once or twice. */
const LINGER = 250
/** Milliseconds that a connection may last without a login or MAIL. */
const SILENCE = 60_000
/** Milliseconds in which a proxy must have sent its header. */
const HEADER = 5_000

/** Milliseconds between two complaints of the same kind. */
const QUIET = 60_000

/** Not let in; the reply is said where it can be. */
class TurnedAway extends Error {
  readonly reply: string

  constructor(reply: string) {
    super(reply)
    this.reply = reply
  }
}

const GONE = new Error('the client is gone')

export class DoorServer<Who> extends SMTPServer implements SmtpListener<Who> {
  readonly rules: ListenerRules<Who>
  readonly clock: Clock
  readonly log: Log
  private readonly setup: ServerOptions<Who>
  private readonly silence: number
  private readonly isProxy: (ip: string) => boolean
  /** Every connection whose socket is open; the parent's set leaves out those that are closing. */
  private readonly present = new Set<DoorConnection<Who>>()
  /** Who has not shown yet what they came for, oldest first; a socket until it has a connection. */
  private readonly strangers = new Map<AcceptedSocket, Socket | DoorConnection<Who>>()
  /** Set by the constructor of the parent, too: without an initial value. */
  declare private byName: FindContext
  private quietUntil = Number.NEGATIVE_INFINITY
  private visits = 0
  private port = 0
  private sweeper: NodeJS.Timeout | null = null

  constructor(setup: ServerOptions<Who>) {
    if (setup.tls !== 'none' && setup.certificate === null)
      throw new Error('a TLS listener needs a certificate')
    const silence = Math.min(setup.idle, SILENCE)
    super({
      ...(setup.tls === 'none' ? {} : tlsOptions(setup)),
      secure: setup.tls === 'implicit',
      name: setup.rules.hostname,
      disabledCommands: setup.tls === 'starttls' ? [] : ['STARTTLS'],
      disableReverseLookup: true,
      socketTimeout: silence,
      logger: false,
      noDelay: true,
      allowHalfOpen: true,
    })
    this.setup = setup
    this.silence = silence
    this.isProxy = rangesOf(setup.trusted_proxies)
    this.rules = setup.rules
    this.clock = setup.clock
    this.log = setup.log
    this.on('error', (error) => this.log.debug({ event: 'smtp_connection_error', err: error }))
  }

  override connect(socket: Socket | TLSSocket, options?: SMTPConnectionOptions | null): void {
    const arrived = options as ArrivedOptions
    const connection = new DoorConnection(this, socket, arrived)
    this.connections.add(connection)
    this.present.add(connection)
    // in its place in the order of coming
    if (this.strangers.has(arrived.arrival)) this.strangers.set(arrived.arrival, connection)
    connection.on('error', (error) => this._onError(error))
    connection.init()
  }

  /** The parent watches every socket until it is let in, so that a stop ends those, too. */
  override _expectsProxyHeader(): boolean {
    return true
  }

  /** Lets the client in, or turns it away. An id needs no randomness: per connection that is time. */
  override _handleProxy(
    socket: Socket,
    callback: (error: Error | null, options?: ArrivedOptions & { id: string }) => void,
  ): void {
    socket.on('error', () => {})
    this.admit(socket).then(
      (arrival) => {
        const id = String(++this.visits)
        const { host: localAddress } = this.setup
        callback(null, { id, localAddress, localPort: this.port, remoteAddress: arrival.ip, arrival })
      },
      (error: Error) => {
        this.turnAway(socket, error)
        callback(error)
      },
    )
  }

  private async admit(socket: Socket): Promise<AcceptedSocket> {
    const since = this.clock.tick()
    const peer = plainAddress(socket.remoteAddress ?? '')
    const client = this.setup.proxy_protocol ? await this.behindProxy(socket, peer) : peer
    const arrival: AcceptedSocket = { ip: client ?? peer, isProbe: client === null, since, isSilent: true }
    if (socket.destroyed) throw GONE
    socket.once('close', () => {
      this.strangers.delete(arrival)
      this.setup.addresses.release(arrival)
    })
    if (!(await this.mayHoldOneMore(arrival))) throw this.tooMany(arrival)
    if (socket.destroyed) throw GONE
    this.makeRoom()
    this.strangers.set(arrival, socket)
    return arrival
  }

  /** The address in the header, or null for the proxy itself. */
  private async behindProxy(socket: Socket, peer: string): Promise<string | null> {
    if (!this.isProxy(peer)) throw this.noProxy(`${peer} is none of trusted_proxies`)
    try {
      return (await takeProxyHeader(socket, HEADER)).client
    } catch (error) {
      throw this.noProxy(`${peer}: ${error instanceof Error ? error.message : error}`)
    }
  }

  private async mayHoldOneMore(arrival: AcceptedSocket): Promise<boolean> {
    const { ip, isProbe } = arrival
    if (isProbe || isLoopback(ip) || this.isProxy(ip)) return true
    return this.setup.addresses.take(clientOf(ip), arrival) || (await this.setup.isExempt(ip))
  }

  private tooMany({ ip }: AcceptedSocket): TurnedAway {
    if (this.setup.addresses.isNews(clientOf(ip)))
      this.log.warn({ event: 'smtp_too_many_connections', key: 'limits.connections_per_address', ip })
    return new TurnedAway(SAY.tooManyFromAddress)
  }

  /** When the listener is full, the oldest stranger goes; without one, who has just come. */
  private makeRoom(): void {
    // whoever is coming in is pending
    if (this.connections.size + this._pendingSockets.size <= this.setup.connections) return
    const [oldest] = this.strangers
    if (oldest === undefined) throw new TurnedAway(SAY.busy)
    const [arrival, which] = oldest
    this.strangers.delete(arrival)
    if (which instanceof DoorConnection) which.evict()
    else this._pendingSockets.get(which)?.destroy()
  }

  private turnAway(socket: Socket, error: Error): void {
    if (this.setup.tls === 'implicit' || !(error instanceof TurnedAway)) socket.destroy()
    else {
      socket.end(`${error.reply}\r\n`)
      socket.destroySoon()
    }
  }

  /** A proxy that is set up otherwise would shut everybody out in silence; once a minute is enough to say it. */
  private noProxy(reason: string): TurnedAway {
    const now = this.clock.tick()
    if (now >= this.quietUntil) {
      this.quietUntil = now + QUIET
      this.log.warn({ event: 'smtp_no_proxy_header', key: this.setup.key, reason })
    }
    return new TurnedAway(SAY.proxiesOnly)
  }

  known(arrival: AcceptedSocket): void {
    this.strangers.delete(arrival)
    if (this.rules.mustLogIn) this.setup.addresses.release(arrival)
  }

  /** Called by the constructor of the parent too; makes contexts of our own certificate only. */
  override updateSecureContext(options?: Partial<TlsPair> | null): void {
    Object.assign(this.options, options)
    const { key, cert } = this.options
    this.secureContext = new Map()
    if (key !== undefined && cert !== undefined)
      this.secureContext.set('*', createSecureContext(this.options))
    const { others = [] } = this.options as Partial<TlsPair>
    this.byName = contextsOf(others, this.options)
  }

  override _resolveSNI(
    servername: string,
    callback: (error: Error | null, context?: SecureContext) => void,
  ): void {
    callback(null, this.byName(servername) ?? this.secureContext.get('*'))
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
    for (const connection of this.present) connection.sweep(now, this.setup.idle, this.silence)
    for (const [{ since }, which] of this.strangers) {
      if (now - since <= this.silence) break
      if (!(which instanceof DoorConnection)) this._pendingSockets.get(which)?.destroy()
    }
  }
}

const tlsOptions = <Who>({ certificate, versions, client_certificates }: ServerOptions<Who>) => ({
  ...certificate,
  honorCipherOrder: true,
  // without a context of its own OpenSSL resumes no session in which it asks for a certificate
  ...(client_certificates
    ? { requestCert: true, rejectUnauthorized: false, sessionIdContext: 'postern-submission' }
    : {}),
  ...versions,
})
