/**
 * NAME      times - what waits, when the wall clock was set
 * DESCRIPTION
 *   Stored times are wall time, and what they stand for are durations: how long a mail has waited, how
 *   long until its next try, how long a lease lasts. When the clock is set by some amount they move with
 *   it, so all these stay as they were. At a start nobody knows by how much it was set while we were
 *   away. Then no mail waits longer than it was told to when its row was written, nor longer than the
 *   longest wait there is. The time of a scheduled mail is its appointment: it is never moved.
 */
import type { Status } from '../../mail/status.js'

/** Rows that say they were written within so many milliseconds were written by the new clock. */
export const SEEN_WITHIN_MS = 2_000

export interface Times {
  readonly status: Status
  readonly isLeased: boolean
  readonly dueAt: number | null
  readonly held: string | null
  readonly heldDue: number | null
  readonly heldAt: number | null
  readonly queuedAt: number
  readonly leaseUntil: number | null
  readonly deadline: number | null
  readonly updatedAt: number
}

interface ClockStep {
  readonly now: number
  /** 0: nobody knows, we have just started. */
  readonly by: number
  readonly longestWait: number
}

const isMoved = ({ status, dueAt, held, isLeased, deadline }: Times): boolean =>
  (status === 'queued' || status === 'deferred') &&
  (dueAt !== null || held !== null || isLeased || deadline !== null)

const orNull = (at: number | null, change: (at: number) => number): number | null =>
  at === null ? null : change(at)

const shifted = (one: Times, { now, by }: ClockStep): Times => {
  if (by === 0 || (one.updatedAt > now - SEEN_WITHIN_MS && one.updatedAt <= now)) return one
  const shift = (at: number): number => at + by
  return {
    ...one,
    dueAt: orNull(one.dueAt, shift),
    heldDue: orNull(one.heldDue, shift),
    heldAt: orNull(one.heldAt, shift),
    leaseUntil: orNull(one.leaseUntil, shift),
    deadline: orNull(one.deadline, shift),
    queuedAt: shift(one.queuedAt),
    updatedAt: shift(one.updatedAt),
  }
}

/** Of a row from the future the wait counts, as it was when the row was written. */
const clamped = (one: Times, { now, by, longestWait }: ClockStep): Times => {
  const isFuture = by === 0 && one.updatedAt > now
  const clamp = (at: number): number =>
    Math.min(isFuture ? now + Math.max(0, at - one.updatedAt) : at, now + longestWait)
  const notLater = (at: number): number => Math.min(at, now)
  return {
    ...one,
    dueAt: orNull(one.dueAt, clamp),
    heldDue: orNull(one.heldDue, clamp),
    heldAt: orNull(one.heldAt, notLater),
    queuedAt: notLater(one.queuedAt),
    updatedAt: notLater(one.updatedAt),
  }
}

export const adjustTimes = (one: Times, step: ClockStep): Times =>
  isMoved(one) ? clamped(shifted(one, step), step) : one
