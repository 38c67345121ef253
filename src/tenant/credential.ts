/**
 * NAME      credential - SMTP names and passwords, the passwords of people, and how both are kept
 *   A credential is a user name with a password (made up by a person, or brought along from another provider), or an
 *   address range or a client certificate without one. It opens the SMTP door only.
 *   What a person may have chosen is kept as bcrypt over base64(SHA-256), because bcrypt ignores what follows byte 72
 *   and stops at a NUL. It takes some 50 ms by design, so a proved password of a credential is remembered as a keyed
 *   hash. The memory holds proofs, never permission: the row is read anew each time, and its hash is part of the proof.
 *   A secret that another provider's machine made is as long and as random as an API key of ours, and is kept as those
 *   are: one HMAC under the pepper, with the row's id so that equal secrets do not look equal. Guessing it is hopeless
 *   at any speed, and bcrypt would only make moving in, and each first login, slow. When in doubt a secret counts as
 *   chosen. Many of another provider are stored in chunks, each in one transaction, in the order of the file. What is
 *   there already is left as it is, so a file may be given again after an interruption. Secrets that people chose are
 *   hashed as many at once as there are processors, at the full price.
 *   Of a person's password length is what counts: 12 characters or more, no rules about their kinds; the few long ones
 *   that everybody tries are refused. Two are hashed at once, a few wait, and the next is refused, to come again.
 *   Guesses are counted per client address, per account and address, and per account. A person who signed in from a
 *   browser before has a proof of that (`device`) and is not kept out by what others do: he is counted alone. It is
 *   made of the password's hash, so that another password ends it. Unknown people, people without a password and those
 *   that are disabled are the one answer of a wrong password, after the same work.
 */
import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import { LRUCache } from 'lru-cache'
import { Fault, type FieldError, invalidField, orFault, throwInvalid, wrongIn } from '../base/fault.js'
import { newId } from '../base/id.js'
import { isPrivateRange, parseRange, rangesOf } from '../base/network.js'
import { keyedHash, sameBytes } from '../base/secret.js'
import type { Mode } from '../lifecycle/page.js'
import type { UserRow } from '../store/port/identity.js'
import type { CredentialRow } from '../store/port/tenants.js'
import { createFailures, type Failures } from './limits.js'
import type { TenantDeps } from './principal.js'
import { findWorkspace } from './workspace.js'

const KEYED = 'hmac-sha256$'

/** Version 4 is the random one; others hold a time and a network card. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-(.)[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const kindOf = (char: string): string =>
  /[0-9]/.test(char) ? 'digit' : /[a-z]/.test(char) ? 'small' : /[A-Z]/.test(char) ? 'capital' : 'sign'

/** In people's texts letters stand with letters and digits with digits; here the next one is often of another kind. */
const isMixed = (text: string): boolean => {
  const kinds = [...text].map(kindOf)
  const changes = kinds.filter((kind, i) => i > 0 && kind !== kinds[i - 1]).length
  return changes >= 0.4 * (kinds.length - 1)
}

/** No four characters stand twice, and few are the alphabet's or the keyboard's next. */
const isIrregular = (text: string): boolean => {
  const fours = Array.from({ length: text.length - 3 }, (_, i) => text.slice(i, i + 4))
  const steps = [...text].filter(
    (_, i) => i > 0 && Math.abs(text.charCodeAt(i) - text.charCodeAt(i - 1)) <= 1,
  )
  return new Set(fours).size >= fours.length - 1 && steps.length <= 0.4 * text.length
}

/** True for a text of 120 random bits or more that no person made up: 32 characters at least. */
export const isMachineMade = (secret: string): boolean => {
  if (!/^[A-Za-z0-9._+/=-]{32,}$/.test(secret)) return false
  const version = UUID.exec(secret)?.[1]
  if (version !== undefined && version !== '4') return false
  const text = secret.replace(/[^A-Za-z0-9]/g, '').slice(0, 256)
  if (text.length < 32 || new Set(text).size < 10 || !isIrregular(text)) return false
  return /^([0-9a-f]+|[0-9A-F]+)$/.test(text) ? /\d/.test(text) && /[a-f]/i.test(text) : isMixed(text)
}

const keyed = (pepper: Uint8Array, id: string, secret: string): Buffer =>
  keyedHash(pepper, 'credential-secret', id, secret)

const hashChosen = (secret: string): Promise<string> => bcrypt.hash(digest(secret), COST)

