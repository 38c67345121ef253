/**
 * NAME      local - signing in with an address and a password, in one step or two, or by a link that is used once
 *   Unknown, disabled and mistaken are one answer. Too many guesses get the time to come again; a browser in which the person
 *   signed in before keeps a proof of that, and is not kept out by what others try (tenant/credential.ts). Who has a second factor
 *   is asked for it next. Between the two steps the browser holds a cookie, sealed with the pepper: whose password was right,
 *   and until when. It opens nothing, at /v1 neither; it is used once, lasts ten minutes, and ends with the password that it was
 *   given for. The session is made after the second step, under a new id, as at every sign-in.
 *   To look at a link changes nothing: mail scanners, previews and prefetching browsers only ever look. The button posts, and
 *   that uses it up. At a provider an invitation waits in a cookie, so that its secret stands in no other address.
 */
import { Fault } from '../../base/fault.js'
import { randomText, seal, unseal } from '../../base/secret.js'
import type { FactorKind, LinkRow, UserRow } from '../../store/port/identity.js'
import { deviceOf } from '../../tenant/credential.js'
import { requestOptions } from '../../tenant/factors.js'
import { newPerson, openLink } from '../../tenant/people.js'
import {
  currentSession,
  guestOf,
  isOurForm,
  message,
  notOurForm,
  openSession,
  providerLinks,
  returnOf,
  returnQuery,
  type SignInDeps,
  type SignInReply,
  type SignInRequest,
} from './deps.js'
import { invitationPage, type SignInNotice, secondPage, setupPage, signInPage } from './views.js'

export const signInAgain = (
  deps: SignInDeps,
  asked: SignInRequest,
  status: number,
  notice: SignInNotice | null,
  headers: Readonly<Record<string, string>> = {},
): SignInReply => {
  const { assets, baseUrl, settings } = deps
  const { token, cookies } = guestOf(deps, asked)
  const returnTo = returnOf(asked)
  const page = signInPage({
    ...{ assets, baseUrl: baseUrl(), notice, token, returnTo },
    providers: providerLinks(deps, returnQuery(returnTo)),
    hasLocal: settings.local,
    email: asked.form.raw('email').slice(0, 254),
  })
  return { status, page, cookies: cookies ?? {}, headers }
}

/** Straight to the only provider, unless somebody wants the page, or has just signed out. */
const goesOn = ({ settings, providers }: SignInDeps, { query, cookie }: SignInRequest): string | null => {
  const [only] = providers.settings
  const isAlone = providers.settings.length === 1 && only !== undefined
  if (!settings.auto || !isAlone || query.has('local') || cookie('signed_out') !== null) return null
  return only.name
}

export const showSignIn = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const returnTo = returnOf(asked)
  if ((await currentSession(deps, asked)) !== null) return { status: 303, to: returnTo }
  const name = goesOn(deps, asked)
  if (name !== null) return { status: 303, to: `/sign-in/${name}${returnQuery(returnTo)}` }
  return signInAgain(deps, asked, 200, null)
}

export const showSignedOut = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> =>
  signInAgain(deps, asked, 200, { tone: 'ok', says: 'You are signed out.' })

/** What a fault of a proof means for somebody at a form; rethrows what is none. */
const tooManyIn = (
  error: unknown,
): { readonly says: string; readonly headers: Readonly<Record<string, string>> } => {
  if (!(error instanceof Fault) || error.row.http !== 429) throw error
  const seconds = error.options.retryAfter ?? 60
  const when = seconds === 1 ? '1 second' : `${seconds} seconds`
  return { says: `Too many attempts. Try again in ${when}.`, headers: { 'retry-after': String(seconds) } }
}

const SEAL = 'second step of signing in'
const COOKIE = 'second'
const LASTS_MS = 600_000
const DEVICE_SECONDS = 180 * 86_400

interface Pending {
  /** Used once; also what a passkey signs. */
  readonly id: string
  readonly userId: string
  /** Another password has another one. */
  readonly device: string
  readonly until: number
  readonly returnTo: string
}

/** Opens the session of somebody who has proved all there is to prove; null where the person is not let in. */
const letIn = async (
  deps: SignInDeps,
  asked: SignInRequest,
  user: UserRow,
  returnTo: string,
  factor?: FactorKind,
): Promise<SignInReply | null> => {
  const opened = await openSession(deps, asked, {
    ...{ userId: user.id, provider: 'local', factor },
  })
  if (opened.done !== 'done') return null
  const device = { value: deviceOf(deps.tenant, user), seconds: DEVICE_SECONDS }
  return { status: 303, to: returnTo, cookies: { ...opened.cookies, device, [COOKIE]: null } }
}

