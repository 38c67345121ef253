/**
 * NAME      factors - what a person proves beside the password, and the second step of signing in
 *   For people with a password here: who comes by an identity provider has its second factor. It is added in
 *   two calls: the first gives a secret and an `enrolment`, in which that secret is sealed for its person;
 *   the second proves that the device has it. Nothing is stored in between, so a form that nobody sends
 *   leaves nothing behind. Seeds are sealed with the pepper, under a purpose that names the person; recovery
 *   codes are kept as peppered hashes.
 *   A passkey belongs to the host of base_url, never to what a request says: a page of elsewhere gets no
 *   signature that is good here. It is a second step, so that the person was there is enough (user
 *   verification is asked for, and not demanded); what made the key is not asked (attestation `none`).
 *     A code of an authenticator app, taken once (RFC 6238 §5.2), a challenge that a passkey signed, or a recovery
 *     code, which is gone then. Wrong ones are
 *     counted as wrong passwords are, per client address and per person, apart from those: whoever guesses here knows
 *     the password. A browser in which the person signed in before is counted alone.
 *   NOTES
 *     Between the look at the count and the counting of a code nothing waits: many guesses at once are not more than
 *     one by one. Nobody guesses signatures.
 */
import { isIP } from 'node:net'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { Fault, type FieldError, invalid, invalidField, orElse } from '../base/fault.js'
import { newId } from '../base/id.js'
import { keyedHash, randomText, seal, unseal } from '../base/secret.js'
import type { FactorKind, FactorRow, UserRow } from '../store/port/identity.js'
import { createGuesses } from './credential.js'
import type { Failures } from './limits.js'
import { findPerson, type ProveAgain, provePassword } from './people.js'
import type { Principal, TenantDeps } from './principal.js'
import { isPerson } from './rights.js'

interface PasskeySite {
  readonly rpId: string
  readonly origin: string
}

/** Ed25519, ES256 and RS256 (RFC 9053). */
const ALGORITHMS = [-8, -7, -257]
const TIMEOUT_MS = 300_000

/** Where passkeys belong; a sentence where there can be none. */
export const passkeySite = (baseUrl: string): PasskeySite | string => {
  const { hostname, protocol, origin } = new URL(baseUrl)
  const isHere = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0)
    return `Passkeys need a host name, and this is the IP address ${hostname}: base_url says so.`
  if (protocol !== 'https:' && !isHere) return 'Passkeys need https, and base_url has none.'
  return { rpId: hostname, origin }
}

const passkeysIn = (rows: readonly FactorRow[]): readonly FactorRow[] =>
  rows.filter(({ kind }) => kind === 'passkey')

/** What the browser is asked to make a passkey with. */
const creationOptions = async (
  { rpId }: PasskeySite,
  { id, email, name }: UserRow,
  rows: readonly FactorRow[],
): Promise<PublicKeyCredentialCreationOptionsJSON> => {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: 'Postern',
    rpID: rpId,
    userName: email,
    userDisplayName: name ?? email,
    userID: new Uint8Array(Buffer.from(id)),
    attestationType: 'none',
    timeout: TIMEOUT_MS,
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: passkeysIn(rows).map(({ lookup }) => ({ id: lookup })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
  })
}

/** What a browser said, as a script of ours wrote it down; null for anything else. */
const read = (text: string): unknown => orElse(() => JSON.parse(text), null)

interface NewPasskey {
  readonly lookup: string
  readonly secret: string
  readonly counter: number
}

/** The passkey that a browser made for this challenge; null where it does not hold. */
const madePasskey = async (
  { rpId, origin }: PasskeySite,
  challenge: string,
  said: string,
): Promise<NewPasskey | null> => {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: read(said) as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (registrationInfo === undefined) return null
    const { id, publicKey, counter } = registrationInfo.credential
    return { lookup: id, secret: Buffer.from(publicKey).toString('base64url'), counter }
  } catch {
    // the library throws for whatever does not hold
    return null
  }
}

