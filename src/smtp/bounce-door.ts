/**
 * NAME      bounce-door - reports come back
 *   Takes mail at signed return paths, from `<>` and from anyone else (some systems answer with a real sender), without
 *   AUTH. An address that we did not sign is refused at RCPT, before DATA, so there is never anything to bounce: no
 *   backscatter. 250 is said after the report's effect is committed, else 452: its sender tries again.
 *   A report may return the whole mail: it is taken to its end, and its beginning kept.
 *   postmaster@ and abuse@ of the bounce domain are for people: they go on to `bounce.postmaster`, whole; without that
 *   setting their beginning is kept in the log.
 *   So does mail to fbl@ that is no report: a provider asks there whether the address is ours.
 *   Reports of receivers about domains come to dmarc-reports@ and tls-reports@ of the bounce domain; what is none is
 *   refused with the reason.
 *   STARTTLS is offered to TLS 1.0 too: who cannot use it would send in clear.
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type Listen, plainListen } from '../base/listen.js'
import type { Log } from '../base/log.js'
import { Budget } from '../base/memory.js'
import type { Service } from '../base/service.js'
import type { Config, ListenAddress } from '../config/config.js'
import { roleAt } from '../mail/return-path.js'
import type { DomainReportIntake } from '../outcome/domain-report.js'
import { Tally } from './admission.js'
import { Refusal } from './commands.js'
import type { BounceIntake, ListenerRules, ReceivedEnvelope, ToPostmaster, Visit } from './rules.js'
import { DoorServer, type TlsPair, VERSIONS } from './server.js'

interface BounceDoorOptions extends BounceIntake {
  /** What STARTTLS shows; without one it is not offered. */
  readonly certificate?: TlsPair | null
  /** Takes reports of receivers about domains. */
  readonly domainReports: DomainReportIntake
  /** Takes mail to postmaster@ and abuse@. */
  readonly toPostmaster: ToPostmaster
  readonly config: Pick<Config, 'hostname' | 'bounce' | 'limits'>
  readonly clock: Clock
  readonly log: Log
  /** What both doors share; by default this one has all of limits.memory. */
  readonly memory?: Budget
  /** How to get its socket, `bounce`; by default it is bound here. */
  readonly listen?: Listen | undefined
}

export interface BounceDoor extends Service {
  /** Connections made from now on get this certificate. */
  renew(certificate: TlsPair): void
  /** Where it really listens; throws before start. */
  readonly address: ListenAddress
}

/** How much of a report its reader looks at. */
const READ = 1024 * 1024
/** And of one about a domain, which comes packed. */
const READ_PACKED = 5 * READ
const MOST_RECIPIENTS = 100
const GRACE = 10_000

const serverOf = (options: BounceDoorOptions, certificate: TlsPair | null): DoorServer<never> => {
  const { config, listen = plainListen, clock, log } = options
  const { limits, bounce } = config
  const { host, port, proxy_protocol, trusted_proxies } = bounce
  const rules = bounceRules(options)
  return new DoorServer<never>({
    ...{ host, port, proxy_protocol, trusted_proxies, listen, certificate, rules, clock, log },
    key: 'bounce',
    tls: certificate === null ? 'none' : 'starttls',
    versions: VERSIONS.any,
    client_certificates: false,
    connections: limits.connections,
    idle: limits.idle,
    addresses: new Tally(limits.connections_per_address),
    isExempt: async () => false,
  })
}

export const createBounceDoor = (options: BounceDoorOptions): BounceDoor => {
  let server: DoorServer<never> | null = null
  let certificate = options.certificate ?? null
  return {
    name: 'bounce-door',
    get address() {
      if (server === null) throw new Error('the bounce door is closed')
      return server.address
    },
    async start() {
      if (server !== null) return
      const fresh = serverOf(options, certificate)
      await fresh.open()
      server = fresh
    },
    async stop() {
      const open = server
      server = null
      await open?.shut(GRACE)
    },
    renew(fresh) {
      certificate = fresh
      server?.updateSecureContext(fresh)
    },
  }
}

