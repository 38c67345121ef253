/**
 * NAME      admission - who may come in through a provider
 *   Reads the claims of an ID token and of userinfo. Every value is a stranger's: of any type, of any length, and nothing
 *   is believed that is not asked for.
 *   Let in are those who were invited (whatever their address), and those whom allowed_domains or allowed_groups name.
 *   Whoever came by such a rule must still be named by one when he comes again. With role_from the provider's word about
 *   the role wins, and who has none there is refused, invited or not. Pure: what is asked of the store is asked before.
 */
import { domainToASCII } from 'node:url'
import { ROLES, type Role, type SignInProvider } from '../../config/identity.js'
import type { SignedIn } from '../../store/port/identity.js'

export type Claims = Readonly<Record<string, unknown>>

/** Of one person, as told by one provider. */
export interface ToldPerson {
  readonly issuer: string
  readonly subject: string
  readonly idToken: Claims
  readonly userinfo: Claims
}

const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A name may hold dots itself (`https://example.com/roles`): the longest that is there leads on. */
const valueAt = (claims: unknown, path: string): unknown => {
  if (!isObject(claims)) return undefined
  if (Object.hasOwn(claims, path)) return claims[path]
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const name = path.slice(0, dot)
    if (Object.hasOwn(claims, name)) return valueAt(claims[name], path.slice(dot + 1))
  }
  return undefined
}

/** Lists as Keycloak has them, a single word, or the keys of an object as Zitadel has them. */
const wordsOf = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.filter((one) => typeof one === 'string')
  return isObject(value) ? Object.keys(value) : []
}

/** What stands at this path in the ID token, else in userinfo. */
export const valuesOf = ({ idToken, userinfo }: ToldPerson, path: string): readonly string[] =>
  wordsOf(valueAt(idToken, path) ?? valueAt(userinfo, path))

const textOf = ({ idToken, userinfo }: ToldPerson, name: string, most: number): string | null => {
  const value = idToken[name] ?? userinfo[name]
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' || text.length > most || /[\u0000-\u001f\u007f\p{Surrogate}]/u.test(text) ? null : text
}

const ADDRESS = /^[^\s@<>"(),;:\\]+@[^\s@<>"(),;:\\]+$/

/** The person's address in lower case; null when there is none, or nothing that looks like one. */
export const addressIn = (told: ToldPerson): string | null => {
  const text = textOf(told, 'email', 254)?.toLowerCase() ?? null
  return text !== null && ADDRESS.test(text) ? text : null
}

/** Some say it as text. It must come from where the address came from. */
const isVerified = ({ idToken, userinfo }: ToldPerson): boolean => {
  const source = idToken.email === undefined ? userinfo : idToken
  return source.email_verified === true || source.email_verified === 'true'
}

export const nameIn = (told: ToldPerson): string | null => textOf(told, 'name', 200)

/** In ASCII and lower case, so that two spellings of a domain are one. */
const domainOf = (address: string): string => domainToASCII(address.slice(address.lastIndexOf('@') + 1))

type Refusal = 'not_invited' | 'not_verified' | 'no_role' | 'no_address'

export type Admission =
  | { readonly refused: Refusal }
  | {
      readonly refused: null
      readonly role: Role | null
      readonly firstRole: Role
      /** By a rule, which is looked at again each time. */
      readonly byRule: boolean
    }

interface Applicant {
  readonly told: ToldPerson
  readonly invited: { readonly role: Role } | null
  /** Came before: by a rule, or by an invitation. */
  readonly known: 'by_rule' | 'by_invitation' | null
}

type Rules = Pick<
  SignInProvider,
  'allowed_domains' | 'allowed_groups' | 'trust_email' | 'default_role' | 'role_from'
>

/** The highest role that the provider's values map to; null when none does. */
const roleFrom = (told: ToldPerson, rule: NonNullable<SignInProvider['role_from']>): Role | null => {
  const given = valuesOf(told, rule.claim).flatMap((value) =>
    Object.hasOwn(rule.map, value) ? [rule.map[value]] : [],
  )
  return ROLES.find((role) => given.includes(role)) ?? null
}

type Named = 'yes' | 'no' | 'not_verified'

const namedByDomain = (rules: Rules, told: ToldPerson): Named => {
  const address = addressIn(told)
  const isTheirs =
    address !== null && rules.allowed_domains.some((one) => domainOf(`@${one}`) === domainOf(address))
  if (!isTheirs) return 'no'
  return rules.trust_email || isVerified(told) ? 'yes' : 'not_verified'
}

const namedByGroup = ({ allowed_groups: rule }: Rules, told: ToldPerson): Named =>
  rule !== null && valuesOf(told, rule.claim).some((one) => rule.values.includes(one)) ? 'yes' : 'no'

const named = (rules: Rules, told: ToldPerson): Named =>
  namedByGroup(rules, told) === 'yes' ? 'yes' : namedByDomain(rules, told)

export const admit = (rules: Rules, { told, invited, known }: Applicant, defaultRole: Role): Admission => {
  const byInvitation = invited !== null || known === 'by_invitation'
  if (!byInvitation) {
    const said = named(rules, told)
    if (said === 'not_verified') return { refused: 'not_verified' }
    if (said === 'no') return { refused: 'not_invited' }
  }
  if (rules.role_from !== null) {
    const role = roleFrom(told, rules.role_from)
    return role === null
      ? { refused: 'no_role' }
      : { refused: null, role, firstRole: role, byRule: !byInvitation }
  }
  const firstRole = invited?.role ?? rules.default_role ?? defaultRole
  return { refused: null, role: null, firstRole, byRule: !byInvitation }
}

interface Said {
  readonly says: string
  readonly check: string
}

export const refusalSaid = (refusal: Refusal | Exclude<SignedIn, 'done'>, label: string): Said =>
  REFUSALS[refusal](label)

const REFUSALS: Readonly<Record<Refusal | Exclude<SignedIn, 'done'>, (label: string) => Said>> = {
  not_invited: (label) => ({
    says: `${label} knows you, but nobody let you into Postern yet.`,
    check:
      'an owner invites (Settings, People), or allowed_domains or allowed_groups of the provider names who may',
  }),
  not_verified: (label) => ({
    says: `${label} does not say that your mail address is verified, so it is not believed.`,
    check:
      'have the provider verify it and send email_verified, or set trust_email for a provider that gives out addresses itself; an invitation works too',
  }),
  no_role: (label) => ({
    says: `${label} gives you no role that Postern knows.`,
    check: 'compare role_from of the provider with what it sends; it must be in the ID token or in userinfo',
  }),
  no_address: (label) => ({
    says: `${label} sent no mail address, and a person needs one.`,
    check: 'add email to the scopes of the provider, or invite with an address',
  }),
  link_used: () => ({
    says: 'This invitation was used already, or is too old.',
    check: 'an owner makes another one (Settings, People)',
  }),
  not_unique: () => ({
    says: 'Somebody with this mail address, or from this provider, is here already.',
    check: 'an owner looks at Settings, People: addresses are never joined by themselves',
  }),
  disabled: () => ({ says: 'Your account is disabled.', check: 'an owner enables it (Settings, People)' }),
}
