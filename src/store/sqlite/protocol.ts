/**
 * NAME      protocol - what crosses the threads
 * DESCRIPTION
 *   Calls go to the writer as [id, verb, arguments], with who acts where somebody
 *   does, many in one message; their
 *   answers come back together, after the commit that they share. Pushes are
 *   hints and freshly leased mail. A refusal crosses as a plain Fault, any other
 *   failure as its message. All of it is structured-clone data.
 */
import type { PlainFault } from '../../base/fault.js'
import type {
  AcceptResult,
  AttemptMark,
  IdempotencyClaim,
  IdempotencyState,
  LeaseRef,
  Outcome,
  Settled,
} from '../../lifecycle/facts.js'
import type { EmailScope } from '../port/ledger.js'
import type { Notice as LoggedNotice } from '../port/log.js'
import type { RescheduleResult } from '../port/queue.js'
import type {
  AccountRow,
  Beginning,
  CredentialRow,
  KeyRow,
  PoolRow,
  SuppressionRow,
  WindowCount,
  WorkspaceChange,
  WorkspaceRow,
  Written,
} from '../port/tenants/tenants.js'
import type { Keep } from '../port/upkeep.js'
import type { Acting } from './audit/acting.js'
import type { CarryWrites } from './carry/in.js'
import type { LotWrites } from './carry/lots.js'
import type { EndpointWrites } from './hooks/endpoints.js'
import type { PostWrites } from './hooks/posts.js'
import type { IdentityWrites } from './identity/write.js'
import type { JobWrites } from './jobs/jobs.js'
import type { DomainWrites } from './operate/domains.js'
import type { EraseWrites } from './operate/erase.js'
import type { OperationWrites } from './operate/orders.js'
import type { SuspendWrites } from './operate/suspend.js'
import type { SearchWrites } from './search/write.js'
import type { StatisticsWrites } from './statistics/write.js'
import type { ClaimedArray, WireAcceptance } from './thread/wire.js'
import type { AlarmWrites } from './watch/alarms.js'
import type { IncidentWrites } from './watch/incidents.js'
import type { OutageWrites } from './watch/outages.js'

export interface QueueWrites {
  accept(batch: WireAcceptance): AcceptResult
  claimKey(claim: IdempotencyClaim): IdempotencyState
  releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): void
  claim(poolId: string, limit: number, leaseUntil: number, now: number): readonly ClaimedArray[]
  attempting(marks: readonly AttemptMark[]): readonly boolean[]
  settle(outcomes: readonly Outcome[]): readonly Settled[]
  release(leases: readonly LeaseRef[], dueAt: number): void
  recover(now: number): { readonly released: number; readonly ambiguous: number }
  adjustTimes(now: number, by: number, longestWait: number): number
  reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): RescheduleResult
  cancel(scope: EmailScope, id: string, now: number): RescheduleResult
  addNotice(notice: LoggedNotice): string | null
}

export interface TenantWrites {
  createAccount(account: AccountRow, beginning: Beginning): void
  setPepperMark(mark: string): void
  createWorkspace(workspace: WorkspaceRow, own?: PoolRow): Written
  ownPool(workspaceId: string, fresh: PoolRow): string
  updateWorkspace(id: string, change: WorkspaceChange): Written
  createKey(key: KeyRow): void
  revokeKey(accountId: string, id: string): boolean
  touchAll(touched: readonly Touch[]): void
  createCredential(credential: CredentialRow): Written
  importCredentials(credentials: readonly CredentialRow[]): {
    readonly changed: number
    readonly taken: readonly string[]
  }
  revokeCredential(accountId: string, id: string): boolean
  createPool(pool: PoolRow): Written
  updatePool(pool: PoolRow): Written
  rotateToken(was: string, is: string): boolean
  deletePool(accountId: string, id: string): 'done' | 'in_use' | 'not_found'
  addSuppression(row: SuppressionRow): SuppressionRow
  removeSuppression(workspaceId: string, ref: string): SuppressionRow | null
  consume(bucket: string, window: number, n: number, limit: number): WindowCount
  /** Adds what the daemon has already granted from memory. */
  addUsed(used: readonly Used[]): void
}

export interface Swept {
  /** Rows removed or ended. */
  readonly removed: number
  /** Mails whose body files no row names any more. */
  readonly files: readonly string[]
  readonly again: boolean
}

export interface UpkeepWrites {
  /** One small step; `again` means that there is more to do. */
  sweepStep(now: number, keep: Keep): Swept
  /** Gives some of the room that nothing uses back to the system; whether there is more. */
  shrinkStep(): boolean
  followClock(): void
  durability(): readonly string[]
}

export type WriterVerbs = QueueWrites &
  CarryWrites &
  LotWrites &
  TenantWrites &
  IdentityWrites &
  DomainWrites &
  OperationWrites &
  SuspendWrites &
  EraseWrites &
  EndpointWrites &
  PostWrites &
  StatisticsWrites &
  SearchWrites &
  JobWrites &
  AlarmWrites &
  IncidentWrites &
  OutageWrites &
  UpkeepWrites
export type Verb = keyof WriterVerbs

export type Touch = readonly [kind: 'key' | 'credential' | 'session', id: string, at: number]
export type Used = readonly [bucket: string, window: number, n: number]

/** `acting` where somebody does it. */
export type Call = readonly [id: number, verb: Verb, args: readonly unknown[], acting?: Acting | undefined]

/** A value, a refusal, or the message of anything else that was thrown. */
export type Answer =
  | readonly [id: number, kind: 'value', value: unknown]
  | readonly [id: number, kind: 'fault', fault: PlainFault]
  | readonly [id: number, kind: 'error', message: string]

export type Topic = 'due' | 'leased' | 'settled'

export type ToWriter =
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  | { readonly kind: 'listen'; readonly topic: Topic; readonly on: boolean }
  | { readonly kind: 'ready'; readonly poolIds: readonly string[] }

export type FromWriter =
  | { readonly kind: 'hello'; readonly file: string }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  | { readonly kind: 'due' }
  | { readonly kind: 'leased'; readonly claimed: readonly ClaimedArray[] }
  | { readonly kind: 'settled'; readonly settled: readonly Settled[] }
  | { readonly kind: 'broken'; readonly message: string }

/** Orders from the opener to the thread itself, over its parent port. */
export type Order = { readonly kind: 'connect'; readonly port: MessagePortLike } | { readonly kind: 'close' }
export type Notice =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'failed'
      readonly message: string
      readonly newer: boolean
      readonly code: string | null
    }
  /** The store broke: why, before the thread ends. */
  | { readonly kind: 'broken'; readonly message: string }

/** Ports are transferred inside orders; only the ends know their class. */
export type MessagePortLike = object

/** For crash tests: the process kills itself the n-th time that it passes a named point. */
export interface FaultPoint {
  readonly name: string
  readonly hit: number
}

export interface WriterSettings {
  readonly file: string
  /** Only the daemon's writer gives out hot leases. */
  readonly daemon: boolean
  readonly faultPoint: FaultPoint | null
  /** See load-counts.ts. */
  readonly loadCounts: SharedArrayBuffer
  /** Of this Postern; it goes into the database with each migration. */
  readonly version: string
}
