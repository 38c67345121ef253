/**
 * NAME      admission - who may come in through a provider
 * DESCRIPTION
 *   Nobody, but for those who were invited (whatever their address), and those
 *   whom allowed_domains or allowed_groups name. Whoever came by such a rule must
 *   still be named by one when he comes again. With role_from the provider's word
 *   about the role wins, and who has none there is refused, invited or not.
 *   Pure: what is asked of the store is asked before.
 */
import type { Provider, Role } from '../../../config/identity.js'
import { ROLES } from '../../../config/identity.js'
import { addressIn, domainOf, isVerified, type Told, valuesOf } from './claims.js'

export type Refusal = 'not_invited' | 'not_verified' | 'no_role' | 'no_address'

export type Admission =
  | { readonly refused: Refusal }
  | {
      readonly refused: null
      /** null: as it is. */
      readonly role: Role | null
      /** For who is new. */
      readonly firstRole: Role
      /** By a rule, which is looked at again each time. */
      readonly byRule: boolean
    }

interface Applicant {
  readonly told: Told
  /** Brings an invitation that can still be used. */
  readonly invited: { readonly role: Role } | null
  /** Came before: by a rule, or by an invitation. */
  readonly known: 'by_rule' | 'by_invitation' | null
}

type Rules = Pick<
  Provider,
  'allowed_domains' | 'allowed_groups' | 'trust_email' | 'default_role' | 'role_from'
>

/** The highest role that the provider's values map to; null when none does. */
const roleFrom = (told: Told, rule: NonNullable<Provider['role_from']>): Role | null => {
  const given = valuesOf(told, rule.claim).flatMap((value) =>
    Object.hasOwn(rule.map, value) ? [rule.map[value]] : [],
  )
  return ROLES.find((role) => given.includes(role)) ?? null
}

type Named = 'yes' | 'no' | 'not_verified'

const namedByDomain = (rules: Rules, told: Told): Named => {
  const address = addressIn(told)
  const isTheirs =
    address !== null && rules.allowed_domains.some((one) => domainOf(`@${one}`) === domainOf(address))
  if (!isTheirs) return 'no'
  return rules.trust_email || isVerified(told) ? 'yes' : 'not_verified'
}

const namedByGroup = ({ allowed_groups: rule }: Rules, told: Told): Named =>
  rule !== null && valuesOf(told, rule.claim).some((one) => rule.values.includes(one)) ? 'yes' : 'no'

const named = (rules: Rules, told: Told): Named =>
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
