/**
 * NAME      schedule - appointments, what waits when the wall clock was set, and what is old enough to go
 *   A mail is at its appointment while any recipient is `scheduled`. All of them leave that status in one step, so
 *   client and relay compare and set the same fact and exactly one of them wins. What has left with a lot has its
 *   appointment in another store.
 *   Stored times are wall time, and what they stand for are durations: how long a mail has waited, how long until its
 *   next try, how long a lease lasts. When the clock is set by some amount they move with it, so all these stay as they
 *   were. At a start it is not known by how much it was set while we were away. Then no mail waits longer than it was
 *   to wait when its row was written, nor longer than the longest wait there is. The time of a scheduled mail is its
 *   appointment: it is never moved.
 *   A mail goes by when it was created, wherever it stands; one that is under way stays, whatever its age. A mail
 *   deferred by a report whose deadline has come has expired (4.4.7): some MTAs never report the end. What counts sends
 *   is kept for an hour, what was answered to a key for a day.
 */
import { type Counts, nextStatus, type Status } from '../mail/status.js'
import { type Outcome, observed } from './facts.js'
import type { Mode } from './page.js'

/** Whose mails are seen; null: of all workspaces, of both modes. */
interface Viewer {
  readonly accountId: string
  readonly workspaceId: string | null
  readonly mode: Mode | null
}

export const isVisible = (
  { accountId, workspaceId, mode }: Viewer,
  mail: { readonly accountId: string; readonly workspaceId: string; readonly mode: Mode },
): boolean =>
  accountId === mail.accountId &&
  (workspaceId === null || workspaceId === mail.workspaceId) &&
  (mode === null || mode === mail.mode)

type ScheduleCounts = Pick<Counts, 'scheduled' | 'canceled'>

/** `isAway`: some of it has left with a lot. */
export const mayReschedule = ({ scheduled }: ScheduleCounts, isAway: boolean): boolean =>
  scheduled > 0 && !isAway

/** `done`: it was cancelled before. */
export const cancelAnswer = (
  { scheduled, canceled }: ScheduleCounts,
  isAway: boolean,
): 'cancel' | 'done' | 'not_scheduled' => {
  if (scheduled === 0) return canceled > 0 ? 'done' : 'not_scheduled'
  return isAway ? 'not_scheduled' : 'cancel'
}

export interface Appointment {
  readonly dueAt: number | null
  readonly held: string | null
  readonly heldDue: number | null
}

/** What is held remembers when it is due. */
export const rescheduled = ({ held }: Appointment, at: number): Appointment =>
  held === null ? { dueAt: at, held, heldDue: null } : { dueAt: null, held, heldDue: at }

/** What follows an appointment; a mail whose time has come waits from its time on, however late that is noticed. */
export const leaveSchedule = (
  one: Appointment,
  seen: 'due' | 'canceled',
): Appointment & { readonly status: Status; readonly queuedAt: number | null } => {
  const status = nextStatus('scheduled', seen) ?? 'scheduled'
  return status === 'queued'
    ? { ...one, status, queuedAt: one.dueAt }
    : { status, queuedAt: null, dueAt: null, held: null, heldDue: null }
}

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

export const WINDOW_KEPT_MS = 3_600_000

export const isOpen = ({ scheduled, queued, deferred }: Pick<Counts, 'scheduled' | 'queued' | 'deferred'>) =>
  scheduled + queued + deferred > 0

export const isAged = (
  mail: { readonly createdAt: number; readonly isOpen: boolean },
  before: number,
): boolean => !mail.isOpen && mail.createdAt < before

export const isOverdue = (deadline: number | null, now: number): boolean =>
  deadline !== null && deadline <= now

export const expiry = (recipientId: string, now: number): Outcome =>
  observed({
    recipientId,
    seen: 'expired',
    at: now,
    source: 'system',
    reply: { code: 550, enhanced: '4.4.7', text: 'no final report arrived in time' },
    reason: 'lifetime',
  })

/** Marks in the log below this time are too old. The log does not run ahead with a clock that nobody believes. */
export const logFloor = (now: number, lastStored: number, keptMs: number): number =>
  Math.min(now, lastStored) - keptMs