/** Whoever is in charge: mail to them is for people (RFC 2142, RFC 5321 section 4.5.1). */
const isForPeople = (address: string, domain: string): boolean =>
  ['postmaster', 'abuse'].includes(roleAt(address, domain) ?? '')

const isForLoops = (address: string, domain: string): boolean => roleAt(address, domain) === 'fbl'

const bounceRules = (options: BounceDoorOptions): ListenerRules<never> => {
  const { config, memory, certificate, verifyRecipient, domainReports, log } = options
  const { domain } = config.bounce
  return {
    hostname: config.hostname,
    size: config.limits.message_size,
    recipients: MOST_RECIPIENTS,
    kept: (recipients) =>
      recipients.some(({ address }) => isForPeople(address, domain) || isForLoops(address, domain))
        ? config.limits.message_size
        : recipients.some(({ address }) => domainReports.takesReports(address))
          ? READ_PACKED
          : READ,
    memory: memory ?? new Budget(config.limits.memory),
    startTls: certificate != null,
    postmasterAt: domain,
    login: 'none',
    mustLogIn: false,
    connected() {},
    authenticate: () => Promise.reject(new Fault('auth.credentials_invalid')),
    mail() {},
    left() {},
    async recipient({ address }) {
      if (isForPeople(address, domain) || domainReports.takesReports(address)) return
      if (!(await verifyRecipient(address))) throw new Refusal('550 5.1.1 No such return path')
    },
    async message(envelope, raw, visit) {
      try {
        await take(options, envelope, raw, visit)
      } catch (error) {
        if (error instanceof Fault || error instanceof Refusal) throw error
        log.error({ event: 'bounce_not_kept', err: error })
        throw new Fault('service.unavailable', { detail: 'Not kept, try again later' })
      }
      return '250 2.6.0 Ok: report taken'
    },
  }
}

/** Who sent it hears why it was not kept: nobody else could. */
const REFUSED = {
  none: '554 5.6.0 There is no report in this mail',
  no_domain: '550 5.1.2 The report is about no domain of this installation',
  full: '452 4.2.2 Too many reports about this domain today',
} as const

const takeReport = async ({ takeReport }: DomainReportIntake, raw: Buffer, ip: string): Promise<void> => {
  if (raw.length >= READ_PACKED) throw new Refusal('552 5.3.4 A report has less than 5 MiB')
  const { result, why } = await takeReport(raw, ip)
  if (result === 'unreadable') throw new Refusal(`554 5.6.0 This report is not read: ${why}`)
  if (result !== 'read' && result !== 'known') throw new Refusal(REFUSED[result])
}

/** Reports first: should the rest fail, they may come again. */
const take = async (
  { config, ingest, toPostmaster, domainReports }: BounceDoorOptions,
  { recipients }: ReceivedEnvelope,
  raw: Buffer,
  { ip, hello, tls }: Visit<never>,
): Promise<void> => {
  const { domain } = config.bounce
  let forPeople = recipients.find(({ address }) => isForPeople(address, domain))
  // read once, whichever of its addresses it names
  if (recipients.some(({ address }) => domainReports.takesReports(address)))
    await takeReport(domainReports, raw, ip)
  for (const one of recipients) {
    if (domainReports.takesReports(one.address)) continue
    if (isForPeople(one.address, domain)) continue
    const made = await ingest(one.address, raw.subarray(0, READ))
    if (isForLoops(one.address, domain) && made?.kind === 'none' && made.did === 'nothing') forPeople ??= one
  }
  if (forPeople === undefined) return
  const taken = await toPostmaster({ to: forPeople.address, raw, ip, hello, tls })
  if (taken === 'loop') throw new Refusal('554 5.4.6 Mail loop: this message has been here before')
}
