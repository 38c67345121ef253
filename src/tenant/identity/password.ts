/**
 * NAME      password - what people choose to sign in with
 * DESCRIPTION
 *   Kept as bcrypt over base64(SHA-256), because bcrypt ignores whatever follows
 *   byte 72 and stops at a NUL. Length is what counts: 12 characters or more, no
 *   rules about their kinds; the few long ones that everybody tries are refused.
 *   bcrypt takes some 50 ms by design: two run at once, a few wait, and who comes
 *   after them is told to come again.
 */
import { createHash } from 'node:crypto'
import bcrypt from 'bcrypt'
import { Fault, type FieldError } from '../../base/fault.js'

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
export const isPassword = async (password: string, hash: string | null): Promise<boolean> => {
  const isSame = await inTurn(() => bcrypt.compare(digest(password), hash ?? NOBODY))
  return isSame && hash !== null
}