/** A challenge as it travels: octets in base64url. */
const asChallenge = (text: string): string => Buffer.from(text).toString('base64url')

/** What the browser is asked to sign; null where the person has no passkey, or there can be none here. */
export const requestOptions = (
  baseUrl: string,
  rows: readonly FactorRow[],
  challenge: string,
): PublicKeyCredentialRequestOptionsJSON | null => {
  const site = passkeySite(baseUrl)
  const passkeys = passkeysIn(rows)
  if (typeof site === 'string' || passkeys.length === 0) return null
  return {
    challenge: asChallenge(challenge),
    rpId: site.rpId,
    allowCredentials: passkeys.map(({ lookup }) => ({ id: lookup, type: 'public-key' })),
    timeout: TIMEOUT_MS,
    userVerification: 'preferred',
  }
}

/** Which passkey of these signed the challenge, and what it counts to now; null for any other answer. */
export const signedBy = async (
  baseUrl: string,
  rows: readonly FactorRow[],
  challenge: string,
  said: string,
): Promise<{ readonly row: FactorRow; readonly counter: number } | null> => {
  const site = passkeySite(baseUrl)
  const response = read(said)
  const { id } = (response ?? {}) as { readonly id?: unknown }
  const row = passkeysIn(rows).find(({ lookup }) => lookup === id)
  if (typeof site === 'string' || row === undefined) return null
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: asChallenge(challenge),
      expectedOrigin: site.origin,
      expectedRPID: site.rpId,
      requireUserVerification: false,
      credential: {
        id: row.lookup,
        publicKey: new Uint8Array(Buffer.from(row.secret, 'base64url')),
        counter: row.counter,
      },
    })
    return verified ? { row, counter: authenticationInfo.newCounter } : null
  } catch {
    // the library throws for whatever does not hold
    return null
  }
}

const ENROLMENT = 'second factor enrolment'
const ENROL_MS = 600_000
const MOST = 20
const CODES = 10
/** No letter or digit that looks like another. */
const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz'
const STEP_MS = 30_000

const seedPurpose = (userId: string): string => `second factor of ${userId}`

const hashCode = (pepper: Uint8Array, userId: string, code: string): string =>
  keyedHash(pepper, 'recovery code', userId, code).toString('base64url')

/** The seed of an authenticator app; null when it was sealed with another pepper. */
export const seedOf = (pepper: Uint8Array, { userId, secret }: FactorRow): string | null =>
  orElse(() => unseal(pepper, seedPurpose(userId), secret), null)

/** The step of time whose code this is (RFC 6238), the last one or the next included; null for a wrong one. */
const stepOf = async (seed: string, now: number): Promise<(code: string) => number | null> => {
  const { Secret, TOTP } = await import('otpauth')
  const totp = new TOTP({ secret: Secret.fromBase32(seed) })
  return (code) => {
    const delta = totp.validate({ token: code, timestamp: now, window: 1 })
    return delta === null ? null : Math.floor(now / STEP_MS) + delta
  }
}

type Enrolment = {
  readonly id: string
  readonly userId: string
  readonly until: number
} & (
  | { readonly kind: 'totp'; readonly seed: string }
  | { readonly kind: 'passkey'; readonly challenge: string }
)

const readEnrolment = ({ pepper, clock }: TenantDeps, user: UserRow, sealed: string): Enrolment => {
  let found: Enrolment | null = null
  try {
    found = JSON.parse(unseal(pepper, ENROLMENT, sealed)) as Enrolment
  } catch {}
  if (found !== null && found.userId === user.id && clock.now() < found.until) return found
  throw invalidField('body.enrolment', 'forbidden', 'is too old: begin again')
}

/** The person whose own factors these are. Throws resource.conflict for who has no password here. */
const localPerson = ({ person }: Principal): UserRow => {
  if (person === null) throw new Fault('resource.conflict', { reason: 'no_person' })
  if (person.hash !== null) return person
  throw new Fault('resource.conflict', {
    reason: 'no_password',
    detail:
      'You have no password here: your identity provider asks for a second factor, or a setup link gives you one',
  })
}

