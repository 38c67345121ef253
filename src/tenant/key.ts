/**
 * NAME      key - API keys, and requests that are signed with one
 *   `svc_live_` or `svc_test_`, 12 public characters by which the row is found, and 32 secret ones (190 bits), all base62.
 *   Only a peppered HMAC of the whole is kept; it is compared in constant time, and an unknown key costs the same work as
 *   a wrong one. Revoking removes the row, and every use reads the row anew, so that revocation is immediate at every
 *   door. A rotation makes the next key, of the same rights, and says when the one so far ends: in one commit.
 *   Clients of Amazon SES sign with a secret instead of showing it (AWS Signature Version 4), so it must be known here. It
 *   is made anew for each use, of the pepper and of 32 random octets in the row: neither of them alone gives it. They send
 *   an HMAC over what they ask for, of a key made of the secret, the day, the region and the service. Here a request is
 *   read as its client must have read it: the path and the header fields as they came, octet by octet. `readClaim` says
 *   who says to have signed what, before the body is there; `isSigned` proves it by the SHA-256 of the body itself.
 *   `sign` is the other side, for a service that we ask ourselves: the same canonical request, said of our own.
 *   Any region will do; a body that is not signed, signatures in a query, of a stream, by two keys at once (SigV4A) and
 *   those of a session token are refused.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { andThen } from '../base/and-then.js'
import { Fault, type FieldError, invalidField, orFault, throwInvalid, wrongIn } from '../base/fault.js'
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

export const checkNewKey = (wish: Partial<NewKey>, now: number): FieldError[] => {
  const scope = scopeOf(wish)
  const errors: FieldError[] = []
  const wrong = wrongIn(errors, 'body.')
  if (wish.name?.trim() === '') wrong('name', 'empty', 'must not be empty')
  if (scope === 'workspace' && !wish.workspace)
    wrong('workspace_id', 'missing', 'a key of scope workspace must name its workspace')
  if (scope === 'platform' && wish.workspace)
    wrong('workspace_id', 'forbidden', 'a key of scope platform belongs to no single workspace')
  if (wish.ses === true && wish.permission === 'reading_access')
    wrong('ses', 'forbidden', 'is for keys that send')
  if (wish.ses === true && scope === 'platform') wrong('ses', 'forbidden', 'is for keys of scope workspace')
  if (wish.expiresAt != null && wish.expiresAt <= now) wrong('expires_at', 'past', 'must lie in the future')
  if (wish.secret !== undefined && SHAPE.exec(wish.secret)?.[1] !== (wish.mode ?? 'live')) {
    const mode = wish.mode ?? 'live'
    wrong('secret', 'format', `must be a ${mode} key as postern key secret --mode ${mode} makes them`)
  }
  if (wish.rateLimitPerMinute != null && wish.rateLimitPerMinute < 1)
    wrong('rate_limit_per_minute', 'range', 'must be at least 1')
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
  throwInvalid(checkNewKey(wish, now))
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
    throw invalidField('body.secret', 'not_unique', 'is a key already')
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
  const before = orFault(await deps.store.key(accountId, id), 'api_key.not_found')
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

export const isKeyOf = (pepper: Uint8Array, row: KeyRow, text: string): boolean =>
  sameBytes(hashKey(pepper, text), row.hash)

/** False once the time of a key or session has run out. */
export const isCurrent = (row: { readonly expiresAt: number | null }, now: number): boolean =>
  row.expiresAt === null || now < row.expiresAt

/** At once and for good; throws api_key.not_found. */
export const revokeKey = async ({ store }: TenantDeps, accountId: string, id: string): Promise<void> => {
  if (!(await store.revokeKey(accountId, id))) throw new Fault('api_key.not_found')
}

/** A request as its octets came; text is Latin-1, as Node has it. */
export interface SignedRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
}

/** What somebody says to have signed. */
export interface Claim {
  readonly accessKey: string
  /** `day/region/service/aws4_request`. */
  readonly scope: string
  readonly date: string
  /** The canonical request but for its last line, the hash of the body. */
  readonly head: string
  /** What a header says of the body, in hex; null without one. */
  readonly bodyHash: string | null
  readonly signature: Buffer
}