/** On to the second step: the password was right. */
const askSecond = ({ tenant }: SignInDeps, user: UserRow, returnTo: string): SignInReply => {
  const pending: Pending = {
    id: randomText(32),
    userId: user.id,
    device: deviceOf(tenant, user),
    until: tenant.clock.now() + LASTS_MS,
    returnTo,
  }
  const value = seal(tenant.pepper, SEAL, JSON.stringify(pending))
  return { status: 303, to: '/second-factor', cookies: { [COOKIE]: { value, seconds: LASTS_MS / 1_000 } } }
}

const readPending = ({ tenant }: SignInDeps, asked: SignInRequest): Pending | null => {
  const sealed = asked.cookie(COOKIE)
  if (sealed === null) return null
  try {
    const pending = JSON.parse(unseal(tenant.pepper, SEAL, sealed)) as Pending
    return tenant.clock.now() < pending.until ? pending : null
  } catch {
    return null
  }
}

/** Whose second step it is, as he is now; null where it is too late for it. */
const whose = async (deps: SignInDeps, pending: Pending | null): Promise<UserRow | null> => {
  if (pending === null || !deps.settings.local) return null
  const user = await deps.tenant.store.user(deps.accountId, pending.userId)
  if (user === null || user.disabledAt !== null || !user.hasFactor) return null
  return deviceOf(deps.tenant, user) === pending.device ? user : null
}

const again = async (
  deps: SignInDeps,
  asked: SignInRequest,
  { pending, user }: { pending: Pending; user: UserRow },
  status: number,
  notice: SignInNotice | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<SignInReply> => {
  const { assets, baseUrl } = deps
  const { token, cookies } = guestOf(deps, asked)
  const rows = await deps.tenant.store.factors(user.id)
  const passkey = requestOptions(baseUrl(), rows, pending.id)
  const page = secondPage({ assets, baseUrl: baseUrl(), notice, token, email: user.email, passkey })
  return { status, page, cookies: cookies ?? {}, headers }
}

const tooLate = (deps: SignInDeps, asked: SignInRequest): SignInReply => {
  const says = 'The second step came too late, or was done already. Sign in again.'
  const reply = signInAgain(deps, asked, 403, { tone: 'wait', says })
  return { ...reply, cookies: { ...reply.cookies, [COOKIE]: null } }
}

export const showSecond = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const pending = readPending(deps, asked)
  const user = await whose(deps, pending)
  if (pending !== null && user !== null) return again(deps, asked, { pending, user }, 200, null)
  return { status: 303, to: `/sign-in${returnQuery(pending?.returnTo ?? '/')}`, cookies: { [COOKIE]: null } }
}

export const useSecond = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const pending = readPending(deps, asked)
  const user = await whose(deps, pending)
  if (pending === null || user === null) return tooLate(deps, asked)
  const { form, address } = asked
  try {
    const signed = form.has('response')
      ? { challenge: pending.id, response: form.raw('response'), baseUrl: deps.baseUrl() }
      : null
    const device = asked.cookie('device')
    const isFirst = () => deps.tenant.store.rememberOnce(SEAL, pending.id, pending.until)
    const attempt = { code: form.raw('code'), passkey: signed, address, device, isFirst }
    const factor = await deps.proveFactor(user, attempt)
    if (factor === null) {
      deps.log.warn({ event: 'sign_in_refused', why: 'second_factor', user: user.id, from: address })
      const says =
        signed === null
          ? 'This is not right, or was used already. Wait for the next code of your app.'
          : 'This passkey is none of yours here.'
      return again(deps, asked, { pending, user }, 422, { tone: 'bad', says })
    }
    if (factor === 'late') return tooLate(deps, asked)
    return (await letIn(deps, asked, user, pending.returnTo, factor)) ?? tooLate(deps, asked)
  } catch (error) {
    const { says, headers } = tooManyIn(error)
    return again(deps, asked, { pending, user }, 429, { tone: 'wait', says }, headers)
  }
}

const notRight = (deps: SignInDeps, asked: SignInRequest): SignInReply =>
  signInAgain(deps, asked, 422, { tone: 'bad', says: 'The address or the password is not right.' })

export const signInLocally = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  if (!deps.settings.local) {
    const says = 'Local accounts are switched off here (identity.local).'
    return message(deps, { status: 403, title: 'Not by password', says })
  }
  if (!isOurForm(deps, asked)) return notOurForm(deps, asked)
  const { form, address } = asked
  const attempt = {
    email: form.raw('email'),
    password: form.raw('password'),
    address,
    device: asked.cookie('device'),
  }
  try {
    const user = await deps.provePerson(deps.accountId, attempt)
    if (user === null) return notRight(deps, asked)
    if (user.hasFactor) return askSecond(deps, user, returnOf(asked))
    return (await letIn(deps, asked, user, returnOf(asked))) ?? notRight(deps, asked)
  } catch (error) {
    const { says, headers } = tooManyIn(error)
    return signInAgain(deps, asked, 429, { tone: 'wait', says }, headers)
  }
}

