/**
 * NAME      connection - one request after another to the service of an upstream, and where each stands
 *   The host comes from a table, by region or domain; another only where the settings name it (`relay.http_endpoints`),
 *   never by the API. TLS from the first byte, its certificate checked for that host.
 *   Messages have the stages of dialogue/connection.ts: until the last octets of the body were handed to the socket
 *   (`body`) the service can not have the whole; from then on (`dot`) it may. A request goes out once. What is no whole
 *   answer, and what says neither yes nor no, is a broken connection at that stage. Redirects are not followed, and of
 *   an answer 64 KiB are read. Each recipient has a request of its own, since one bad address would refuse them all.
 * NOTES
 *   A connection that the service closes while a request is on its way can not be told from a lost answer. So it is kept
 *   for a short while only, or for less than the service says.
 *   An answer that nobody asked for ends the connection: it would be taken for that of the next mail.
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { TLSSocket } from 'node:tls'
import { domainToASCII } from 'node:url'
import type { Config } from '../../config/config.js'
import { parseAddress } from '../../mail/address.js'
import type { Reply } from '../../mail/reply.js'
import type { UpstreamRow, UpstreamService } from '../../store/port/tenants.js'
import { serviceHost, upstreamText } from '../../tenant/upstream.js'
import type { Carrier, CarryVerdict, Load, RefusedRecipients, Timeouts } from '../dialogue/connection.js'
import type { Offers } from '../dialogue/envelope.js'
import { hiding } from '../dialogue/login.js'
import {
  openSecureSocket,
  type Patience,
  SetupFailure,
  type SetupTimeouts,
  type SmtpPeer,
} from '../dialogue/session.js'
import { toMessage } from '../dialogue/wire.js'
import {
  type MailService,
  type Meaning,
  mailgun,
  type ServiceAnswer,
  type ServicePlace,
  type ServiceRequest,
  ses,
} from './service.js'

export const SERVICE_OF: Readonly<Record<UpstreamService, MailService>> = { ses, mailgun }

/** By how the URL of an upstream begins: `ses+https://eu-west-1`. */
export type ServiceUrls = Readonly<Record<string, string>>

export const endpointsOf = ({ http_endpoints }: Pick<Config['relay'], 'http_endpoints'>): ServiceUrls =>
  Object.fromEntries(http_endpoints.map(({ upstream, url }) => [upstream, url]))

interface Ways {
  readonly endpoints?: ServiceUrls | undefined
  readonly timeouts: Timeouts & SetupTimeouts
  readonly tick: () => number
  /** Our leases are surely ours now; else nothing may be sent. */
  readonly mayGo: () => boolean
}

