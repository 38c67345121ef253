/**
 * NAME      key - API keys
 * DESCRIPTION
 *   `svc_live_` or `svc_test_`, 12 public characters by which the row is found,
 *   and 32 secret ones (190 bits), all base62. Only a peppered HMAC of the whole
 *   is kept; it is compared in constant time, and an unknown key costs the same
 *   work as a wrong one. Revoking removes the row, and every use reads the row
 *   anew, so that revocation is immediate at every door.
 */
import { Fault, type FieldError, invalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { keyedHash, randomText, sameBytes } from '../base/secret.js'
import type { Mode } from '../lifecycle/page.js'
import type { KeyPermission, KeyRow, KeyScope } from '../store/port/tenants/tenants.js'
import type { TenantDeps } from './principal.js'

const LOOKUP = 12
const SECRET = 32
const SHAPE = /^svc_(live|test)_([0-9A-Za-z]{12})[0-9A-Za-z]{32}$/

interface NewKey {
  readonly name: string
  readonly mode?: Mode | undefined
  readonly scope?: KeyScope | undefined
  /** Id or slug; needed for, and only for, the workspace scope. */
  readonly workspace?: string | null | undefined
  readonly expiresAt?: number | null | undefined
  readonly rateLimitPerMinute?: number | null | undefined
  readonly permission?: KeyPermission | undefined
}

/** True when the text has the shape of a key, real or not. */
export const looksLikeKey = (text: string): boolean => SHAPE.test(text)

const hashKey = (pepper: Uint8Array, text: string): Buffer => keyedHash(pepper, 'api-key', text)

const scopeOf = (wish: Partial<NewKey>): KeyScope => wish.scope ?? (wish.workspace ? 'workspace' : 'platform')

/** What is wrong with a wish. */
export const checkNewKey = (wish: Partial<NewKey>, now: number): FieldError[] => {
  const scope = scopeOf(wish)
  const errors: FieldError[] = []
  const wrong = (field: string, kind: FieldError['kind'], message: string) =>
    errors.push({ field: `body.${field}`, kind, message })
  if (wish.name?.trim() === '') wrong('name', 'empty', 'must not be empty')
  if (scope === 'workspace' && !wish.workspace) {
    wrong('workspace_id', 'missing', 'a key of scope workspace must name its workspace')
  }
  if (scope === 'platform' && wish.workspace) {
    wrong('workspace_id', 'forbidden', 'a key of scope platform belongs to no single workspace')
  }
  if (wish.expiresAt != null && wish.expiresAt <= now) wrong('expires_at', 'past', 'must lie in the future')
  if (wish.rateLimitPerMinute != null && wish.rateLimitPerMinute < 1) {
    wrong('rate_limit_per_minute', 'range', 'must be at least 1')
  }
  return errors
}

/** Makes a key. The text is shown to its owner once and is nowhere kept. */
export const createKey = async (
  deps: TenantDeps,
  accountId: string,
  wish: NewKey,
): Promise<{ readonly row: KeyRow; readonly secret: string }> => {
  const now = deps.clock.now()
  const scope = scopeOf(wish)
  const errors = checkNewKey(wish, now)
  if (errors.length > 0) throw invalid(errors)
  const workspace = wish.workspace ? await deps.store.workspace(accountId, wish.workspace) : null
  if (wish.workspace && workspace === null) throw new Fault('workspace.not_found')
  const mode = wish.mode ?? 'live'
  const lookup = randomText(LOOKUP)
  const secret = `svc_${mode}_${lookup}${randomText(SECRET)}`
  const row: KeyRow = {
    id: newId('key', now),
    accountId,
    name: wish.name.trim(),
    mode,
    scope,
    workspaceId: workspace?.id ?? null,
    lookup,
    hash: hashKey(deps.pepper, secret),
    createdAt: now,
    lastUsedAt: null,
    lastUsedFrom: null,
    expiresAt: wish.expiresAt ?? null,
    rateLimitPerMinute: wish.rateLimitPerMinute ?? null,
    permission: wish.permission ?? 'full_access',
  }
  await deps.store.createKey(row)
  return { row, secret }
}

const NOBODY = Buffer.alloc(32)

/** The row of a key that is real and not expired, or null. */
export const verifyKey = async (deps: TenantDeps, text: string): Promise<KeyRow | null> => {
  const shape = SHAPE.exec(text)
  if (shape === null) return null
  const row = await deps.store.keyByLookup(shape[2] ?? '')
  const same = sameBytes(hashKey(deps.pepper, text), row?.hash ?? NOBODY)
  return row !== null && same && row.mode === shape[1] && isCurrent(row, deps.clock.now()) ? row : null
}

/** False once the time of a key or session has run out. */
export const isCurrent = (row: { readonly expiresAt: number | null }, now: number): boolean =>
  row.expiresAt === null || now < row.expiresAt

/** At once and for good; throws api_key.not_found. */
export const revokeKey = async ({ store }: TenantDeps, accountId: string, id: string): Promise<void> => {
  if (!(await store.revokeKey(accountId, id))) throw new Fault('api_key.not_found')
}
