/**
 * NAME      with-provider - there and back
 * DESCRIPTION
 *   The browser goes to the provider with a sealed cookie that says what it must
 *   bring back, and whoever comes back is let in or not (oidc/admission.ts). A
 *   provider that fails leaves the sign-in page with a word about it.
 */
import { newId } from '../../base/id.js'
import { seal } from '../../base/secret.js'
import type { LinkRow, UserChange, UserRow } from '../../store/port/tenants/identity.js'
import { AGAIN, message, refuseWay, returnOf, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import { findInvitation, INVITATION } from './link.js'
import { type Admission, admit } from './oidc/admission.js'
import { addressIn, nameIn, type Told } from './oidc/claims.js'
import { FLOW_MS, type Flow, openFlow, sealFlow } from './oidc/flow.js'
import type { Granted, Provider } from './oidc/provider.js'
import { refusalSaid } from './oidc/words.js'
import { openSession } from './session.js'
import { signInAgain } from './start.js'

/** Of the tokens that a session keeps. */
export const TOKENS = 'provider tokens'

export interface KeptTokens {
  readonly idToken: string | null
  readonly refreshToken: string | null
}

const redirectUri = ({ baseUrl }: SignInDeps, name: string): string => `${baseUrl()}/sign-in/${name}/callback`

const noProvider = (deps: SignInDeps): Reply =>
  message(deps, { status: 404, title: 'No such provider', says: 'There is no sign-in under this address.' })

/** Says what is wrong with the provider, here and in the log. */
const failed = async (deps: SignInDeps, asked: Asked, provider: Provider, error: unknown): Promise<Reply> => {
  const { ProviderTrouble, saysOf, checkOf } = await import('./oidc/trouble.js')
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

export const goToProvider = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
  const wrong = refuseWay(deps, asked)
  if (wrong !== null) return wrong
  const provider = await deps.providers.find(asked.params.name ?? '')
  if (provider === null) return noProvider(deps)
  const { newChecks } = await import('./oidc/provider.js')
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

export const comeBack = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
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
  let reply: Reply
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
const whoIs = async ({ tenant, accountId }: SignInDeps, { issuer, subject }: Told) => {
  const user = await tenant.store.userByIdentity(accountId, issuer, subject)
  const identities = user === null ? [] : await tenant.store.identities(user.id)
  const identity = identities.find((one) => one.issuer === issuer && one.subject === subject)
  const known =
    identity === undefined ? null : identity.byRule ? ('by_rule' as const) : ('by_invitation' as const)
  return { user, known }
}

const letIn = async (deps: SignInDeps, asked: Asked, arrived: Arrived): Promise<Reply> => {
  const { provider, flow, granted } = arrived
  const { told } = granted
  const { user, known } = await whoIs(deps, told)
  const refuse = (why: Parameters<typeof refusalSaid>[0]): Reply => {
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
export const sessionOidc = async (
  { tenant }: SignInDeps,
  { told, idToken, refreshToken }: Granted,
  now: number,
) => {
  const { sidOf } = await import('./oidc/provider.js')
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
  readonly told: Told
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
export const changeOf = ({ name }: Provider, { role }: LetIn, user: UserRow | null): UserChange | null => {
  if (role !== null) return user?.role === role && user.roleFrom === name ? null : { role, roleFrom: name }
  return user?.roleFrom === name ? { roleFrom: null } : null
}