/** Rejects with SetupFailure only. */
export const openService = async (
  row: UpstreamRow & { readonly service: UpstreamService },
  target: SmtpPeer,
  { endpoints, ...ways }: Ways,
  patience?: Patience,
): Promise<ServiceConnection> => {
  const { login } = target
  if (typeof login?.secret !== 'string') throw new SetupFailure('auth', 'it has no key', null)
  const url = new URL(endpoints?.[upstreamText(row)] ?? `https://${serviceHost(row)}`)
  const place = {
    name: row.host,
    host: url.host,
    prefix: url.pathname.replace(/\/$/, ''),
    login: { user: login.user, secret: login.secret },
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? 443 : Number(url.port)
  const at: SmtpPeer = { ...target, host, port, tls: 'implicit', login: null }
  const socket = await openSecureSocket(at, ways.timeouts, patience)
  return new ServiceConnection(socket, { service: SERVICE_OF[row.service], place, ...ways })
}

const MOST_ANSWER = 64 * 1024
const ANSWER_MS = 30_000
const KEPT_MS = 4_000
/** The service closes its end at the time that it says: ours has to be earlier. */
const MARGIN_MS = 1_000
const BLOCK = 64 * 1024
const MOST_TEXT = 300

/** An address that means the same in any list of addresses. */
const DOT_ATOM = /^[^\s"(),:;<>@[\\\]]+@[^\s"(),:;<>@[\\\]]+$/

const ALONE: Reply = { code: 452, enhanced: '4.5.3', text: 'Too many recipients: one for each request' }
/** A limit of the upstream: it says nothing of the address. */
const QUOTED: Reply = {
  code: 554,
  enhanced: '5.3.3',
  text: 'The recipient address can not be sent to a service',
}

interface Parts {
  readonly service: MailService
  readonly place: ServicePlace
  readonly timeouts: Timeouts
  readonly tick: () => number
  readonly mayGo: () => boolean
}

type Outcome =
  | { readonly answer: ServiceAnswer }
  | { readonly error: string }
  /** No request can be made of our key. */
  | { readonly unasked: string }

/** The address of a From field, as it may stand in ASCII. */
const senderOf = (from: string): string | null => {
  const { address } = parseAddress(from) ?? {}
  if (address === undefined) return null
  const at = address.lastIndexOf('@')
  return `${address.slice(0, at)}@${domainToASCII(address.slice(at + 1))}`
}

const replyOf = (code: number, enhanced: string, text: string): Reply => ({ code, enhanced, text })

export class ServiceConnection implements Carrier {
  readonly offers: Offers
  readonly tls: string | null
  readonly verified = true
  used = 0
  stage: Carrier['stage'] = 'idle'
  idleSince = 0
  keptMs = KEPT_MS
  readonly #socket: TLSSocket
  readonly #agent: Agent
  readonly #parts: Parts
  readonly #hide: (text: string) => string
  #request: ClientRequest | null = null
  #end: ((outcome: Outcome) => void) | null = null
  #deadline = Number.POSITIVE_INFINITY
  #closed: string | null = null
  #onClosed: () => void = () => {}

  constructor(socket: TLSSocket, parts: Parts) {
    const { service, place } = parts
    this.#socket = socket
    this.#parts = parts
    const { user, secret } = place.login
    const hide = hiding([secret, `${user}:${secret}`])
    this.#hide = (text) => hide(text).slice(0, MOST_TEXT)
    this.tls = socket.getProtocol()
    const { maxSize } = service
    this.offers = {
      ...{ pipelining: false, dsn: false, smtpUtf8: false, eightBitMime: true, requireTls: false },
      ...{ size: false, maxSize, auth: [] },
    }
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 })
    this.#agent.createConnection = () => socket
    const lost = (error?: Error): void => this.#lost(error?.message ?? 'connection closed by the service')
    socket.on('error', lost)
    // while a request is under way its parser, which hears of this after us, says whether the answer is whole
    socket.on('end', () => this.#request ?? lost())
    socket.on('close', () => (this.#request === null ? lost() : setImmediate(lost)))
    socket.on('data', () => this.#end ?? this.abort('an answer that nobody asked for'))
  }

  get alive(): boolean {
    return this.#closed === null
  }

  onClosed(callback: () => void): void {
    if (this.alive) this.#onClosed = callback
    else callback()
  }

  sweep(now: number): void {
    if (now > this.#deadline) this.abort(`no answer in time (${this.stage})`)
  }

  quit(): void {
    this.abort('connection closed by us')
  }

  abort(reason: string): void {
    this.#lost(reason)
    this.#agent.destroy()
    this.#socket.destroy()
  }

  async carry({ claimed, recipients, returnPath, isFixed, raw, seen, head }: Load): Promise<CarryVerdict> {
    const { service, place } = this.#parts
    const refused: RefusedRecipients = new Map(
      Array.from({ length: recipients - 1 }, (_, i) => [i + 1, ALONE]),
    )
    this.used++
    if (!DOT_ATOM.test(claimed.address))
      return { kind: 'elsewhere', stage: 'mail', reply: QUOTED, blame: null }
    const mail = {
      from: senderOf(claimed.from) ?? returnPath,
      recipient: claimed.address,
      reportsTo: isFixed && returnPath !== '' ? returnPath : null,
      message: toMessage(raw, seen, head),
    }
    const outcome = await this.#send(() => service.ask(mail, place, Date.now()))
    const stage = this.#rest()
    if ('unasked' in outcome) return this.#failing('auth', outcome.unasked)
    if ('error' in outcome) return { kind: 'lost', stage, error: outcome.error, refused }
    const { status } = outcome.answer
    if (stage === 'body' && status < 300) {
      const error = `${status} before the message was sent`
      return { kind: 'lost', stage, error, refused }
    }
    return this.#verdict(service.read(outcome.answer), stage, refused)
  }

  /** The message is on its way no more; how far it had come. */
  #rest(): 'mail' | 'body' | 'dot' {
    const stage = this.stage as 'mail' | 'body' | 'dot'
    this.stage = 'idle'
    this.#deadline = Number.POSITIVE_INFINITY
    if (stage !== 'dot') this.abort('the service answered early')
    return stage
  }

  #verdict(meaning: Meaning, stage: 'mail' | 'body' | 'dot', refused: RefusedRecipients): CarryVerdict {
    if (meaning.kind === 'taken') {
      const reply = replyOf(250, '2.0.0', `Ok ${meaning.id}`)
      return { kind: 'reply', stage: 'dot', reply, refused, id: meaning.id }
    }
    if (meaning.kind === 'refused') {
      const reply = { ...meaning.reply, text: this.#hide(meaning.reply.text) }
      return { kind: 'reply', stage: 'dot', reply, refused }
    }
    const text = this.#hide(meaning.text)
    if (meaning.kind === 'unclear') {
      this.abort(text)
      return { kind: 'lost', stage, error: text, refused }
    }
    if (meaning.kind === 'busy') {
      const { waitMs } = meaning
      // about us, as all that is said before MAIL: the recipient's domain is not slowed by it
      return { kind: 'elsewhere', stage: 'greeting', reply: replyOf(451, '4.7.0', text), blame: { waitMs } }
    }
    return this.#failing(meaning.stage, text)
  }

  #failing(stage: 'auth' | 'greeting', text: string): CarryVerdict {
    const reply = stage === 'auth' ? replyOf(535, '5.7.8', text) : replyOf(451, '4.3.0', text)
    return { kind: 'elsewhere', stage, reply, blame: 'upstream' }
  }

  /** Rejects with SetupFailure unless the service lets us in; nothing is sent. */
  async check(): Promise<void> {
    const { service, place } = this.#parts
    const outcome = await this.#send(() => service.knock(place, Date.now()))
    this.#rest()
    if ('unasked' in outcome) throw new SetupFailure('auth', outcome.unasked, null)
    if ('error' in outcome) throw new SetupFailure('greeting', outcome.error, null)
    const meaning = service.read(outcome.answer)
    if (meaning.kind === 'refused' || meaning.kind === 'busy') return
    this.abort('refused')
    if (meaning.kind === 'taken')
      throw new SetupFailure('greeting', 'it takes a request that asks for nothing', null)
    const isLogin = meaning.kind === 'failing' && meaning.stage === 'auth'
    throw new SetupFailure(isLogin ? 'auth' : 'greeting', this.#hide(meaning.text), null)
  }

  #send(ask: () => ServiceRequest): Promise<Outcome> {
    this.stage = 'mail'
    return new Promise((done) => {
      this.#end = done
      if (this.#socket.readableLength > 0) this.abort('an answer that nobody asked for')
      if (this.#closed !== null) return this.#conclude({ error: this.#closed })
      if (!this.#hasLease()) return
      try {
        this.#begin(ask())
      } catch (error) {
        this.#conclude({ unasked: this.#hide(`its key makes no request: ${(error as Error).message}`) })
      }
    })
  }

  /** Throws when the fields of its header can not be written. */
  #begin({ path, headers, body }: ServiceRequest): void {
    const sent = request({
      ...{ method: 'POST', path, agent: this.#agent, setHost: false },
      headers: { ...headers, 'content-length': body.length },
    })
    this.#request = sent
    sent.on('error', ({ message }) => this.#lost(message))
    sent.on('response', (response) => this.#answered(sent, response))
    sent.on('socket', (socket) => socket.resume())
    this.#block(sent, body, 0, this.#tick() + this.#parts.timeouts.body)
  }

  #tick(): number {
    return this.#parts.tick()
  }

  #hasLease(): boolean {
    const has = this.#parts.mayGo()
    if (!has) this.abort('the store was away for too long')
    return has
  }

  #block(sent: ClientRequest, body: Uint8Array, at: number, latest: number): void {
    const { timeouts } = this.#parts
    const next = at + BLOCK
    const isUnderWay = (): boolean => sent === this.#request && this.#end !== null
    this.#deadline = Math.min(this.#tick() + timeouts.block, latest)
    if (next >= body.length) {
      this.stage = 'dot'
      // a slow line may hold it for longer than an answer takes
      sent.end(body.subarray(at), () => {
        if (isUnderWay()) this.#deadline = this.#tick() + Math.min(timeouts.dot, ANSWER_MS)
      })
      return
    }
    this.stage = 'body'
    sent.write(body.subarray(at, next), () => {
      if (isUnderWay() && this.#hasLease()) this.#block(sent, body, next, latest)
    })
  }

  #answered(sent: ClientRequest, response: IncomingMessage): void {
    const chunks: Buffer[] = []
    let size = 0
    const end = (body: string | null): void => {
      const { statusCode: status = 0, headers } = response
      if (body === null || !sent.shouldKeepAlive || !this.#socket.readable) this.#leave()
      this.#keepFor(headers['keep-alive'])
      this.#conclude({ answer: { status, headers, body } })
    }
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= MOST_ANSWER) chunks.push(chunk)
      else if (this.#end !== null) end(null)
    })
    response.on('error', ({ message }) => this.#lost(message))
    response.on('end', () => this.#end !== null && end(Buffer.concat(chunks).toString('utf8')))
  }

  #keepFor(said: unknown): void {
    const [, seconds] = /timeout=(\d{1,6})/.exec(typeof said === 'string' ? said : '') ?? []
    this.keptMs = seconds === undefined ? KEPT_MS : Math.max(0, Number(seconds) * 1_000 - MARGIN_MS)
  }

  /** It takes no more mail. */
  #leave(): void {
    if (this.#closed !== null) return
    this.#closed = 'connection closed by us'
    this.#socket.destroy()
    this.#onClosed()
  }

  #conclude(outcome: Outcome): void {
    const end = this.#end
    this.#end = null
    this.#request = null
    end?.(outcome)
  }

  #lost(error: string): void {
    if (this.#closed === null) {
      this.#closed = error
      this.#socket.destroy()
      this.#onClosed()
    }
    this.#conclude({ error })
  }
}
