/**
 * NAME      idempotency - one key, one send
 * DESCRIPTION
 *   lifecycle/accept.ts says what a row stands for. Taking over makes a new
 *   row, which keeps the table in order of age for the sweep.
 */

import { type KeyRow, keyState } from '../../../lifecycle/accept.js'
import type { IdempotencyClaim, IdempotencyState } from '../../../lifecycle/facts.js'
import type { WriteContext } from './context.js'

type Held = { readonly n: number } & Omit<KeyRow, 'token'>

export const createIdempotency = (context: WriteContext) => {
  const { db, names } = context
  const find = db.prepare<[number, number, string], Held>(
    `SELECT n, fingerprint, locked_until AS lockedUntil, completed_at AS completedAt, status, body FROM idempotency
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
      const found = keyState(held ?? null, claim)
      if (found.state !== 'claimed') return found
      if (held !== undefined) drop.run(held.n)
      add.run(workspace, testOf(claim.mode), claim.key, claim.fingerprint, claim.token, claim.lockedUntil)
      return found
    },
    releaseKey(claim: Pick<IdempotencyClaim, 'workspaceId' | 'mode' | 'key' | 'token'>): void {
      release.run(names.workspace(claim.workspaceId), testOf(claim.mode), claim.key, claim.token)
    },
  }
}
