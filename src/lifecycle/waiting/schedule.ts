/**
 * NAME      schedule - appointments: kept, moved and cancelled
 * DESCRIPTION
 *   A mail is at its appointment while any recipient is `scheduled`. All of them leave that status in
 *   one step, so client and relay compare and set the same fact and exactly one of them wins. What has
 *   left with a lot has its appointment in another store.
 */
import { type Counts, nextStatus, type Status } from '../../mail/status.js'
import type { Mode } from '../page.js'

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
