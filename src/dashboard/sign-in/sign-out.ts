/**
 * NAME      sign-out - here, and at the provider
 * DESCRIPTION
 *   A form like any other: of our origin, with the token of the session; no other site takes even a cookie away.
 *   The session ends here whatever the provider does. Where it has a place to sign
 *   out, the browser is sent there after a page of ours, since a form must not
 *   lead to another site. A provider may also end sessions by itself: it posts a
 *   logout token, from its own machine, without a cookie.
 */
import { unseal } from '../../base/secret.js'
import { actorOf } from '../../tenant/authenticate.js'
import { formTokenOf, isOwnOrigin, sameToken } from '../form.js'
import { currentSession, notOurForm, providerActor, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import type { LogoutClaims, Provider } from './provider.js'
import { messagePage } from './views.js'
import { type KeptTokens, TOKENS } from './with-provider.js'

/** So long `auto` does not sign in again. */
const SIGNED_OUT_SECONDS = 300

const GONE: Reply['cookies'] = { session: null, signed_out: { value: '1', seconds: SIGNED_OUT_SECONDS } }

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

export const signOut = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
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

const badLogout = (status: number, why: string): Reply => ({
  status,
  json: { error: 'invalid_request', error_description: why },
})

const sessionsOf = ({ settings }: Provider, { issuer, subject, sid }: LogoutClaims) => {
  const byPerson = subject !== null && (settings.logout === 'person' || sid === null)
  if (byPerson) return { issuer, subject }
  return { issuer, ...(subject !== null && { subject }), ...(sid !== null && { sid }) }
}

export const backChannelLogout = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
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
