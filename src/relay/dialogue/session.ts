/**
 * NAME      session - opening a connection to an upstream
 *     Resolving, connecting, greeting, EHLO or HELO, STARTTLS and AUTH (login.ts). What comes out
 *     is a Session: the line, what the upstream offers on it, the TLS version.
 *     What fails is a SetupFailure that knows its stage. No message has been near
 *     this connection yet, so every SetupFailure may move on to another upstream.
 *   TLS
 *     none           never
 *     opportunistic  if offered, unverified; in clear if it fails, unless there is a
 *                    password or a pinned certificate to protect
 *     required       always, unverified unless pinned
 *     verify         always, certificate chain and name checked, against the system's
 *                    authorities or those of `caFile`
 *     implicit       from the first byte, checked like verify
 *     A pinned fingerprint takes the place of chain and name in all of them, and
 *     is checked before AUTH.
 *   PATIENCE
 *     Each step (connecting, greeting, EHLO, TLS, AUTH) has its time as a whole: an
 *     upstream that sends a byte now and then gains nothing by it. After a shorter time
 *     the caller is asked whether the mail has a better place to be.
 *   NOTES
 *     Not by nodemailer's SMTPConnection: with it a connection in clear costs half as much again.
 *     A server speaks once for each thing that it is told: more breaks the connection, also in clear before TLS.
 *   As the system knows them, remembered for some minutes, and longer while the name can not be resolved.
 *   They are given in an order of chance, so that connections spread.
 *   OpenSSL's errors name its functions, its files and its line numbers. What is left here is the reason,
 *   and for the two common mistakes what to do: TLS from the first byte at a port that waits for STARTTLS,
 *   and the reverse.
 */

import { X509Certificate } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP, Socket, type TcpNetConnectOpts } from 'node:net'
import { connect, TLSSocket } from 'node:tls'
import { answering } from '../../base/dial.js'
import { ownAddresses } from '../../base/network.js'
import type { Reply } from '../../mail/reply.js'
import type { UpstreamTls } from '../../store/port/tenants.js'
import { type Offers, parseOffers } from './envelope.js'
import { LoginError, signIn, type UpstreamLogin } from './login.js'
import { Line, type Listener } from './wire.js'

const KEPT_MS = 300_000
const MOST = 1_000

const known = new Map<string, { readonly until: number; readonly addresses: readonly LookupAddress[] }>()

const shuffled = <T>(list: readonly T[]): readonly T[] => list.toSorted(() => Math.random() - 0.5)

/** One of these addresses of ours, in the first of their families in which the other end can be reached. */
const from = (own: readonly string[] | null, ...theirs: readonly number[]): Partial<TcpNetConnectOpts> => {
  if (own === null) return {}
  const family = own.map(isIP).find((one) => theirs.includes(one))
  const [localAddress] = shuffled(own.filter((address) => isIP(address) === family))
  if (localAddress === undefined)
    throw new Error(
      own.length === 0
        ? 'this machine has none of the addresses to connect from'
        : `it has no address of the kind of ${own.join(', ')}`,
    )
  return { family, localAddress }
}

const resolved = (name: string): Promise<readonly LookupAddress[]> => lookup(name, { all: true })

/** How to connect to it, for net.connect, which tries one address after the other. */
export const addressesOf = async (
  host: string,
  within: number,
  look: (name: string) => Promise<readonly LookupAddress[]> = resolved,
  own: readonly string[] | null = null,
): Promise<Partial<TcpNetConnectOpts>> => {
  const now = performance.now()
  let found = known.get(host)
  if (found === undefined || found.until < now) {
    const addresses = await look(host).catch((error: Error) => {
      if (found === undefined) throw error
      return found.addresses
    })
    found = { until: now + KEPT_MS, addresses }
    if (known.size >= MOST) known.clear()
    known.set(host, found)
  }
  const { addresses } = found
  if (own !== null) {
    const { family, localAddress } = from(own, ...addresses.map((one) => one.family))
    // with an address of ours net.connect tries one of theirs
    return { lookup: answering(shuffled(addresses.filter((one) => one.family === family))), localAddress }
  }
  const isOneFamily = addresses.every(({ family }) => family === addresses[0]?.family)
  return {
    lookup: answering(shuffled(addresses)),
    // where one family does not work the other is tried at once; else each has its part of the time
    ...(isOneFamily && {
      autoSelectFamilyAttemptTimeout: Math.max(10, Math.floor(within / addresses.length)),
    }),
  }
}

