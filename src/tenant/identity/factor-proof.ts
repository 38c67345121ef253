/**
 * NAME      factor-proof - the second step of signing in
 * DESCRIPTION
 *   A code of an authenticator app, taken once (RFC 6238 §5.2), a challenge that a passkey signed, or a recovery code,
 *   which is gone then. Wrong ones are
 *   counted as wrong passwords are, per client address and per person, apart from those: whoever guesses here knows the
 *   password. A browser in which the person signed in before is counted alone.
 * NOTES
 *   Between the look at the count and the counting of a code nothing waits: many guesses at once are not more than one by
 *   one. Nobody guesses signatures.
 */
import type { FactorKind, FactorRow, UserRow } from '../../store/port/identity.js'
import type { Failures } from '../failures.js'
import type { TenantDeps } from '../principal.js'
import { hashCode, seedOf, stepOf } from './factors.js'
import { createGuesses } from './local.js'
import { signedBy } from './passkeys.js'

interface FactorAttempt {
  /** Of an app, or a recovery code; blanks and hyphens as they were typed. */
  readonly code: string
  /** What a browser says that signed with a passkey; null: the code counts. */
  readonly passkey: {
    readonly challenge: string
    readonly response: string
    readonly baseUrl: string
  } | null
  readonly address: string
  /** What this browser kept of an earlier sign-in. */
  readonly device: string | null
  /** Asked of what is right, before it is taken: whether nobody has come this far by the same sign-in. */
  readonly isFirst: () => Promise<boolean>
}

/** Which factor it was; null: it is not right; `late`: it is, and nothing was taken. Throws rate_limit.auth_failures. */
export type ProveFactor = (user: UserRow, attempt: FactorAttempt) => Promise<FactorKind | 'late' | null>

/** Guesses a minute at the codes of one person from everywhere, but for known browsers. */
const OF_PERSON = 10

/** A factor that a code is of, and what it counts to by that. */
type Match = (code: string) => { readonly row: FactorRow; readonly counter: number } | null

const matching = async ({ pepper, clock }: TenantDeps, rows: readonly FactorRow[]): Promise<Match> => {
  const now = clock.now()
  const apps: Match[] = []
  for (const row of rows) {
    const seed = row.kind === 'totp' ? seedOf(pepper, row) : null
    if (seed === null) continue
    const step = await stepOf(seed, now)
    apps.push((code) => {
      const counter = step(code)
      return counter === null ? null : { row, counter }
    })
  }
  return (code) => {
    if (/^\d{6}$/.test(code)) {
      for (const app of apps) {
        const found = app(code)
        if (found !== null) return found
      }
      return null
    }
    const row = rows.find(
      ({ kind, userId, lookup }) => kind === 'recovery' && lookup === hashCode(pepper, userId, code),
    )
    return row === undefined ? null : { row, counter: 0 }
  }
}

/** What takeFactor would refuse; a recovery code that was used is not there. */
const isUsed = ({ row, counter }: NonNullable<ReturnType<Match>>): boolean =>
  row.kind !== 'recovery' && counter <= row.counter && (row.kind === 'totp' || row.counter > 0)

const MOST_TYPED = 100

export const createFactorProof = (deps: TenantDeps, failures: Failures): ProveFactor => {
  const guesses = createGuesses(deps, failures, OF_PERSON)
  return async (user, attempt) => {
    const { id, accountId } = user
    const rows = await deps.store.factors(id)
    const match = await matching(deps, rows)
    const wrong = guesses.admit(`${accountId} ${id}`, user, attempt)
    const { passkey } = attempt
    const found =
      passkey === null
        ? match(attempt.code.slice(0, MOST_TYPED).toLowerCase().replace(/[\s-]/g, ''))
        : await signedBy(passkey.baseUrl, rows, passkey.challenge, passkey.response)
    if (found === null || isUsed(found)) {
      wrong()
      return null
    }
    if (!(await attempt.isFirst())) return 'late'
    const { address } = attempt
    const actor = { kind: 'person', id, name: user.email, address } as const
    const { row, counter } = found
    const isTaken = await deps.store.by(actor).takeFactor(accountId, id, row.id, counter, deps.clock.now())
    if (isTaken) return row.kind
    wrong()
    return null
  }
}
