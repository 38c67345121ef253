/**
 * NAME      server - hapi on our listener, with our rules
 *   Gives every request its id, address, gate, limits and headers, and turns every error into a problem. Each path
 *   also has a `*` route that answers 405 with Allow, since hapi by itself would say 404. Bodies reach us as streams,
 *   unpacked but unread, so that the gate decides whether they are read at all.
 */

import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Boom } from '@hapi/boom'
import { Router } from '@hapi/call'
import hapi, { type Request, type ResponseObject, type ResponseToolkit, type ServerRoute } from '@hapi/hapi'
import { Fault, invalid, OutageError, outageOf } from '../base/fault.js'
import { newRequestId } from '../base/id.js'
import type { Log } from '../base/log.js'
import { readTraceparent, type Span, type Spans } from '../base/trace.js'
import { type CheckedValue, check } from './check.js'
import type { Dialect } from './dialect/dialect.js'
import type { Answer, Call, Endpoint, Method } from './endpoint.js'
import { admit, type GateDeps, readBody, recognize, spend, windowFor, workspaceOf } from './gate.js'
import { type Direct, headersTooLarge, type Listener, MAX_TARGET } from './wire/listener.js'
import { problemHeaders, rateHeaders, toFault, toProblem } from './wire/problem.js'
import { headerValues } from './wire/values.js'

/**
 * A span for each request under /v1, from the first byte that hapi sees to the last one that leaves, under the client's
 * `traceparent`. Names are those of the semantic conventions; a path with an id in it stands as its route, and neither query
 * nor address is told.
 */
const beginSpan = (spans: Spans, request: Request): Span | null => {
  if (!request.path.startsWith('/v1/')) return null
  const method = request.method.toUpperCase()
  return spans.start({
    name: method,
    kind: 'server',
    parent: readTraceparent(request.raw.req.headers.traceparent as string | undefined),
    attributes: {
      'http.request.method': method,
      'url.scheme': request.server.info.protocol,
      'postern.request_id': request.app.id,
    },
  })
}

const endSpan = (request: Request): void => {
  const { span } = request.app
  if (!span) return
  const { statusCode } = request.raw.res
  const route = request.route.path
  const { workspace, fault } = request.app
  span.name(`${request.method.toUpperCase()} ${route}`)
  span.set({
    'http.route': route,
    'http.response.status_code': statusCode,
    ...(workspace && { 'postern.workspace_id': workspace.id }),
    ...(fault !== undefined && { 'error.type': fault }),
  })
  // a refusal is the client's failure, not the server's
  span.end(statusCode >= 500 ? (fault ?? String(statusCode)) : null)
}

interface ServerDeps extends GateDeps {
  /** hapi does not open it: it may be inherited. */
  readonly listener: Listener
  readonly tls: boolean
  /** Known once the listener listens. */
  readonly baseUrl: () => string
  readonly log: Log
  /** The client's address, when a trusted proxy stands between. */
  readonly addressOf: (request: Request) => string
  readonly draining: () => boolean
  /** Takes plain sends before hapi does. */
  readonly direct: Direct | null
  /** Throws request.body_malformed for octets that are no JSON, and keeps them. */
  readonly demandJson: (bytes: Uint8Array) => Promise<void>
  /** null without an OpenTelemetry SDK. */
  readonly spans: Spans | null
  /** Pages for people on the same listener. */
  readonly site: Site | null
  /** What is no endpoint and no page of theirs. */
  readonly routes: readonly ServerRoute[]
}

/** Routes that are not ours to know, the pages at addresses of ours, and one for what is not there. */
export interface Site {
  readonly plugin: hapi.Plugin<void>
  /** In place of an endpoint's answer, for a browser. */
  page(request: Request, h: ResponseToolkit): Promise<ResponseObject>
  missing(request: Request, h: ResponseToolkit): Promise<ResponseObject>
}