interface Changing {
  readonly currentPassword: string
  readonly prove: ProveAgain
}

/** Who changes them proves the password again, but for half an hour after a setup link. */
const owner = async (deps: TenantDeps, principal: Principal, by: Changing): Promise<UserRow> => {
  const user = localPerson(principal)
  await provePassword(deps, principal, user, by.currentPassword, by.prove)
  return user
}

type BegunFactor = { readonly enrolment: string } & (
  | {
      readonly kind: 'totp'
      /** In base32, for who cannot read the picture. */
      readonly secret: string
      /** `otpauth://`, for a picture of it. */
      readonly uri: string
    }
  | { readonly kind: 'passkey'; readonly options: object }
)

interface Beginning extends Changing {
  readonly kind: 'totp' | 'passkey'
  readonly baseUrl: string
}

/** What a device is given to become a factor; nothing is in use yet. Throws resource.conflict where there can be no passkeys. */
export const beginFactor = async (
  deps: TenantDeps,
  principal: Principal,
  { kind, baseUrl, ...by }: Beginning,
): Promise<BegunFactor> => {
  const user = await owner(deps, principal, by)
  const now = deps.clock.now()
  const about = { id: newId('fac', now), userId: user.id, until: now + ENROL_MS }
  const sealed = (wish: Enrolment): string => seal(deps.pepper, ENROLMENT, JSON.stringify(wish))
  if (kind === 'passkey') {
    const site = siteOf(baseUrl)
    const options = await creationOptions(site, user, await deps.store.factors(user.id))
    return { kind, options, enrolment: sealed({ ...about, kind, challenge: options.challenge }) }
  }
  const { Secret, TOTP } = await import('otpauth')
  const secret = new Secret({ size: 20 })
  const issuer = `Postern ${new URL(baseUrl).hostname}`
  return {
    ...{ kind, secret: secret.base32, enrolment: sealed({ ...about, kind, seed: secret.base32 }) },
    uri: new TOTP({ issuer, label: user.email, secret }).toString(),
  }
}

const siteOf = (baseUrl: string) => {
  const site = passkeySite(baseUrl)
  if (typeof site !== 'string') return site
  throw new Fault('resource.conflict', { reason: 'no_passkeys', detail: site })
}

const newCodes = ({ pepper, clock }: TenantDeps, { accountId, id: userId }: UserRow) => {
  const now = clock.now()
  const codes = Array.from({ length: CODES }, () => randomText(10, LETTERS))
  const rows = codes.map(
    (code): FactorRow => ({
      ...{ id: newId('fac', now), accountId, userId, kind: 'recovery', name: '' },
      ...{ lookup: hashCode(pepper, userId, code), secret: '', counter: 0, createdAt: now, lastUsedAt: null },
    }),
  )
  return { rows, codes: codes.map((code) => `${code.slice(0, 5)}-${code.slice(5)}`) }
}

interface NewFactor {
  readonly enrolment: string
  readonly name?: string | null | undefined
  /** Of an app. */
  readonly code?: string | null | undefined
  /** Of a browser that made a passkey. */
  readonly response?: string | null | undefined
  readonly baseUrl: string
}

interface AddedFactor {
  readonly row: FactorRow
  /** Shown once; null where the person had a factor before. */
  readonly codes: readonly string[] | null
}

const wrongName = (name: string): readonly FieldError[] =>
  name === '' || name.length > 100 || /\p{Cc}/u.test(name)
    ? [{ field: 'body.name', kind: 'length', message: 'must have 1 to 100 characters' }]
    : []

type Proved = Pick<FactorRow, 'lookup' | 'secret' | 'counter'>

const wrongProof = (field: string, message: string): FieldError => ({ field, kind: 'forbidden', message })

