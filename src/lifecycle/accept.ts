/**
 * NAME      accept - how a mail begins; its idempotency key and its place in the rate window
 *   A recipient begins as bounced when its address is suppressed, else as scheduled or queued. When the relay takes it
 *   at once it begins leased; otherwise it begins due.
 *   A key is free, locked by a token, or answered. Locks run out at a time that their owner chose, answers 24 hours
 *   after completion; both are judged when the key is read, so a late purge changes nothing. All of a request fits, or
 *   none of it; a refused one leaves the count as it was.
 */
import { type Counts, emptyCounts, type Status } from '../mail/status.js'
import type { IdempotencyClaim, IdempotencyState, NewRecipient } from './facts.js'
import { checked, type RecipientState } from './recipient.js'

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

export const ANSWER_KEPT_MS = 24 * 3600_000

export interface IdempotencyRow {
  readonly fingerprint: string
  readonly token: string
  readonly lockedUntil: number
  /** When the answer was stored; null while the key is only locked. */
  readonly completedAt: number | null
  readonly status: number | null
  readonly body: string | null
}

/** What a claim finds; `claimed`: the key is free, or what held it is over and makes room. */
export const keyState = (
  row: Omit<IdempotencyRow, 'token'> | null,
  { fingerprint, now }: Pick<IdempotencyClaim, 'fingerprint' | 'now'>,
): IdempotencyState => {
  if (row === null) return { state: 'claimed' }
  const { completedAt, lockedUntil, status, body } = row
  const isOver = completedAt === null ? lockedUntil <= now : now - completedAt > ANSWER_KEPT_MS
  if (isOver) return { state: 'claimed' }
  if (row.fingerprint !== fingerprint) return { state: 'mismatch' }
  return completedAt === null
    ? { state: 'in_progress' }
    : { state: 'done', status: status ?? 0, body: body ?? '' }
}

/** Only who locked the key answers or frees it, and only once. */
export const isLockedBy = (row: Pick<IdempotencyRow, 'token' | 'completedAt'>, token: string): boolean =>
  row.completedAt === null && row.token === token

export interface WindowCount {
  /** True when the whole of `n` fitted. */
  readonly allowed: boolean
  /** Used in this window, after this call. */
  readonly used: number
}

export const countSends = (used: number, n: number, limit: number): WindowCount =>
  used + n <= limit ? { allowed: true, used: used + n } : { allowed: false, used }
