/**
 * NAME      upstream-server - a scripted SMTP server for tests
 * DESCRIPTION
 *   A small TCP server that speaks SMTP as told: each command's answer can be
 *   replaced, and the connection can be stalled or reset at any stage. It keeps
 *   what it received, byte for byte.
 */

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export type Stage =
  | 'connect'
  | 'ehlo'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'dot'
  | 'quit'
  | 'rset'
  | 'starttls'
  | 'auth'
/** A reply to give instead, or what to do to the connection. */
export type Act = string | 'stall' | 'reset' | 'close' | 'endless'

export interface Received {
  readonly mail: string
  readonly rcpt: string[]
  /** As sent on the wire, dots still doubled, without the final dot. */
  readonly wire: string
  readonly connection: number
}

export interface UpstreamScript {
  /** Called before each answer; undefined means the ordinary one. */
  act?: (stage: Stage, line: string, connection: number) => Act | undefined
  /** Returns true to take the answer into its own hands: it is given when `go` is called. */
  hold?: (stage: Stage, go: () => void) => boolean
  extensions?: readonly string[]
  /** From AUTH on these are the answers, one a line; used up as they are given. */
  converse?: string[]
  /** Each octet in a segment of its own; a number: so many milliseconds apart. */
  octets?: boolean | number
}

const ORDINARY: Record<Stage, string> = {
  connect: '220 upstream.test ESMTP',
  ehlo: '',
  mail: '250 2.1.0 Ok',
  rcpt: '250 2.1.5 Ok',
  data: '354 go ahead',
  body: '',
  dot: '250 2.0.0 Ok: queued as TEST',
  quit: '221 2.0.0 Bye',
  rset: '250 2.0.0 Ok',
  starttls: '454 4.7.0 not here',
  auth: '235 2.7.0 welcome',
}

export class UpstreamServer {
  readonly received: Received[] = []
  /** Commands in order, of all connections. */
  readonly lines: string[] = []
  connections = 0
  mostOpen = 0
  script: UpstreamScript
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  extensions: readonly string[]
  /** Takes DATA also where no recipient was taken. */
  wantsNoRecipient = false

  constructor(script: UpstreamScript = {}) {
    this.script = script
    this.extensions = script.extensions ?? ['PIPELINING', 'SIZE 10240000', '8BITMIME', 'DSN', 'SMTPUTF8']
    this.#server = createServer({ noDelay: true }, (socket) => this.#serve(socket))
  }

  async listen(port = 0, host = '127.0.0.1'): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, host, resolve))
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  get open(): number {
    return this.#sockets.size
  }

  /** Drops all connections that are open now. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket): void {
    const connection = ++this.connections
    this.#sockets.add(socket)
    this.mostOpen = Math.max(this.mostOpen, this.#sockets.size)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let rest = ''
    let inData = false
    let mail = ''
    let rcpt: string[] = []
    let stalled = false
    let conversing = false
    const endless = (): void => {
      if (!socket.destroyed) socket.write('250-and more\r\n'.repeat(500), () => setImmediate(endless))
    }
    let saying = Promise.resolve()
    const say = (text: string): void => {
      const { octets = false } = this.script
      if (octets === false) return void socket.write(text)
      for (const octet of text) {
        saying = saying
          .then(() => (socket.destroyed ? undefined : sleep(octets === true ? 0 : octets)))
          .then(() => void (socket.destroyed || socket.write(octet)))
      }
    }
    const answer = (stage: Stage, line: string, ordinary = ORDINARY[stage]): boolean => {
      const act = this.script.act?.(stage, line, connection) ?? ordinary
      if (act === 'stall') stalled = true
      else if (act === 'reset') socket.resetAndDestroy()
      else if (act === 'close') socket.end()
      else if (act === 'endless') endless()
      else if (act !== '') {
        const go = (): void => say(`${act}\r\n`)
        const held = (stage === 'connect' || stage === 'ehlo') && this.script.hold?.(stage, go)
        if (held !== true) go()
      }
      return act === ordinary || /^[23]/.test(act)
    }
    const command = (line: string): void => {
      this.lines.push(line)
      const { converse = [] } = this.script
      conversing ||= converse.length > 0 && line.startsWith('AUTH')
      const next = conversing ? converse.shift() : undefined
      if (next !== undefined) {
        say(`${next}\r\n`)
        return
      }
      const verb = line.slice(0, 4).toUpperCase()
      if (verb === 'EHLO')
        answer(
          'ehlo',
          line,
          ['250-upstream.test', ...this.extensions.map((e) => `250-${e}`), '250 HELP'].join('\r\n'),
        )
      else if (verb === 'STAR') answer('starttls', line)
      else if (verb === 'AUTH') answer('auth', line)
      else if (verb === 'HELO') answer('ehlo', line, '250 upstream.test')
      else if (verb === 'MAIL') {
        if (answer('mail', line)) mail = line
        rcpt = []
      } else if (verb === 'RCPT') {
        if (answer('rcpt', line)) rcpt.push(line)
      } else if (verb === 'DATA') {
        if (rcpt.length === 0 && !this.wantsNoRecipient) say('554 5.5.1 no valid recipients\r\n')
        else inData = answer('data', line)
      } else if (verb === 'RSET') answer('rset', line)
      else if (verb === 'QUIT') {
        if (answer('quit', line)) socket.end()
      } else say('502 5.5.2 what?\r\n')
    }
    answer('connect', '')
    socket.on('data', (chunk) => {
      if (stalled) return
      rest += chunk.toString('latin1')
      for (;;) {
        if (stalled || socket.destroyed) return
        if (inData) {
          const act = this.script.act?.('body', rest, connection)
          if (act === 'reset') return void socket.resetAndDestroy()
          if (act === 'stall') stalled = true
          else if (act !== undefined) {
            stalled = true
            say(`${act}\r\n`)
            socket.resume()
          }
          const end = rest.startsWith('.\r\n') ? 0 : rest.indexOf('\r\n.\r\n') + 2
          if (end === 1 || stalled) return
          const wire = rest.slice(0, end)
          rest = rest.slice(end + 3)
          inData = false
          const conclude = (): void => {
            if (answer('dot', '')) this.received.push({ mail, rcpt, wire, connection })
          }
          if (this.script.hold?.('dot', conclude) !== true) conclude()
          continue
        }
        const end = rest.indexOf('\r\n')
        if (end === -1) return
        const line = rest.slice(0, end)
        rest = rest.slice(end + 2)
        command(line)
      }
    })
  }
}
