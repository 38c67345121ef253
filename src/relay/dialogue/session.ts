/**
 * NAME      session - opening a connection to an upstream
 * DESCRIPTION
 *   nodemailer's SMTPConnection does what takes care to get right: resolving,
 *   connecting, greeting, EHLO and STARTTLS (with its injection traps); AUTH is ours (login.ts). What comes out
 *   is a Session: the socket, what the upstream offers on it, the TLS version.
 *   What fails is a SetupFailure that knows its stage. No message has been near
 *   this connection yet, so every SetupFailure may move on to another upstream.
 * TLS
 *   none           never
 *   opportunistic  if offered, unverified; in clear if it fails, unless there is a
 *                  password or a pinned certificate to protect
 *   required       always, unverified unless pinned
 *   verify         always, certificate chain and name checked, against the system's
 *                  authorities or those of `caFile`
 *   implicit       from the first byte, checked like verify
 *   A pinned fingerprint takes the place of chain and name in all of them, and
 *   is checked before AUTH.
 * PATIENCE
 *   Each step (connecting, greeting, EHLO, TLS, AUTH) has its time as a whole: an
 *   upstream that sends a byte now and then gains nothing by it. After a shorter time
 *   the caller is asked whether the mail has a better place to be.
 * NOTES
 *   Only public parts of SMTPConnection are used: its socket, its last reply,
 *   which after `connect` is the EHLO reply, and its events. send() is not: see
 *   connection.ts.
 */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { parseReply, type Reply } from '../../mail/reply.js'
import type { UpstreamTls } from '../../store/port/tenants/tenants.js'
import { type Login, LoginError, signIn } from './login.js'
import { type Offers, parseOffers } from './offers.js'
import { tlsWords } from './tls-words.js'

