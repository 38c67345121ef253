/**
 * NAME      submission-door - mail comes in by SMTP (RFC 6409)
 *   One server per configured listener: STARTTLS, implicit TLS, or in clear on loopback and private networks, where an
 *   IP-range credential can stand for a login; so can a client certificate, on a listener that asks for it. A login is
 *   checked when it is made, and again at each MAIL, since a key can be revoked in between, and on SQLite once more
 *   with the message; the rate counts at MAIL. `250 2.6.0 Ok: queued as em_...` is said only after the submission stage
 *   resolved: on disk.
 *   From the end of its DATA to the reply. A client that traces says so where it can: in a header field `traceparent`,
 *   as it would over HTTP. Addresses and subjects are not told.
 */
import { andThen } from '../base/and-then.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { newRequestId } from '../base/id.js'
import { type Listen, plainListen } from '../base/listen.js'
import type { Log } from '../base/log.js'
import { Budget } from '../base/memory.js'
import type { Service } from '../base/service.js'
import { readTraceparent, type Spans } from '../base/trace.js'
import type { Config, SubmissionListener } from '../config/config.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { EnvelopedMessage } from '../submission/prepare.js'
import type { MessageAnswer } from '../submission/submit.js'
import type { Login } from '../tenant/principal.js'
import { Tally } from './admission.js'
import { faultReply, Refusal, recode, SAY } from './commands.js'
import type { DoorSubmission, DoorTenants, ListenerRules, ReceivedEnvelope, Visit } from './rules.js'
import { DoorServer, type TlsPair, VERSIONS } from './server.js'

/** Where a header may end; what is longer has no business with us. */
const MOST_HEADER = 64 * 1024

/** The field as the client wrote it, or null. */
const fieldOf = (raw: Uint8Array): string | null => {
  const start = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MOST_HEADER)).toString(
    'latin1',
  )
  const end = /\r?\n\r?\n/.exec(start)?.index ?? start.length
  return /(?:^|\n)traceparent:[ \t]*(\S+)[ \t]*(?:\r?\n|$)/i.exec(start.slice(0, end + 1))?.[1] ?? null
}

const traced = async (
  spans: Spans,
  login: Login,
  { raw, recipients, received }: EnvelopedMessage,
  submit: (trace: string) => Promise<MessageAnswer>,
): Promise<MessageAnswer> => {
  const span = spans.start({
    name: 'SMTP submission',
    kind: 'server',
    parent: readTraceparent(fieldOf(raw)),
    attributes: {
      'network.protocol.name': 'smtp',
      'postern.workspace_id': login.workspace.id,
      'postern.recipients': recipients.length,
      'postern.message_size': raw.byteLength,
      'postern.smtp.protocol': received.protocol,
    },
  })
  try {
    const answer = await span.run(() => submit(span.traceparent))
    span.set({ 'postern.email_id': answer.id })
    span.end()
    return answer
  } catch (error) {
    const code = error instanceof Fault ? error.code : 'internal.unexpected'
    span.set({ 'error.type': code })
    // a refusal is the client's failure, not the server's
    span.end(error instanceof Fault && error.row.http < 500 ? null : code)
    throw error
  }
}

interface DoorOptions {
  readonly config: Pick<Config, 'hostname' | 'submission' | 'limits'>
  readonly certificate: TlsPair
  readonly tenants: DoorTenants
  readonly submission: DoorSubmission
  readonly clock: Clock
  readonly log: Log
  /** What both doors share; by default this one has all of limits.memory. */
  readonly memory?: Budget
  /** null without an OpenTelemetry SDK. */
  readonly spans?: Spans | null
  /** How to get its sockets, `submission.0` and so on; by default they are bound here. */
  readonly listen?: Listen | undefined
}

interface DoorAddress {
  readonly host: string
  readonly port: number
  readonly tls: SubmissionListener['tls']
}

export interface SubmissionDoor extends Service {
  /** Where each listener really listens, in the order of the config; empty before start. */
  readonly addresses: readonly DoorAddress[]
  /** Connections made from now on get this certificate. */
  renew(certificate: TlsPair): void
}

const RETRY_AFTER_S = 5
/** A session can last for days: after this long its workspace is read again, so that changes reach it. */
const STALE = 1000
/** How long a stop waits for messages that are on their way in. */
const GRACE = 10_000

/** Who sends, and when that was last read. */
interface Visitor {
  readonly login: Login
  readonly readAt: number
}

export const createSubmissionDoor = (options: DoorOptions): SubmissionDoor => {
  const { config, clock, log, tenants } = options
  const { connections_per_address, connections_per_credential } = config.limits
  const addresses = new Tally(connections_per_address)
  const logins = new Tally(connections_per_credential)
  const memory = options.memory ?? new Budget(config.limits.memory)
  let servers: DoorServer<Visitor>[] = []
  let certificate = options.certificate
  const build = (listener: SubmissionListener, i: number): DoorServer<Visitor> =>
    new DoorServer({
      ...listener,
      listen: options.listen ?? plainListen,
      key: `submission.${i}`,
      certificate: listener.tls === 'none' ? null : certificate,
      versions: listener.legacy ? VERSIONS.legacy : VERSIONS.modern,
      connections: config.limits.connections,
      idle: config.limits.idle,
      addresses,
      isExempt: tenants.hasRange,
      rules: submissionRules({ ...options, memory }, listener, logins),
      clock,
      log,
    })
  return {
    name: 'submission-door',
    get addresses() {
      return servers.map((server, i) => ({ ...server.address, tls: config.submission[i]?.tls ?? 'none' }))
    },
    async start() {
      if (servers.length > 0) return
      servers = config.submission.map(build)
      const opened = await Promise.allSettled(servers.map((server) => server.open()))
      const failed = opened.find((one) => one.status === 'rejected')
      if (failed === undefined) return
      await this.stop()
      throw failed.reason
    },
    async stop() {
      const open = servers
      servers = []
      await Promise.all(open.map((server) => server.shut(GRACE)))
    },
    renew(fresh) {
      certificate = fresh
      servers.forEach((server, i) => {
        if (config.submission[i]?.tls !== 'none') server.updateSecureContext(fresh)
      })
    },
  }
}

