/**
 * NAME      deps - what the pipeline stands on, and its first steps
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Config } from '../config/config.js'
import type { Mode } from '../lifecycle/page.js'
import { suppressionList } from '../lifecycle/suppress.js'
import { normalizeAddress } from '../mail/address.js'
import type { Queue } from '../store/port/queue.js'
import type { Tenants, WorkspaceRow } from '../store/port/tenants/tenants.js'
import type { Lifecycle } from '../store/port/upkeep.js'
import type { Principal } from '../tenant/principal.js'
import { workspaceForSend } from '../tenant/workspace.js'
import type { Route } from './route.js'
import type { InTurn } from './turns.js'

export type SubmissionStore = Pick<Lifecycle, 'system'> &
  Pick<Queue, 'accept' | 'claimKey' | 'releaseKey'> &
  Pick<Tenants, 'workspace' | 'pool' | 'suppressed'>

/** Whether a workspace that restricts its senders may send from an address. */
export type SenderAllowed = (workspace: WorkspaceRow, address: string) => boolean | Promise<boolean>

export interface SubmissionDeps {
  readonly store: SubmissionStore
  readonly config: Pick<Config, 'hostname' | 'limits' | 'default_from'>
  readonly clock: Clock
  readonly route: Route
  readonly inTurn: InTurn
  readonly accepting: () => boolean
  readonly senderAllowed: SenderAllowed
}

const RETRY_AFTER_S = 5

/** Throws service.unavailable while nothing can be stored. */
export const demandAccepting = ({ accepting }: SubmissionDeps): void => {
  if (!accepting()) throw new Fault('service.unavailable', { retryAfter: RETRY_AFTER_S })
}

/** The workspace of a send; a door may have looked it up already. */
export const authorise = async (
  { store }: SubmissionDeps,
  principal: Principal,
  workspace: WorkspaceRow | string | null,
): Promise<WorkspaceRow> =>
  typeof workspace === 'object' && workspace !== null
    ? workspace
    : workspaceForSend({ store }, principal, workspace)

/** Throws workspace.suspended, as it stands now; the answer to a key that was used before is given all the same. */
export const demandActive = async (
  { store }: SubmissionDeps,
  workspace: WorkspaceRow,
): Promise<WorkspaceRow> => demandOpen(await store.workspace(workspace.accountId, workspace.id))

/** The same of a row that was read just now. */
export const demandOpen = (current: WorkspaceRow | null): WorkspaceRow => {
  if (current === null) throw new Fault('workspace.not_found')
  if (current.suspendedAt !== null) throw new Fault('workspace.suspended')
  return current
}

/** Throws email.sender_not_allowed where the workspace restricts its senders and this is none. */
export const demandSender = async (
  { senderAllowed }: SubmissionDeps,
  workspace: WorkspaceRow,
  address: string,
): Promise<void> => {
  if (workspace.restrictSenders && !(await senderAllowed(workspace, normalizeAddress(address)))) {
    throw new Fault('email.sender_not_allowed')
  }
}

/** Throws request.body_too_large; `bytes` as MIME. */
export const demandSize = (most: number, bytes: number): void => {
  if (bytes > most) {
    throw new Fault('request.body_too_large', {
      detail: `A message has at most ${most} bytes, found ${bytes}`,
    })
  }
}

/** `suppressed@` at any domain, with or without a detail: listed in every test. */
const PRETENDED = /^"?suppressed(?:\+[^@]*)?"?@/

/** Which of these normal addresses must not be written to. Live and test mail have lists of their own. */
export const suppressedOf = async (
  { store }: SubmissionDeps,
  { workspaceId, mode }: { readonly workspaceId: string; readonly mode: Mode },
  addresses: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> => {
  const listed = await store.suppressed(suppressionList(workspaceId, mode), addresses, now)
  return new Set(mode === 'live' ? listed : [...listed, ...addresses.filter((one) => PRETENDED.test(one))])
}
