/**
 * NAME      start - the sign-in page
 */
import { Fault } from '../../base/fault.js'
import { guestOf, providerLinks, refuseWay, returnOf, returnQuery, type SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'
import { currentSession } from './session.js'
import { type Notice, signInPage } from './views.js'

/** The page, whatever came before; `notice` says it. */
export const signInAgain = (
  deps: SignInDeps,
  asked: Asked,
  status: number,
  notice: Notice | null,
  headers: Readonly<Record<string, string>> = {},
): Reply => {
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
const goesOn = ({ settings, providers }: SignInDeps, { query, cookie }: Asked): string | null => {
  const [only] = providers.settings
  const isAlone = providers.settings.length === 1 && only !== undefined
  if (!settings.auto || !isAlone || query.has('local') || cookie('signed_out') !== null) return null
  return only.name
}

export const showSignIn = async (deps: SignInDeps, asked: Asked): Promise<Reply> => {
  const wrong = refuseWay(deps, asked)
  if (wrong !== null) return wrong
  const returnTo = returnOf(asked)
  if ((await currentSession(deps, asked)) !== null) return { status: 303, to: returnTo }
  const name = goesOn(deps, asked)
  if (name !== null) return { status: 303, to: `/sign-in/${name}${returnQuery(returnTo)}` }
  return signInAgain(deps, asked, 200, null)
}

export const showSignedOut = async (deps: SignInDeps, asked: Asked): Promise<Reply> =>
  signInAgain(deps, asked, 200, { tone: 'ok', says: 'You are signed out.' })

/** What a fault of a proof means for somebody at a form; rethrows what is none. */
export const tooManyIn = (
  error: unknown,
): { readonly says: string; readonly headers: Readonly<Record<string, string>> } => {
  if (!(error instanceof Fault) || error.row.http !== 429) throw error
  const seconds = error.options.retryAfter ?? 60
  const when = seconds === 1 ? '1 second' : `${seconds} seconds`
  return { says: `Too many attempts. Try again in ${when}.`, headers: { 'retry-after': String(seconds) } }
}