export const USE_SMTP = 'this port speaks plain SMTP first: use smtp:// with STARTTLS'
export const USE_SMTPS = 'this port speaks TLS from the start: use smtps://'

const OPENSSL = /^(.*?)(?:[0-9A-F]+:)?error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]*)(?::.*)?$/
const NO_TLS = /wrong version number|packet length too long|http request/

const tlsWords = (message: string, tls: UpstreamTls): string => {
  const found = OPENSSL.exec(message)
  if (found === null) return message
  const [, , reason = ''] = found
  return tls === 'implicit' && NO_TLS.test(reason) ? USE_SMTP : `no TLS could be agreed: ${reason.trim()}`
}

/** True when whoever listens there answers a TLS hello; a server that waits for one says nothing by itself. */
export const answersTls = (host: string, port: number, withinMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false })
    const end = (is: boolean): void => {
      socket.destroy()
      resolve(is)
    }
    socket.setTimeout(withinMs, () => end(false))
    socket.once('secureConnect', () => end(true))
    // an alert is TLS too
    socket.on('error', (error: NodeJS.ErrnoException) => end(/ALERT/.test(error.code ?? '')))
    socket.once('close', () => end(false))
  })

export interface SmtpPeer {
  readonly host: string
  readonly port: number
  readonly tls: UpstreamTls
  /** SHA-256 of the certificate, hex with or without colons. */
  readonly fingerprint: string | null
  readonly login: UpstreamLogin | null
  /** PEM file of the authorities to believe, in place of the system's. */
  readonly caFile?: string | null | undefined
  /** Addresses of ours to connect from. */
  readonly bind?: readonly string[] | null | undefined
  /** What EHLO says instead. */
  readonly helo?: string | null | undefined
  readonly clientCertFile: string | null
  readonly clientKeyFile: string | null
}

export type SetupStage = 'connect' | 'greeting' | 'tls' | 'auth'

export interface SetupTimeouts {
  readonly connect: number
  /** For each step after it, the greeting first. */
  readonly greeting: number
  /** For each step, when the mail could go elsewhere. */
  readonly hurried: number
}

export interface Patience {
  /** Asked when a step has taken `hurried`, and again until it ends: true gives up on it. */
  readonly hurry: () => boolean
  /** Told once of a step that takes longer, when nobody hurries. */
  readonly slow: (stage: SetupStage, words: string) => void
}

/** No code of a reply: what the server said cannot be read. */
const UNREADABLE: Reply = { code: 0, enhanced: null, text: 'no SMTP reply' }
const PATIENT: Patience = { hurry: () => false, slow: () => {} }
const LOOK_MS = 250

export interface SmtpSession {
  readonly line: Line
  readonly offers: Offers
  /** `TLSv1.3`, or null in clear. */
  readonly tls: string | null
  /** True when we know with whom: by chain and name, or by the pinned certificate. */
  readonly verified: boolean
  /** By which it signed in, or null. */
  readonly mechanism: string | null
}

export class SetupFailure extends Error {
  readonly stage: SetupStage
  readonly reply: Reply | null
  /** Given up for a better place, not for good. */
  readonly hurried: boolean
  /** What was offered before it failed. */
  offers: Offers | null = null

  constructor(stage: SetupStage, message: string, reply: Reply | null, hurried = false) {
    super(message)
    this.stage = stage
    this.reply = reply
    this.hurried = hurried
  }
}

const hex = (fingerprint: string): string => fingerprint.replace(/[^0-9a-f]/gi, '').toLowerCase()

const tlsOptions = async (target: SmtpPeer) => {
  const checked = target.tls === 'verify' || target.tls === 'implicit'
  return {
    host: target.host,
    rejectUnauthorized: checked && target.fingerprint === null,
    minVersion: 'TLSv1.2' as const,
    ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
    ...(target.caFile == null ? {} : { ca: await readFile(target.caFile) }),
    ...(target.clientCertFile === null ? {} : { cert: await readFile(target.clientCertFile) }),
    ...(target.clientKeyFile === null ? {} : { key: await readFile(target.clientKeyFile) }),
  }
}

const checkPin = (socket: Socket, target: SmtpPeer): void => {
  if (target.fingerprint === null) return
  const raw = socket instanceof TLSSocket ? socket.getPeerCertificate().raw : undefined
  const found = raw === undefined ? '' : hex(new X509Certificate(raw).fingerprint256)
  if (found !== hex(target.fingerprint)) {
    throw new SetupFailure('tls', 'the certificate is not the pinned one', null)
  }
}

