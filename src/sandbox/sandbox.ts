/**
 * NAME      sandbox - an MTA that simulates outcomes
 *   Takes mail from relay/ like any upstream, on a free loopback port, and delivers nothing: the recipient's local part
 *   chooses the outcome (simulation.ts). Replies are real SMTP. It keeps nothing of what it takes: that a mail was sent
 *   stands in the log once its 250 is on disk, and from there the reports are written (reporter.ts). Whom it deferred
 *   it remembers, and after a restart the store does.
 *   The sandbox's listener: greets at once (the library waits 100 ms), asks no DNS, holds no certificate, and prints
 *   one enhanced code per reply: a text that begins with one is not given another.
 */
import { createHash } from 'node:crypto'
import type { AddressInfo, Socket } from 'node:net'
import {
  SMTPServer,
  type SMTPServerAddress,
  type SMTPServerDataStream,
  type SMTPServerSession,
} from 'smtp-server'
import { SMTPConnection, type SMTPConnectionOptions } from 'smtp-server/lib/smtp-connection'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import { readRef, readReturnPath } from '../mail/return-path.js'
import type { Ledger } from '../store/port/mail.js'
import { PACE_MS, simulationFor } from './simulation.js'

class PromptConnection extends SMTPConnection {
  override init(): void {
    this._setListeners(() => this.connectionReady())
  }

  override send(code: number, data?: string | string[] | null, context?: string | false): void {
    super.send(code, data, typeof data === 'string' && /^[245]\.\d+\.\d+ /.test(data) ? false : context)
  }
}

class PromptServer extends SMTPServer {
  override connect(socket: Socket, options?: SMTPConnectionOptions | null): void {
    const connection = new PromptConnection(this, socket, options)
    this.connections.add(connection)
    connection.on('error', (error) => this._onError(error))
    connection.init()
  }

  override updateSecureContext(): void {
    this.secureContext = new Map()
  }
}

interface SandboxOptions {
  readonly hostname: string
  readonly store: Pick<Ledger, 'recipient'>
  readonly log: Pick<Log, 'debug'>
  /** Milliseconds that slow@ takes. */
  readonly pace?: number
}

interface Sandbox extends Service {
  readonly address: { readonly host: string; readonly port: number }
}

const LARGEST = 50 * 1024 * 1024
/** Who waits for his next attempt; in numbers, so that all of them take a few MB. */
const MOST_REMEMBERED = 250_000

const SETTINGS = {
  banner: 'Postern sandbox',
  disabledCommands: ['AUTH', 'STARTTLS'],
  authOptional: true,
  // whoever the doors take as a recipient is one here
  lenientAddressParsing: true,
  disableReverseLookup: true,
  hideDSN: false,
  hideENHANCEDSTATUSCODES: false,
  logger: false,
  size: LARGEST,
  rejectOversized: true,
  closeTimeout: 1000,
}

export const createSandbox = ({ hostname, store, log, pace = PACE_MS }: SandboxOptions): Sandbox => {
  const held = new Set<NodeJS.Timeout>()
  const later = (ms: number, act: () => void): void => {
    const timer = setTimeout(() => {
      held.delete(timer)
      act()
    }, ms)
    held.add(timer)
  }
  const server = new PromptServer({
    name: hostname,
    ...SETTINGS,
    onConnect: (_session, callback) => callback(),
    onMailFrom: (_address, _session, callback) => callback(),
    onRcptTo: refusals(store),
    onData: (stream: SMTPServerDataStream, { envelope: { rcptTo } }, callback) => {
      const reply = (): void => callback(null, '2.0.0 Ok: taken by the sandbox')
      stream.once('error', callback)
      stream.once('end', () => {
        if (rcptTo.some(({ address }) => simulationFor(address).slow)) later(pace, reply)
        else reply()
      })
      stream.resume()
    },
  })
  server.on('error', (error) => log.debug({ event: 'sandbox_connection_error', err: error }))
  return {
    name: 'sandbox',
    get address() {
      return { host: '127.0.0.1', port: (server.server.address() as AddressInfo).port }
    },
    start: () =>
      new Promise((resolve, reject) => {
        if (server.server.listening) return resolve()
        server.server.once('error', reject)
        server.listen(0, '127.0.0.1', () => resolve())
      }),
    stop: () =>
      new Promise((resolve) => {
        for (const timer of held) clearTimeout(timer)
        if (!server.server.listening) return resolve()
        for (const connection of server.connections) connection._socket.destroy()
        server.server.close(() => resolve())
      }),
  }
}

/** 48 bits: among those that are remembered, no two texts have the same. */
const numberOf = (text: string): number => createHash('sha256').update(text).digest().readUIntBE(0, 6)

/** RCPT TO: refuses as the table says, remembering what was refused once. */
const refusals = (store: SandboxOptions['store']) => {
  const refusedOnce = new Set<number>()

  /** What a sandbox before this one deferred. */
  const isDeferred = async (address: string, sender: string, envid: string): Promise<boolean> => {
    const token = readReturnPath(sender) ?? readRef('envid', envid)
    const owner = token && (await store.recipient(token.recipientId).catch(() => null))
    return owner?.address === address && owner.status === 'deferred'
  }

  return async (
    { address }: SMTPServerAddress,
    { envelope }: SMTPServerSession,
    callback: (error?: Error | null) => void,
  ): Promise<void> => {
    const { refuse, reply } = simulationFor(address)
    const sender = envelope.mailFrom === false ? '' : envelope.mailFrom.address
    const envid = envelope.dsn?.envid ?? ''
    const attempt = numberOf(`${sender} ${address} ${envid}`)
    const isAgain =
      refuse === 'first' && (refusedOnce.delete(attempt) || (await isDeferred(address, sender, envid)))
    if (reply === null || isAgain) {
      callback()
      return
    }
    if (refuse === 'first') {
      refusedOnce.add(attempt)
      if (refusedOnce.size > MOST_REMEMBERED) refusedOnce.delete(refusedOnce.values().next().value ?? 0)
    }
    callback(Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) }))
  }
}
