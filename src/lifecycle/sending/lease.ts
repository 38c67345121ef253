/**
 * NAME      lease - who may send a recipient, and what is left of it when its boot has died
 * DESCRIPTION
 *   A lease is a boot number and a generation. It ends by settle, by release,
 *   when it runs out unused, or when its boot is dead. Once an attempt
 *   is journaled the lease no longer runs out while its boot lives: the message
 *   may be past the final dot, and sending it again is the one thing that time
 *   alone must never cause.
 */
import { invariant } from '../../base/fault/invariant.js'
import type { LeaseRef } from '../facts.js'
import { AMBIGUOUS, checked, isWaiting, type RecipientState } from '../recipient.js'

/** What the workspace wants done with mail that may have been taken. */
export type OnAmbiguous = 'retry' | 'hold'

/** One that is due goes to a boot. Of a scheduled mail the time has come, so it is queued before. */
export const leased = (before: RecipientState, boot: number): RecipientState => {
  invariant(before.dueAt !== null && before.status !== 'scheduled', 'only what is due and queued is leased')
  return checked({ ...before, dueAt: null, boot, leaseGen: before.leaseGen + 1 })
}

/** Whether a lease that `boot` comes with is still its own. */
export const isLeasedTo = (
  { boot: holder, leaseGen }: RecipientState,
  lease: Pick<LeaseRef, 'leaseGen'>,
  boot: number,
): boolean => holder === boot && leaseGen === lease.leaseGen

/** An attempt is about to begin; from now on its message may be past the final dot. */
export const attempting = (before: RecipientState, attempt: number): RecipientState =>
  checked({ ...before, attempting: attempt })

/** Whether time ends a lease: never once its attempt may have begun. */
export const hasRunOut = ({ boot, attempting }: RecipientState, leaseUntil: number, now: number): boolean =>
  boot !== null && attempting === null && leaseUntil <= now

/** Due again where sending still makes sense; the generation moves on, so the old lease is void. */
export const freed = (before: RecipientState, dueAt: number): RecipientState =>
  checked({
    ...before,
    dueAt: isWaiting(before.status) ? dueAt : null,
    boot: null,
    leaseGen: before.leaseGen + 1,
    attempting: null,
  })

interface Recovered {
  readonly recipient: RecipientState
  /** The number of the attempt of which nobody knows whether the mail was taken, or null. */
  readonly ambiguous: number | null
}

/** What is to become of a recipient whose boot is dead. */
export const recovered = (before: RecipientState, on: OnAmbiguous, now: number): Recovered => {
  invariant(before.boot !== null, 'only what is leased is recovered')
  const recipient = freed(before, now)
  const ambiguous = isWaiting(before.status) ? before.attempting : null
  if (ambiguous === null) return { recipient, ambiguous }
  const counted = { ...recipient, attempts: Math.max(before.attempts, ambiguous) }
  if (on === 'retry') return { recipient: checked(counted), ambiguous }
  return {
    recipient: checked({ ...counted, dueAt: null, held: AMBIGUOUS, reason: AMBIGUOUS }),
    ambiguous,
  }
}
