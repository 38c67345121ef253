/**
 * NAME      retention - what is old enough to go
 * DESCRIPTION
 *   A mail goes by when it was created, wherever it stands; one that is under way stays, whatever its
 *   age. A mail deferred by a report whose deadline has come has expired (4.4.7): some MTAs never
 *   report the end. What counts sends is kept for an hour, what was answered to a key for a day.
 */
import type { Counts } from '../mail/status.js'
import { type Outcome, observed } from './facts.js'

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
