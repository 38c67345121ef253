/**
 * NAME      recheck - is it still true what the provider said?
 * DESCRIPTION
 *   Groups and roles of who has a refresh token are asked again each hour, before
 *   the page is made that finds it due: so nobody sees a page with a role that was
 *   taken away while he was gone. That page waits, 10 seconds at most, and one ask
 *   serves all that come meanwhile. While the provider does not answer, its last
 *   word counts for 12 hours (tenant/session.ts ends the session then); it is asked
 *   again every 5 minutes. Whoever it no longer lets in is signed out.
 */
import { unseal } from '../../base/secret.js'
import type { SessionRow, UserRow } from '../../store/port/tenants/identity.js'
import { type LiveSession, verifySession } from '../../tenant/session.js'
import type { SignInDeps } from './deps.js'
import { admit } from './oidc/admission.js'
import type { Told } from './oidc/claims.js'
import type { Provider } from './oidc/provider.js'
import { providerActor } from './session.js'
import { changeOf, type KeptTokens, sessionOidc, TOKENS } from './with-provider.js'

const EVERY_MS = 3_600_000
const AGAIN_MS = 300_000

export interface Recheck {
  /**
   * False when this session must not go on; it has ended then. Asked before /v1 is, which would count the cookie of
   * a session that ended as a guess, and keep its owner out of the sign-in form.
   */
  stands(token: string): Promise<boolean>
}

type Verdict = 'stands' | 'ended' | 'unknown'

const keptOf = ({ tenant }: SignInDeps, { oidc }: SessionRow): KeptTokens =>
  oidc?.sealed == null
    ? { idToken: null, refreshToken: null }
    : (JSON.parse(unseal(tenant.pepper, TOKENS, oidc.sealed)) as KeptTokens)

const end = async (
  { tenant, accountId, log }: SignInDeps,
  row: SessionRow,
  why: string,
): Promise<Verdict> => {
  await tenant.store.by(providerActor(row.provider, null)).revokeSession(accountId, row.id)
  log.info({ event: 'session_ended', session: row.id, user: row.userId, provider: row.provider, why })
  return 'ended'
}

const knownBy = async ({ tenant }: SignInDeps, { id }: UserRow, told: Told) => {
  const identities = await tenant.store.identities(id)
  const one = identities.find(({ issuer, subject }) => issuer === told.issuer && subject === told.subject)
  return one === undefined ? null : one.byRule ? ('by_rule' as const) : ('by_invitation' as const)
}

const ask = async (
  deps: SignInDeps,
  { row, user }: LiveSession,
  provider: Provider,
  refreshToken: string,
): Promise<Verdict> => {
  const { tenant, accountId, log } = deps
  const { oidc } = row
  if (oidc === null || user === null) return 'stands'
  const { issuer, subject } = oidc
  const before: Told = { issuer, subject, idToken: {}, userinfo: {} }
  const { ProviderTrouble } = await import('./oidc/trouble.js')
  try {
    const granted = await provider.refresh(refreshToken, before)
    const known = await knownBy(deps, user, granted.told)
    const admission = admit(
      provider.settings,
      { told: granted.told, invited: null, known },
      deps.settings.default_role,
    )
    if (admission.refused !== null) return await end(deps, row, admission.refused)
    const change = changeOf(provider, admission, user)
    // the last owner stays one, whatever the provider says
    const store = tenant.store.by(providerActor(provider.name, null))
    if (change !== null) await store.updateUser(accountId, user.id, change)
    const kept = { ...granted, idToken: granted.idToken ?? keptOf(deps, row).idToken }
    const fresh = await sessionOidc(
      deps,
      { ...kept, refreshToken: granted.refreshToken ?? refreshToken },
      tenant.clock.now(),
    )
    await tenant.store.updateSession(accountId, row.id, { ...fresh, sid: fresh.sid ?? oidc.sid })
    return 'stands'
  } catch (error) {
    if (!(error instanceof ProviderTrouble)) throw error
    log.warn({ event: 'provider_failed', provider: provider.name, kind: error.kind, detail: error.detail })
    if (error.kind === 'code' || error.kind === 'refused') return await end(deps, row, 'refresh_refused')
    return 'unknown'
  }
}

export const createRecheck = (deps: SignInDeps): Recheck => {
  const { tenant, providers } = deps
  const asking = new Map<string, Promise<Verdict>>()
  const notBefore = new Map<string, number>()

  const look = async (live: LiveSession, now: number): Promise<Verdict> => {
    const { row } = live
    const provider = await providers.find(row.provider)
    if (provider === null) return end(deps, row, 'provider_gone')
    const { refreshToken } = keptOf(deps, row)
    if (refreshToken === null) return 'stands'
    const verdict = await ask(deps, live, provider, refreshToken)
    // whose time has come is asked about, or has no session any more
    for (const [id, at] of notBefore) if (at <= now) notBefore.delete(id)
    if (verdict === 'unknown') notBefore.set(row.id, now + AGAIN_MS)
    return verdict
  }

  return {
    async stands(token) {
      const live = await verifySession(tenant, token)
      if (live === null) return false
      if (providers.settings.length === 0 || live.row.oidc === null) return true
      const now = tenant.clock.now()
      const { id, oidc } = live.row
      if (now - oidc.checkedAt < EVERY_MS || now < (notBefore.get(id) ?? 0)) return true
      const under = asking.get(id) ?? look(live, now).finally(() => asking.delete(id))
      asking.set(id, under)
      return (await under) !== 'ended'
    },
  }
}
