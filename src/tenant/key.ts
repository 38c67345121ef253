/**
 * NAME      key - API keys
 * DESCRIPTION
 *   `svc_live_` or `svc_test_`, 12 public characters by which the row is found,
 *   and 32 secret ones (190 bits), all base62. Only a peppered HMAC of the whole
 *   is kept; it is compared in constant time, and an unknown key costs the same
 *   work as a wrong one. Revoking removes the row, and every use reads the row
 *   anew, so that revocation is immediate at every door. A rotation makes the next
 *   key, of the same rights, and says when the one so far ends: in one commit.
 *   Clients of Amazon SES sign with a secret instead of showing it, so it must be known here. It is made anew for each
 *   use, of the pepper and of 32 random octets in the row: neither of them alone gives it.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { andThen } from '../base/and-then.js'
import { Fault, type FieldError, invalid } from '../base/fault.js'
import { newId } from '../base/id.js'
import { keyedHash, randomText, sameBytes } from '../base/secret.js'
import type { Mode } from '../lifecycle/page.js'
import type { KeyPermission, KeyRow, KeyScope } from '../store/port/tenants.js'
import type { Known } from '../store/port/upkeep.js'
import type { TenantDeps } from './principal.js'

/** So long the key before works beside the next one, and at most. */
export const OVERLAP_MS = 86_400_000
export const MOST_OVERLAP_MS = 30 * 86_400_000

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
  /** Whether it also signs as clients of SES do; only of the workspace scope. */
  readonly ses?: boolean | undefined
  /** A text that newKeyText made, kept until now by whoever brings it; else one is made. */
  readonly secret?: string | undefined
}

/** The text of a key that is not stored yet. */
export const newKeyText = (mode: Mode): string => `svc_${mode}_${randomText(LOOKUP)}${randomText(SECRET)}`

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
  if (wish.ses === true && wish.permission === 'reading_access')
    wrong('ses', 'forbidden', 'is for keys that send')
  if (wish.ses === true && scope === 'platform') {
    wrong('ses', 'forbidden', 'is for keys of scope workspace')
  }
  if (wish.expiresAt != null && wish.expiresAt <= now) wrong('expires_at', 'past', 'must lie in the future')
  if (wish.secret !== undefined && SHAPE.exec(wish.secret)?.[1] !== (wish.mode ?? 'live')) {
    const mode = wish.mode ?? 'live'
    wrong('secret', 'format', `must be a ${mode} key as postern key secret --mode ${mode} makes them`)
  }
  if (wish.rateLimitPerMinute != null && wish.rateLimitPerMinute < 1) {
    wrong('rate_limit_per_minute', 'range', 'must be at least 1')
  }
  return errors
}

interface MadeKey {
  readonly row: KeyRow
  readonly secret: string
  /** What clients of SES sign with; null where it signs nothing. */
  readonly sesSecret: string | null
}

/** What a key may do, and for whom: all of its row that the next one has as well. */
type Rights = Omit<KeyRow, 'id' | 'lookup' | 'hash' | 'createdAt' | 'lastUsedAt' | 'lastUsedFrom' | 'sesSalt'>

const SALT = 32
const ACCESS_KEY = /^PSTN([0-9A-Za-z]{12})$/

/** What they sign with; nowhere kept. */
export const sesSecretOf = (
  pepper: Uint8Array,
  { id, sesSalt }: Pick<KeyRow, 'id' | 'sesSalt'>,
): string | null =>
  sesSalt && createHmac('sha256', pepper).update(`ses\0${id}\0`).update(sesSalt).digest('base64')

const newKey = (
  { clock, pepper }: TenantDeps,
  rights: Rights,
  isSes: boolean,
  secret: string = newKeyText(rights.mode),
): MadeKey => {
  const now = clock.now()
  const lookup = SHAPE.exec(secret)?.[2] ?? ''
  const own = { id: newId('key', now), lookup, hash: hashKey(pepper, secret) }
  const sesSalt = isSes ? randomBytes(SALT) : null
  const row = { ...rights, ...own, createdAt: now, lastUsedAt: null, lastUsedFrom: null, sesSalt }
  return { row, secret, sesSecret: sesSecretOf(pepper, row) }
}

