/**
 * NAME      idempotency - one key, one send
 * DESCRIPTION
 *   A key is free, locked by a token, or answered. Locks run out at a time that
 *   their owner chose, answers 24 hours after completion; both are judged when
 *   the key is read, so a late purge changes nothing.
 */
import type { IdempotencyClaim, IdempotencyState } from './facts.js'

export const ANSWER_KEPT_MS = 24 * 3600_000

export interface KeyRow {
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
  row: Omit<KeyRow, 'token'> | null,
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
export const isLockedBy = (row: Pick<KeyRow, 'token' | 'completedAt'>, token: string): boolean =>
  row.completedAt === null && row.token === token
