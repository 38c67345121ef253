/**
 * NAME      deps - what the pipeline stands on: who may send, and the turns of test mail
 *   What is composed and stored for one request is one turn; between two of them there is a rest (base/give-way.ts). So
 *   a flood of test mail, by however many keys, leaves the doors and the disk to live mail. It waits for its turn in
 *   the order of coming; beyond some that wait the next is refused, to come again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { andThen } from '../base/and-then.js'
import { type Clock, systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { GiveWay } from '../base/give-way.js'
import type { Config } from '../config/config.js'
import type { Mode } from '../lifecycle/page.js'
import { normalizeAddress } from '../mail/address.js'
import type { Queue } from '../store/port/mail.js'
import type { Tenants, WorkspaceRow } from '../store/port/tenants.js'
import type { Known, Lifecycle } from '../store/port/upkeep.js'
import { stillGood } from '../tenant/authenticate.js'
import type { Principal } from '../tenant/principal.js'
import { workspaceForSend } from '../tenant/workspace.js'
import type { Route } from './prepare.js'

type InTurn = <T>(mode: Mode, work: () => Promise<T>) => Promise<T>

const MOST_WAITING = 100

interface Clocks {
  readonly tick: () => number
  readonly rest: (ms: number) => Promise<unknown>
}

export const createTurns = (
  way: GiveWay,
  { tick, rest }: Clocks = { tick: systemClock.tick, rest: sleep },
): InTurn => {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  const later = async <T>(work: () => Promise<T>): Promise<T> => {
    if (waiting === 0 && !way.isLive) return work()
    if (waiting >= MOST_WAITING)
      throw new Fault('rate_limit.exceeded', {
        detail: `Test mail gives way to live mail, and more of it waits already; retry in ${RETRY_AFTER_S}s`,
        retryAfter: RETRY_AFTER_S,
      })
    waiting++
    const began = last.then(tick)
    const done = began.then(work).finally(() => waiting--)
    last = done
      .catch(() => {})
      .then(async () => {
        const ms = way.restAfter(tick() - (await began))
        if (ms > 0) await rest(ms)
      })
    return done
  }
  return (mode, work) => {
    if (mode !== 'live') return later(work)
    way.live()
    return work()
  }
}

export type SubmissionStore = Pick<Lifecycle, 'system' | 'known'> &
  Pick<Queue, 'accept' | 'claimKey' | 'releaseKey'> &
  Pick<Tenants, 'workspace' | 'pool' | 'suppressed'>

export type SenderAllowed = (workspace: WorkspaceRow, address: string) => boolean | Promise<boolean>

export interface SubmissionDeps {
  readonly store: SubmissionStore
  readonly config: Pick<Config, 'hostname' | 'limits' | 'default_from'> & Partial<Pick<Config, 'base_url'>>
  /** What links to unsubscribe are sealed under. */
  readonly pepper?: Uint8Array | undefined
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
export interface SendStanding {
  readonly workspace: WorkspaceRow
  readonly rules: number | null
}

const judge = (workspace: WorkspaceRow | null, rules: number | null): SendStanding | Fault => {
  if (workspace === null) return new Fault('workspace.not_found')
  return workspace.suspendedAt === null ? { workspace, rules } : new Fault('workspace.suspended')
}

/** By rows that may be old: whoever came by a key or a credential must still have it. */
const judgeKnown = (
  known: Known,
  caller: Principal,
  at: WorkspaceRow,
  now: number,
): SendStanding | Fault | Promise<SendStanding | Fault> =>
  andThen(known.rules(), (rules) =>
    andThen(caller.via === 'session' || stillGood(known, caller, now), (isStill) =>
      isStill
        ? andThen(known.workspace(at.accountId, at.id), (row) => judge(row, rules))
        : new Fault('auth.credentials_invalid'),
    ),
  )

/** Whether this workspace takes mail, and this caller's; at once where rows are at hand. The answer to a key that was used before is given all the same. */
export const decide = (
  { store, clock }: SubmissionDeps,
  caller: Principal,
  at: WorkspaceRow,
): SendStanding | Fault | Promise<SendStanding | Fault> => {
  const { known } = store
  if (known === undefined) return store.workspace(at.accountId, at.id).then((row) => judge(row, null))
  return andThen(judgeKnown(known, caller, at, clock.now()), (decided) =>
    decided instanceof Fault
      ? // a refusal is nothing that accept could compare
        andThen(known.look(), () => judgeKnown(known, caller, at, clock.now()))
      : decided,
  )
}

/** Throws workspace.not_found, workspace.suspended or auth.credentials_invalid. */
export const demand = (decided: SendStanding | Fault): SendStanding => {
  if (decided instanceof Fault) throw decided
  return decided
}

/** The same where no caller stands for it. */
export const decideWorkspace = async (
  { store }: SubmissionDeps,
  { accountId, id }: WorkspaceRow,
): Promise<SendStanding | Fault> => judge(await store.workspace(accountId, id), null)

const allows = async (
  { senderAllowed }: SubmissionDeps,
  workspace: WorkspaceRow,
  address: string,
): Promise<boolean> =>
  !workspace.restrictSenders || (await senderAllowed(workspace, normalizeAddress(address)))

/** Throws email.sender_not_allowed where the workspace restricts its senders and this is none. */
export const demandSender = async (
  deps: SubmissionDeps,
  workspace: WorkspaceRow,
  address: string,
): Promise<void> => {
  const { known } = deps.store
  if (await allows(deps, workspace, address)) return
  await known?.look()
  const now = await known?.workspace(workspace.accountId, workspace.id)
  if (now == null || !(await allows(deps, now, address))) throw new Fault('email.sender_not_allowed')
}
