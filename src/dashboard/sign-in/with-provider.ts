/**
 * NAME      with-provider - to a provider and back, and asked again later
 *   The browser goes to the provider with a cookie of 10 minutes, sealed with the pepper, that says what it must bring
 *   back: so nothing is kept here for people who only looked, and a sign-in cannot end in another browser than the one that
 *   began it. Whoever comes back is let in or not (admission.ts). A provider that fails leaves the sign-in page with a word
 *   about it.
 *   Groups and roles of a person with a refresh token are asked again each hour, before the page is made that finds it due:
 *   so no page is seen with a role that was taken away meanwhile. That page waits, 10 seconds at most, and one ask serves
 *   all that come meanwhile. While the provider does not answer, its last word counts for 12 hours (tenant/people.ts ends
 *   the session then); it is asked again every 5 minutes. A person whom it no longer lets in is signed out.
 */
import { newId } from '../../base/id.js'
import { seal, unseal } from '../../base/secret.js'
import type { LinkRow, SessionRow, UserChange, UserRow } from '../../store/port/identity.js'
import { type LiveSession, verifySession } from '../../tenant/people.js'
import { type Admission, addressIn, admit, nameIn, refusalSaid, type ToldPerson } from './admission.js'
import {
  AGAIN,
  message,
  openSession,
  providerActor,
  returnOf,
  type SignInDeps,
  type SignInReply,
  type SignInRequest,
} from './deps.js'
import { findInvitation, INVITATION, signInAgain } from './local.js'
import type { Granted, Provider } from './provider.js'

interface Flow {
  /** Name of the provider it went to: an answer of another one is refused. */
  readonly provider: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
  /** The secret of an invitation that is used up by this sign-in. */
  readonly invitation: string | null
  /** Epoch milliseconds. */
  readonly startedAt: number
}

const FLOW_MS = 600_000

const PURPOSE = 'sign-in flow'

const sealFlow = (pepper: Uint8Array, flow: Flow): string => seal(pepper, PURPOSE, JSON.stringify(flow))

/** null when it is none of ours, or too old. */
const openFlow = (pepper: Uint8Array, sealed: string | null, now: number): Flow | null => {
  if (sealed === null) return null
  try {
    const flow = JSON.parse(unseal(pepper, PURPOSE, sealed)) as Flow
    const age = now - flow.startedAt
    return age >= 0 && age < FLOW_MS ? flow : null
  } catch {
    return null
  }
}

/** Of the tokens that a session keeps. */
export const TOKENS = 'provider tokens'

export interface KeptTokens {
  readonly idToken: string | null
  readonly refreshToken: string | null
}

const redirectUri = ({ baseUrl }: SignInDeps, name: string): string => `${baseUrl()}/sign-in/${name}/callback`

const noProvider = (deps: SignInDeps): SignInReply =>
  message(deps, { status: 404, title: 'No such provider', says: 'There is no sign-in under this address.' })

/** Says what is wrong with the provider, here and in the log. */
const failed = async (
  deps: SignInDeps,
  asked: SignInRequest,
  provider: Provider,
  error: unknown,
): Promise<SignInReply> => {
  const { ProviderTrouble, saysOf, checkOf } = await import('./provider.js')
  if (!(error instanceof ProviderTrouble)) throw error
  const { kind, detail } = error
  deps.log.warn({ event: 'provider_failed', provider: provider.name, kind, detail, check: checkOf(error) })
  const notice = { tone: 'wait' as const, says: saysOf(error, provider.label) }
  if (kind === 'code' || kind === 'refused') return signInAgain(deps, asked, 400, notice)
  const check = checkOf(error)
  // its word was read and not believed: the server is well
  if (kind === 'token' || kind === 'clock')
    return signInAgain(deps, asked, 403, { ...notice, check, failed: detail.replace(/^\w+: /, '') })
  return signInAgain(deps, asked, 503, { ...notice, check })
}

export const goToProvider = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const provider = await deps.providers.find(asked.params.name ?? '')
  if (provider === null) return noProvider(deps)
  const { newChecks } = await import('./provider.js')
  const checks = newChecks()
  try {
    const away = await provider.begin(checks, redirectUri(deps, provider.name))
    const { clock, pepper } = deps.tenant
    const flow: Flow = {
      ...checks,
      provider: provider.name,
      returnTo: returnOf(asked),
      invitation: asked.query.has('invited') ? asked.cookie(INVITATION) : null,
      startedAt: clock.now(),
    }
    const cookie = { value: sealFlow(pepper, flow), seconds: FLOW_MS / 1_000 }
    return { status: 303, away, cookies: { flow: cookie } }
  } catch (error) {
    return failed(deps, asked, provider, error)
  }
}