const ALGORITHM = 'AWS4-HMAC-SHA256'
const FORM =
  /^AWS4-HMAC-SHA256 +Credential=([!-+\--.0-~]{1,128})\/(\d{8})\/([\w-]{1,64})\/(\w{1,64})\/aws4_request, *SignedHeaders=([a-z0-9!#$%&'*+.^_`|~;-]+), *Signature=([0-9a-f]{64})$/
const DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
const HASH = /^[0-9a-f]{64}$/
const SKEW_MS = 300_000
const MOST_SIGNED = 50

const wrong = (detail: string): Fault => new Fault('auth.signature_invalid', { detail })

/** All but what RFC 3986 leaves as it is, octet by octet. */
const encode = (text: string): string =>
  text.replace(
    /[^A-Za-z0-9\-._~]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

/** The octets that escapes stand for. */
const decode = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const canonicalQuery = (query: string): string =>
  query
    .split('&')
    .filter((one) => one !== '')
    .map((one) => {
      const [name = '', ...value] = one.split('=')
      return [encode(decode(name)), encode(decode(value.join('=')))] as const
    })
    .sort(([a, x], [b, y]) => byText(a, b) || byText(x, y))
    .map((pair) => pair.join('='))
    .join('&')

/** All values of each field, in their order. */
const fieldsOf = (rawHeaders: readonly string[]): ReadonlyMap<string, readonly string[]> => {
  const fields = new Map<string, string[]>()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    const value = (rawHeaders[i + 1] ?? '').trim().replace(/ {2,}/g, ' ')
    const known = fields.get(name)
    if (known === undefined) fields.set(name, [value])
    else known.push(value)
  }
  return fields
}

/** The path is escaped once more than it came, which is how all services but S3 sign it. */
const canonicalHead = (
  { method, target }: Pick<SignedRequest, 'method' | 'target'>,
  fields: ReadonlyMap<string, readonly string[]>,
  signed: readonly string[],
): string => {
  const at = target.indexOf('?')
  const path = at === -1 ? target : target.slice(0, at)
  return [
    method,
    path.split('/').map(encode).join('/'),
    at === -1 ? '' : canonicalQuery(target.slice(at + 1)),
    ...signed.map((name) => `${name}:${(fields.get(name) ?? []).join(',')}`),
    '',
    signed.join(';'),
  ].join('\n')
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** The key of a day, a region and a service; `scope` as in a Claim. */
export const signingKey = (secret: string, scope: string): Buffer =>
  scope.split('/').reduce<Buffer>((key, part) => hmac(key, part), Buffer.from(`AWS4${secret}`))

export const signatureOf = (
  { date, scope, head }: Pick<Claim, 'date' | 'scope' | 'head'>,
  bodyHash: string,
  key: Buffer,
): Buffer => {
  const request = createHash('sha256').update(`${head}\n${bodyHash}`, 'latin1').digest('hex')
  return hmac(key, [ALGORITHM, date, scope, request].join('\n'))
}

/** Milliseconds of `20261127T201500Z`; null for what is none. */
const timeOf = (date: string): number | null => {
  const parts = DATE.exec(date)
  if (parts === null) return null
  const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as [
    ...[number, number, number],
    ...[number, number, number],
  ]
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

/** The one value of a field; a second one is a mistake. */
const only = (fields: ReadonlyMap<string, readonly string[]>, name: string): string | null => {
  const [value, second] = fields.get(name) ?? []
  if (second !== undefined) throw wrong(`${name} stands more than once`)
  return value ?? null
}

const demandTime = (date: string, day: string, now: number): void => {
  const time = timeOf(date)
  if (time === null) throw wrong('x-amz-date must be a time such as 20261127T201500Z')
  if (!date.startsWith(day)) throw wrong('The day of the credential is not that of x-amz-date')
  if (Math.abs(now - time) <= SKEW_MS) return
  const clock = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  throw wrong(
    `Signature ${time < now ? 'expired' : 'not yet current'}: it is of ${date}, and the clock here says ${clock}`,
  )
}

const demandSigned = (
  names: readonly string[],
  fields: ReadonlyMap<string, readonly string[]>,
  bodyHash: string | null,
): void => {
  if (names.length > MOST_SIGNED) throw wrong(`At most ${MOST_SIGNED} header fields may be signed`)
  if (names.some((name, i) => i > 0 && byText(names[i - 1] ?? '', name) >= 0))
    throw wrong('SignedHeaders must be sorted, each name once')
  for (const name of ['host', 'x-amz-date', ...(bodyHash === null ? [] : ['x-amz-content-sha256'])])
    if (!names.includes(name)) throw wrong(`${name} must be signed`)
  const absent = names.find((name) => !fields.has(name))
  if (absent !== undefined) throw wrong(`${absent} is said to be signed, and is not there`)
  if (bodyHash !== null && !HASH.test(bodyHash))
    throw wrong('x-amz-content-sha256 must be the SHA-256 of the body: what is not signed is not taken')
}

/** Throws auth.credentials_missing without a signature, auth.signature_invalid for one that is in no good form or late. */
export const readClaim = (request: SignedRequest, service: string, now: number): Claim => {
  const fields = fieldsOf(request.rawHeaders)
  const authorization = only(fields, 'authorization')
  if (/[?&]X-Amz-(?:Signature|Algorithm|Credential)=/i.test(request.target))
    throw wrong('A signature in the query is not taken: sign by the header field Authorization')
  if (authorization === null) throw new Fault('auth.credentials_missing')
  if (fields.has('x-amz-security-token'))
    throw wrong('Session tokens are not known here: sign with the access key alone')
  const parts = FORM.exec(authorization)
  if (parts === null)
    throw wrong(`Authorization must be of ${ALGORITHM}: Credential, SignedHeaders and Signature`)
  const [, accessKey = '', day = '', region = '', named = '', list = '', hex = ''] = parts
  if (named !== service) throw wrong(`The credential must be for the service ${service}`)
  const date = only(fields, 'x-amz-date')
  if (date === null) throw wrong('x-amz-date is missing')
  only(fields, 'host')
  const bodyHash = only(fields, 'x-amz-content-sha256')
  const names = list.split(';')
  demandSigned(names, fields, bodyHash)
  demandTime(date, day, now)
  return {
    accessKey,
    scope: `${day}/${region}/${service}/aws4_request`,
    date,
    head: canonicalHead(request, fields, names),
    bodyHash,
    signature: Buffer.from(hex, 'hex'),
  }
}

interface Signer {
  readonly accessKey: string
  readonly secret: string
  readonly region: string
  readonly service: string
}

/** The header fields of a request with its signature among them; `headers` has the Host and names the type of the body. */
export const sign = (
  { method, target, body }: Pick<SignedRequest, 'method' | 'target'> & { readonly body: Uint8Array },
  headers: Readonly<Record<string, string>>,
  { accessKey, secret, region, service }: Signer,
  now: number,
): Readonly<Record<string, string>> => {
  const date = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  const bodyHash = createHash('sha256').update(body).digest('hex')
  const all = { ...headers, 'x-amz-date': date, 'x-amz-content-sha256': bodyHash }
  const fields = fieldsOf(Object.entries(all).flat())
  const names = [...fields.keys()].sort(byText)
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`
  const head = canonicalHead({ method, target }, fields, names)
  const signature = signatureOf({ date, scope, head }, bodyHash, signingKey(secret, scope)).toString('hex')
  const said = `Credential=${accessKey}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return { ...all, authorization: `${ALGORITHM} ${said}` }
}

/** Whether `key` has signed the claim with a body of that SHA-256, in hex. */
export const isSigned = (claim: Claim, bodyHash: string, key: Buffer): boolean =>
  sameBytes(signatureOf(claim, bodyHash, key), claim.signature) &&
  (claim.bodyHash === null || claim.bodyHash === bodyHash)
