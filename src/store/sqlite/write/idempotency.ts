/**
 * NAME      idempotency - one key, one send
 * DESCRIPTION
 *   A key is free, locked by a token, or answered. Locks run out at a time that
 *   their owner chose, answers 24 hours after completion; both are judged when
 *   the key is read, so a late purge changes nothing. Taking over makes a new
 *   row, which keeps the table in order of age for the sweep.
 */
import type { IdempotencyClaim, IdempotencyState } from '../../../lifecycle/facts.js'
import type { WriteContext } from './context.js'

export const ANSWER_KEPT_MS = 24 * 3600_000

interface Held {
  readonly n: number
  readonly fingerprint: string
  readonly locked_until: number
  readonly completed_at: number | null
  readonly status: number | null
  readonly body: string | null
}

const stateOf = (held: Held, claim: IdempotencyClaim): IdempotencyState | null => {
  if (held.completed_at === null) {
    if (held.locked_until <= claim.now) return null
    return { state: held.fingerprint === claim.fingerprint ? 'in_progress' : 'mismatch' }
  }
  if (claim.now - held.completed_at > ANSWER_KEPT_MS) return null
  if (held.fingerprint !== claim.fingerprint) return { state: 'mismatch' }
  return { state: 'done', status: held.status ?? 0, body: held.body ?? '' }
}

export const createIdempotency = (context: WriteContext) => {
  const { db, names } = context
  const find = db.prepare<[number, number, string], Held>(
    `SELECT n, fingerprint, locked_until, completed_at, status, body FROM idempotency
     WHERE workspace = ? AND test = ? AND key = ?`,
  )
  const add = db.prepare(
    'INSERT INTO idempotency (workspace, test, key, fingerprint, token, locked_until) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const drop = db.prepare('DELETE FROM idempotency WHERE n = ?')
  const release = db.prepare(
    'DELETE FROM idempotency WHERE workspace = ? AND test = ? AND key = ? AND token = ? AND completed_at IS NULL',
  )
  const testOf = (mode: IdempotencyClaim['mode']): number => (mode === 'test' ? 1 : 0)

  return {
    claimKey(claim: IdempotencyClaim): IdempotencyState {
      const workspace = names.workspace(claim.workspaceId)
      const held = find.get(workspace, testOf(claim.mode), claim.key)
      const state = held === undefined ? null : stateOf(held, claim)
      if (state !== null) return state
      if (held !== undefined) drop.run(held.n)
      add.run(workspace, testOf(claim.mode), claim.key, claim.fingerprint, claim.token, claim.lockedUntil)
      return { state: 'claimed' }
    },
    releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): void {
      release.run(names.workspace(claim.workspaceId), testOf(claim.mode), claim.key, claim.token)
    },
  }
}
