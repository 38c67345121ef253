/**
 * NAME      accept - how a mail begins
 * DESCRIPTION
 *   A recipient begins as bounced when its address is suppressed, else as scheduled or
 *   queued. When the relay takes it at once it begins leased; otherwise it begins due.
 */
import { type Counts, emptyCounts, type Status } from '../../mail/status.js'
import type { NewRecipient } from '../facts.js'
import { checked, type RecipientState } from '../recipient.js'

/** The first lease outlasts any SMTP transaction; it ends by settle, release or the end of its boot. */
export const FIRST_LEASE_MS = 15 * 60_000

type Suppressed = Pick<NewRecipient, 'suppressed'>

export const firstStatus = ({ suppressed }: Suppressed, scheduledAt: number | null): Status =>
  suppressed ? 'bounced' : scheduledAt === null ? 'queued' : 'scheduled'

export const firstCounts = (recipients: readonly Suppressed[], scheduledAt: number | null): Counts => {
  const counts = emptyCounts()
  for (const recipient of recipients) counts[firstStatus(recipient, scheduledAt)]++
  return counts
}

/** `boot`: of the relay that takes it at once, or null. Who is held begins due, and is held then. */
export const firstState = (status: Status, dueAt: number, boot: number | null): RecipientState =>
  checked({
    status,
    attempts: 0,
    dueAt: status === 'bounced' || boot !== null ? null : dueAt,
    boot,
    leaseGen: boot === null ? 0 : 1,
    attempting: null,
    held: null,
    deadline: null,
    lastResponse: null,
    reason: status === 'bounced' ? 'suppressed' : null,
  })
