/**
 * NAME      connection - a session on a socket of smtp-server
 * DESCRIPTION
 *   smtp-server accepts sockets, speaks TLS and closes them; this subclass gives
 *   it our parser and our conversation. It greets at once (the library waits
 *   100 ms with no option for it) and never asks the DNS.
 *   Replies to a pipelined group leave in one write. Time is kept here: a client
 *   that owes us a whole command, or the next bytes of a body, for longer than
 *   `idle`, is cut, however it trickles; one without a login or MAIL sooner. One that sends
 *   everything and shuts down its side gets its replies, and then our side ends too.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { SMTPServer } from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection'
import type { Body } from './body.js'
import { SAY } from './reply.js'
import type { Arrival, Listener } from './rules.js'
import { Session, type Wire } from './session.js'
import { DoorStream } from './stream.js'

/** RFC 4954 wants 12,288 octets for AUTH lines; nothing else comes near. */
const LONGEST_LINE = 12_288
/** After its first idle period a body must come at this rate on average, bytes per second. */
const SLOWEST = 256

/** What server.ts hands in through smtp-server. */
export interface ArrivedOptions extends SMTPConnectionOptions {
  readonly arrival: Arrival
}

export class DoorConnection<Who> extends SMTPConnection implements Wire {
  private readonly door: SMTPServer & Listener<Who>
  private readonly talk: Session<Who>
  private readonly arrival: Arrival
  private out = ''
  private opening: Promise<void> | null = null
  /** When the client began to owe us something; null while we owe it a reply. */
  private owesSince: number | null
  private body: Body | null = null
  private bodySeen = 0
  private bodySince = 0

  constructor(door: SMTPServer & Listener<Who>, socket: Socket | TLSSocket, options: ArrivedOptions) {
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
