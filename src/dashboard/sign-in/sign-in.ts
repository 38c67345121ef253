/**
 * NAME      sign-in - the routes that need no session, and signing out
 *   Every answer is made here: never stored by anybody, never framed, and those with a one-use link in their address send no
 *   referrer. Cookies follow from base_url.
 *   Signing out is a form like any other: of our origin, with the token of the session. The session ends here whatever the
 *   provider does. Where it has a place to sign out, the browser is sent there after a page of ours, since a form must not lead
 *   to another site. A provider may also end sessions by itself: it posts a logout token, from its own machine, without a cookie.
 */
import type { Request, ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi'
import { unseal } from '../../base/secret.js'
import { actorOf } from '../../tenant/authenticate.js'
import { cookieRules, readCookie, setCookie } from '../cookie.js'
import { Form, formPayload, formTokenOf, isOwnOrigin, sameToken } from '../form.js'
import { PAGE_HEADERS, prefixOf, renderPage } from '../render.js'
import {
  currentSession,
  isOurForm,
  message,
  notOurForm,
  providerActor,
  refuseWay,
  type SignInDeps,
  type SignInReply,
  type SignInRequest,
} from './deps.js'
import {
  showInvitation,
  showSecond,
  showSetup,
  showSignedOut,
  showSignIn,
  signInLocally,
  useInvitation,
  useSecond,
  useSetup,
} from './local.js'
import type { LogoutClaims, Provider } from './provider.js'
import { messagePage } from './views.js'
import { comeBack, goToProvider, type KeptTokens, TOKENS } from './with-provider.js'

/** So long `auto` does not sign in again. */
const SIGNED_OUT_SECONDS = 300

const GONE: SignInReply['cookies'] = {
  session: null,
  signed_out: { value: '1', seconds: SIGNED_OUT_SECONDS },
}

type Current = NonNullable<Awaited<ReturnType<typeof currentSession>>>

/** Where the provider signs people out; null where it does not, or cannot be asked now. */
const awayFrom = async (deps: SignInDeps, { row }: Current): Promise<{ url: URL; label: string } | null> => {
  const provider = await deps.providers.find(row.provider)
  if (provider === null || row.oidc?.sealed == null) return null
  try {
    const kept = JSON.parse(unseal(deps.tenant.pepper, TOKENS, row.oidc.sealed)) as KeptTokens
    if (kept.idToken === null) return null
    const url = await provider.signOutUrl(kept.idToken, `${deps.baseUrl()}/signed-out`)
    return url === null ? null : { url, label: provider.label }
  } catch (error) {
    deps.log.warn({ event: 'provider_failed', provider: provider.name, detail: (error as Error).message })
    return null
  }
}

const signOut = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const { tenant, accountId, assets, baseUrl } = deps
  if (!isOwnOrigin(asked.headers, baseUrl())) return notOurForm(deps, asked)
  const token = asked.cookie('session')
  if (token === null) return { status: 303, to: '/signed-out' }
  // also of a session that has ended: the form belongs to its secret
  if (!sameToken(asked.form.raw('_form'), formTokenOf(tenant.pepper, token))) return notOurForm(deps, asked)
  const current = await currentSession(deps, asked)
  if (current === null) return { status: 303, to: '/signed-out', cookies: GONE }
  const away = await awayFrom(deps, current)
  await tenant.store
    .by({ ...actorOf(current), address: asked.address })
    .revokeSession(accountId, current.row.id)
  deps.log.info({ event: 'signed_out', session: current.row.id, user: current.row.userId })
  if (away === null) return { status: 303, to: '/signed-out', cookies: GONE }
  const page = messagePage({
    ...{ assets, baseUrl: baseUrl() },
    title: 'You are signed out',
    says: `Your session here has ended. You are now signed out at ${away.label}, too.`,
    on: { href: away.url.href, text: `Go on to ${away.label}` },
  })
  return { status: 200, page, next: away.url, cookies: GONE }
}

const badLogout = (status: number, why: string): SignInReply => ({
  status,
  json: { error: 'invalid_request', error_description: why },
})

const sessionsOf = ({ settings }: Provider, { issuer, subject, sid }: LogoutClaims) => {
  const byPerson = subject !== null && (settings.logout === 'person' || sid === null)
  if (byPerson) return { issuer, subject }
  return { issuer, ...(subject !== null && { subject }), ...(sid !== null && { sid }) }
}

