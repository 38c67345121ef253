/**
 * NAME      answer - from a request to a page
 *   Who looks, as the request and its cookies say; what a posted form does; and the view or the redirect as an answer
 *   of the web server. A form carries the token of its session and comes from our own origin, or it is shown again with
 *   a word about it, as is what /v1 refuses. Whatever goes wrong on the way to a page is a page, too.
 */
import { Readable } from 'node:stream'
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import type { VNode } from 'preact'
import { orElse, outageOf } from '../base/fault.js'
import type { Kept } from '../base/kept.js'
import type { Log } from '../base/log.js'
import { type AskApi, AskError, type AskOptions, jsonOf, type Problem, queryText } from './ask.js'
import type { Assets } from './assets/assets.js'
import { cookieRules, readCookie, setCookie } from './cookie.js'
import { Form, formTokenOf, isOwnOrigin, sameToken } from './form.js'
import { Layout, OpenLayout, type Rail } from './layout.js'
import { flowTo } from './live.js'
import { Untold } from './parts/form.js'
import { refusalOf, troubleView } from './parts/page-parts.js'
import { readZone } from './parts/text.js'
import { PAGE_HEADERS, prefixOf, renderPage } from './render.js'
import type { Recheck } from './sign-in/with-provider.js'
import {
  type FormDone,
  type Raw,
  type RefusedForm,
  type SitePage,
  THEMES,
  type View,
  Visit,
  type VisitScope,
  type Who,
} from './visit.js'

export interface ResponseDeps {
  readonly baseUrl: () => string
  readonly version: string
  readonly rail: Rail
  readonly assets: Assets
}

interface Shown {
  readonly view: View
  readonly visit: Visit
  readonly refused?: RefusedForm | null
}

export const sendRaw = (
  request: Request,
  h: ResponseToolkit,
  { status, headers, body }: Raw,
): ResponseObject => {
  if (body instanceof Readable) flowTo(request, body)
  const response = h.response(body).code(status)
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
  return response
}

type Onward = Extract<FormDone, { readonly to: string }>

type Answer = Shown | Onward

const YEAR_S = 31_536_000

const send = (h: ResponseToolkit, status: number, html: string): ResponseObject => {
  // octets, since a text would be counted first and then written again
  const response = h.response(Buffer.from(html)).code(status)
  for (const [name, value] of Object.entries(PAGE_HEADERS)) response.header(name, value)
  return response
}

const toSignIn = (baseUrl: string, request: Request, h: ResponseToolkit): ResponseObject => {
  const back = request.method === 'get' ? request.url.pathname + request.url.search : '/'
  const to = `${prefixOf(baseUrl)}/sign-in${queryText({ return_to: back === '/' ? null : back })}`
  return h.redirect(to).code(303).header('cache-control', 'no-store')
}

const sendOnward = (baseUrl: string, h: ResponseToolkit, { to, notice, theme }: Onward): ResponseObject => {
  const response = h.redirect(prefixOf(baseUrl) + to).code(303)
  const leave = (name: string, value: string, seconds: number) =>
    response.header('set-cookie', setCookie(cookieRules(baseUrl, name), value, seconds), { append: true })
  if (notice !== undefined) leave('notice', encodeURIComponent(notice), 60)
  if (theme !== undefined) leave('theme', theme, theme === 'system' ? 0 : YEAR_S)
  return response
}

const show = async (
  { baseUrl, version, rail, assets }: ResponseDeps,
  h: ResponseToolkit,
  { view, visit, refused = null }: Shown,
): Promise<ResponseObject> => {
  let isTold = refused === null
  const onTold = (): void => {
    isTold = true
  }
  const page = (document: VNode) => renderPage(document, prefixOf(baseUrl()), { visit, refused, onTold })
  // a script that knows the rest
  if (visit.isPart && (view.status ?? 200) === 200) return send(h, 200, page(<main>{view.body}</main>))
  const workspaces = await visit.newestWorkspaces().catch(() => null)
  const summary = await visit.summary()
  const document = (untold: RefusedForm | null) => (
    <Layout {...{ visit, assets, version, rail, workspaces, summary }} title={view.title}>
      {untold === null ? null : <Untold refused={untold} />}
      {view.body}
    </Layout>
  )
  let html = page(document(null))
  if (!isTold) html = page(document(refused))
  const response = send(h, view.status ?? 200, html)
  if (visit.notice === null) return response
  const forgotten = setCookie(cookieRules(baseUrl(), 'notice'), '', 0)
  return response.header('set-cookie', forgotten, { append: true })
}

export const respond = async (
  deps: ResponseDeps,
  h: ResponseToolkit,
  answer: Answer,
): Promise<ResponseObject> => ('to' in answer ? sendOnward(deps.baseUrl(), h, answer) : show(deps, h, answer))

/** A view for somebody without a session, or whose session cannot be asked for. */
const respondOpenly = (
  { baseUrl, assets }: ResponseDeps,
  request: Request,
  h: ResponseToolkit,
  view: View,
): ResponseObject => {
  const { pathname, search } = new URL(request.url.href)
  const document = (
    <OpenLayout title={view.title} assets={assets} path={pathname + search}>
      {view.body}
    </OpenLayout>
  )
  return send(h, view.status ?? 200, renderPage(document, prefixOf(baseUrl())))
}

const STALE: Problem = {
  title: 'This form is older than your sign-in',
  status: 403,
  code: 'dashboard.form_stale',
  detail:
    'Nothing was changed: this form is older than your sign-in. What you typed is still here; send it again.',
}

const NO_ACTION: Problem = { ...STALE, title: 'This page has no such action', status: 400 }

