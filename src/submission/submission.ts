/**
 * NAME      submission - one pipeline from every door into the queue
 * DESCRIPTION
 *   authorise → check → suppress → route → compose → accept. Both doors come
 *   through here and meet the same limits. The promise of the pipeline is that of
 *   `store.accept`: when it answers, the mail, its recipients, its first events
 *   and the idempotent answer are on disk together, or nothing is.
 */
import type { Clock } from '../base/clock.js'
import { createGiveWay, type GiveWay } from '../base/time/give-way.js'
import type { Config } from '../config/config.js'
import { domainOf, parseAddress } from '../mail/address.js'
import type { WorkspaceRow } from '../store/port/tenants/tenants.js'
import type { Login, Principal } from '../tenant/principal.js'
import { workspaceForSend } from '../tenant/workspace.js'
import { type Watch, watched } from './accepting.js'
import type { BatchItem, Composed } from './composed.js'
import { demandSender, type SenderAllowed, type SubmissionDeps, type SubmissionStore } from './deps.js'
import type { Answer, BatchOptions, Draft, SubmitOptions } from './draft.js'
import { type EnvelopedMessage, type MessageAnswer, submitMessage } from './finished/message.js'
import { type Resend, resend } from './finished/resend.js'
import { createRoute } from './route.js'
import { submit, submitBatch } from './submit.js'
import { createTurns } from './turns.js'

export interface SubmissionParts extends Watch {
  readonly store: SubmissionStore
  readonly config: Pick<Config, 'hostname' | 'limits' | 'default_from'>
  readonly clock: Clock
  /** False while draining or without disk: sends are refused with service.unavailable. */
  readonly accepting?: (() => boolean) | undefined
  /** Hears of live mail. */
  readonly way?: GiveWay | undefined
  /** Asked for workspaces that restrict their senders; the domain of their default sender is always theirs. */
  readonly senderAllowed?: SenderAllowed | undefined
}

export interface Submission {
  /** The workspace of a send, or the fault that belongs to it; for doors that must know it before they look at fields. */
  workspaceFor(principal: Principal, ref: string | null): Promise<WorkspaceRow>
  submit(
    principal: Principal,
    workspace: WorkspaceRow | string | null,
    draft: Draft | Composed,
    options: SubmitOptions,
  ): Promise<Answer>
  submitBatch(
    principal: Principal,
    workspace: WorkspaceRow | string | null,
    items: readonly BatchItem[],
    options: BatchOptions,
  ): Promise<Answer>
  /** True while mail can be taken; a door may say so before it takes the bytes. */
  accepting(): boolean
  /** Throws email.sender_not_allowed where a workspace limits its senders. */
  checkSender(workspace: WorkspaceRow, address: string): Promise<void>
  /** A message that came over SMTP, byte for byte. Its send was counted at MAIL. */
  submitMessage(login: Login, message: EnvelopedMessage): Promise<MessageAnswer>
  /** A mail of before, once more. */
  resend(wish: Resend, options: SubmitOptions): Promise<Answer>
}

/** Only the account sets a workspace's default sender, so its domain needs no other proof. */
const ownDomain = ({ defaultFrom }: WorkspaceRow, address: string): boolean => {
  const own = defaultFrom === null ? null : parseAddress(defaultFrom)
  return own !== null && domainOf(own.address) === domainOf(address)
}

export const createSubmission = (parts: SubmissionParts): Submission => {
  const deps: SubmissionDeps = {
    store: watched(parts.store, parts),
    config: parts.config,
    clock: parts.clock,
    route: createRoute(parts.store),
    inTurn: createTurns(parts.way ?? createGiveWay()),
    accepting: parts.accepting ?? (() => true),
    senderAllowed: async (workspace, address) =>
      ownDomain(workspace, address) || ((await parts.senderAllowed?.(workspace, address)) ?? false),
  }
  return {
    workspaceFor: (principal, ref) => workspaceForSend(deps, principal, ref),
    submit: (principal, workspace, draft, options) => submit(deps, principal, workspace, draft, options),
    submitBatch: (principal, workspace, items, options) =>
      submitBatch(deps, principal, workspace, items, options),
    accepting: () => deps.accepting(),
    checkSender: (workspace, address) => demandSender(deps, workspace, address),
    submitMessage: (login, message) => submitMessage(deps, login, message),
    resend: (wish, options) => resend(deps, wish, options),
  }
}
