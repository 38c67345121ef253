/**
 * NAME      local - an address and a password prove a person
 * DESCRIPTION
 *   Guesses are counted per client address, per account and address, and per
 *   account. Who signed in from a browser before has a proof of that (`device`)
 *   and is not kept out by what others do: he is counted alone. It is made of the
 *   password's hash, so that another password ends it.
 *   Unknown people, people without a password and those that are disabled are the
 *   one answer of a wrong password, after the same work.
 */
import { keyedHash, sameBytes } from '../../base/secret.js'
import type { UserRow } from '../../store/port/identity.js'
import { createFailures, type Failures } from '../failures.js'
import type { TenantDeps } from '../principal.js'
import { isPassword } from './password.js'

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
