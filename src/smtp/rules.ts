/**
 * NAME      rules - what one listener permits and does with mail, and the logins that it understands
 *   The two doors differ in these functions only; the conversation itself is session.ts. A function that throws a Fault
 *   or a Refusal refuses the command with its reply; anything else thrown is 451 4.3.0 and a line in the log. They may
 *   answer at once or with a promise; at once is faster. The few verbs of tenant/, submission/ and outcome/ that SMTP
 *   needs are named here; daemon/ hands in the real ones.
 *   AUTH PLAIN and AUTH LOGIN, each with and without an initial response (RFC 4954, RFC 4616; LOGIN by custom), because
 *   clients in use need all four. PLAIN's user is the authentication identity, or the authorization identity when a
 *   client put the name there. `*` takes an exchange back. Nothing of it is ever logged.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Budget } from '../base/memory.js'
import type { Recorded } from '../outcome/report.js'
import type { ToPostmaster } from '../submission/operator-mail.js'
import type { Submission } from '../submission/submission.js'
import type { Tenancy } from '../tenant/tenants.js'
import { type EnvelopeRecipient, type EnvelopeSender, Refusal } from './commands.js'

/** The client, as far as it is known. */
export interface Visit<Who> {
  readonly ip: string
  /** What it said in EHLO or HELO. */
  hello: string
  extended: boolean
  /** `TLSv1.3 TLS_AES_256_GCM_SHA384`, or null in clear. */
  tls: string | null
  /** SHA-256 of the certificate that the client has shown, hex; null without one. */
  certificate: string | null
  /** True when a proxy only asks whether we live: its address stands for no client. */
  readonly isProbe: boolean
  /** Who may send: by login, or by where it comes from; null until known. */
  who: Who | null
  loggedIn: boolean
}

export interface ReceivedEnvelope {
  readonly sender: EnvelopeSender
  readonly recipients: readonly EnvelopeRecipient[]
  /** Octets before the message that may be overwritten. */
  readonly headroom: number
}

export interface ListenerRules<Who> {
  readonly hostname: string
  /** Bytes of the largest message. */
  readonly size: number
  readonly recipients: number
  /** Bytes that are handed in of a message to these; the whole of it unless this says less. */
  kept?(recipients: readonly EnvelopeRecipient[]): number
  /** Memory for messages on their way in. */
  readonly memory: Budget
  /** Whether STARTTLS is offered while in clear. */
  readonly startTls: boolean
  /** The domain of a `postmaster` that is named without one (RFC 5321 section 4.5.1). */
  readonly postmasterAt?: string
  /** When AUTH is offered: under TLS only, also in clear (loopback), or not at all. */
  readonly login: 'tls' | 'clear' | 'none'
  /** When MAIL must be preceded by a login or a range credential. */
  readonly mustLogIn: boolean
  /** A connection was made; may set `who`. */
  connected(visit: Visit<Who>): Promise<void> | void
  /** TLS is up, and the client has shown a certificate; may set `who`. */
  certified?(visit: Visit<Who>): Promise<void>
  authenticate(credentials: LoginCredentials, visit: Visit<Who>): Promise<Who>
  mail(sender: EnvelopeSender, visit: Visit<Who>): Promise<void> | void
  recipient(recipient: EnvelopeRecipient, visit: Visit<Who>): Promise<void> | void
  /** Keeps the message for good, then answers with the whole reply. */
  message(envelope: ReceivedEnvelope, raw: Buffer, visit: Visit<Who>): Promise<string>
  /** The client is gone; may be told twice. */
  left(visit: Visit<Who>): void
}

/** One accepted socket, from its first moment. */
export interface AcceptedSocket {
  readonly ip: string
  readonly isProbe: boolean
  /** When it came. */
  readonly since: number
  /** Until a login or MAIL. */
  isSilent: boolean
}

/** What a connection asks of the server that accepted it. */
export interface SmtpListener<Who> {
  readonly rules: ListenerRules<Who>
  readonly clock: Clock
  readonly log: Log
  /** This one logged in or named a recipient of ours: others go before it. */
  known(arrival: AcceptedSocket): void
  left(connection: object): void
}