/** Of a secret that was brought along, for the row with this id. */
export const hashImported = async (pepper: Uint8Array, id: string, secret: string): Promise<string> =>
  isMachineMade(secret) ? KEYED + keyed(pepper, id, secret).toString('base64url') : hashChosen(secret)

/** Whether a row that is kept keyed has this secret; takes no time, and is false for every other row. */
export const isKeyedSecret = (
  pepper: Uint8Array,
  { id, hash }: Pick<CredentialRow, 'id' | 'hash'>,
  secret: string,
): boolean =>
  hash?.startsWith(KEYED) === true &&
  sameBytes(Buffer.from(hash.slice(KEYED.length), 'base64url'), keyed(pepper, id, secret))

/** Slow; as slow for a row that is kept keyed or is not there, so that the time tells nothing. */
export const isChosenSecret = async (hash: string | null, secret: string): Promise<boolean> => {
  const isSlow = hash !== null && !hash.startsWith(KEYED)
  return (await bcrypt.compare(digest(secret), isSlow ? hash : NOBODY)) && isSlow
}

interface NewCredential {
  /** Id or slug. */
  readonly workspace: string
  readonly mode?: Mode | undefined
  readonly username?: string | null | undefined
  readonly password?: string | null | undefined
  readonly cidr?: string | null | undefined
  /** SHA-256 of a client certificate, as openssl prints it or without colons. */
  readonly certificateFingerprint?: string | null | undefined
}

/** `sha256 Fingerprint=AB:CD:…`, `AB:CD:…` or `abcd…` as we keep it; null when it is no SHA-256. */
export const plainFingerprint = (text: string): string | null => {
  const plain = text
    .trim()
    .toLowerCase()
    .replace(/^sha-?256 fingerprint=/, '')
    .replaceAll(':', '')
  return /^[0-9a-f]{64}$/.test(plain) ? plain : null
}

export const loginText = (row: Pick<CredentialRow, 'username' | 'cidr' | 'certificateFingerprint'>): string =>
  row.username ?? row.cidr ?? row.certificateFingerprint ?? ''

export const checkNewCredential = (
  wish: Omit<NewCredential, 'workspace'> & { readonly imported?: boolean },
): readonly FieldError[] => {
  const errors: FieldError[] = []
  const wrong = wrongIn(errors, 'body.')
  if (wish.certificateFingerprint != null) {
    for (const field of ['username', 'password', 'cidr'] as const)
      if (wish[field] != null) wrong(field, 'forbidden', 'does not go with a certificate')
    if (plainFingerprint(wish.certificateFingerprint) === null)
      wrong('certificate_fingerprint', 'format', 'must be a SHA-256 fingerprint: 64 hexadecimal digits')
    return errors
  }
  if (wish.cidr != null) {
    if (wish.username != null) wrong('username', 'forbidden', 'an address range has no user name')
    if (wish.password != null) wrong('password', 'forbidden', 'an address range has no password')
    const range = parseRange(wish.cidr)
    if (range === null) wrong('cidr', 'format', 'must be a range such as 192.168.7.0/24')
    else if (!isPrivateRange(range)) {
      wrong('cidr', 'forbidden', 'must lie within loopback or private address space')
    }
    return errors
  }
  if (wish.username == null) wrong('username', 'missing', 'is required')
  else if (wish.username === '' || wish.username.length > 255) {
    wrong('username', 'length', 'must have 1 to 255 characters')
  } else if (/[\p{Cc}]/u.test(wish.username)) {
    wrong('username', 'format', 'must not contain control characters')
  }
  if (wish.password == null) wrong('password', 'missing', 'is required')
  else if (wish.password.length < 8 && wish.imported !== true) {
    wrong('password', 'length', 'must have at least 8 characters')
  } else if (wish.password === '') wrong('password', 'empty', 'must not be empty')
  return errors
}

