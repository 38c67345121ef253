/**
 * NAME      ports - what the doors ask of the stages below
 * DESCRIPTION
 *   The few verbs of tenant/, submission/ and outcome/ that SMTP needs. daemon/
 *   hands in the real ones; most tests hand in plain objects.
 */
import type { Recorded } from '../outcome/report.js'
import type { ToPostmaster } from '../submission/own/postmaster-mail.js'
import type { Submission } from '../submission/submission.js'
import type { Tenancy } from '../tenant/tenants.js'

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