export interface Target {
  readonly host: string
  readonly port: number
  readonly tls: UpstreamTls
  /** SHA-256 of the certificate, hex with or without colons. */
  readonly fingerprint: string | null
  readonly login: Login | null
  /** PEM file of the authorities to believe, in place of the system's. */
  readonly caFile?: string | null | undefined
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

const PATIENT: Patience = { hurry: () => false, slow: () => {} }
const LOOK_MS = 250

export interface Session {
  readonly socket: Socket
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

const tlsOptions = async (target: Target) => {
  const checked = target.tls === 'verify' || target.tls === 'implicit'
  return {
    rejectUnauthorized: checked && target.fingerprint === null,
    minVersion: 'TLSv1.2' as const,
    ...(isIP(target.host) === 0 ? { servername: target.host } : {}),
    ...(target.caFile == null ? {} : { ca: await readFile(target.caFile) }),
    ...(target.clientCertFile === null ? {} : { cert: await readFile(target.clientCertFile) }),
    ...(target.clientKeyFile === null ? {} : { key: await readFile(target.clientKeyFile) }),
  }
}

/** The name under which SMTPConnection knows our own way to sign in. */
const OURS = 'POSTERN'
/** No code of a reply: what the server said cannot be read. */
const UNREADABLE: Reply = { code: 0, enhanced: null, text: 'no SMTP reply' }

type NodemailerError = Error & { code?: string; response?: string; command?: string; hurried?: boolean }

/** Where the set-up stood when it failed. */
const stageOf = (
  connection: SMTPConnection,
  error: NodemailerError,
  tls: UpstreamTls,
  loggingIn: boolean,
): SetupStage => {
  if (loggingIn) return 'auth'
  if (connection.upgrading === true || error.code === 'ETLS' || error.command === 'STARTTLS') return 'tls'
  if (connection.stage !== 'init') return 'greeting'
  const certificate = /certificate|ssl|tls|altname/i.test(error.message)
  return tls === 'implicit' && certificate ? 'tls' : 'connect'
}

const failureOf = (
  connection: SMTPConnection,
  error: NodemailerError,
  tls: UpstreamTls,
  loggingIn: boolean,
): SetupFailure => {
  const reply = error.response === undefined ? null : parseReply(error.response)
  // the library tells a bad greeting twice: "…. response=X: X"
  const [line = 'failed'] = error.message.replace(/\. response=(.*): \1$/s, ': $1').split(/\r?\n/)
  const stage = stageOf(connection, error, tls, loggingIn)
  return new SetupFailure(stage, tlsWords(line, tls).slice(0, 300), reply, error.hurried)
}

const checkPin = (socket: Socket, target: Target): void => {
  if (target.fingerprint === null) return
  const raw = socket instanceof TLSSocket ? socket.getPeerCertificate().raw : undefined
  const found = raw === undefined ? '' : hex(new X509Certificate(raw).fingerprint256)
  if (found !== hex(target.fingerprint)) {
    throw new SetupFailure('tls', 'the certificate is not the pinned one', null)
  }
}

type Step = { readonly stage: SetupStage; readonly words: string }

const stepOf = (connection: SMTPConnection, loggingIn: boolean): Step => {
  if (connection.stage === 'init') return { stage: 'connect', words: 'no connection' }
  if (connection.upgrading === true) return { stage: 'tls', words: 'no TLS handshake' }
  if (loggingIn) return { stage: 'auth', words: 'no answer to AUTH' }
  const words = connection.lastServerResponse ? 'no answer to EHLO' : 'no greeting'
  return { stage: 'greeting', words }
}

/** Watches over the steps of a set-up; ends with the function that it gives. */
const watchSteps = (
  step: () => Step,
  said: () => unknown,
  timeouts: SetupTimeouts,
  { hurry, slow }: Patience,
  fail: (error: Error) => void,
): (() => void) => {
  // an answer counts when it is complete
  const standing = (): string => `${step().words} ${said()}`
  let last = standing()
  let since = performance.now()
  let told = false
  const look = (): void => {
    const { stage, words } = step()
    if (standing() !== last) {
      last = standing()
      since = performance.now()
      told = false
    }
    const waited = performance.now() - since
    const most = stage === 'connect' ? timeouts.connect : timeouts.greeting
    const hurried = waited < most && waited >= timeouts.hurried && hurry()
    const text = `${words} in ${Math.round(waited / 100) / 10} s`
    if (hurried || waited >= most) fail(Object.assign(new Error(text), { hurried }))
    else if (waited >= timeouts.hurried && !told) {
      told = true
      slow(stage, text)
    }
  }
  const timer = setInterval(look, Math.min(LOOK_MS, timeouts.hurried / 4))
  return () => clearInterval(timer)
}

/** From here on the socket is ours: SMTPConnection keeps only its close and error listeners. */
const takeOver = (
  connection: SMTPConnection,
  socket: Socket,
  offers: Offers,
  { tls, fingerprint }: Target,
  mechanism: string | null,
): Session => {
  socket.removeAllListeners('timeout')
  socket.setTimeout(0)
  socket.pause()
  socket.removeAllListeners('data')
  connection.on('error', () => {})
  const secure = socket instanceof TLSSocket
  const checked = tls === 'verify' || tls === 'implicit' || fingerprint !== null
  return { socket, offers, tls: secure ? socket.getProtocol() : null, verified: secure && checked, mechanism }
}

/** With a password `opportunistic` is no less: who strips STARTTLS from the offers must not be given it. */
const mustUpgrade = ({ tls, login }: Target): boolean =>
  tls === 'required' || tls === 'verify' || (tls === 'opportunistic' && login !== null)

const asFailure = (error: unknown): SetupFailure =>
  new SetupFailure(
    'auth',
    (error as Error).message.slice(0, 300),
    error instanceof LoginError ? error.reply : null,
  )

/** Signs in over SMTPConnection, which lends its line to a handler while `login` runs. */
const logIn = (
  connection: SMTPConnection,
  login: Login,
  { auth }: Offers,
  place: Target,
): Promise<string | null> =>
  new Promise((resolve, reject) => {
    connection.customAuth.set(OURS, ({ sendCommand, resolve: tell }) => {
      const say = async (line: string): Promise<Reply> =>
        parseReply((await sendCommand(line)).response) ?? UNREADABLE
      signIn(login, auth, place, say).then(
        (mechanism) => {
          tell()
          resolve(mechanism)
        },
        (error) => reject(asFailure(error)),
      )
    })
    connection.login({ method: OURS, user: login.user }, (error) => {
      if (error) reject(error)
    })
  })

const connectionTo = async (
  target: Target,
  hostname: string,
  timeouts: SetupTimeouts,
  ignoreTls: boolean,
): Promise<SMTPConnection> => {
  const tls = await tlsOptions(target).catch((error: Error) => {
    throw new SetupFailure('tls', `certificate file: ${error.message}`, null)
  })
  return new SMTPConnection({
    host: target.host,
    port: target.port,
    name: hostname,
    secure: target.tls === 'implicit',
    ignoreTLS: ignoreTls,
    requireTLS: mustUpgrade(target),
    allowInternalNetworkInterfaces: true,
    connectionTimeout: timeouts.connect + timeouts.greeting,
    // later than ours, which know what was waited for
    greetingTimeout: timeouts.greeting + 4 * LOOK_MS,
    socketTimeout: timeouts.greeting + 4 * LOOK_MS,
    tls,
  })
}

const open = async (
  target: Target,
  hostname: string,
  timeouts: SetupTimeouts,
  ignoreTls: boolean,
  patience: Patience,
): Promise<Session> => {
  const connection = await connectionTo(target, hostname, timeouts, ignoreTls)
  return new Promise<Session>((resolve, reject) => {
    let loggingIn = false
    let offers: Offers | null = null
    const fail = (error: Error): void => {
      unwatch()
      const failure =
        error instanceof SetupFailure ? error : failureOf(connection, error, target.tls, loggingIn)
      failure.offers = offers
      reject(failure)
      connection.close()
    }
    const step = (): Step => stepOf(connection, loggingIn)
    const unwatch = watchSteps(step, () => connection.lastServerResponse, timeouts, patience, fail)
    connection.once('error', fail)
    // a last reply, 421 with its reason, is read before
    const ended = (): void => void setImmediate(() => fail(new Error('connection closed')))
    connection.once('end', ended)
    connection.connect((error) => {
      if (error) return fail(error)
      const socket = connection._socket
      if (!socket) return fail(new Error('connection closed'))
      const seen = parseOffers(connection.lastServerResponse || '')
      offers = seen
      const done = (mechanism: string | null): void => {
        unwatch()
        connection.removeListener('error', fail)
        connection.removeListener('end', ended)
        resolve(takeOver(connection, socket, seen, target, mechanism))
      }
      try {
        checkPin(socket, target)
      } catch (error) {
        return fail(error as Error)
      }
      if (target.login === null) return done(null)
      loggingIn = true
      logIn(connection, target.login, seen, target).then(done, fail)
    })
  })
}

/** Opens a connection ready for MAIL. Rejects with SetupFailure only. */
export const openSession = async (
  target: Target,
  hostname: string,
  timeouts: SetupTimeouts,
  patience: Patience = PATIENT,
): Promise<Session> => {
  try {
    return await open(target, hostname, timeouts, target.tls === 'none', patience)
  } catch (error) {
    const failure = error as SetupFailure
    const mayFallBack = target.tls === 'opportunistic' && target.login === null && target.fingerprint === null
    if (failure.stage !== 'tls' || !mayFallBack) throw failure
    return open(target, hostname, timeouts, true, patience)
  }
}