export const act = async (page: SitePage, { payload, raw }: Request, visit: Visit): Promise<Answer> => {
  const form = new Form(String(payload ?? ''))
  const action = form.raw('_action')
  const asked = Object.hasOwn(page.actions ?? {}, action) ? page.actions?.[action] : undefined
  const again = async (problem: Problem): Promise<Answer> => {
    const refused = { action, form, problem }
    const view = await page.view(visit, refused)
    return { view: { ...view, status: problem.status }, visit, refused }
  }
  const isOurs = isOwnOrigin(raw.req.headers, visit.baseUrl)
  if (!isOurs || !sameToken(form.raw('_form'), visit.formToken)) return again(STALE)
  if (asked === undefined) return again(NO_ACTION)
  const refusal = refusalOf(visit, page.opens) ?? refusalOf(visit, asked.does)
  if (refusal !== null) return { view: troubleView(refusal), visit }
  try {
    const done = await asked.run(visit, form)
    return 'view' in done ? { view: done.view, visit } : done
  } catch (error) {
    if (!(error instanceof AskError) || error.problem.status === 401) throw error
    return again(error.problem)
  }
}

interface VisitorDeps {
  readonly ask: AskApi
  readonly baseUrl: () => string
  readonly pepper: Uint8Array
  readonly isDev: boolean
  readonly devKey: () => string | null
  readonly addressOf: (request: Request) => string
  readonly recheck: Recheck
  readonly kept: Kept
}

interface Visitors {
  /** Null also for a session that has ended. */
  sessionOf(request: Request): Promise<string | null>
  /** Throws what `isSignedOut` knows. */
  visitOf(request: Request): Promise<Visit>
  visitIfAny(request: Request): Promise<Visit | null>
}

class SignInNeeded extends Error {}

const isSignedOut = (error: unknown): boolean =>
  error instanceof SignInNeeded || (error instanceof AskError && error.problem.status === 401)

/** What a cookie of ours says; nothing where somebody else wrote it. */
const decoded = (text: string): string => orElse(() => decodeURIComponent(text), '')

const whoIs = async (ask: AskApi, asker: Omit<AskOptions, 'asValue'>): Promise<Who> => {
  const answer = await ask('GET', '/v1/session', { ...asker, asValue: true })
  if (answer.status === 401) throw new SignInNeeded()
  return jsonOf<Who>(answer)
}

const scopeOf = ({ searchParams }: URL, defaultMode: VisitScope['mode']): VisitScope => {
  const mode = searchParams.get('mode')
  return {
    workspace: searchParams.get('workspace') || null,
    mode: mode === 'live' || mode === 'test' ? mode : defaultMode,
  }
}

export const createVisitors = (deps: VisitorDeps): Visitors => {
  const { ask, baseUrl, pepper, isDev, devKey, addressOf, recheck, kept } = deps
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
    const asker = { session, address: addressOf(request), look: {} }
    const url = new URL(request.url.href)
    const notice = cookieOf(request, 'notice')
    const theme = cookieOf(request, 'theme')
    return new Visit({
      ...{ ask, ...asker, kept, url, isDev, devKey, defaultMode, headers },
      who: await whoIs(ask, asker),
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

interface GuardDeps extends ResponseDeps {
  readonly log: Log
  readonly visitors: Visitors
}

type Handle = (request: Request, h: ResponseToolkit) => Promise<ResponseObject>

export interface Guard {
  /** For everybody, with a session or without one. */
  openly(show: (request: Request, visit: Visit | null) => Promise<View | Raw>): Handle
  /** For who has signed in; everybody else is sent to do so. */
  guarded(act: (request: Request, h: ResponseToolkit, visit: Visit) => Promise<ResponseObject>): Handle
}

/** Where one gets to without the second factor that everybody must have. */
const ENROLLING: ReadonlySet<string> = new Set(['/settings/second-factor', '/settings/you'])

const FAILED: Problem = {
  title: 'This page failed',
  status: 500,
  code: 'internal.unexpected',
  detail: 'The log says more.',
}

export const createGuard = (deps: GuardDeps): Guard => {
  const { visitors, log, baseUrl } = deps
  const respondTo = (request: Request, h: ResponseToolkit, visit: Visit | null, view: View) =>
    visit === null ? respondOpenly(deps, request, h, view) : respond(deps, h, { view, visit })

  const problemOf = (request: Request, error: unknown): Problem => {
    if (error instanceof AskError) return error.problem
    const outage = outageOf(error)
    if (outage !== null) return { title: outage.row.title, status: outage.row.http, code: outage.code }
    log.error({ event: 'page_failed', path: request.route.path, err: error as Error })
    return FAILED
  }

  return {
    openly: (show) => async (request, h) => {
      let visit: Visit | null = null
      try {
        visit = await visitors.visitIfAny(request)
        const shown = await show(request, visit)
        return 'headers' in shown ? sendRaw(request, h, shown) : await respondTo(request, h, visit, shown)
      } catch (error) {
        return respondTo(request, h, visit, troubleView(problemOf(request, error)))
      }
    },
    guarded: (act) => async (request, h) => {
      let visit: Visit | null = null
      try {
        visit = await visitors.visitOf(request)
        if (visit.mustEnrol && !ENROLLING.has(visit.url.pathname))
          return await respond(deps, h, { to: '/settings/second-factor' })
        return await act(request, h, visit)
      } catch (error) {
        if (isSignedOut(error)) return toSignIn(baseUrl(), request, h)
        return respondTo(request, h, visit, troubleView(problemOf(request, error)))
      }
    },
  }
}
