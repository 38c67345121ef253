/**
 * NAME      port/queue - mails from accepted to settled
 * DESCRIPTION
 *   Each verb is whole and durable by itself. Times are epoch milliseconds; a lease
 *   is a generation: whoever comes with an older one changes nothing.
 */

import type {
  Acceptance,
  AcceptResult,
  AttemptMark,
  Claimed,
  IdempotencyClaim,
  IdempotencyState,
  LeaseRef,
  Outcome,
  Settled,
} from '../../lifecycle/facts.js'
import type { EmailScope } from './ledger.js'
import type { Times } from './upkeep.js'

export interface Queue extends Times {
  /** Email, body, recipients, idempotent answer and first events: all or nothing. */
  accept(batch: Acceptance): Promise<AcceptResult>
  /** Locks an idempotency key, or says who has it. An expired lock or answer (24 h) is taken over. */
  claimKey(claim: IdempotencyClaim): Promise<IdempotencyState>
  /** Frees a key that this token holds and that has no answer yet. */
  releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): Promise<void>
  /** Leases due recipients of a pool: oldest first, round-robin between workspaces. Who has been suppressed since ends here. */
  claim(poolId: string, limit: number, leaseUntil: number, now: number): Promise<readonly Claimed[]>
  /** Journals attempts before the message is sent. False at a position: that lease is no longer ours, do not send. */
  attempting(marks: readonly AttemptMark[]): Promise<readonly boolean[]>
  /** Status and event together, idempotent by dedupe key and lease generation. Unknown recipients are left out of the answer, which is empty for `quiet`. */
  settle(outcomes: readonly Outcome[], quiet?: boolean): Promise<readonly Settled[]>
  /** Gives leases back unused: no attempt, no event; due again at `dueAt`. */
  release(leases: readonly LeaseRef[], dueAt: number): Promise<void>
  /** The stored message bytes, or null after retention. */
  body(emailId: string): Promise<Uint8Array | null>
  /** Calls back when something may have become due. A hint: polling stays the truth. */
  onDue(wake: () => void): () => void
  /** Calls back when pools, domains or keys of return paths were changed by another daemon. A hint; an engine may never call it. */
  onChanged(reread: () => void): () => void
  /** Freshly accepted mail, already leased to this process, with its bytes. At most one taker; an adapter may never call it. */
  onLeased(take: (claimed: readonly Claimed[]) => void): () => void
  /**
   * The taker names the pools that can carry mail, and how many each would have at hand: only theirs is handed over, and
   * only theirs wakes it. Unsaid: all, and any number.
   */
  ready(poolIds: readonly string[], rooms?: readonly number[]): void
  /** When the next recipient of these pools, or of any, falls due, or null. */
  nextDue(poolIds?: readonly string[]): Promise<number | null>
  /** The pools in which something is due. */
  duePools(now: number): Promise<readonly string[]>
}

export type RescheduleResult = 'done' | 'not_scheduled' | 'not_found'

/** Compare-and-set against the dispatcher: exactly one of them wins. */
export interface Schedule {
  reschedule(scope: EmailScope, id: string, scheduledAt: number, now: number): Promise<RescheduleResult>
  /** Repeating a cancel is `done`. */
  cancel(scope: EmailScope, id: string, now: number): Promise<RescheduleResult>
}