/** With a password `opportunistic` is no less: who strips STARTTLS from the offers must not be given it. */
const mustUpgrade = ({ tls, login }: SmtpPeer): boolean =>
  tls === 'required' || tls === 'verify' || (tls === 'opportunistic' && login !== null)

const firstLine = (text: string): string => text.trim().split(/\r?\n/, 1)[0] ?? ''

/** A reply, and as it came. */
type Answer = readonly [Reply, string]

const isOk = ([{ code }]: Answer): boolean => code >= 200 && code < 300

/** What the server said where something else was to be said. */
const refused = (stage: SetupStage, what: string, [reply, lines]: Answer): SetupFailure =>
  new SetupFailure(stage, `${what}: ${firstLine(lines)}`.slice(0, 300), reply.code === 0 ? null : reply)

/** Of several addresses each has its reason. */
const wordsOf = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map(({ message }) => message).join(', ') : error.message

/** A connection that is being opened. */
class Setup implements Listener {
  offers: Offers | null = null
  /** Rejects when the line breaks or a step takes too long. */
  readonly lost: Promise<never>
  readonly #target: SmtpPeer
  readonly #timeouts: SetupTimeouts
  readonly #patience: Patience
  readonly #line: Line
  #lose: (error: Error) => void = () => {}
  #stage: SetupStage = 'connect'
  /** What has not come, when this step fails for time. */
  #words = ''
  #since = 0
  #told = false
  #hurried = false
  #timer: NodeJS.Timeout | undefined
  #answered: ((answer: Answer) => void) | null = null

  constructor(target: SmtpPeer, timeouts: SetupTimeouts, patience: Patience) {
    this.#target = target
    this.#timeouts = timeouts
    this.#patience = patience
    this.#line = new Line(new Socket(), this)
    this.lost = new Promise((_, reject) => {
      this.#lose = reject
    })
  }

  async run(hostname: string, inClear: boolean): Promise<SmtpSession> {
    const target = this.#target
    const tls = await this.#tls()
    const greeted = this.#answer()
    await this.#connect()
    if (target.tls === 'implicit') await this.#secure(tls)
    this.#begin('greeting', 'no greeting')
    const greeting = await greeted
    if (greeting[0].code !== 220) throw refused('greeting', 'Invalid greeting', greeting)
    let hello = await this.#hello(hostname)
    const offered = /[ -]STARTTLS\b/i.test(hello)
    if (target.tls !== 'implicit' && !inClear && (offered || mustUpgrade(target))) {
      const answer = await this.#say('STARTTLS', 'greeting', 'no answer to STARTTLS')
      if (!isOk(answer)) throw refused('tls', 'STARTTLS refused', answer)
      await this.#secure(tls)
      hello = await this.#hello(hostname)
    }
    const offers = parseOffers(hello)
    this.offers = offers
    const { socket } = this.#line
    checkPin(socket, target)
    const mechanism = target.login === null ? null : await this.#logIn(target.login, offers)
    const secure = socket instanceof TLSSocket
    const checked = target.tls === 'verify' || target.tls === 'implicit' || target.fingerprint !== null
    this.#line.isLenient = false
    clearTimeout(this.#timer)
    return {
      line: this.#line,
      offers,
      tls: secure ? socket.getProtocol() : null,
      verified: secure && checked,
      mechanism,
    }
  }

  /** TLS from the first byte to the right host, and then nothing of SMTP. */
  async secured(): Promise<TLSSocket> {
    const tls = await this.#tls()
    await this.#connect()
    await this.#secure(tls)
    checkPin(this.#line.socket, this.#target)
    clearTimeout(this.#timer)
    return this.#line.release() as TLSSocket
  }

  #tls(): ReturnType<typeof tlsOptions> {
    return tlsOptions(this.#target).catch((error: Error) => {
      throw new SetupFailure('tls', `certificate file: ${error.message}`, null)
    })
  }

  async #connect(): Promise<void> {
    const { host, port, bind } = this.#target
    this.#begin('connect', 'no connection')
    const own = bind == null ? null : ownAddresses(bind)
    const how =
      isIP(host) === 0
        ? await addressesOf(host, this.#timeouts.connect, resolved, own)
        : from(own, isIP(host))
    const { socket, closed } = this.#line
    if (closed !== null) throw closed
    await new Promise<void>((resolve) => socket.connect({ host, port, ...how }, resolve))
  }

  #secure(tls: Awaited<ReturnType<typeof tlsOptions>>): Promise<void> {
    this.#begin('tls', 'no TLS handshake')
    return new Promise((resolve) => this.#line.secure(tls, resolve))
  }

  /** The lines that tell what is offered. */
  async #hello(hostname: string): Promise<string> {
    let answer = await this.#say(`EHLO ${hostname}`, 'greeting', 'no answer to EHLO')
    if (!isOk(answer) && answer[0].code !== 421 && !mustUpgrade(this.#target))
      answer = await this.#say(`HELO ${hostname}`, 'greeting', 'no answer to HELO')
    if (!isOk(answer)) throw refused('greeting', 'Invalid HELO', answer)
    return answer[1]
  }

  #logIn(login: UpstreamLogin, { auth }: Offers): Promise<string> {
    const step = ['auth', 'no answer to AUTH'] as const
    // a token may have to be fetched first
    this.#begin(...step)
    return signIn(login, auth, this.#target, async (line) => {
      const [reply] = await this.#say(line, ...step)
      return reply.code === 0 ? UNREADABLE : reply
    })
  }

