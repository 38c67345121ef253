/**
 * NAME      password - an address and a password prove a person
 * DESCRIPTION
 *   Kept as bcrypt over base64(SHA-256), because bcrypt ignores whatever follows byte 72 and stops at a NUL.
 *   Length is what counts: 12 characters or more, no rules about their kinds; the few long ones that
 *   everybody tries are refused. bcrypt takes some 50 ms by design: two run at once, a few wait, and who
 *   comes after them is told to come again.
 *   Guesses are counted per client address, per account and address, and per account. Who signed in from a
 *   browser before has a proof of that (`device`) and is not kept out by what others do: he is counted
 *   alone. It is made of the password's hash, so that another password ends it. Unknown people, people
 *   without a password and those that are disabled are the one answer of a wrong password, after the same
 *   work.
 */
import { createHash } from 'node:crypto'
import bcrypt from 'bcrypt'
import { Fault, type FieldError } from '../base/fault.js'
import { keyedHash, sameBytes } from '../base/secret.js'
import type { UserRow } from '../store/port/identity.js'
import { createFailures, type Failures } from './limits.js'
import type { TenantDeps } from './principal.js'

export const COST = 10
/** The hash of a lost random text: what an unknown name is measured against, so that it takes as long as a wrong password. */
export const NOBODY = '$2b$10$b88se9Atff2wTjfm3Cpfy.kTvAr61E0wbYcwpIzFXNZIzhL6AZ5L6'

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

/** What is wrong with a new password of this person. */
export const checkPassword = (
  password: string,
  { email }: { readonly email: string },
  field = 'body.password',
): readonly FieldError[] => {
  const length = [...password].length
  if (length < LEAST || length > MOST) {
    return [{ field, kind: 'length', message: `must have ${LEAST} to ${MOST} characters` }]
  }
  const local = email.slice(0, email.lastIndexOf('@'))
  const core = coreOf(password)
  if ([email, local].some((own) => core.length > 2 && core === coreOf(own))) {
    return [{ field, kind: 'forbidden', message: 'must not be your address' }]
  }
  return isCommon(password)
    ? [{ field, kind: 'forbidden', message: 'is one of those that everybody tries first' }]
    : []
}

const AT_ONCE = 2
const WAITING = 20

let running = 0
const waiting: (() => void)[] = []

/** Runs slow work when there is room; throws rate_limit.auth_failures when too many wait. */
const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  if (running >= AT_ONCE) {
    if (waiting.length >= WAITING) {
      throw new Fault('rate_limit.auth_failures', {
        detail: 'Too many people sign in at this moment; retry in 2s',
        retryAfter: 2,
      })
    }
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
