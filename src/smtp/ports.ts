/**
 * NAME      ports - what the doors ask of the stages below
 * DESCRIPTION
 *   The few verbs of tenant/, submission/ and outcome/ that SMTP needs. daemon.ts
 *   hands in the real ones; tests hand in plain objects.
 */
import type { Mode } from '../store/page.js'
import type { DsnRequest } from '../store/port.js'

/** Who may send. The door reads nothing of it; it only hands it on. */
export interface Sending {
  readonly accountId: string
  readonly workspaceId: string | null
  readonly mode: Mode
}

export interface DoorTenants<Who extends Sending> {
  /** Resolves with who may send; rejects with an auth or workspace Fault. Throttled per address and name. */
  authenticatePassword(user: string, password: string, ip: string): Promise<Who>
  /** Who an IP-range credential says this address is, or null. */
  authenticateRange(ip: string): Promise<Who | null>
  /** False once the key or credential was revoked or has expired. */
  stillValid(who: Who): Promise<boolean> | boolean
  /** Counts one send; rejects with rate_limit.exceeded. */
  consume(who: Who): Promise<void> | void
}

/** A message as it came in, with its envelope and where it came from. */
export interface SmtpMessage {
  readonly mailFrom: string
  readonly recipients: readonly { readonly address: string; readonly dsn: DsnRequest | null }[]
  readonly ret: 'FULL' | 'HDRS' | null
  /** xtext, as received. */
  readonly envid: string | null
  readonly raw: Uint8Array
  readonly received: {
    readonly ip: string
    readonly hello: string
    /** RFC 3848: ESMTPSA and the like. */
    readonly protocol: string
    readonly tls: string | null
  }
}

export interface DoorSubmission<Who extends Sending> {
  /** Resolves once the mail is durable; rejects with a Fault. */
  submitMessage(who: Who, message: SmtpMessage): Promise<{ readonly id: string }>
}

export interface BounceIntake {
  /** True when the address is a return path that we signed. */
  verifyRecipient(address: string): Promise<boolean> | boolean
  /** Resolves once what the report says is committed. */
  ingest(address: string, raw: Uint8Array): Promise<void>
}