/** Throws validation.request_invalid or workspace.not_found; the password is kept as a hash only. */
export const createCredential = async (
  { store, clock }: TenantDeps,
  accountId: string,
  wish: NewCredential,
): Promise<CredentialRow> => {
  throwInvalid(checkNewCredential(wish))
  const workspace = orFault(await store.workspace(accountId, wish.workspace), 'workspace.not_found')
  const now = clock.now()
  const row: CredentialRow = {
    id: newId('cred', now),
    accountId,
    workspaceId: workspace.id,
    mode: wish.mode ?? 'live',
    username: wish.username ?? null,
    hash: wish.password == null ? null : await hashChosen(wish.password),
    cidr: wish.cidr?.trim() ?? null,
    certificateFingerprint: plainFingerprint(wish.certificateFingerprint ?? ''),
    imported: false,
    createdAt: now,
    lastUsedAt: null,
    lastUsedFrom: null,
  }
  if ((await store.createCredential(row)) === 'not_unique') {
    if (row.certificateFingerprint !== null) {
      const message = 'is already a credential'
      throw invalidField('body.certificate_fingerprint', 'not_unique', message)
    }
    const field = row.cidr === null ? 'body.username' : 'body.cidr'
    throw invalidField(field, 'not_unique', 'is already taken in this workspace')
  }
  return row
}

/** At once and for good; throws credential.not_found. */
export const revokeCredential = async (
  { store }: TenantDeps,
  accountId: string,
  id: string,
): Promise<void> => {
  if (!(await store.revokeCredential(accountId, id))) throw new Fault('credential.not_found')
}

/** Finds the row that a user name and password prove. `guard` runs before any slow work and may throw. */
type VerifyPassword = (username: string, password: string, guard: () => void) => Promise<CredentialRow | null>

export const createPasswordProof = ({ store, pepper }: TenantDeps): VerifyPassword => {
  const proofs = new LRUCache<string, true>({ max: 10_000, ttl: 3_600_000 })
  const proofOf = (row: CredentialRow, password: string): string =>
    keyedHash(pepper, 'credential-proof', row.id, row.hash ?? '', password).toString('base64')
  return async (username, password, guard) => {
    const rows = (await store.credentialsByUsername(username)).filter((row) => row.hash !== null)
    const known = rows.find(
      (row) => proofs.has(proofOf(row, password)) || isKeyedSecret(pepper, row, password),
    )
    if (known !== undefined) return known
    guard()
    if (rows.length === 0) await isChosenSecret(null, password)
    for (const row of rows) {
      if (!(await isChosenSecret(row.hash, password))) continue
      proofs.set(proofOf(row, password), true)
      return row
    }
    return null
  }
}

/** Made once for each row that the store remembers. */
const rangeOfRow = new WeakMap<CredentialRow, (ip: string) => boolean>()

const holds = (row: CredentialRow, ip: string): boolean => {
  const known = rangeOfRow.get(row) ?? rangesOf(row.cidr === null ? [] : [row.cidr])
  rangeOfRow.set(row, known)
  return known(ip)
}

/** The narrowest range credential that holds this address, or null. */
export const credentialOfAddress = async (
  { store }: TenantDeps,
  ip: string,
): Promise<CredentialRow | null> => {
  let best: CredentialRow | null = null
  const width = (row: CredentialRow) => parseRange(row.cidr ?? '')?.prefix ?? -1
  for (const row of await store.credentialsByRange()) {
    if (!holds(row, ip)) continue
    if (best === null || width(row) > width(best)) best = row
  }
  return best
}

export interface ImportLine {
  /** Where it stands in the file, from 1. */
  readonly at: number
  readonly username: string
  readonly password: string
}

interface ImportOrder {
  /** Id or slug. */
  readonly workspace: string
  readonly mode: Mode
  readonly lines: readonly ImportLine[]
  /** Ends it after the last whole chunk. */
  readonly signal: AbortSignal
  /** Called after each chunk with the number of lines that are dealt with. */
  readonly progress: (done: number) => void
  readonly skipped: (line: ImportLine, why: string) => void
}

export interface Imported {
  readonly rows: readonly CredentialRow[]
  /** How many were imported before. */
  readonly there: number
  /** How many lines are no name and secret. */
  readonly wrong: number
  readonly isWhole: boolean
}

const CHUNK = 50
/** Threads of Node's pool, which is where bcrypt computes. */
const AT_ONCE = Math.min(4, availableParallelism())

