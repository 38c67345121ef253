/**
 * NAME      words - why somebody did not get in, for him and for who runs Postern
 */
import type { SignedIn } from '../../../store/port/tenants/identity.js'
import type { Refusal } from './admission.js'

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
  disabled: () => ({
    says: 'Your account is disabled.',
    check: 'an owner enables it (Settings, People)',
  }),
}
