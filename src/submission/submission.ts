/**
 * NAME      submission - one pipeline from every door into the queue
 * DESCRIPTION
 *   authorise → check → suppress → route → compose → accept. Both doors come
 *   through here and meet the same limits. The promise of the pipeline is that of
 *   `store.accept`: when it answers, the mail, its recipients, its first events
 *   and the idempotent answer are on disk together, or nothing is.
 */
import type { Clock } from '../base/clock.js'
import type { Config } from '../config/config.js'
import type { Queue } from '../store/port.js'
import type { Tenants, WorkspaceRow } from '../store/port-tenants.js'
import type { Principal } from '../tenant/principal.js'
import type { Answer, Draft, IdempotencyWish, Render } from './draft.js'
import type { Enveloped, MessageAnswer } from './message.js'

export type SubmissionStore = Pick<Queue, 'accept' | 'claimKey' | 'releaseKey'> &
  Pick<Tenants, 'workspace' | 'pool' | 'suppressed'>

export interface SubmissionGround {
  readonly store: SubmissionStore
  readonly config: Pick<Config, 'hostname' | 'limits' | 'default_from'>
  readonly clock: Clock
  /** False while draining or without disk: sends are refused with service.unavailable. */
  readonly accepting?: (() => boolean) | undefined
}

export interface SubmitOptions {
  readonly idempotency: IdempotencyWish | null
  readonly render: Render
}

export interface BatchOptions {
  readonly idempotency: IdempotencyWish | null
  /** True accepts the valid ones only. */
  readonly permissive: boolean
  /** Counts further sends into the rate window, or throws; called after validation with the number beyond the first. */
  readonly charge: (n: number) => Promise<void>
  readonly render: (
    records: readonly import('../store/port.js').EmailRecord[],
    failures: readonly BatchFailure[],
  ) => import('./draft.js').Rendered
}

export interface BatchFailure {
  readonly index: number
  readonly message: string
  readonly code: string
}

export interface Submission {
  /** The workspace of a send, or the fault that belongs to it. Doors call it before they check fields. */
  workspaceFor(principal: Principal, ref: string | null): Promise<WorkspaceRow>
  submit(
    principal: Principal,
    workspace: WorkspaceRow | string | null,
    draft: Draft,
    options: SubmitOptions,
  ): Promise<Answer>
  submitBatch(
    principal: Principal,
    workspace: WorkspaceRow | string | null,
    drafts: readonly Draft[],
    options: BatchOptions,
  ): Promise<Answer>
  /** A message that came over SMTP, byte for byte. */
  submitMessage(message: Enveloped): Promise<MessageAnswer>
}
