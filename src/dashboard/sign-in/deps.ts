/**
 * NAME      deps - what the steps of sign-in stand on: providers, sessions, a request and its answer as values
 *   The code that talks to providers is loaded when the first of them is needed: most installations have none. A session is
 *   always a new one, in place of the one that the browser had, so that no one is signed in with a secret that somebody else put
 *   into his browser. Person, identity, link and session are one commit.
 *   Plain HTTP from another machine gets no form, but what was seen and the one line to change. Headers that anybody may send
 *   are read for this alone; where links lead and what is Secure follows from base_url. After signing in the way leads to a path
 *   of ours, or `/`: what a browser could read as another host or scheme (`//host`, `/\host`, tabs and line ends) is none.
 */
import type { VNode } from 'preact'
import type { Clock } from '../../base/clock.js'
import type { Log } from '../../base/log.js'
import { isLoopback } from '../../base/network.js'
import { randomText } from '../../base/secret.js'
import {
  type IdentitySettings,
  labelOf,
  type Role,
  type SignInProvider as Settings,
} from '../../config/identity.js'
import type { Actor, SessionOidc, SignedIn, SignIn } from '../../store/port/identity.js'
import type { ProvePerson } from '../../tenant/credential.js'
import type { ProveFactor } from '../../tenant/factors.js'
import { newSession, verifySession } from '../../tenant/people.js'
import type { TenantDeps } from '../../tenant/principal.js'
import type { Assets } from '../assets/assets.js'
import { type Form, guestTokenOf, isOwnOrigin, sameToken } from '../form.js'
import type { Provider } from './provider.js'
import { messagePage, type ProviderLink, type WrongWay, wrongWayPage } from './views.js'

export interface SignInRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of the browser, behind proxies too. */
  readonly address: string
  /** Whoever connected: the last proxy, where there is one. */
  readonly peer: string
  readonly isTls: boolean
  readonly form: Form
  /** A cookie by its plain name; null where there is none. */
  cookie(name: string): string | null
}

export interface SignInReply {
  readonly status: number
  /** A path of ours, without the path of base_url. */
  readonly to?: string
  readonly away?: URL
  /** After the page was shown: a form must not lead to another site itself (form-action). */
  readonly next?: URL
  readonly page?: VNode
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** By plain name; null takes one away. */
  readonly cookies?:
    | Readonly<Record<string, { readonly value: string; readonly seconds: number | null } | null>>
    | undefined
}

const first = (value: string | string[] | undefined): string =>
  String(value ?? '')
    .split(',')[0]
    ?.trim() ?? ''

const nameOf = (host: string): string => {
  const url = `http://${host}`
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : host
}

const isHere = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || isLoopback(name)

/** Only what a host may look like is shown. */
const shown = (host: string): string => host.replace(/[^\w.:[\]-]/g, '').slice(0, 100)

/** null: the way is good. */
export const wrongWay = (
  { headers, isTls, peer, address }: SignInRequest,
  baseUrl: string,
): WrongWay | null => {
  const host = shown(first(headers['x-forwarded-host']) || first(headers.host))
  const told = first(headers['x-forwarded-proto']).toLowerCase()
  const isSecure = isTls || told === 'https'
  const seen = `${isSecure ? 'https' : 'http'}://${host}`
  const base = new URL(baseUrl)
  const wrong = (why: string, change: string): WrongWay => ({ seen, from: shown(address), why, change })
  if (base.protocol === 'https:') {
    const isProxied = told !== '' || first(headers['x-forwarded-for']) !== ''
    if (isSecure || (told === '' && (isProxied || isLoopback(peer)))) return null
    return wrong(`Postern is at ${base.origin}, and you came by plain HTTP.`, `open ${base.origin} instead`)
  }
  if (isSecure) {
    const why = 'A proxy in front of Postern speaks HTTPS, but base_url does not say so.'
    return wrong(why, `base_url: https://${host}`)
  }
  if (isHere(nameOf(host)) && isLoopback(peer)) return null
  const why = 'A password or a session must not travel by plain HTTP from another machine.'
  return wrong(why, isLoopback(peer) ? `base_url: https://${nameOf(host)}` : 'http: { tls: true }')
}

const PATH = /^\/(?![/\\])[\u0021-\u005b\u005d-\u007e]*$/

