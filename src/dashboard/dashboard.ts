/**
 * NAME      dashboard - the pages for people
 *   A hapi plugin on the listener of the API. It holds nothing and decides nothing: it reads the cookie, asks /v1 as
 *   the person whose session that is, and renders. GET changes nothing; a POST carries the token of its session and
 *   comes from our own origin, or it is shown again with a word about it.
 * NOTES
 *   Every answer is made here, also that of an error, so that the API's problem documents never reach a page.
 */
import type { Plugin, Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import type { Kept } from '../base/kept.js'
import type { Log } from '../base/log.js'
import type { IdentitySettings } from '../config/identity.js'
import type { ProvePerson } from '../tenant/credential.js'
import type { ProveFactor } from '../tenant/factors.js'
import type { TenantDeps } from '../tenant/principal.js'
import {
  act,
  createGuard,
  createVisitors,
  type Guard,
  type ResponseDeps,
  respond,
  sendRaw,
} from './answer.js'
import { type AskApi, jsonOf, type Problem } from './ask.js'
import { type Assets, loadAssets } from './assets/assets.js'
import { formPayload, isOwnOrigin } from './form.js'
import { type Follow, liveRoute } from './live.js'
import { DOC_PAGES, DOC_ROUTE, DOC_TEXTS, OPEN_PAGES, PAGES, RAIL, RAW_ROUTES } from './pages/all.js'
import { NOT_FOUND, refusalOf, troubleView } from './parts/page-parts.js'
import { SAFE_HEADERS } from './render.js'
import { createProviders } from './sign-in/deps.js'
import { signInRoutes } from './sign-in/sign-in.js'
import { createRecheck } from './sign-in/with-provider.js'
import type { RawRoute, SitePage, SiteReader, Visit } from './visit.js'

export interface DashboardOptions {
  readonly ask: AskApi
  /** What stands around pages; the API forgets it when something is changed. */
  readonly kept: Kept
  readonly follow: Follow
  /** Known once the listener listens. */
  readonly baseUrl: () => string
  readonly pepper: Uint8Array
  readonly version: string
  readonly isDev: boolean
  /** The test key of dev mode, which listens on loopback only; null elsewhere. */
  readonly devKey: () => string | null
  readonly log: Log
  /** The client's address, behind proxies too. */
  readonly addressOf: (request: Request) => string
  readonly tenant: TenantDeps
  readonly accountId: string
  readonly provePerson: ProvePerson
  readonly proveFactor: ProveFactor
  readonly identity: IdentitySettings
  readonly docs: 'open' | 'members'
  readonly isTls: boolean
}

/** What the API's listener takes in. */
export interface DashboardSite {
  readonly plugin: Plugin<void>
  /** The page at an address where programs get JSON. */
  page(request: Request, h: ResponseToolkit): Promise<ResponseObject>
  missing(request: Request, h: ResponseToolkit): Promise<ResponseObject>
}

const MOST_FORM = 4 * 1024 * 1024
const OPEN = { auth: false as const }

const routesOf = (deps: ResponseDeps, { guarded }: Guard, page: SitePage) => [
  {
    method: 'GET' as const,
    path: page.path,
    options: OPEN,
    handler: guarded(async (_request, h, visit) => {
      if (!visit.isPart) void visit.summary()
      const refusal = refusalOf(visit, page.opens)
      const view = refusal === null ? await page.view(visit, null) : troubleView(refusal)
      return respond(deps, h, { view, visit })
    }),
  },
  {
    method: 'POST' as const,
    path: page.path,
    options: { ...OPEN, payload: formPayload(MOST_FORM) },
    handler: guarded(async (request, h, visit) => respond(deps, h, await act(page, request, visit))),
  },
]

const rawRoute = ({ guarded }: Guard, { path, answer }: RawRoute) => ({
  method: 'GET' as const,
  path,
  options: OPEN,
  handler: guarded(async (request, h, visit) => sendRaw(request, h, await answer(visit))),
})

const assetRoute = (assets: Assets) => ({
  method: 'GET' as const,
  path: '/assets/{path*}',
  options: OPEN,
  handler: (request: Request, h: ResponseToolkit) => assets.answer(request, h),
})

const readerOf = (
  { ask, addressOf, baseUrl, docs }: DashboardOptions,
  request: Request,
  visit: Visit | null,
): SiteReader => {
  const openly = (path: string, asValue = false) =>
    ask('GET', path, { session: null, address: addressOf(request), asValue })
  const asMember = visit && (() => visit.fetch('GET', '/v1/openapi.json', { scoped: false }))
  return {
    visit,
    params: request.params as Record<string, string>,
    query: new URL(request.url.href).searchParams,
    link: (path) => visit?.link(path) ?? path,
    baseUrl: baseUrl(),
    document: docs === 'open' ? () => openly('/docs/openapi.json') : asMember,
    ask: async <T>(path: string) => jsonOf<T>(await openly(path, true)),
  }
}

const openPage = (options: DashboardOptions, { openly }: Guard) =>
  openly(async (request, visit) => {
    const page = OPEN_PAGES.find(({ path }) => path === request.route.path)
    return page === undefined ? troubleView(NOT_FOUND) : page.view(readerOf(options, request, visit))
  })

const docsRoutes = (options: DashboardOptions, deps: ResponseDeps, guard: Guard) => [
  ...DOC_PAGES.map(({ path, view }) => ({
    method: 'GET' as const,
    path,
    options: OPEN,
    handler:
      options.docs === 'open'
        ? guard.openly((request, visit) => view(readerOf(options, request, visit)))
        : guard.guarded(async (request, h, visit) =>
            respond(deps, h, { view: await view(readerOf(options, request, visit)), visit }),
          ),
  })),
  ...DOC_TEXTS.map(({ path, answer }) => ({
    method: 'GET' as const,
    path,
    options: OPEN,
    handler:
      options.docs === 'open'
        ? guard.openly((request) => answer(readerOf(options, request, null)))
        : guard.guarded(async (request, h, visit) =>
            sendRaw(request, h, await answer(readerOf(options, request, visit))),
          ),
  })),
  // where they are open, the API answers it
  ...(options.docs === 'open' ? [] : [rawRoute(guard, DOC_ROUTE)]),
]

/** What the server refused before a page heard of it, such as a form that is too large, is a page; no answer lacks its headers. */
const finish =
  ({ openly }: Guard) =>
  async (request: Request, h: ResponseToolkit) => {
    const { response } = request
    if ('isBoom' in response) return h.continue
    const isProblem = String(response.headers['content-type']).startsWith('application/problem+json')
    const refused = async (problem: Problem) => openly(async () => troubleView(problem))(request, h)
    const last = isProblem ? await refused(JSON.parse(String(response.source))) : response
    for (const [name, value] of Object.entries(SAFE_HEADERS)) {
      if (last.headers[name] === undefined) last.header(name, value)
    }
    return isProblem ? last : h.continue
  }

export const createDashboard = (options: DashboardOptions): DashboardSite => {
  const { follow, baseUrl, log, addressOf } = options
  const { tenant, accountId, provePerson, proveFactor, identity: settings } = options
  const assets = loadAssets()
  const providers = createProviders(settings.oidc, tenant.clock)
  const signIn = { tenant, accountId, provePerson, proveFactor, settings, baseUrl, log, assets, providers }
  const visitors = createVisitors({ ...options, recheck: createRecheck(signIn) })
  const deps = { ...options, rail: RAIL, assets, visitors }
  const guard = createGuard(deps)
  const isOurs = ({ raw }: Request): boolean => isOwnOrigin(raw.req.headers, baseUrl())
  const live = liveRoute({ follow, addressOf, sessionOf: visitors.sessionOf, isOurs })
  return {
    plugin: {
      name: 'dashboard',
      register(server) {
        for (const page of PAGES) server.route(routesOf(deps, guard, page))
        for (const raw of RAW_ROUTES) server.route(rawRoute(guard, raw))
        server.route(docsRoutes(options, deps, guard))
        server.ext('onPreResponse', finish(guard), { sandbox: 'plugin' })
        server.route(assetRoute(assets))
        server.route(live)
        server.route([...signInRoutes(signIn, options.isTls)])
        server.ext('onPostStop', () => providers.close())
      },
    },
    page: openPage(options, guard),
    missing: guard.guarded(async (_request, h, visit) =>
      respond(deps, h, { view: troubleView(NOT_FOUND), visit }),
    ),
  }
}
