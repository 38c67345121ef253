/**
 * NAME      factors - what somebody proves beside the password
 * DESCRIPTION
 *   For people with a password here: who comes by an identity provider has its second factor. It is added in two calls:
 *   the first gives a secret and an `enrolment`, in which that secret is sealed for its person; the second proves that
 *   the device has it. Nothing is stored in between, so a form that nobody sends leaves nothing behind.
 *   Seeds are sealed with the pepper, under a purpose that names the person; recovery codes are kept as peppered hashes.
 */
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { newId } from '../../base/id.js'
import { keyedHash, randomText, seal, unseal } from '../../base/secret.js'
import type { FactorRow, UserRow } from '../../store/port/identity.js'
import type { Principal, TenantDeps } from '../principal.js'
import { isPerson } from '../rights.js'
import { creationOptions, madePasskey, passkeySite } from './passkeys.js'
import { findPerson, type ProveAgain, provePassword } from './people.js'

const ENROLMENT = 'second factor enrolment'
const ENROL_MS = 600_000
/** Of one person. */
const MOST = 20
const CODES = 10
/** No letter or digit that looks like another. */
const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz'
const STEP_MS = 30_000

/** Under which a seed of this person is sealed. */
const seedPurpose = (userId: string): string => `second factor of ${userId}`

export const hashCode = (pepper: Uint8Array, userId: string, code: string): string =>
  keyedHash(pepper, 'recovery code', userId, code).toString('base64url')

/** The seed of an authenticator app; null when it was sealed with another pepper. */
export const seedOf = (pepper: Uint8Array, { userId, secret }: FactorRow): string | null => {
  try {
    return unseal(pepper, seedPurpose(userId), secret)
  } catch {
    return null
  }
}

/** The step of time whose code this is (RFC 6238), the last one or the next included; null for a wrong one. */
export const stepOf = async (seed: string, now: number): Promise<(code: string) => number | null> => {
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
  throw invalid([{ field: 'body.enrolment', kind: 'forbidden', message: 'is too old: begin again' }])
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

export type BegunFactor = { readonly enrolment: string } & (
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

export interface AddedFactor {
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
  if (there.filter(({ kind }) => kind !== 'recovery').length >= MOST) {
    throw new Fault('resource.conflict', { reason: 'too_many', detail: `Nobody has more than ${MOST}` })
  }
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
  if (by !== null && isPerson(by, user.id)) {
    throw new Fault('resource.conflict', {
      reason: 'own',
      detail: 'Your own are removed in your settings, one by one, with your password',
    })
  }
  await deps.store.resetFactors(accountId, user.id)
  return findPerson(deps, accountId, user.id)
}