/** Answers in the order of the items; without those that were not begun when it was ended. */
const inParallel = async <A, B>(
  items: readonly A[],
  signal: AbortSignal,
  work: (item: A) => Promise<B>,
): Promise<readonly B[]> => {
  const answers: B[] = []
  const queue = items.entries()
  const worker = async (): Promise<void> => {
    for (const [i, item] of queue) {
      if (signal.aborted) return
      answers[i] = await work(item)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return answers
}

const TAKEN = 'is already taken in this workspace'

/** `there`: it was imported; a text: why it can not be; null: it can. */
const lookAt = async (
  { store }: TenantDeps,
  workspaceId: string,
  line: ImportLine,
): Promise<{ readonly why: string; readonly is: 'there' | 'taken' | 'wrong' } | null> => {
  const [error] = checkNewCredential({ ...line, imported: true })
  if (error !== undefined)
    return { is: 'wrong', why: `${error.field.replace('body.', '')}: ${error.message}` }
  const rows = await store.credentialsByUsername(line.username)
  const row = rows.find((one) => one.workspaceId === workspaceId)
  return row === undefined ? null : { is: row.imported ? 'there' : 'taken', why: TAKEN }
}

/** Throws workspace.not_found. */
export const importCredentials = async (
  deps: TenantDeps,
  accountId: string,
  { workspace: ref, mode, lines, signal, progress, skipped }: ImportOrder,
): Promise<Imported> => {
  const { store, pepper, clock } = deps
  const workspace = await findWorkspace(deps, accountId, ref)
  const all: CredentialRow[] = []
  const count = { there: 0, taken: 0, wrong: 0 }
  const rowOf = async (line: ImportLine): Promise<CredentialRow> => {
    const id = newId('cred', clock.now())
    return {
      ...{ id, accountId, workspaceId: workspace.id, mode, username: line.username },
      ...{ hash: await hashImported(pepper, id, line.password), cidr: null, certificateFingerprint: null },
      ...{ imported: true, createdAt: clock.now(), lastUsedAt: null, lastUsedFrom: null },
    }
  }
  for (let from = 0; from < lines.length && !signal.aborted; from += CHUNK) {
    const fresh = new Map<string, ImportLine>()
    for (const line of lines.slice(from, from + CHUNK)) {
      const found = fresh.has(line.username)
        ? ({ is: 'taken', why: TAKEN } as const)
        : await lookAt(deps, workspace.id, line)
      if (found === null) fresh.set(line.username, line)
      else {
        count[found.is]++
        if (found.is !== 'there') skipped(line, found.why)
      }
    }
    const rows = await inParallel([...fresh.values()], signal, rowOf)
    if (signal.aborted) break
    const { taken } = await store.importCredentials(rows)
    for (const row of rows) {
      const line = fresh.get(row.username ?? '')
      if (!taken.includes(row.id)) all.push(row)
      else if (line !== undefined) skipped(line, TAKEN)
    }
    progress(Math.min(from + CHUNK, lines.length))
  }
  return { rows: all, there: count.there, wrong: count.wrong, isWhole: !signal.aborted }
}

const COST = 10
/** The hash of a lost random text: what an unknown name is measured against, so that it takes as long as a wrong password. */
const NOBODY = '$2b$10$b88se9Atff2wTjfm3Cpfy.kTvAr61E0wbYcwpIzFXNZIzhL6AZ5L6'

export const digest = (password: string): string => createHash('sha256').update(password).digest('base64')

const LEAST = 12
const MOST = 256

/** The long ones of every list of passwords that were found out; without digits, signs and repetition. */
const COMMON = new Set(
  [
    ...[
      'password',
      'passwort',
      'qwerty',
      'qwertyuiop',
      'qwertyuiopasdfghjkl',
      'asdfghjkl',
      'letmein',
      'admin',
    ],
    ...['administrator', 'welcome', 'changeme', 'iloveyou', 'correcthorsebatterystaple', 'passphrase'],
    ...[
      'trustnoone',
      'superman',
      'sunshine',
      'football',
      'baseball',
      'princess',
      'dragon',
      'monkey',
      'master',
    ],
    ...[
      'secret',
      'mypassword',
      'newpassword',
      'yourpassword',
      'thisispassword',
      'testtest',
      'test',
      'default',
    ],
    ...['postern', 'qazwsxedcrfv', 'zxcvbnm', 'abcdefghijkl', 'abcdefghijklm', 'abc', 'root', 'login'],
  ].map((word) => word.toLowerCase()),
)

/** 123456789012 and the like. */
const DIGITS = /^0?(?:1234567890?)+[0-9]{0,8}$/

/** `Password1234!` and `passwordpassword` are `password`. */
const coreOf = (password: string): string => {
  const letters = password
    .toLowerCase()
    .replace(/[^\p{L}]+$/u, '')
    .replace(/0/g, 'o')
    .replace(/[@4]/g, 'a')
    .replace(/\$/g, 's')
    .replace(/[^\p{L}]/gu, '')
  return /^(.+?)\1+$/u.exec(letters)?.[1] ?? letters
}

const isCommon = (password: string): boolean => {
  const core = coreOf(password)
  return COMMON.has(core) || new Set(password).size < 4 || DIGITS.test(password)
}

export const checkPassword = (
  password: string,
  { email }: { readonly email: string },
  field = 'body.password',
): readonly FieldError[] => {
  const length = [...password].length
  if (length < LEAST || length > MOST)
    return [{ field, kind: 'length', message: `must have ${LEAST} to ${MOST} characters` }]
  const local = email.slice(0, email.lastIndexOf('@'))
  const core = coreOf(password)
  if ([email, local].some((own) => core.length > 2 && core === coreOf(own)))
    return [{ field, kind: 'forbidden', message: 'must not be your address' }]
  return isCommon(password)
    ? [{ field, kind: 'forbidden', message: 'is one of those that everybody tries first' }]
    : []
}

const HASHED_AT_ONCE = 2
const WAITING = 20

let running = 0
const waiting: (() => void)[] = []

/** Runs slow work when there is room; throws rate_limit.auth_failures when too many wait. */
const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  if (running >= HASHED_AT_ONCE) {
    if (waiting.length >= WAITING)
      throw new Fault('rate_limit.auth_failures', {
        detail: 'Too many people sign in at this moment; retry in 2s',
        retryAfter: 2,
      })
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

export const hashPassword = (password: string): Promise<string> =>
  inTurn(() => bcrypt.hash(digest(password), COST))

/** The same work for whoever is not there, or has no password. */
const isPassword = async (password: string, hash: string | null): Promise<boolean> => {
  const isSame = await inTurn(() => bcrypt.compare(digest(password), hash ?? NOBODY))
  return isSame && hash !== null
}

interface LocalAttempt {
  readonly email: string
  readonly password: string
  readonly address: string
  /** What this browser kept of an earlier sign-in. */
  readonly device: string | null
}

/** Guesses a minute at one account from one address, or from one known browser. */
const OF_PAIR = 5
/** From everywhere, but for known browsers. */
const OF_ACCOUNT = 30

const LONGEST = 1_000

/** What a browser keeps when this person has signed in from it; opens nothing. */
export const deviceOf = ({ pepper }: TenantDeps, { id, hash }: UserRow): string =>
  keyedHash(pepper, 'known-device', id, hash ?? '').toString('base64url')

const isKnown = (deps: TenantDeps, user: UserRow | null, device: string | null): boolean =>
  user !== null && device !== null && sameBytes(Buffer.from(deviceOf(deps, user)), Buffer.from(device))

/** Guesses at what proves a person, as many a minute as are allowed. */
export const createGuesses = (deps: TenantDeps, failures: Failures, ofAccount: number) => {
  const plain = (key: string): string => key
  const pair = createFailures(deps.clock, () => OF_PAIR, plain)
  const account = createFailures(deps.clock, () => ofAccount, plain)
  return {
    /** Throws rate_limit.auth_failures when there were too many; what it gives is called for a wrong one. */
    admit(
      name: string,
      user: UserRow | null,
      { address, device }: Pick<LocalAttempt, 'address' | 'device'>,
    ): () => void {
      const known = isKnown(deps, user, device)
      const pairKey = `${name} ${known ? 'known' : address}`
      pair.check(pairKey)
      if (!known) {
        failures.check(address)
        account.check(name)
      }
      return () => {
        pair.count(pairKey)
        if (known) return
        failures.count(address)
        account.count(name)
      }
    },
  }
}

/** The person, or null. Throws rate_limit.auth_failures before any slow work. */
export type ProvePerson = (accountId: string, attempt: LocalAttempt) => Promise<UserRow | null>

export const createPersonProof = (deps: TenantDeps, failures: Failures): ProvePerson => {
  const guesses = createGuesses(deps, failures, OF_ACCOUNT)
  return async (accountId, attempt) => {
    const name = attempt.email.trim().toLowerCase().slice(0, LONGEST)
    const user = await deps.store.user(accountId, name.includes('@') ? name : '@')
    const wrong = guesses.admit(`${accountId} ${name}`, user, attempt)
    const isRight = await isPassword(attempt.password.slice(0, LONGEST), user?.hash ?? null)
    if (isRight && user !== null && user.disabledAt === null) return user
    wrong()
    return null
  }
}
