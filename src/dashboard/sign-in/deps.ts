/**
 * NAME      deps - what the steps of sign-in stand on
 * DESCRIPTION
 *   The providers of the configuration: the code that talks to them is loaded when the first of them is needed, since most
 *   installations have none, and every start would wait for it.
 *   A session is always a new one, in place of the one that the browser had, so that nobody is signed in with a secret that
 *   somebody else put into his browser. Person, identity, link and session are one commit.
 */
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { randomText } from '../../base/secret.js'
import {
  type IdentitySettings,
  labelOf,
  type Role,
  type Provider as Settings,
} from '../../config/identity.js'
import type { Actor, SessionOidc, SignedIn, SignIn } from '../../store/port/identity.js'
import type { ProvePerson } from '../../tenant/credential.js'
import type { ProveFactor } from '../../tenant/factors.js'
import { newSession, verifySession } from '../../tenant/people.js'
import type { TenantDeps } from '../../tenant/principal.js'
import type { Assets } from '../assets/assets.js'
import { guestTokenOf, isOwnOrigin, sameToken } from '../form.js'
import { type Asked, type Reply, returnPath, type WrongWay, wrongWay } from './exchange.js'
import type { Provider } from './provider.js'
import { messagePage, type ProviderLink, wrongWayPage } from './views.js'

export interface Providers {
  readonly settings: readonly Settings[]
  /** By name; null where there is none. */
  find(name: string): Promise<Provider | null>
  close(): Promise<void>
}

export const createProviders = (settings: readonly Settings[], clock: Clock): Providers => {
  const made = new Map<string, Promise<Provider>>()
  const make = async (at: number, one: Settings): Promise<Provider> => {
    const { Provider } = await import('./provider.js')
    return new Provider({ settings: one, at, clock })
  }
  return {
    settings,
    async find(name) {
      const at = settings.findIndex((one) => one.name === name)
      const one = settings[at]
      if (one === undefined) return null
      const provider = made.get(name) ?? make(at, one)
      made.set(name, provider)
      return provider
    },
    async close() {
      for (const provider of made.values()) await (await provider).close()
      made.clear()
    },
  }
}

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

interface Opening extends Pick<SignIn, 'linkId' | 'newUser' | 'identity' | 'change' | 'factor'> {
  /** null: nobody in particular, with `role`. */
  readonly userId: string | null
  readonly role?: Role
  readonly provider: string
  readonly oidc?: SessionOidc | null
}

const userAgentOf = ({ headers }: Asked): string | null => {
  const value = headers['user-agent']
  return typeof value === 'string' ? value : null
}

const sessionCookie = ({ settings }: SignInDeps, token: string): Reply['cookies'] => ({
  session: { value: token, seconds: Math.floor(settings.session.lifetime / 1_000) },
  signed_out: null,
})

/** The session that this browser has, while it stands. */
export const currentSession = async ({ tenant }: SignInDeps, asked: Asked) => {
  const token = asked.cookie('session')
  return token === null ? null : verifySession(tenant, token)
}

/** As whom a provider's own word is written down. */
export const providerActor = (name: string, address: string | null): Actor => ({
  kind: 'system',
  id: name,
  name: 'identity provider',
  address,
})

type Opened =
  | { readonly done: 'done'; readonly cookies: Reply['cookies'] }
  | { readonly done: Exclude<SignedIn, 'done'> }

export const openSession = async (deps: SignInDeps, asked: Asked, opening: Opening): Promise<Opened> => {
  const { tenant, accountId } = deps
  const { userId, role, provider, oidc = null, ...rest } = opening
  const before = await currentSession(deps, asked)
  const wish = { userId, role, provider, oidc, address: asked.address, userAgent: userAgentOf(asked) }
  const { row, token } = newSession(tenant, accountId, wish)
  const now = tenant.clock.now()
  const user = rest.newUser ?? (userId === null ? null : await tenant.store.user(accountId, userId))
  const actor: Actor =
    user === null
      ? { kind: 'link', id: row.id, name: null, address: asked.address }
      : { kind: 'person', id: user.id, name: user.email, address: asked.address }
  const done = await tenant.store
    .by(actor)
    .signIn({ ...rest, session: row, instead: before?.row.id ?? null, now })
  if (done !== 'done') return { done }
  deps.log.info({ event: 'signed_in', session: row.id, user: userId, provider })
  return { done, cookies: sessionCookie(deps, token) }
}
