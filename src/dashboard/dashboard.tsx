/**
 * NAME      dashboard - the pages for people
 * DESCRIPTION
 *   A hapi plugin on the listener of the API. It holds nothing and decides nothing: it reads the cookie, asks /v1 as
 *   the person whose session that is, and renders. GET changes nothing; a POST carries the token of its session and
 *   comes from our own origin, or it is shown again with a word about it.
 * NOTES
 *   Every answer is made here, also that of an error, so that the API's problem documents never reach a page.
 */
import { Readable } from 'node:stream'
import type { Plugin, Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import { outageOf } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { IdentitySettings } from '../config/identity.js'
import type { ProvePerson } from '../tenant/identity/local.js'
import type { TenantGround } from '../tenant/principal.js'
import { type Ask, AskError, jsonOf, type Problem, queryText } from './ask.js'
import { loadAssets } from './assets/assets.js'
import { cookieRules, readCookie, setCookie } from './cookie.js'
import { Form } from './form.js'
import { Layout } from './layout.js'
import { type Follow, liveRoute } from './live.js'
import { OpenLayout } from './open-layout.js'
import { formTokenOf, isOwnOrigin, sameToken } from './own-form.js'
import type { Done, Page, RawRoute, Reader, Refused, View } from './page.js'
import { OPEN_PAGES, PAGES, RAW_ROUTES } from './pages/all.js'
import { readZone } from './parts/time.js'
import { NOT_FOUND, notFor, troubleView } from './parts/trouble.js'
import { PAGE_HEADERS, prefixOf, renderPage, SAFE_HEADERS } from './render.js'
import { createProviders } from './sign-in/providers.js'
import { createRecheck } from './sign-in/recheck.js'
import { signInRoutes } from './sign-in/sign-in.js'
import { THEMES, type Theme, Visit, type Who } from './visit.js'

export interface DashboardOptions {
  readonly ask: Ask
  readonly follow: Follow
  /** Known once the listener listens. */
  readonly baseUrl: () => string
  readonly pepper: Uint8Array
  readonly version: string
  readonly isDev: boolean
  readonly log: Log
  /** The client's address, behind proxies too. */
  readonly addressOf: (request: Request) => string
  readonly tenant: TenantGround
  readonly accountId: string
  readonly provePerson: ProvePerson
  readonly identity: IdentitySettings
  /** This listener speaks TLS itself. */
  readonly isTls: boolean
}

/** What the API's listener takes in. */
export interface Site {
  readonly plugin: Plugin<void>
  /** The page at an address where programs get JSON. */
  page(request: Request, h: ResponseToolkit): Promise<ResponseObject>
  /** The page that says that there is none. */
  missing(request: Request, h: ResponseToolkit): Promise<ResponseObject>
}

const MOST_FORM = 4 * 1024 * 1024
const YEAR_S = 31_536_000

/** What a cookie of ours says; nothing where somebody else wrote it. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

type Answer =
  | { readonly view: View; readonly visit: Visit }
  | { readonly to: string; readonly notice?: string; readonly theme?: Theme }

class SignInNeeded extends Error {}

const isSignedOut = (error: unknown): boolean =>
  error instanceof SignInNeeded || (error instanceof AskError && error.problem.status === 401)

const toAnswer = (done: Done, visit: Visit): Answer => ('view' in done ? { view: done.view, visit } : done)

const FAILED: Problem = {
  title: 'This page failed',
  status: 500,
  code: 'internal.unexpected',
  detail: 'The log says more.',
}

const STALE: Problem = {
  title: 'This form is older than your sign-in',
  status: 403,
  code: 'dashboard.form_stale',
  detail:
    'Nothing was changed: this form is older than your sign-in. What you typed is still here; send it again.',
}

export const createDashboard = (options: DashboardOptions): Site => {
  const { ask, follow, baseUrl, pepper, version, isDev, log, addressOf } = options
  const assets = loadAssets()
  const { tenant, accountId, provePerson, identity: settings } = options
  const providers = createProviders(settings.oidc, tenant.clock)
  const signIn = { tenant, accountId, provePerson, settings, baseUrl, log, assets, providers }
  const recheck = createRecheck(signIn)
  const defaultMode = isDev ? 'test' : 'live'
  const sessionCookie = () => cookieRules(baseUrl(), 'session')
  const noticeCookie = () => cookieRules(baseUrl(), 'notice')
  const themeCookie = () => cookieRules(baseUrl(), 'theme')

  const whoIs = async (session: string, address: string): Promise<Who> => {
    const answer = await ask('GET', '/v1/session', { session, address })
    if (answer.status === 401) throw new SignInNeeded()
    return jsonOf<Who>(answer)
  }

  const sessionOf = async (request: Request): Promise<string | null> => {
    const session = readCookie(request.raw.req.headers.cookie, sessionCookie().name)
    return session !== null && (await recheck.stands(session)) ? session : null
  }

  const visitOf = async (request: Request): Promise<Visit> => {
    const { cookie } = request.raw.req.headers
    const session = await sessionOf(request)
    if (session === null) throw new SignInNeeded()
    const address = addressOf(request)
    const url = new URL(request.url.href)
    const mode = url.searchParams.get('mode')
    const notice = readCookie(cookie, noticeCookie().name)
    return new Visit({
      ...{ ask, session, address, url, isDev, defaultMode },
      who: await whoIs(session, address),
      params: request.params as Record<string, string>,
      scope: {
        workspace: url.searchParams.get('workspace') || null,
        mode: mode === 'live' || mode === 'test' ? mode : defaultMode,
      },
      formToken: formTokenOf(pepper, session),
      headers: request.raw.req.headers,
      baseUrl: baseUrl(),
      notice: notice === null ? null : decoded(notice),
      theme: THEMES.find((theme) => theme === readCookie(cookie, themeCookie().name)) ?? 'system',
      browserZone: readZone(decoded(readCookie(cookie, 'postern_zone') ?? '')),
    })
  }

  const send = (h: ResponseToolkit, status: number, html: string): ResponseObject => {
    const response = h.response(html).code(status)
    for (const [name, value] of Object.entries(PAGE_HEADERS)) response.header(name, value)
    return response
  }

  const toSignIn = (request: Request, h: ResponseToolkit): ResponseObject => {
    const back = request.method === 'get' ? request.url.pathname + request.url.search : '/'
    const to = `${prefixOf(baseUrl())}/sign-in${queryText({ return_to: back === '/' ? null : back })}`
    return h.redirect(to).code(303).header('cache-control', 'no-store')
  }

  const respond = async (h: ResponseToolkit, answer: Answer): Promise<ResponseObject> => {
    const prefix = prefixOf(baseUrl())
    if ('to' in answer) {
      const response = h.redirect(prefix + answer.to).code(303)
      const { notice, theme } = answer
      const leave = (line: string) => response.header('set-cookie', line, { append: true })
      if (notice !== undefined) leave(setCookie(noticeCookie(), encodeURIComponent(notice), 60))
      if (theme !== undefined) leave(setCookie(themeCookie(), theme, theme === 'system' ? 0 : YEAR_S))
      return response
    }
    const { view, visit } = answer
    // a script that knows the rest
    if (visit.header('x-postern-part') !== null && (view.status ?? 200) === 200) {
      return send(h, 200, renderPage(<main>{view.body}</main>, prefix))
    }
    const page = (
      <Layout
        {...{ visit, assets, version }}
        title={view.title}
        workspaces={await visit.workspaces().catch(() => [])}
      >
        {view.body}
      </Layout>
    )
    const response = send(h, view.status ?? 200, renderPage(page, prefix))
    if (visit.notice === null) return response
    return response.header('set-cookie', setCookie(noticeCookie(), '', 0), { append: true })
  }

  /** A view for somebody without a session, or whose session cannot be asked for. */
  const respondOpenly = (request: Request, h: ResponseToolkit, view: View): ResponseObject => {
    const { pathname, search } = new URL(request.url.href)
    const document = (
      <OpenLayout title={view.title} assets={assets} path={pathname + search}>
        {view.body}
      </OpenLayout>
    )
    return send(h, view.status ?? 200, renderPage(document, prefixOf(baseUrl())))
  }

  /** Null for whoever has not signed in. */
  const visitIfAny = (request: Request): Promise<Visit | null> =>
    visitOf(request).catch((error: unknown) => {
      if (isSignedOut(error)) return null
      throw error
    })

  const respondTo = (request: Request, h: ResponseToolkit, visit: Visit | null, view: View) =>
    visit === null ? respondOpenly(request, h, view) : respond(h, { view, visit })

  const problemOf = (request: Request, error: unknown): Problem => {
    if (error instanceof AskError) return error.problem
    const outage = outageOf(error)
    if (outage !== null) return { title: outage.row.title, status: outage.row.http, code: outage.code }
    log.error({ event: 'page_failed', path: request.route.path, err: error as Error })
    return FAILED
  }

  /** For everybody, with a session or without one. */
  const openly =
    (show: (request: Request, visit: Visit | null) => Promise<View>) =>
    async (request: Request, h: ResponseToolkit): Promise<ResponseObject> => {
      let visit: Visit | null = null
      try {
        visit = await visitIfAny(request)
        return await respondTo(request, h, visit, await show(request, visit))
      } catch (error) {
        return respondTo(request, h, visit, troubleView(problemOf(request, error)))
      }
    }

  const openPage = openly(async (request, visit) => {
    const reader: Reader = {
      visit,
      params: request.params as Record<string, string>,
      query: new URL(request.url.href).searchParams,
      ask: async <T,>(path: string) =>
        jsonOf<T>(await ask('GET', path, { session: null, address: addressOf(request) })),
    }
    const page = OPEN_PAGES.find(({ path }) => path === request.route.path)
    return page === undefined ? troubleView(NOT_FOUND) : page.view(reader)
  })

  /** Whatever goes wrong on the way is a page, too. */
  const guarded =
    (act: (request: Request, h: ResponseToolkit, visit: Visit) => Promise<ResponseObject>) =>
    async (request: Request, h: ResponseToolkit): Promise<ResponseObject> => {
      let visit: Visit | null = null
      try {
        visit = await visitOf(request)
        return await act(request, h, visit)
      } catch (error) {
        if (isSignedOut(error)) return toSignIn(request, h)
        return respondTo(request, h, visit, troubleView(problemOf(request, error)))
      }
    }

  const isOurs = ({ raw }: Request): boolean => isOwnOrigin(raw.req.headers, baseUrl())
  const live = liveRoute({ follow, addressOf, sessionOf, isOurs })

  const act = async (page: Page, request: Request, visit: Visit): Promise<Answer> => {
    const form = new Form(String(request.payload ?? ''))
    const action = form.raw('_action')
    const run = Object.hasOwn(page.actions ?? {}, action) ? page.actions?.[action] : undefined
    const again = async (problem: Problem): Promise<Answer> => {
      const refused: Refused = { action, form, problem }
      const view = await page.view(visit, refused)
      return { view: { ...view, status: problem.status }, visit }
    }
    if (!isOurs(request) || !sameToken(form.raw('_form'), visit.formToken)) return again(STALE)
    if (run === undefined) return again({ ...STALE, title: 'This page has no such action', status: 400 })
    try {
      return toAnswer(await run(visit, form), visit)
    } catch (error) {
      if (!(error instanceof AskError) || error.problem.status === 401) throw error
      return again(error.problem)
    }
  }

  const routesOf = (page: Page) => [
    {
      method: 'GET' as const,
      path: page.path,
      options: { auth: false as const },
      handler: guarded(async (_request, h, visit) =>
        respond(h, {
          view: visit.may(page.role ?? 'viewer')
            ? await page.view(visit, null)
            : troubleView(notFor(page.role)),
          visit,
        }),
      ),
    },
    {
      method: 'POST' as const,
      path: page.path,
      options: {
        auth: false as const,
        payload: {
          parse: 'gunzip' as const,
          output: 'data' as const,
          maxBytes: MOST_FORM,
          // instead of the JSON that the API takes everything for; what is no form has no token either
          override: 'application/x-www-form-urlencoded',
        },
      },
      handler: guarded(async (request, h, visit) => respond(h, await act(page, request, visit))),
    },
  ]

  const rawRoute = ({ path, answer }: RawRoute) => ({
    method: 'GET' as const,
    path,
    options: { auth: false as const },
    handler: guarded(async (request, h, visit) => {
      const { status, headers, body } = await answer(visit)
      if (body instanceof Readable) {
        const { res } = request.raw
        if (res.destroyed) body.destroy()
        else res.once('close', () => body.destroy())
        // compressed, it would be held back
        request.info.acceptEncoding = 'identity'
      }
      const response = h.response(body).code(status)
      for (const [name, value] of Object.entries(headers)) response.header(name, value)
      return response
    }),
  })

  const assetRoute = {
    method: 'GET' as const,
    path: '/assets/{path*}',
    options: { auth: false as const },
    handler: (request: Request, h: ResponseToolkit) => assets.answer(request, h),
  }

  /** What the server refused before a page heard of it, such as a form that is too large. */
  const refused = (problem: Problem) => openly(async () => troubleView(problem))

  const finish = async (request: Request, h: ResponseToolkit) => {
    const { response } = request
    if ('isBoom' in response) return h.continue
    const isProblem = String(response.headers['content-type']).startsWith('application/problem+json')
    const last = isProblem ? await refused(JSON.parse(String(response.source)))(request, h) : response
    for (const [name, value] of Object.entries(SAFE_HEADERS)) {
      if (last.headers[name] === undefined) last.header(name, value)
    }
    return isProblem ? last : h.continue
  }

  return {
    plugin: {
      name: 'dashboard',
      register(server) {
        for (const page of PAGES) server.route(routesOf(page))
        for (const raw of RAW_ROUTES) server.route(rawRoute(raw))
        server.ext('onPreResponse', finish, { sandbox: 'plugin' })
        server.route(assetRoute)
        server.route(live)
        server.route([...signInRoutes(signIn, options.isTls)])
        server.ext('onPostStop', () => providers.close())
      },
    },
    page: openPage,
    missing: guarded(async (_request, h, visit) => respond(h, { view: troubleView(NOT_FOUND), visit })),
  }
}