export const comeBack = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const provider = await deps.providers.find(asked.params.name ?? '')
  if (provider === null) return noProvider(deps)
  const { pepper, clock } = deps.tenant
  const flow = openFlow(pepper, asked.cookie('flow'), clock.now())
  const gone = { flow: null }
  if (flow === null || flow.provider !== provider.name || asked.query.get('state') !== flow.state) {
    deps.log.warn({
      event: 'sign_in_refused',
      provider: provider.name,
      why: flow === null ? 'no_flow' : 'other_flow',
    })
    const says = 'This sign-in was begun in another browser or window, or more than 10 minutes ago.'
    return { ...message(deps, { status: 400, title: 'Start again', says, on: AGAIN }), cookies: gone }
  }
  const answer = new URL(redirectUri(deps, provider.name))
  answer.search = asked.query.toString()
  let reply: SignInReply
  try {
    reply = await letIn(deps, asked, { provider, flow, granted: await provider.finish(answer, flow) })
  } catch (error) {
    reply = await failed(deps, asked, provider, error)
  }
  return { ...reply, cookies: { ...reply.cookies, ...gone } }
}

interface Arrived {
  readonly provider: Provider
  readonly flow: Flow
  readonly granted: Granted
}

/** Who the provider means: somebody known, or the person of an invitation. */
const whoIs = async ({ tenant, accountId }: SignInDeps, { issuer, subject }: ToldPerson) => {
  const user = await tenant.store.userByIdentity(accountId, issuer, subject)
  const identities = user === null ? [] : await tenant.store.identities(user.id)
  const identity = identities.find((one) => one.issuer === issuer && one.subject === subject)
  const known =
    identity === undefined ? null : identity.byRule ? ('by_rule' as const) : ('by_invitation' as const)
  return { user, known }
}

const letIn = async (deps: SignInDeps, asked: SignInRequest, arrived: Arrived): Promise<SignInReply> => {
  const { provider, flow, granted } = arrived
  const { told } = granted
  const { user, known } = await whoIs(deps, told)
  const refuse = (why: Parameters<typeof refusalSaid>[0]): SignInReply => {
    deps.log.warn({ event: 'sign_in_refused', provider: provider.name, why, user: user?.id ?? null })
    return message(deps, { status: 403, title: 'Not let in', ...refusalSaid(why, provider.label) })
  }
  const link = user === null && flow.invitation !== null ? await findInvitation(deps, flow.invitation) : null
  if (user === null && flow.invitation !== null && link === null) return refuse('link_used')
  const admission = admit(provider.settings, { told, invited: link, known }, deps.settings.default_role)
  if (admission.refused !== null) return refuse(admission.refused)
  const newUser =
    user === null && !link?.userId ? personFrom(deps, { told, link, admission, provider }) : null
  if (newUser === 'no_address') return refuse('no_address')
  const userId = user?.id ?? link?.userId ?? newUser?.id ?? null
  if (userId === null) return refuse('not_invited')
  const now = deps.tenant.clock.now()
  const { accountId } = deps
  const { issuer, subject } = told
  const opened = await openSession(deps, asked, {
    userId,
    provider: provider.name,
    linkId: link?.id ?? null,
    newUser,
    identity: {
      ...{ accountId, userId, provider: provider.name, issuer, subject },
      byRule: admission.byRule,
      createdAt: now,
      lastSignInAt: now,
    },
    change: newUser === null ? changeOf(provider, admission, user) : null,
    oidc: await sessionOidc(deps, granted, now),
  })
  if (opened.done !== 'done') return refuse(opened.done)
  return { status: 303, to: flow.returnTo, cookies: { ...opened.cookies, [INVITATION]: null } }
}

/** What is kept of the provider's side. */
const sessionOidc = async ({ tenant }: SignInDeps, { told, idToken, refreshToken }: Granted, now: number) => {
  const { sidOf } = await import('./provider.js')
  const kept: KeptTokens = { idToken, refreshToken }
  return {
    issuer: told.issuer,
    subject: told.subject,
    sid: sidOf(told.idToken),
    sealed: seal(tenant.pepper, TOKENS, JSON.stringify(kept)),
    checkedAt: now,
  }
}

type LetIn = Extract<Admission, { refused: null }>

interface Newcomer {
  readonly told: ToldPerson
  readonly link: LinkRow | null
  readonly admission: LetIn
  readonly provider: Provider
}

const personFrom = (
  { tenant, accountId }: SignInDeps,
  { told, link, admission, provider }: Newcomer,
): UserRow | 'no_address' => {
  const email = addressIn(told) ?? link?.email?.toLowerCase() ?? null
  if (email === null) return 'no_address'
  const now = tenant.clock.now()
  return {
    id: newId('usr', now),
    ...{ accountId, email, name: nameIn(told), role: admission.firstRole },
    ...{ hash: null, timeZone: null, views: [], disabledAt: null, hasFactor: false },
    roleFrom: admission.role === null ? null : provider.name,
    createdAt: now,
    lastSignInAt: now,
  }
}

/** With role_from the provider's word wins; a provider that no longer says a role gives it back to the owners. */
const changeOf = ({ name }: Provider, { role }: LetIn, user: UserRow | null): UserChange | null => {
  if (role !== null) return user?.role === role && user.roleFrom === name ? null : { role, roleFrom: name }
  return user?.roleFrom === name ? { roleFrom: null } : null
}

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

const knownBy = async ({ tenant }: SignInDeps, { id }: UserRow, told: ToldPerson) => {
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
  const before: ToldPerson = { issuer, subject, idToken: {}, userinfo: {} }
  const { ProviderTrouble } = await import('./provider.js')
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