/** What is kept of a device that proved what it was given; else what is wrong. */
const provedBy = async (
  { pepper, clock }: TenantDeps,
  enrolment: Enrolment,
  { code, response, baseUrl }: NewFactor,
): Promise<Proved | FieldError> => {
  if (enrolment.kind === 'passkey') {
    const made = await madePasskey(siteOf(baseUrl), enrolment.challenge, response ?? '')
    return made ?? wrongProof('body.response', 'is no passkey that was made for this')
  }
  const { id, seed, userId } = enrolment
  const step = (await stepOf(seed, clock.now()))((code ?? '').replace(/\s/g, ''))
  if (step === null)
    return wrongProof('body.code', 'is not the code of this moment: look at the app again, and at its clock')
  // the code that proved it opens nothing any more
  return { lookup: id, secret: seal(pepper, seedPurpose(userId), seed), counter: step }
}

const NAMES = { totp: 'Authenticator app', passkey: 'Passkey' } as const

/** The factor that an enrolment and its proof make. Throws validation.request_invalid. */
const madeOf = async (deps: TenantDeps, user: UserRow, wish: NewFactor): Promise<FactorRow> => {
  const enrolment = readEnrolment(deps, user, wish.enrolment)
  const { id, kind } = enrolment
  const name = (wish.name ?? NAMES[kind]).trim()
  const proved = await provedBy(deps, enrolment, wish)
  const wrong = 'field' in proved ? [proved] : []
  const errors = [...wrongName(name), ...wrong]
  if (errors.length > 0 || 'field' in proved) throw invalid(errors)
  return {
    ...{ id, accountId: user.accountId, userId: user.id, kind, name, ...proved },
    ...{ createdAt: deps.clock.now(), lastUsedAt: null },
  }
}

/** Adds what was begun, once it is proved. The first one ends the person's other sessions, and brings recovery codes. */
export const addFactor = async (
  deps: TenantDeps,
  principal: Principal,
  wish: NewFactor,
): Promise<AddedFactor> => {
  const user = localPerson(principal)
  const row = await madeOf(deps, user, wish)
  const there = await deps.store.factors(user.id)
  if (there.filter(({ kind }) => kind !== 'recovery').length >= MOST)
    throw new Fault('resource.conflict', { reason: 'too_many', detail: `Nobody has more than ${MOST}` })
  const { rows, codes } = newCodes(deps, user)
  const done = await deps.store.addFactor(row, rows, principal.id)
  if (done === 'disabled') throw new Fault('user.not_found')
  if (done !== 'done') {
    const detail = 'This one was added before; a passkey belongs to one person only'
    throw new Fault('resource.conflict', { reason: 'added_already', detail })
  }
  return { row, codes: user.hasFactor ? null : codes }
}

/** Throws factor.not_found. */
export const removeFactor = async (
  deps: TenantDeps,
  principal: Principal,
  id: string,
  by: Changing,
): Promise<void> => {
  const user = await owner(deps, principal, by)
  if (!(await deps.store.removeFactor(user.accountId, user.id, id))) throw new Fault('factor.not_found')
}

/** Others in place of those that are left. Throws resource.conflict for who has no factor. */
export const replaceRecoveryCodes = async (
  deps: TenantDeps,
  principal: Principal,
  by: Changing,
): Promise<readonly string[]> => {
  const user = await owner(deps, principal, by)
  const { rows, codes } = newCodes(deps, user)
  if (await deps.store.replaceRecoveryCodes(user.accountId, user.id, rows)) return codes
  throw new Fault('resource.conflict', {
    reason: 'no_factor',
    detail: 'Recovery codes stand in for a second factor: add one first',
  })
}

/** Takes all of a person who lost them; the password alone signs in then. Throws user.not_found. */
export const resetFactors = async (
  deps: TenantDeps,
  accountId: string,
  ref: string,
  by: Principal | null = null,
): Promise<UserRow> => {
  const user = await findPerson(deps, accountId, ref)
  if (by !== null && isPerson(by, user.id))
    throw new Fault('resource.conflict', {
      reason: 'own',
      detail: 'Your own are removed in your settings, one by one, with your password',
    })
  await deps.store.resetFactors(accountId, user.id)
  return findPerson(deps, accountId, user.id)
}

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