/** Nobody wants to come back to these. */
const DOORS = /^\/(?:sign-in|sign-out|second-factor|setup|invitation|v1)(?:[/?]|$)/

export const returnPath = (text: string | null | undefined): string => {
  if (typeof text !== 'string' || text.length > 2_000 || !PATH.test(text)) return '/'
  const url = new URL(text, 'http://postern.invalid')
  const path = `${url.pathname}${url.search}`
  if (url.host !== 'postern.invalid' || path.startsWith('//') || DOORS.test(path)) return '/'
  return path
}

export interface Providers {
  readonly settings: readonly Settings[]
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
export const guestOf = ({ tenant }: SignInDeps, asked: SignInRequest) => {
  const known = asked.cookie('guest')
  const guest = known !== null && GUEST.test(known) ? known : randomText(32)
  const cookies: SignInReply['cookies'] = guest === known ? {} : { guest: { value: guest, seconds: null } }
  return { token: guestTokenOf(tenant.pepper, guest), cookies }
}

export const isOurForm = ({ tenant, baseUrl }: SignInDeps, asked: SignInRequest): boolean => {
  const guest = asked.cookie('guest')
  if (guest === null || !isOwnOrigin(asked.headers, baseUrl())) return false
  return sameToken(asked.form.raw('_form'), guestTokenOf(tenant.pepper, guest))
}

export const providerLinks = ({ providers }: SignInDeps, query: string): readonly ProviderLink[] =>
  providers.settings.map((one) => ({ href: `/sign-in/${one.name}${query}`, label: labelOf(one) }))

export const returnQuery = (returnTo: string): string =>
  returnTo === '/' ? '' : `?return_to=${encodeURIComponent(returnTo)}`

export const returnOf = ({ query, form }: SignInRequest): string =>
  returnPath(form.text('return_to') ?? query.get('return_to'))

interface Message {
  readonly status: number
  readonly title: string
  readonly says: string
  readonly check?: string
  readonly on?: { readonly href: string; readonly text: string }
}

export const AGAIN = { href: '/sign-in?local', text: 'To the sign-in page' }

export const message = ({ assets, baseUrl }: SignInDeps, { status, ...said }: Message): SignInReply => ({
  status,
  page: messagePage({ assets, baseUrl: baseUrl(), on: AGAIN, ...said }),
})

/** The page for plain HTTP from another machine; null when the way is good. */
export const refuseWay = ({ assets, baseUrl, log }: SignInDeps, asked: SignInRequest): SignInReply | null => {
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

export const notOurForm = (deps: SignInDeps, asked: SignInRequest): SignInReply => {
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

interface Opening extends Partial<Pick<SignIn, 'linkId' | 'newUser' | 'identity' | 'change' | 'factor'>> {
  /** null: nobody in particular, with `role`. */
  readonly userId: string | null
  readonly role?: Role
  readonly provider: string
  readonly oidc?: SessionOidc | null
}

const userAgentOf = ({ headers }: SignInRequest): string | null => {
  const value = headers['user-agent']
  return typeof value === 'string' ? value : null
}

const sessionCookie = ({ settings }: SignInDeps, token: string): SignInReply['cookies'] => ({
  session: { value: token, seconds: Math.floor(settings.session.lifetime / 1_000) },
  signed_out: null,
})

export const currentSession = async ({ tenant }: SignInDeps, asked: SignInRequest) => {
  const token = asked.cookie('session')
  return token === null ? null : verifySession(tenant, token)
}

export const providerActor = (name: string, address: string | null): Actor => ({
  kind: 'system',
  id: name,
  name: 'identity provider',
  address,
})

const NOTHING_MORE = { linkId: null, newUser: null, identity: null, change: null }

type Opened =
  | { readonly done: 'done'; readonly cookies: SignInReply['cookies'] }
  | { readonly done: Exclude<SignedIn, 'done'> }

export const openSession = async (
  deps: SignInDeps,
  asked: SignInRequest,
  opening: Opening,
): Promise<Opened> => {
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
    .signIn({ ...NOTHING_MORE, ...rest, session: row, instead: before?.row.id ?? null, now })
  if (done !== 'done') return { done }
  deps.log.info({ event: 'signed_in', session: row.id, user: userId, provider })
  return { done, cookies: sessionCookie(deps, token) }
}