/** hapi would fold dot segments, and a proxy's rule about paths could be walked round. No name of ours has U+0000. */
const NOWHERE = /^[^?#]*(?:\/(?:\.|%2e){1,2}(?:[/?#]|$)|%00)/i

/** Most base URLs have none, and a URL is dear to read for every request. */
const HAS_PATH = /^\w+:\/\/[^/]+\/./

const begin = (deps: ServerDeps) => (request: Request, h: ResponseToolkit) => {
  request.app.id = newRequestId()
  request.app.address = deps.addressOf(request)
  request.app.principal = null
  request.app.window = null
  request.app.workspace = null
  request.app.body = undefined
  request.app.large = null
  request.app.claimed = null
  request.app.share = null
  request.raw.res.setHeader('x-request-id', request.app.id)
  const { headers } = request.raw.req
  // codings have no case (RFC 9110, section 8.4.1); hapi unpacks lower-case ones only
  if (headers['content-encoding']) headers['content-encoding'] = headers['content-encoding'].toLowerCase()
  request.app.span = deps.spans && beginSpan(deps.spans, request)
  if (deps.draining()) {
    request.raw.res.setHeader('connection', 'close')
    throw new Fault('service.unavailable')
  }
  if (headerValues(request.raw.req, 'host').length > 1) throw new Fault('request.malformed')
  if (!/^chunked$/i.test(headers['transfer-encoding'] ?? 'chunked')) {
    throw new Fault('request.coding_unsupported')
  }
  // behind a proxy that hands on the path of base_url
  const baseUrl = deps.baseUrl()
  const prefix = HAS_PATH.test(baseUrl) ? new URL(baseUrl).pathname.replace(/\/+$/, '') : ''
  if (prefix !== '' && request.path.startsWith(`${prefix}/`)) {
    request.setUrl(request.url.pathname.slice(prefix.length) + request.url.search)
  }
  if (NOWHERE.test(request.raw.req.url ?? '')) throw new Fault('route.not_found')
  if ((request.raw.req.url?.length ?? 0) > MAX_TARGET) throw new Fault('request.uri_too_long')
  if (headersTooLarge(request.raw.req)) throw new Fault('request.headers_too_large')
  return h.continue
}

const leftOf = (one: CheckedValue<unknown> | undefined): object =>
  ((one?.errors ? one.rest : one?.value) ?? {}) as object

/** Query and body against the schemas of the endpoint, with all that is wrong in one answer. */
const checkFields = async (
  endpoint: Endpoint,
  request: Request,
  caller: Pick<Call, 'principal' | 'workspace' | 'params'>,
): Promise<{ query: unknown; body: unknown }> => {
  const { body, large } = request.app
  const query = endpoint.query && check<unknown>('query', endpoint.query, { ...request.query })
  const checked = endpoint.body && large === null ? check<unknown>('body', endpoint.body, body) : undefined
  if (query?.errors || checked?.errors) {
    const wrong = [query, checked].flatMap((one) => (one?.errors ? [one] : []))
    const errors = wrong.flatMap((one) => one.errors)
    const told = new Set(errors.map(({ field }) => field))
    const left = { query: leftOf(query), body: leftOf(checked) }
    const more = told.has('body') ? [] : ((await endpoint.alsoWrong?.(left, told, caller)) ?? [])
    throw invalid(
      [...errors, ...more.filter(({ field }) => !told.has(field))],
      wrong.reduce((sum, { omitted }) => sum + omitted, 0),
    )
  }
  return { query: query?.value, body: checked?.value }
}

/** What is sent; a stream or value goes past the response where this very process asked for it like that. */
const payloadOf = ({ plugins: { handedOn }, info }: Request, body: Answer['body']) => {
  if (!(body instanceof Readable)) {
    if (typeof body === 'string' || Buffer.isBuffer(body)) return body
    if (handedOn?.value === undefined) return JSON.stringify(body)
    handedOn.value = body
    return ''
  }
  // hapi compresses what a client takes compressed; what comes little by little would be held back by that
  info.acceptEncoding = 'identity'
  if (handedOn?.stream === undefined) return body
  handedOn.stream = body
  return ''
}

const toResponse = (h: ResponseToolkit, { status, body, headers }: Answer): ResponseObject => {
  const payload = payloadOf(h.request, body)
  const response = h.response(payload).code(status).type('application/json; charset=utf-8')
  for (const [name, value] of Object.entries(headers ?? {})) response.header(name, value)
  return response
}

/** True when the client would rather have HTML: it names it, and with no lesser weight than JSON. */
const wantsHtml = ({ raw }: Request): boolean => {
  const ranges = (raw.req.headers.accept ?? '').split(',')
  const weight = (type: string): number => {
    const range = ranges.find((one) => one.trim().toLowerCase().startsWith(type))
    return range === undefined ? 0 : Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1)
  }
  return weight('text/html') > Math.max(weight('application/json'), weight('application/problem+json'))
}

