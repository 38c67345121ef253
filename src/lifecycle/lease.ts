/**
 * NAME      lease - whose turn it is, who may send a recipient, and what a dead boot leaves
 *   A lease is a boot number and a generation. It ends by settle, by release, when it runs out unused, or when its boot
 *   is dead. Once an attempt is journaled the lease no longer runs out while its boot lives: the message may be past
 *   the final dot, and sending it again is the one thing that time alone must never cause.
 *   Workspaces are visited in a circle from where the last claim stopped, and each gives up to an equal share of its
 *   oldest due recipients; what is left of the limit is filled in further rounds. Rows are drawn and leased by the
 *   store, a round before the next one is drawn, so that a round never meets what the last one took.
 */
import { invariant } from '../base/fault.js'
import type { LeaseRef } from './facts.js'
import { AMBIGUOUS, checked, isWaiting, type RecipientState } from './recipient.js'

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
  return { recipient: checked({ ...counted, dueAt: null, held: AMBIGUOUS, reason: AMBIGUOUS }), ambiguous }
}

/** How many recipients one claim may find held or suppressed before it lets others write. */
export const MOST_STOPPED = 1_000

/** All that come after the one served last, then the others up to it; `after` gives numbers that rise. */
export function* circle(served: number, after: (workspace: number) => Iterable<number>): Generator<number> {
  yield* after(served)
  for (const workspace of after(0)) {
    if (workspace > served) return
    yield workspace
  }
}

export interface Drawn<One> {
  /** How many were found due. */
  readonly found: number
  /** Those of them that nothing stops. */
  readonly free: readonly One[]
}

interface Dealing<One> {
  /** The oldest due of a workspace, at most `wanted`. */
  draw(workspace: number, wanted: number): Drawn<One>
  take(one: One): void
}

/** One of each workspace in turn. */
const inTurn = <One>(hands: readonly (readonly One[])[]): One[] => {
  const longest = Math.max(0, ...hands.map((hand) => hand.length))
  return Array.from({ length: longest }, (_, i) => hands.flatMap((hand) => hand.slice(i, i + 1))).flat()
}

/** Takes at most `limit`; answers whether it stopped because too many were held or suppressed. */
export const deal = <One>(
  workspaces: readonly number[],
  limit: number,
  { draw, take }: Dealing<One>,
): boolean => {
  let waiting = workspaces
  let taken = 0
  let stopped = 0
  while (waiting.length > 0 && taken < limit && stopped < MOST_STOPPED) {
    const share = Math.ceil((limit - taken) / waiting.length)
    const hands: (readonly One[])[] = []
    const more: number[] = []
    let left = limit - taken
    for (const workspace of waiting) {
      const wanted = Math.min(share, left)
      if (wanted === 0) break
      const { found, free } = draw(workspace, wanted)
      hands.push(free)
      left -= free.length
      stopped += found - free.length
      if (found === wanted) more.push(workspace)
    }
    const hand = inTurn(hands)
    for (const one of hand) take(one)
    taken += hand.length
    waiting = more
  }
  return stopped >= MOST_STOPPED
}
