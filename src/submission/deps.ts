/**
 * NAME      deps - what the pipeline stands on, and its first steps
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Config } from '../config/config.js'
import { normalizeAddress } from '../mail/address.js'
import type { Queue } from '../store/port/mail.js'
import type { Tenants, WorkspaceRow } from '../store/port/tenants.js'
import type { Known, Lifecycle } from '../store/port/upkeep.js'
import { callerIn, isGood } from '../tenant/authenticate.js'
import type { Principal } from '../tenant/principal.js'
import { workspaceForSend } from '../tenant/workspace.js'
import type { Route } from './route.js'
import type { InTurn } from './turns.js'

export type SubmissionStore = Pick<Lifecycle, 'system' | 'known'> &
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
export const authorise = (
  { store }: SubmissionDeps,
  principal: Principal,
  workspace: WorkspaceRow | string | null,
): WorkspaceRow | Promise<WorkspaceRow> =>
  typeof workspace === 'object' && workspace !== null
    ? workspace
    : workspaceForSend({ store }, principal, workspace)

/** By what a send is decided, under rules that accept compares; null: as it was read just now, or as nobody compares. */
export interface Standing {
  readonly workspace: WorkspaceRow
  readonly rules: number | null
}

const judge = (workspace: WorkspaceRow | null, rules: number | null): Standing | Fault => {
  if (workspace === null) return new Fault('workspace.not_found')
  return workspace.suspendedAt === null ? { workspace, rules } : new Fault('workspace.suspended')
}

/** By rows that may be old: whoever came by a key or a credential must still have it. */
const judgeKnown = (known: Known, caller: Principal, at: WorkspaceRow, now: number): Standing | Fault => {
  const rules = known.rules()
  return caller.via === 'session' || isGood(callerIn(known, caller), now)
    ? judge(known.workspace(at.accountId, at.id), rules)
    : new Fault('auth.credentials_invalid')
}

/** Whether this workspace takes mail, and this caller's; at once where rows are at hand. The answer to a key that was used before is given all the same. */
export const decide = (
  { store, clock }: SubmissionDeps,
  caller: Principal,
  at: WorkspaceRow,
): Standing | Fault | Promise<Standing | Fault> => {
  const { known } = store
  if (known === undefined) return store.workspace(at.accountId, at.id).then((row) => judge(row, null))
  const decided = judgeKnown(known, caller, at, clock.now())
  if (!(decided instanceof Fault)) return decided
  // a refusal is nothing that accept could compare
  known.look()
  return judgeKnown(known, caller, at, clock.now())
}

/** Throws workspace.not_found, workspace.suspended or auth.credentials_invalid. */
export const demand = (decided: Standing | Fault): Standing => {
  if (decided instanceof Fault) throw decided
  return decided
}

/** The same where no caller stands for it. */
export const decideWorkspace = async (
  { store }: SubmissionDeps,
  { accountId, id }: WorkspaceRow,
): Promise<Standing | Fault> => judge(await store.workspace(accountId, id), null)

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