/** What the gate leaves to the time after authentication: the body, and then the workspace. */
const takeBody = async (deps: ServerDeps, endpoint: Endpoint, request: Request): Promise<void> => {
  await readBody(deps, endpoint, request)
  const { principal, large } = request.app
  if (principal === null) return
  try {
    request.app.workspace = await workspaceOf(deps, endpoint, principal, request)
  } catch (fault) {
    // what is no JSON is that before all else
    if (large && !endpoint.dialect?.forms) await deps.demandJson(large)
    throw fault
  }
}

const handler = (deps: ServerDeps, endpoint: Endpoint) => async (request: Request, h: ResponseToolkit) => {
  const { site } = deps
  if (endpoint.access !== 'public') await takeBody(deps, endpoint, request)
  // tried once already: its mail may be stored, although nobody heard of it
  const error = deps.counted.get(request.raw.req)?.error ?? null
  if (error !== null) throw error
  if (site && endpoint.hasPage && wantsHtml(request)) return site.page(request, h)
  const principal = request.app.principal as Call['principal']
  const caller = {
    principal,
    workspace: request.app.workspace,
    params: request.params as Record<string, string>,
  }
  const call: Call = {
    requestId: request.app.id,
    trace: request.app.span?.traceparent ?? null,
    sent: request.app.body,
    large: request.app.large,
    ...request.raw,
    route: request.route.path,
    address: request.app.address,
    spend: (n) => spend(deps.tenants, request, principal, n),
    ...caller,
    ...(await checkFields(endpoint, request, caller)),
  }
  const { span } = request.app
  return toResponse(h, await (span ? span.run(() => endpoint.handle(call)) : endpoint.handle(call)))
}

/** A person's browser at an address that is not the API's. */
const isPage = ({ method, path, headers }: Request): boolean =>
  method === 'get' && !/^\/v\d+(?:\/|$)/.test(path) && String(headers.accept ?? '').includes('text/html')

/** An address whose escapes are no text: hapi finds no route for it. */
const isUnreadable = ({ route }: Request, fault: Fault, failed: unknown): boolean =>
  fault.code === 'request.malformed' && !(failed instanceof Fault) && route.path === '/{p*}'

/** The last word on every response that hapi makes. */
const finish = (deps: ServerDeps) => async (request: Request, h: ResponseToolkit) => {
  if (!request.route.settings.auth) await recognize(deps.tenants, request)
  for (const [name, value] of Object.entries(rateHeaders(await windowFor(deps.tenants, request)))) {
    request.raw.res.setHeader(name, value)
  }
  const failed = request.response
  if (!('isBoom' in failed)) return h.continue
  const fault = toFault(failed)
  const isNowhere = fault.code === 'route.not_found' || isUnreadable(request, fault, failed)
  if (deps.site && isNowhere && isPage(request)) return deps.site.missing(request, h)
  // of a store that is gone the log has heard
  const isNews = !(failed instanceof OutageError) && outageOf(failed) !== null
  if (fault.code === 'internal.unexpected' || isNews) {
    deps.log.error({ event: 'request_failed', request_id: request.app.id, err: failed as Boom })
  }
  if (request.app.span) request.app.fault = fault.code
  const { dialect } = request.route.settings.app?.endpoint ?? {}
  const problem = (): ReturnType<Dialect['refuse']> => {
    const instance = request.path.split('?')[0] ?? '/'
    const body = toProblem(fault, deps.baseUrl(), request.app.id, instance)
    return { status: fault.row.http, body: JSON.stringify(body) }
  }
  const refused = dialect?.refuse(fault) ?? problem()
  const { status, body, headers, type = 'application/json; charset=utf-8' } = refused
  const response = h.response(body).code(status)
  // a browser would ask its person for a password
  const { 'www-authenticate': challenge, ...others } = problemHeaders(fault)
  for (const [name, value] of Object.entries({ ...others, ...headers })) response.header(name, value)
  if (dialect?.idHeader) response.header(dialect.idHeader, request.app.id)
  if (dialect !== undefined) return response.type(type)
  return challenge === undefined ? response : response.header('www-authenticate', challenge)
}

interface Line {
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
  readonly req: IncomingMessage
}

export const logRequest = (log: Log, { requestId, req, ...line }: Line): void => {
  const theirs = req.headers['x-request-id']
  log.info({
    event: 'request',
    request_id: requestId,
    ...line,
    ...(theirs !== undefined && { client_request_id: String(theirs).slice(0, 128) }),
  })
}

