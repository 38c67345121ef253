/**
 * NAME      session - a person at work
 * DESCRIPTION
 *   `ses_`, 12 public and 32 secret characters, kept like an API key: as a
 *   peppered HMAC under its lookup id. A session acts with platform scope over
 *   its account and is the only credential that may make keys.
 */
import { newId } from '../base/id.js'
import { keyedHash, randomText, sameBytes } from '../base/secret.js'
import type { SessionRow } from '../store/port-tenants.js'
import { isCurrent } from './key.js'
import type { TenantGround } from './principal.js'

const SHAPE = /^ses_([0-9A-Za-z]{12})[0-9A-Za-z]{32}$/
const NOBODY = Buffer.alloc(32)

const SESSION_MS = 12 * 3_600_000

const hashToken = (pepper: Uint8Array, token: string): Buffer => keyedHash(pepper, 'session', token)

/** Opens a session. The token is shown once and is nowhere kept. */
export const createSession = async (
  ground: TenantGround,
  accountId: string,
  { userId = null, lastsMs = SESSION_MS }: { userId?: string | null; lastsMs?: number } = {},
): Promise<{ readonly row: SessionRow; readonly token: string }> => {
  const now = ground.clock.now()
  const lookup = randomText(12)
  const token = `ses_${lookup}${randomText(32)}`
  const row: SessionRow = {
    id: newId('ses', now),
    accountId,
    userId,
    lookup,
    hash: hashToken(ground.pepper, token),
    createdAt: now,
    expiresAt: now + lastsMs,
  }
  await ground.store.createSession(row)
  return { row, token }
}

/** The row of a session that is real and not over, or null. */
export const verifySession = async (ground: TenantGround, token: string): Promise<SessionRow | null> => {
  const shape = SHAPE.exec(token)
  if (shape === null) return null
  const row = await ground.store.sessionByLookup(shape[1] ?? '')
  const same = sameBytes(hashToken(ground.pepper, token), row?.hash ?? NOBODY)
  return row !== null && same && isCurrent(row, ground.clock.now()) ? row : null
}

/** False when there is no such session any more. */
export const revokeSession = (ground: TenantGround, id: string): Promise<boolean> =>
  ground.store.revokeSession(id)
