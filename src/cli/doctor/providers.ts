/**
 * NAME      providers - can people sign in?
 * DESCRIPTION
 *   Asks every provider what it says of itself and for its keys. Nobody is signed
 *   in: a wrong client or secret shows only when somebody is.
 */
import { systemClock } from '../../base/clock.js'
import { labelOf, type Provider as Settings } from '../../config/identity.js'
import { createProviders, type Providers } from '../../dashboard/sign-in/deps.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

const NOBODY = warn(
  'identity',
  'identity.local is false and there is no provider: only links of postern setup-link let anybody in',
  'set identity.local: true, or identity.oidc',
)

/** Who gets in there. */
const rulesText = ({ allowed_domains, allowed_groups }: Settings): string => {
  const rules = [
    ...(allowed_domains.length > 0 ? ['allowed_domains'] : []),
    ...(allowed_groups === null ? [] : ['allowed_groups']),
  ]
  return rules.length === 0
    ? 'who is invited gets in'
    : `who is invited, or of ${rules.join(' or ')}, gets in`
}

const judge = async (providers: Providers, one: Settings): Promise<Finding> => {
  const name = `${labelOf(one)} (${one.issuer})`
  const { ProviderTrouble, checkOf } = await import('../../dashboard/sign-in/provider.js')
  try {
    const found = await (await providers.find(one.name))?.examine()
    const out = found?.signsOut === false ? '; it has no place to sign out' : ''
    return ok('identity', `${name} answers; ${rulesText(one)}${out}`)
  } catch (error) {
    if (!(error instanceof ProviderTrouble)) throw error
    const isBroken = error.kind === 'metadata' || error.kind === 'keys' || error.kind === 'files'
    // others may still sign in, and mail does not ask
    if (!isBroken) return warn('identity', `${name}: ${error.detail}`, checkOf(error))
    return fail('identity', `${name}: ${error.detail}`, checkOf(error), error.kind === 'files' ? 78 : 69)
  }
}

export const checkProviders: Check = async ({ config }) => {
  const { local, oidc } = config.identity
  if (oidc.length === 0) return local ? [] : [NOBODY]
  const providers = createProviders(oidc, systemClock)
  try {
    return await Promise.all(oidc.map((one) => judge(providers, one)))
  } finally {
    await providers.close()
  }
}