const responded = (log: Log) => (request: Request) => {
  endSpan(request)
  const { app, method, route, info, raw } = request
  const { statusCode: status } = raw.res
  const ms = Date.now() - info.received
  logRequest(log, { requestId: app.id, method, route: route.path, status, ms, req: raw.req })
}

/** Octets of the smallest answer that is compressed. */
export const COMPRESSED_FROM = 4_096

const METHODS: readonly Method[] = ['GET', 'POST', 'PATCH', 'DELETE']

const refuse = (path: string, fault: () => Fault, method: Method[] | '*' = '*'): ServerRoute => ({
  method,
  path,
  options: { auth: false },
  handler: () => {
    throw fault()
  },
})

/** Paths with their methods, and an answer for all other methods. */
const routesOf = (deps: ServerDeps, endpoints: readonly Endpoint[]): readonly ServerRoute[] => {
  const byPath = new Map<string, string[]>()
  for (const { method, path } of endpoints) {
    const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
    byPath.set(path, [...(byPath.get(path) ?? []), ...methods])
  }
  return [
    ...endpoints.map((endpoint) => ({
      method: endpoint.method,
      path: endpoint.path,
      handler: handler(deps, endpoint),
      options: { auth: endpoint.access === 'public' ? (false as const) : 'bearer', app: { endpoint } },
    })),
    ...[...byPath].flatMap(([path, allow]) => {
      const fault = () => new Fault('route.method_not_allowed', { allow })
      // hapi would rather take `batch` for an {id} of the same method than look at this path's `*`
      const others = METHODS.filter((method) => !allow.includes(method))
      const isPlain = !path.includes('{') && others.length > 0
      return [refuse(path, fault), ...(isPlain ? [refuse(path, fault, others)] : [])]
    }),
    ...deps.routes,
  ]
}

/** hapi reads the options of a route for half a millisecond, and there are hundreds: it gets each with the first request for it. */
const addOnDemand = (server: hapi.Server, routes: readonly ServerRoute[]): ((request: Request) => void) => {
  const table = new Router<{ route: ServerRoute; isAdded: boolean }>()
  for (const route of routes) {
    const row = { route, isAdded: false }
    for (const method of [route.method].flat()) table.add({ method, path: route.path }, row)
  }
  return ({ method, path }) => {
    const found = table.route(method, path)
    // none, or a path whose escapes are no text: hapi says so by itself
    if (!('route' in found) || found.route.isAdded) return
    server.route(found.route.route)
    found.route.isAdded = true
  }
}

declare module '@hapi/hapi' {
  interface RouteOptionsApp {
    endpoint?: Endpoint
  }
}

const endpointOf = (request: Request): Endpoint => {
  const endpoint = request.route.settings.app?.endpoint
  if (endpoint === undefined) throw new Error(`no endpoint at ${request.route.path}`)
  return endpoint
}

export const createServer = async (
  deps: ServerDeps,
  endpoints: readonly Endpoint[],
): Promise<hapi.Server> => {
  const server = hapi.server({
    listener: deps.listener.server,
    tls: deps.tls,
    autoListen: false,
    debug: false,
    compression: { minBytes: COMPRESSED_FROM },
    routes: {
      payload: {
        parse: 'gunzip',
        output: 'stream',
        override: 'application/json',
        maxBytes: Number.MAX_SAFE_INTEGER,
      },
      state: { parse: false, failAction: 'ignore' },
      cache: { otherwise: 'no-store' },
      response: { emptyStatusCode: 200, ranges: false },
    },
  })
  deps.listener.take(deps.direct)
  server.auth.scheme('bearer', () => ({
    authenticate: async (request, h) => {
      await admit(deps, endpointOf(request), request)
      return h.authenticated({ credentials: {} })
    },
  }))
  server.auth.strategy('bearer', 'bearer')
  server.route(refuse('/{path*}', () => new Fault('route.not_found')))
  const addRouteOf = addOnDemand(server, routesOf(deps, endpoints))
  const beginRequest = begin(deps)
  server.ext('onRequest', (request, h) => {
    const begun = beginRequest(request, h)
    // hapi looks for the route of a request after this
    addRouteOf(request)
    return begun
  })
  server.ext('onPreResponse', finish(deps))
  server.events.on('response', responded(deps.log))
  if (deps.site) await server.register(deps.site.plugin)
  return server
}