/** Whether a key has this secret, or one that begins like it. */
export const isTaken = async ({ store }: Pick<TenantDeps, 'store'>, secret: string): Promise<boolean> =>
  (await store.keyByLookup(SHAPE.exec(secret)?.[2] ?? '')) !== null

/** Makes a key. The text is shown to its owner once and is nowhere kept. */
export const createKey = async (deps: TenantDeps, accountId: string, wish: NewKey): Promise<MadeKey> => {
  const now = deps.clock.now()
  const scope = scopeOf(wish)
  const errors = checkNewKey(wish, now)
  if (errors.length > 0) throw invalid(errors)
  const workspace = wish.workspace ? await deps.store.workspace(accountId, wish.workspace) : null
  if (wish.workspace && workspace === null) throw new Fault('workspace.not_found')
  const mode = wish.mode ?? 'live'
  const rights: Rights = {
    ...{ accountId, mode, scope },
    name: wish.name.trim(),
    workspaceId: workspace?.id ?? null,
    expiresAt: wish.expiresAt ?? null,
    rateLimitPerMinute: wish.rateLimitPerMinute ?? null,
    permission: wish.permission ?? 'full_access',
  }
  const made = newKey(deps, rights, wish.ses === true, wish.secret)
  if (wish.secret !== undefined && (await isTaken(deps, wish.secret)))
    throw invalid([{ field: 'body.secret', kind: 'not_unique', message: 'is a key already' }])
  await deps.store.createKey(made.row)
  return made
}

/**
 * The next key of the same rights; the one so far ends after the overlap. One that was to live for a while is followed
 * by one that lives as long. Throws api_key.not_found.
 */
export const rotateKey = async (
  deps: TenantDeps,
  accountId: string,
  id: string,
  overlap: number,
): Promise<MadeKey & { readonly before: KeyRow }> => {
  const before = await deps.store.key(accountId, id)
  if (before === null) throw new Fault('api_key.not_found')
  const now = deps.clock.now()
  const expiresAt = before.expiresAt === null ? null : now + (before.expiresAt - before.createdAt)
  const made = newKey(deps, { ...before, expiresAt }, before.sesSalt !== null)
  const endsAt = now + overlap
  if (!(await deps.store.rotateKey(accountId, id, made.row, endsAt))) throw new Fault('api_key.not_found')
  return { ...made, before: { ...before, expiresAt: Math.min(before.expiresAt ?? endsAt, endsAt) } }
}

const NOBODY = Buffer.alloc(32)

/** The row of a key that is real and not expired, or null; at once where `rows` are at hand. */
export const verifyKey = (
  { store, pepper, clock }: TenantDeps,
  text: string,
  rows: Pick<Known, 'keyByLookup'> = store,
): KeyRow | null | Promise<KeyRow | null> => {
  const shape = SHAPE.exec(text)
  if (shape === null) return null
  return andThen(rows.keyByLookup(shape[2] ?? ''), (row) => {
    const same = sameBytes(hashKey(pepper, text), row?.hash ?? NOBODY)
    return row !== null && same && row.mode === shape[1] && isCurrent(row, clock.now()) ? row : null
  })
}

/** The row that an access key id names, real and not expired, or null: nothing is proved yet. */
export const keyNamed = (
  { store, clock }: TenantDeps,
  accessKey: string,
  rows: Pick<Known, 'keyByLookup'> = store,
): KeyRow | null | Promise<KeyRow | null> => {
  const lookup = ACCESS_KEY.exec(accessKey)?.[1]
  if (lookup === undefined) return null
  return andThen(rows.keyByLookup(lookup), (row) =>
    row !== null && row.sesSalt !== null && isCurrent(row, clock.now()) ? row : null,
  )
}

/** Whether a row is of this text. */
export const isKeyOf = (pepper: Uint8Array, row: KeyRow, text: string): boolean =>
  sameBytes(hashKey(pepper, text), row.hash)

/** False once the time of a key or session has run out. */
export const isCurrent = (row: { readonly expiresAt: number | null }, now: number): boolean =>
  row.expiresAt === null || now < row.expiresAt

/** At once and for good; throws api_key.not_found. */
export const revokeKey = async ({ store }: TenantDeps, accountId: string, id: string): Promise<void> => {
  if (!(await store.revokeKey(accountId, id))) throw new Fault('api_key.not_found')
}