export type DoorTenants = Pick<
  Tenancy,
  | 'authenticatePassword'
  | 'authenticateRange'
  | 'authenticateCertificate'
  | 'hasRange'
  | 'stillValid'
  | 'workspaceForSend'
> & {
  readonly sendWindow: Pick<Tenancy['sendWindow'], 'consume' | 'exceeded'>
}

export type DoorSubmission = Pick<Submission, 'submitMessage' | 'accepting' | 'checkSender'>

export type { ToPostmaster }

export interface BounceIntake {
  /** True when the address is a return path that we signed. */
  verifyRecipient(address: string): Promise<boolean> | boolean
  /** Resolves once what the report says is committed; with what was made of it. */
  ingest(address: string, raw: Uint8Array): Promise<Pick<Recorded, 'kind' | 'did'> | undefined>
}

interface LoginCredentials {
  readonly user: string
  readonly password: string
}

/** What to say next, or who asks to come in. */
export type LoginStep =
  | { readonly challenge: string }
  | { readonly credentials: LoginCredentials }
  | { readonly external: true }

export interface LoginExchange {
  /** Takes a response of the client; throws Refusal when it makes no sense. */
  next(response: string): LoginStep
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/
const UNPRINTABLE = /[\x00-\x1f\x7f]/
const CANCELED = '501 5.7.0 Authentication canceled'
const UNKNOWN = '504 5.5.4 Unrecognized authentication mechanism'
const UNREADABLE = '501 5.5.2 Cannot decode the response'

const decode = (response: string): string => {
  const text = response.trim()
  if (text === '*') throw new Refusal(CANCELED)
  if (!BASE64.test(text)) throw new Refusal(UNREADABLE)
  return Buffer.from(text, 'base64').toString('utf8')
}

const plain = (): LoginExchange => ({
  next(response) {
    const parts = decode(response).split('\0')
    const [authorize = '', authenticate = '', password = ''] = parts
    const user = authenticate === '' ? authorize : authenticate
    if (parts.length !== 3 || UNPRINTABLE.test(user)) throw new Refusal(UNREADABLE)
    return { credentials: { user, password } }
  },
})

const login = (): LoginExchange => {
  let user: string | null = null
  return {
    next(response) {
      const text = decode(response)
      if (user === null) {
        if (UNPRINTABLE.test(text)) throw new Refusal(UNREADABLE)
        user = text
        return { challenge: 'UGFzc3dvcmQ6' }
      }
      return { credentials: { user, password: text } }
    },
  }
}

/** By what TLS has shown already (RFC 4422, appendix A); the identity that it asks for is left unread. */
const EXTERNAL: LoginExchange = {
  next(response) {
    decode(response)
    return { external: true }
  },
}

export const MECHANISMS = 'PLAIN LOGIN'

/** Begins an exchange from the words after AUTH. */
export const beginLogin = (
  words: readonly string[],
  mayBeExternal = false,
): { login: LoginExchange; step: LoginStep } => {
  const [mechanism = '', given, ...rest] = words
  // how a client writes that it is empty (RFC 4954, section 4)
  const initial = given === '=' ? '' : given
  if (rest.length > 0 || mechanism === '') throw new Refusal('501 5.5.4 Syntax: AUTH mechanism [response]')
  switch (mechanism.toUpperCase()) {
    case 'PLAIN': {
      const exchange = plain()
      return { login: exchange, step: initial === undefined ? { challenge: '' } : exchange.next(initial) }
    }
    case 'LOGIN': {
      const exchange = login()
      const step = initial === undefined ? { challenge: 'VXNlcm5hbWU6' } : exchange.next(initial)
      return { login: exchange, step }
    }
    case 'EXTERNAL': {
      if (!mayBeExternal) throw new Refusal(UNKNOWN)
      return { login: EXTERNAL, step: initial === undefined ? { challenge: '' } : EXTERNAL.next(initial) }
    }
    default:
      throw new Refusal(UNKNOWN)
  }
}
