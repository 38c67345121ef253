/**
 * NAME      deps - what the steps of sign-in stand on
 */
import type { Log } from '../../base/log.js'
import { randomText } from '../../base/secret.js'
import { type IdentitySettings, labelOf } from '../../config/identity.js'
import type { ProveFactor } from '../../tenant/identity/factor-proof.js'
import type { ProvePerson } from '../../tenant/identity/local.js'
import type { TenantDeps } from '../../tenant/principal.js'
import type { Assets } from '../assets/assets.js'
import { guestTokenOf, isOwnOrigin, sameToken } from '../own-form.js'
import type { Asked, Reply } from './exchange.js'
import type { Providers } from './providers.js'
import { returnPath } from './return-path.js'
import { type WrongWay, wrongWay } from './seen.js'
import { messagePage, type ProviderLink, wrongWayPage } from './views.js'

export interface SignInDeps {
  readonly tenant: TenantDeps
  readonly accountId: string
  readonly provePerson: ProvePerson
  readonly proveFactor: ProveFactor
  readonly settings: IdentitySettings
  /** Known once the listener listens. */
  readonly baseUrl: () => string
  readonly log: Log
  readonly assets: Assets
  readonly providers: Providers
}

const GUEST = /^[0-9A-Za-z]{32}$/

/** The browser's own cookie before anybody signed in, and the token that its forms carry. */
export const guestOf = ({ tenant }: SignInDeps, asked: Asked) => {
  const known = asked.cookie('guest')
  const guest = known !== null && GUEST.test(known) ? known : randomText(32)
  const cookies: Reply['cookies'] = guest === known ? {} : { guest: { value: guest, seconds: null } }
  return { token: guestTokenOf(tenant.pepper, guest), cookies }
}

/** Whether a form was filled in on a page of ours, by the browser that got it. */
export const isOurForm = ({ tenant, baseUrl }: SignInDeps, asked: Asked): boolean => {
  const guest = asked.cookie('guest')
  if (guest === null || !isOwnOrigin(asked.headers, baseUrl())) return false
  return sameToken(asked.form.raw('_form'), guestTokenOf(tenant.pepper, guest))
}

/** Links to the providers; `query` goes along. */
export const providerLinks = ({ providers }: SignInDeps, query: string): readonly ProviderLink[] =>
  providers.settings.map((one) => ({ href: `/sign-in/${one.name}${query}`, label: labelOf(one) }))

export const returnQuery = (returnTo: string): string =>
  returnTo === '/' ? '' : `?return_to=${encodeURIComponent(returnTo)}`

export const returnOf = ({ query, form }: Asked): string =>
  returnPath(form.text('return_to') ?? query.get('return_to'))

interface Message {
  readonly status: number
  readonly title: string
  readonly says: string
  readonly check?: string
  readonly on?: { readonly href: string; readonly text: string }
}

export const AGAIN = { href: '/sign-in?local', text: 'To the sign-in page' }

export const message = ({ assets, baseUrl }: SignInDeps, { status, ...said }: Message): Reply => ({
  status,
  page: messagePage({ assets, baseUrl: baseUrl(), on: AGAIN, ...said }),
})

/** The page for plain HTTP from another machine; null when the way is good. */
export const refuseWay = ({ assets, baseUrl, log }: SignInDeps, asked: Asked): Reply | null => {
  const way: WrongWay | null = wrongWay(asked, baseUrl())
  if (way === null) return null
  log.warn({
    event: 'sign_in_refused',
    why: 'plain_http',
    seen: way.seen,
    from: way.from,
    change: way.change,
  })
  return { status: 403, page: wrongWayPage({ assets, baseUrl: baseUrl(), way }) }
}

export const notOurForm = (deps: SignInDeps, asked: Asked): Reply => {
  const { origin } = asked.headers
  const base = new URL(deps.baseUrl()).origin
  const isElsewhere = !isOwnOrigin(asked.headers, base)
  return message(deps, {
    status: 403,
    title: 'Not signed in',
    says: isElsewhere
      ? `This form came from ${String(origin).slice(0, 100)}, and Postern is at ${base}.`
      : 'This form is older than your browser’s cookies, or the browser keeps none. Try again.',
    ...(isElsewhere && { check: 'open that address, or set base_url to the one that people use' }),
  })
}
