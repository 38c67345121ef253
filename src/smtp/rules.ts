/**
 * NAME      rules - what one listener permits and does with mail, and what it asks of the stages below
 * DESCRIPTION
 *   The two doors differ in these functions only; the conversation itself is session.ts. A function that
 *   throws a Fault or a Refusal refuses the command with its reply; anything else thrown is 451 4.3.0 and a
 *   line in the log. They may answer at once or with a promise; at once is faster.
 *   The few verbs of tenant/, submission/ and outcome/ that SMTP needs. daemon/ hands in the real ones; most
 *   tests hand in plain objects.
 */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Budget } from '../base/memory.js'
import type { Recorded } from '../outcome/report.js'
import type { ToPostmaster } from '../submission/operator-mail.js'
import type { Submission } from '../submission/submission.js'
import type { Tenancy } from '../tenant/tenants.js'
import type { EnvelopeRecipient, Sender } from './envelope.js'
import type { Credentials } from './login.js'

/** The client, as far as it is known. */
export interface Visit<Who> {
  readonly ip: string
  /** What it said in EHLO or HELO. */
  hello: string
  /** True after EHLO, false after HELO. */
  extended: boolean
  /** `TLSv1.3 TLS_AES_256_GCM_SHA384`, or null in clear. */
  tls: string | null
  /** SHA-256 of the certificate that the client has shown, hex; null without one. */
  certificate: string | null
  /** True when a proxy only asks whether we live: its address stands for no client. */
  readonly isProbe: boolean
  /** Who may send: by login, or by where it comes from; null until known. */
  who: Who | null
  /** True after AUTH. */
  loggedIn: boolean
}

export interface Envelope {
  readonly sender: Sender
  readonly recipients: readonly EnvelopeRecipient[]
  /** Octets before the message that may be overwritten. */
  readonly headroom: number
}

export interface Rules<Who> {
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
  authenticate(credentials: Credentials, visit: Visit<Who>): Promise<Who>
  mail(sender: Sender, visit: Visit<Who>): Promise<void> | void
  recipient(recipient: EnvelopeRecipient, visit: Visit<Who>): Promise<void> | void
  /** Keeps the message for good, then answers with the whole reply. */
  message(envelope: Envelope, raw: Buffer, visit: Visit<Who>): Promise<string>
  /** The client is gone; may be told twice. */
  left(visit: Visit<Who>): void
}

/** One accepted socket, from its first moment. */
export interface Arrival {
  readonly ip: string
  readonly isProbe: boolean
  /** When it came. */
  readonly since: number
  /** Until a login or MAIL. */
  isSilent: boolean
}

/** What a connection asks of the server that accepted it. */
export interface Listener<Who> {
  readonly rules: Rules<Who>
  readonly clock: Clock
  readonly log: Log
  /** This one logged in or named a recipient of ours: others go before it. */
  known(arrival: Arrival): void
  /** The socket of that connection is gone. */
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
