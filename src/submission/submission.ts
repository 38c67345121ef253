/**
 * NAME      submission - one pipeline from every door into the queue
 * DESCRIPTION
 *   authorise → prepare (check, compose) → suppress → route → accept. Both doors come
 *   through here and meet the same limits. The promise of the pipeline is that of
 *   `store.accept`: when it answers, the mail, its recipients, its first events
 *   and the idempotent answer are on disk together, or nothing is.
 */
import type { Clock } from '../base/clock.js'
import { createGiveWay, type GiveWay } from '../base/give-way.js'
import type { Config } from '../config/config.js'
import { domainOf, parseAddress } from '../mail/address.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import {
  createTurns,
  demandSender,
  type SenderAllowed,
  type SubmissionDeps,
  type SubmissionStore,
} from './deps.js'
import { resend } from './resend.js'
import { createRoute } from './route.js'
import { submit, submitBatch, submitMessage, type Watch, watched } from './submit.js'

export interface SubmissionParts extends Watch {
  readonly store: SubmissionStore
  readonly config: Pick<Config, 'hostname' | 'limits' | 'default_from'> & Partial<Pick<Config, 'base_url'>>
  /** What links to unsubscribe are sealed under. */
  readonly pepper?: Uint8Array | undefined
  readonly clock: Clock
  /** False while draining or without disk: sends are refused with service.unavailable. */
  readonly accepting?: (() => boolean) | undefined
  /** Hears of live mail. */
  readonly way?: GiveWay | undefined
  /** Asked for workspaces that restrict their senders; the domain of their default sender is always theirs. */
  readonly senderAllowed?: SenderAllowed | undefined
}

/** Only the account sets a workspace's default sender, so its domain needs no other proof. */
const ownDomain = ({ defaultFrom }: WorkspaceRow, address: string): boolean => {
  const own = defaultFrom === null ? null : parseAddress(defaultFrom)
  return own !== null && domainOf(own.address) === domainOf(address)
}

export const createSubmission = (parts: SubmissionParts) => {
  const deps: SubmissionDeps = {
    store: watched(parts.store, parts),
    config: parts.config,
    pepper: parts.pepper,
    clock: parts.clock,
    route: createRoute(parts.store),
    inTurn: createTurns(parts.way ?? createGiveWay()),
    accepting: parts.accepting ?? (() => true),
    senderAllowed: async (workspace, address) =>
      ownDomain(workspace, address) || ((await parts.senderAllowed?.(workspace, address)) ?? false),
  }
  const bind =
    <Rest extends unknown[], Answer>(verb: (deps: SubmissionDeps, ...rest: Rest) => Answer) =>
    (...rest: Rest): Answer =>
      verb(deps, ...rest)
  return {
    /** True while mail can be taken; a door may say so before it takes the bytes. */
    accepting: () => deps.accepting(),
    checkSender: bind(demandSender),
    submit: bind(submit),
    submitBatch: bind(submitBatch),
    submitMessage: bind(submitMessage),
    resend: bind(resend),
  }
}

export type Submission = Readonly<ReturnType<typeof createSubmission>>