const backChannelLogout = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const { tenant, accountId, log } = deps
  const provider = await deps.providers.find(asked.params.name ?? '')
  if (provider === null) return badLogout(404, 'no such provider')
  const { ProviderTrouble } = await import('./provider.js')
  try {
    const claims = await provider.checkLogout(asked.form.raw('logout_token'))
    const isNew = await tenant.store.rememberOnce('logout', `${claims.issuer} ${claims.jti}`, claims.until)
    if (!isNew) throw new ProviderTrouble('token', 'logout token: its jti was used already')
    const store = tenant.store.by(providerActor(provider.name, asked.address))
    const ended = await store.revokeSessions(accountId, sessionsOf(provider, claims))
    log.info({ event: 'provider_signed_out', provider: provider.name, ended })
    return { status: 200, json: {} }
  } catch (error) {
    if (!(error instanceof ProviderTrouble)) throw error
    log.warn({ event: 'logout_refused', provider: provider.name, kind: error.kind, detail: error.detail })
    const isOurs = error.kind === 'down' || error.kind === 'slow' || error.kind === 'files'
    return badLogout(
      isOurs ? 503 : 400,
      isOurs ? 'the provider cannot be asked for its keys' : 'the token does not hold',
    )
  }
}

type Step = (deps: SignInDeps, asked: SignInRequest) => Promise<SignInReply>

/** Not by plain HTTP from another machine. */
const guarded =
  (step: Step): Step =>
  async (deps, asked) =>
    refuseWay(deps, asked) ?? step(deps, asked)

const ownForm = (step: Step): Step =>
  guarded(async (deps, asked) => (isOurForm(deps, asked) ? step(deps, asked) : notOurForm(deps, asked)))

const STEPS: readonly (readonly [method: 'GET' | 'POST', path: string, step: Step])[] = [
  ['GET', '/sign-in', guarded(showSignIn)],
  ['POST', '/sign-in', guarded(signInLocally)],
  ['GET', '/second-factor', guarded(showSecond)],
  ['POST', '/second-factor', ownForm(useSecond)],
  ['GET', '/signed-out', showSignedOut],
  ['GET', '/setup/{token}', guarded(showSetup)],
  ['POST', '/setup/{token}', ownForm(useSetup)],
  ['GET', '/invitation/{token}', guarded(showInvitation)],
  ['POST', '/invitation/{token}', ownForm(useInvitation)],
  ['GET', '/sign-in/{name}', guarded(goToProvider)],
  ['GET', '/sign-in/{name}/callback', comeBack],
  ['POST', '/sign-in/{name}/logout', backChannelLogout],
  ['POST', '/sign-out', signOut],
]

const MOST_FORM = 65_536

const askedOf = (request: Request, baseUrl: string, isTls: boolean): SignInRequest => ({
  params: request.params as Record<string, string>,
  query: request.url.searchParams,
  headers: request.raw.req.headers,
  address: request.app.address,
  peer: request.info.remoteAddress ?? '',
  isTls,
  form: new Form(request.method === 'post' ? String(request.payload ?? '') : ''),
  cookie: (name) => readCookie(request.raw.req.headers.cookie, cookieRules(baseUrl, name).name),
})

const bodyOf = ({ page, json }: SignInReply, prefix: string): string => {
  if (page !== undefined) return renderPage(page, prefix)
  return json === undefined ? '' : JSON.stringify(json)
}

/** A URL in a header holds no blank, comma or semicolon that would end it. */
const refresh = (to: URL): string => `0; url=${to.href.replace(/[\s;,"']/g, encodeURIComponent)}`

const send = (h: ResponseToolkit, reply: SignInReply, baseUrl: string): ResponseObject => {
  const prefix = prefixOf(baseUrl)
  const response = h.response(bodyOf(reply, prefix)).code(reply.status)
  const headers = {
    ...PAGE_HEADERS,
    'referrer-policy': 'no-referrer',
    ...(reply.json !== undefined && { 'content-type': 'application/json; charset=utf-8' }),
    ...(reply.to !== undefined && { location: prefix + reply.to }),
    ...(reply.away !== undefined && { location: reply.away.href }),
    ...(reply.next !== undefined && { refresh: refresh(reply.next) }),
    ...reply.headers,
  }
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
  for (const [name, cookie] of Object.entries(reply.cookies ?? {})) {
    const line = setCookie(
      cookieRules(baseUrl, name),
      cookie?.value ?? '',
      cookie === null ? 0 : cookie.seconds,
    )
    response.header('set-cookie', line, { append: true })
  }
  return response
}

export const signInRoutes = (deps: SignInDeps, isTls: boolean): readonly ServerRoute[] =>
  STEPS.map(([method, path, step]) => ({
    method,
    path,
    options: { auth: false as const, ...(method === 'POST' && { payload: formPayload(MOST_FORM) }) },
    handler: async (request: Request, h: ResponseToolkit) => {
      const baseUrl = deps.baseUrl()
      try {
        return send(h, await step(deps, askedOf(request, baseUrl, isTls)), baseUrl)
      } catch (error) {
        deps.log.error({ event: 'sign_in_failed', path, err: error as Error })
        const says = 'Signing in failed here. The log of Postern says more.'
        return send(h, message(deps, { status: 500, title: 'This did not work', says }), baseUrl)
      }
    },
  }))