/** Who is revoked while a message comes in hears what MAIL would say. */
const refusal = (error: unknown): unknown =>
  error instanceof Fault && error.code === 'auth.credentials_invalid' ? revoked() : error

const createMail = ({ tenants, submission, clock }: DoorOptions): ListenerRules<Visitor>['mail'] => {
  const workspaceOf = (visit: Visit<Visitor>): WorkspaceRow | Promise<WorkspaceRow> => {
    const { login, readAt } = visitorOf(visit)
    if (clock.tick() - readAt <= STALE) return login.workspace
    return andThen(tenants.workspaceForSend(login, login.workspace.id), (workspace) => {
      visit.who = { login: { ...login, workspace }, readAt: clock.tick() }
      return workspace
    })
  }
  return (sender, visit) => {
    if (!submission.accepting()) throw new Fault('service.unavailable', { retryAfter: RETRY_AFTER_S })
    const { login } = visitorOf(visit)
    const valid = andThen(tenants.stillValid(login), (isValid) => {
      if (!isValid) throw revoked()
      return workspaceOf(visit)
    })
    return andThen(valid, (workspace) =>
      andThen(tenants.sendWindow.consume(login, 1), (state) => {
        if (!state.allowed) throw tenants.sendWindow.exceeded(state)
        // the null sender names nobody: From says who has written it, and is looked at with the message
        if (workspace.restrictSenders && sender.address !== '')
          return submission.checkSender(workspace, sender.address)
      }),
    )
  }
}

const submissionRules = (
  options: DoorOptions & { readonly memory: Budget },
  listener: SubmissionListener,
  logins: Tally,
  { config, tenants, submission, clock, log, spans, memory } = options,
): ListenerRules<Visitor> => ({
  hostname: config.hostname,
  size: config.limits.message_size,
  recipients: config.limits.recipients,
  memory,
  startTls: listener.tls === 'starttls',
  login: listener.tls === 'none' ? 'clear' : 'tls',
  mustLogIn: true,
  async connected(visit) {
    if (!listener.ip_credentials || visit.isProbe) return
    const login = await tenants.authenticateRange(visit.ip)
    if (login !== null) visit.who = countedIn(logins, login, visit, log, clock)
  },
  async certified(visit) {
    if (!listener.client_certificates || visit.certificate === null) return
    const login = await tenants.authenticateCertificate(visit.certificate, visit.ip)
    if (login !== null) visit.who = countedIn(logins, login, visit, log, clock)
  },
  async authenticate({ user, password }, visit) {
    const login = await tenants.authenticatePassword(user, password, visit.ip)
    return countedIn(logins, login, visit, log, clock)
  },
  left: (visit) => logins.release(visit),
  mail: createMail(options),
  recipient() {},
  message(envelope, raw, visit) {
    const { login } = visitorOf(visit)
    const message = enveloped(envelope, raw, visit)
    const submit = (trace: string | null) => submission.submitMessage(login, { ...message, trace })
    const taken = spans ? traced(spans, login, message, submit) : submission.submitMessage(login, message)
    return taken.then(
      ({ id }) => {
        log.debug({ event: 'smtp_accepted', email_id: id, bytes: raw.length })
        return `250 2.6.0 Ok: queued as ${id}`
      },
      (error) => Promise.reject(refusal(error)),
    )
  },
})

/** Throws when this credential has as many connections as it may. */
const countedIn = (logins: Tally, login: Login, visit: Visit<Visitor>, log: Log, clock: Clock): Visitor => {
  if (logins.take(login.id, visit)) return { login, readAt: clock.tick() }
  if (logins.isNews(login.id)) {
    const key = 'limits.connections_per_credential'
    log.warn({ event: 'smtp_too_many_connections', key, credential: login.id, ip: visit.ip })
  }
  throw new Refusal(SAY.tooManyOfCredential)
}

const visitorOf = ({ who }: Visit<Visitor>): Visitor => {
  if (who === null) throw new Fault('auth.credentials_missing')
  return who
}

/** Ends the session: what follows could only be refused too. */
const revoked = (): Refusal =>
  new Refusal(recode('421 4.7.0', faultReply(new Fault('auth.credentials_invalid'), newRequestId())))

const enveloped = <Who>(
  { sender, recipients, headroom }: ReceivedEnvelope,
  raw: Buffer,
  { ip, hello, tls, extended, loggedIn }: Visit<Who>,
): EnvelopedMessage => ({
  mailFrom: sender.address,
  recipients: recipients.map(({ address, notify, orcpt }) => ({
    address,
    dsn: notify === null && orcpt === null ? null : { notify, orcpt },
  })),
  ret: sender.ret,
  envid: sender.envid,
  requireTls: sender.requireTls,
  raw,
  headroom,
  received: {
    ip,
    hello,
    protocol: extended ? `ESMTP${tls === null ? '' : 'S'}${loggedIn ? 'A' : ''}` : 'SMTP',
    tls,
  },
})