  #answer(): Promise<Answer> {
    return new Promise((resolve) => {
      this.#answered = resolve
    })
  }

  #say(line: string, stage: SetupStage, words: string): Promise<Answer> {
    this.#begin(stage, words)
    this.#line.write(`${line}\r\n`)
    return this.#answer()
  }

  #begin(stage: SetupStage, words: string): void {
    const { connect, greeting, hurried } = this.#timeouts
    if (this.#line.closed !== null) throw this.#line.closed
    this.#stage = stage
    this.#words = words
    this.#since = performance.now()
    this.#told = false
    this.#lookIn(Math.min(stage === 'connect' ? connect : greeting, hurried))
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#line.guard(() => this.#look()), ms)
  }

  /** This step has taken long. */
  #look(): void {
    const stage = this.#stage
    // timers may be a millisecond early
    const waited = performance.now() - this.#since + 1
    const left = (stage === 'connect' ? this.#timeouts.connect : this.#timeouts.greeting) - waited
    const text = `${this.#words} in ${Math.round(waited / 100) / 10} s`
    this.#hurried = left > 0 && this.#patience.hurry()
    if (this.#hurried || left <= 0) {
      this.#line.fail(new Error(text))
      return
    }
    if (!this.#told) this.#patience.slow(stage, text)
    this.#told = true
    this.#lookIn(Math.min(LOOK_MS, left))
  }

  replied(reply: Reply, lines: string): void {
    const answered = this.#answered
    this.#answered = null
    if (answered === null) this.#line.fail(new Error(`unexpected reply ${reply.code}`))
    else answered([reply, lines])
  }

  closed(error: Error): void {
    // a last reply, 421 with its reason, is read before
    setImmediate(this.#lose, error)
  }

  /** What ended it, in words. */
  failed(error: Error): SetupFailure {
    clearTimeout(this.#timer)
    this.#line.fail(error)
    const words = tlsWords(firstLine(wordsOf(error)), this.#target.tls).slice(0, 300)
    const reply = error instanceof LoginError ? error.reply : null
    const failure =
      error instanceof SetupFailure ? error : new SetupFailure(this.#stage, words, reply, this.#hurried)
    failure.offers = this.offers
    return failure
  }
}

/** Opens a connection ready for MAIL. Rejects with SetupFailure only. */
export const openSession = async (
  target: SmtpPeer,
  hostname: string,
  timeouts: SetupTimeouts,
  patience: Patience = PATIENT,
): Promise<SmtpSession> => {
  const mayFallBack = target.tls === 'opportunistic' && target.login === null && target.fingerprint === null
  for (let inClear = target.tls === 'none'; ; inClear = true) {
    const setup = new Setup(target, timeouts, patience)
    try {
      return await Promise.race([setup.run(target.helo ?? hostname, inClear), setup.lost])
    } catch (error) {
      const failure = setup.failed(error as Error)
      if (failure.stage !== 'tls' || !mayFallBack || inClear) throw failure
    }
  }
}

/** A socket under TLS for another protocol, for targets with tls `implicit`. Rejects with SetupFailure only. */
export const openSecureSocket = async (
  target: SmtpPeer,
  timeouts: SetupTimeouts,
  patience: Patience = PATIENT,
): Promise<TLSSocket> => {
  const setup = new Setup(target, timeouts, patience)
  try {
    return await Promise.race([setup.secured(), setup.lost])
  } catch (error) {
    throw setup.failed(error as Error)
  }
}