/** Cookie in which an invitation waits while the browser is at a provider. */
export const INVITATION = 'invitation'
const WAITS_SECONDS = 600

export const findInvitation = ({ tenant }: SignInDeps, token: string): Promise<LinkRow | null> =>
  openLink(tenant, 'invitation', token)

const gone = (deps: SignInDeps, how: string): SignInReply =>
  message(deps, {
    status: 410,
    title: 'This link does not work any more',
    says: 'It was used already, or is too old.',
    check: how,
  })

const SETUP_AGAIN = 'postern setup-link on the server makes another one'
const INVITE_AGAIN = 'an owner makes another one (Settings, People)'

export const showSetup = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const link = await openLink(deps.tenant, 'setup', asked.params.token ?? '')
  if (link === null) return gone(deps, SETUP_AGAIN)
  const { token, cookies } = guestOf(deps, asked)
  const { assets, baseUrl } = deps
  const path = `/setup/${asked.params.token}`
  const page = setupPage({ assets, baseUrl: baseUrl(), path, token, person: link.email })
  return { status: 200, page, cookies: cookies ?? {} }
}

export const useSetup = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const link = await openLink(deps.tenant, 'setup', asked.params.token ?? '')
  if (link === null) return gone(deps, SETUP_AGAIN)
  const opened = await openSession(deps, asked, {
    ...{ userId: link.userId, role: link.role, provider: 'link', linkId: link.id },
  })
  if (opened.done !== 'done') return gone(deps, SETUP_AGAIN)
  return { status: 303, to: link.userId === null ? '/' : '/settings/you', cookies: opened.cookies }
}

const showForm = (
  deps: SignInDeps,
  asked: SignInRequest,
  link: LinkRow,
  status: number,
  wrong: readonly string[],
): SignInReply => {
  const { assets, baseUrl, settings } = deps
  const { token, cookies } = guestOf(deps, asked)
  const page = invitationPage({
    ...{ assets, baseUrl: baseUrl(), token, wrong },
    path: `/invitation/${asked.params.token}`,
    role: link.role,
    email: asked.form.has('email') ? asked.form.raw('email').slice(0, 254) : (link.email ?? ''),
    name: asked.form.raw('name').slice(0, 200),
    providers: providerLinks(deps, '?invited'),
    hasLocal: settings.local,
  })
  const waiting = { [INVITATION]: { value: asked.params.token ?? '', seconds: WAITS_SECONDS } }
  return { status, page, cookies: { ...cookies, ...waiting } }
}

export const showInvitation = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const link = await findInvitation(deps, asked.params.token ?? '')
  return link === null ? gone(deps, INVITE_AGAIN) : showForm(deps, asked, link, 200, [])
}

/** What /v1 would say of a field, as a sentence. */
const sentences = (error: unknown): readonly string[] => {
  if (!(error instanceof Fault) || error.row.http >= 500) throw error
  const { errors } = error.options
  if (errors === undefined || errors.length === 0) return [error.message]
  return errors.map(({ field, message: said }) => {
    const name = field.replace(/^body\./, '')
    return `${name.charAt(0).toUpperCase()}${name.slice(1)} ${said}.`
  })
}

export const useInvitation = async (deps: SignInDeps, asked: SignInRequest): Promise<SignInReply> => {
  const { settings, tenant, accountId } = deps
  const link = await findInvitation(deps, asked.params.token ?? '')
  if (link === null || !settings.local) return gone(deps, INVITE_AGAIN)
  const { form } = asked
  const again = (said: readonly string[]): SignInReply => showForm(deps, asked, link, 422, said)
  try {
    const wish = {
      email: form.raw('email'),
      name: form.text('name'),
      role: link.role,
      password: form.raw('password'),
    }
    const newUser = await newPerson(tenant, accountId, wish)
    const opened = await openSession(deps, asked, {
      ...{ userId: newUser.id, provider: 'local', linkId: link.id, newUser },
    })
    if (opened.done === 'not_unique') return again(['Somebody has this address already.'])
    if (opened.done !== 'done') return gone(deps, INVITE_AGAIN)
    return { status: 303, to: '/', cookies: { ...opened.cookies, [INVITATION]: null } }
  } catch (error) {
    return again(sentences(error))
  }
}
