/**
 * NAME      link - one-use links: setup and invitation
 * DESCRIPTION
 *   To look at one changes nothing: mail scanners, previews and prefetching
 *   browsers only ever look. The button posts, and that uses it up. At a provider
 *   an invitation waits in a cookie, so that its secret stands in no other address.
 */
import { Fault } from '../../base/fault.js'
import type { LinkRow } from '../../store/port/identity.js'
import { newPerson, openLink } from '../../tenant/people.js'
import { guestOf, message, openSession, providerLinks, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import { invitationPage, setupPage } from './views.js'

/** Cookie in which an invitation waits while the browser is at a provider. */
export const INVITATION = 'invitation'
const WAITS_SECONDS = 600

export const findInvitation = ({ tenant }: SignInDeps, token: string): Promise<LinkRow | null> =>
  openLink(tenant, 'invitation', token)

const gone = (deps: SignInDeps, how: string): Reply =>
  message(deps, {
    status: 410,
    title: 'This link does not work any more',
    says: 'It was used already, or is too old.',
    check: how,
  })

const SETUP_AGAIN = 'postern setup-link on the server makes another one'
const INVITE_AGAIN = 'an owner makes another one (Settings, People)'

export const showSetup = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
  const link = await openLink(deps.tenant, 'setup', asked.params.token ?? '')
  if (link === null) return gone(deps, SETUP_AGAIN)
  const { token, cookies } = guestOf(deps, asked)
  const { assets, baseUrl } = deps
  const path = `/setup/${asked.params.token}`
  const page = setupPage({ assets, baseUrl: baseUrl(), path, token, person: link.email })
  return { status: 200, page, cookies: cookies ?? {} }
}

export const useSetup = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
  const link = await openLink(deps.tenant, 'setup', asked.params.token ?? '')
  if (link === null) return gone(deps, SETUP_AGAIN)
  const opened = await openSession(deps, asked, {
    ...{ userId: link.userId, role: link.role, provider: 'link', linkId: link.id },
    ...{ newUser: null, identity: null, change: null },
  })
  if (opened.done !== 'done') return gone(deps, SETUP_AGAIN)
  return { status: 303, to: link.userId === null ? '/' : '/settings/you', cookies: opened.cookies }
}

const showForm = (
  deps: SignInDeps,
  asked: Asked,
  link: LinkRow,
  status: number,
  wrong: readonly string[],
): Reply => {
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

export const showInvitation = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
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

export const useInvitation = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
  const { settings, tenant, accountId } = deps
  const link = await findInvitation(deps, asked.params.token ?? '')
  if (link === null || !settings.local) return gone(deps, INVITE_AGAIN)
  const { form } = asked
  const again = (said: readonly string[]): Reply => showForm(deps, asked, link, 422, said)
  try {
    const wish = {
      email: form.raw('email'),
      name: form.text('name'),
      role: link.role,
      password: form.raw('password'),
    }
    const newUser = await newPerson(tenant, accountId, wish)
    const opened = await openSession(deps, asked, {
      ...{ userId: newUser.id, provider: 'local', linkId: link.id },
      ...{ newUser, identity: null, change: null },
    })
    if (opened.done === 'not_unique') return again(['Somebody has this address already.'])
    if (opened.done !== 'done') return gone(deps, INVITE_AGAIN)
    return { status: 303, to: '/', cookies: { ...opened.cookies, [INVITATION]: null } }
  } catch (error) {
    return again(sentences(error))
  }
}
