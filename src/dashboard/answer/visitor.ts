/**
 * NAME      visitor - who looks, as the request and its cookies say
 */
import type { Request } from '@hapi/hapi'
import { type Ask, AskError, jsonOf } from '../ask.js'
import { cookieRules, readCookie } from '../cookie.js'
import { formTokenOf } from '../own-form.js'
import { readZone } from '../parts/time.js'
import type { Recheck } from '../sign-in/recheck.js'
import { type Scope, THEMES, Visit, type Who } from '../visit.js'

interface VisitorDeps {
  readonly ask: Ask
  readonly baseUrl: () => string
  readonly pepper: Uint8Array
  readonly isDev: boolean
  readonly devKey: () => string | null
  readonly addressOf: (request: Request) => string
  readonly recheck: Recheck
}

export interface Visitors {
  /** Null also for a session that has ended. */
  sessionOf(request: Request): Promise<string | null>
  /** Throws what `isSignedOut` knows. */
  visitOf(request: Request): Promise<Visit>
  /** Null for whoever has not signed in. */
  visitIfAny(request: Request): Promise<Visit | null>
}

class SignInNeeded extends Error {}

export const isSignedOut = (error: unknown): boolean =>
  error instanceof SignInNeeded || (error instanceof AskError && error.problem.status === 401)

/** What a cookie of ours says; nothing where somebody else wrote it. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

const whoIs = async (ask: Ask, session: string, address: string): Promise<Who> => {
  const answer = await ask('GET', '/v1/session', { session, address, asValue: true })
  if (answer.status === 401) throw new SignInNeeded()
  return jsonOf<Who>(answer)
}

const scopeOf = ({ searchParams }: URL, defaultMode: Scope['mode']): Scope => {
  const mode = searchParams.get('mode')
  return {
    workspace: searchParams.get('workspace') || null,
    mode: mode === 'live' || mode === 'test' ? mode : defaultMode,
  }
}

export const createVisitors = (deps: VisitorDeps): Visitors => {
  const { ask, baseUrl, pepper, isDev, devKey, addressOf, recheck } = deps
  const defaultMode = isDev ? 'test' : 'live'
  const cookieOf = ({ raw }: Request, name: string) =>
    readCookie(raw.req.headers.cookie, cookieRules(baseUrl(), name).name)

  const sessionOf = async (request: Request): Promise<string | null> => {
    const session = cookieOf(request, 'session')
    return session !== null && (await recheck.stands(session)) ? session : null
  }

  const visitOf = async (request: Request): Promise<Visit> => {
    const { headers } = request.raw.req
    const session = await sessionOf(request)
    if (session === null) throw new SignInNeeded()
    const address = addressOf(request)
    const url = new URL(request.url.href)
    const notice = cookieOf(request, 'notice')
    const theme = cookieOf(request, 'theme')
    return new Visit({
      ...{ ask, session, address, url, isDev, devKey, defaultMode, headers },
      who: await whoIs(ask, session, address),
      params: request.params as Record<string, string>,
      scope: scopeOf(url, defaultMode),
      formToken: formTokenOf(pepper, session),
      baseUrl: baseUrl(),
      notice: notice === null ? null : decoded(notice),
      theme: THEMES.find((one) => one === theme) ?? 'system',
      browserZone: readZone(decoded(readCookie(headers.cookie, 'postern_zone') ?? '')),
    })
  }

  const visitIfAny = (request: Request): Promise<Visit | null> =>
    visitOf(request).catch((error: unknown) => {
      if (isSignedOut(error)) return null
      throw error
    })

  return { sessionOf, visitOf, visitIfAny }
}
