/**
 * NAME      sandbox - an MTA that pretends
 * DESCRIPTION
 *   Takes mail from relay/ like any upstream, on a free loopback port, and
 *   delivers nothing: the recipient's local part chooses the outcome
 *   (simulation.ts). Replies are real SMTP; reports are real mails, sent to the
 *   bounce door at the envelope sender, tried again for a while when the door
 *   is not there. Reports that still wait when it stops are dropped.
 */
import type { AddressInfo } from 'node:net'
import type {
  SMTPServerAddress,
  SMTPServerDataStream,
  SMTPServerEnvelope,
  SMTPServerSession,
} from 'smtp-server'
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Service } from '../base/service.js'
import type { Address } from './dispatch.js'
import type { Received } from './report.js'
import { createReporter } from './reporter.js'
import { PromptServer } from './server.js'
import { simulationFor } from './simulation.js'

interface SandboxOptions {
  readonly hostname: string
  /** Where reports go; asked at each send. */
  readonly bounceAddress: () => Address
  readonly log: Log
  readonly clock?: Clock
  /** Milliseconds: what `later` means, and how long slow@ takes. */
  readonly pace?: number
}

interface Sandbox extends Service {
  readonly address: Address
}

const LARGEST = 50 * 1024 * 1024
const MOST_REMEMBERED = 10_000

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

export const createSandbox = (options: SandboxOptions): Sandbox => {
  const pace = options.pace ?? 1500
  const reporter = createReporter(options, pace)
  const server = new PromptServer({
    name: options.hostname,
    ...SETTINGS,
    onConnect: (_session, callback) => callback(),
    onMailFrom: (_address, _session, callback) => callback(),
    onRcptTo: refusals(),
    onData: (stream, { envelope }, callback) => {
      taken(stream, envelope).then((mails) => {
        const slow = mails.some((mail) => simulationFor(mail.recipient).slow)
        reporter.after(slow ? pace : 0, () => {
          callback(null, '2.0.0 Ok: taken by the sandbox')
          for (const mail of mails) reporter.play(mail, simulationFor(mail.recipient).steps)
        })
      }, callback)
    },
  })
  server.on('error', (error) => options.log.debug({ event: 'sandbox_connection_error', err: error }))
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
        reporter.stop()
        if (!server.server.listening) return resolve()
        for (const connection of server.connections) connection._socket.destroy()
        server.server.close(() => resolve())
      }),
  }
}

/** Reads the message; one mail per recipient, since each has an outcome of its own. */
const taken = async (
  stream: SMTPServerDataStream,
  { mailFrom, rcptTo, dsn }: SMTPServerEnvelope,
): Promise<Received[]> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  const raw = Buffer.concat(chunks)
  return rcptTo.map((to) => ({
    sender: mailFrom === false ? '' : mailFrom.address,
    recipient: to.address,
    orcpt: to.dsn?.orcpt ?? null,
    notify: to.dsn?.notify ?? null,
    envid: dsn?.envid ?? null,
    ret: dsn?.ret ?? null,
    raw,
    arrivedAt: Date.now(),
  }))
}

/** RCPT TO: refuses as the table says, remembering what was refused once. */
const refusals = () => {
  const refusedOnce = new Set<string>()
  return (
    { address }: SMTPServerAddress,
    { envelope }: SMTPServerSession,
    callback: (error?: Error | null) => void,
  ): void => {
    const { refuse, reply } = simulationFor(address)
    const sender = envelope.mailFrom === false ? '' : envelope.mailFrom.address
    const attempt = `${sender} ${address} ${envelope.dsn?.envid ?? ''}`
    if (reply === null || (refuse === 'first' && refusedOnce.delete(attempt))) {
      callback()
      return
    }
    if (refuse === 'first') {
      refusedOnce.add(attempt)
      if (refusedOnce.size > MOST_REMEMBERED) refusedOnce.delete(refusedOnce.values().next().value ?? '')
    }
    callback(Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) }))
  }
}
