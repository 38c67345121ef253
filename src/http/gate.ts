/**
 * NAME      gate - what a request must pass, in this order
 *   The order of the checks: credential 401, scope 403, rate limit 429,
 *   declared size 413, media type 415; then the body is read and must be JSON (413, 400), and the workspace must exist
 *   (400, 404). Fields come after that, and belong to the endpoint. All before the body runs in hapi's authentication
 *   step, because only there has `100 Continue` not been sent yet: a refused upload never starts. A send that is
 *   malformed or too large has been counted, too.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Request } from '@hapi/hapi'
import { Fault, orFault } from '../base/fault.js'
import { type Budget, giveBack, type Share } from '../base/memory.js'
import type { Span } from '../base/trace.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { SignedClaim } from '../tenant/authenticate.js'
import type { WindowState } from '../tenant/limits.js'
import {
  type Principal,
  requirePlatform,
  requireSession,
  requireWorkspace,
  type ViewersSee,
} from '../tenant/principal.js'
import { requirePermitted, requireRight } from '../tenant/rights.js'
import type { Tenancy } from '../tenant/tenants.js'
import { workspaceOfDomain } from '../tenant/workspace.js'
import type { Endpoint } from './endpoint.js'
import { checkDeclared, collect, parseForm, parseJson, tooMany, weigh, weighLight } from './wire/body.js'
import { bearerOf, headerValue, headerValues } from './wire/values.js'

/** What a request learns about itself on its way. */
declare module '@hapi/hapi' {
  interface RequestApplicationState {
    id: string
    address: string
    principal: Principal | null
    window: WindowState | null
    workspace: WorkspaceRow | null
    body: unknown
    /** The octets of a body that is for a thread to read. */
    large: Uint8Array | null
    /** Of a signed request: who says to have signed it, until its body proves it. */
    claimed: SignedClaim | null
    /** Of limits.memory; given back when the response is out, or nobody is there to take it. */
    share: Share | null
    /** Only when somebody traces. */
    span: Span | null
    /** The code that was answered instead. */
    fault?: string
  }
}

export interface GateDeps {
  readonly tenants: Tenancy
  readonly maxBody: number
  readonly memory: Budget
  readonly viewersSee: ViewersSee
  readonly counted: CountedSends
}

/** Sends that were counted before hapi got them (direct.ts), and why they were not taken; null: to be tried again. */
export type CountedSends = WeakMap<IncomingMessage, { readonly window: WindowState; readonly error: unknown }>

/** The key or session of a request, in the form that its endpoint takes. */
const credentialOf = ({ dialect }: Endpoint, { raw: { req } }: Request): string =>
  orFault(dialect === undefined ? bearerOf(req) : dialect.credential(req), 'auth.credentials_missing')

/** Clients of other providers are servers; a key that a page of a browser has is everybody's. */
const keepBrowsersOut = ({ headers }: IncomingMessage): void => {
  const site = headers['sec-fetch-site'] ?? 'none'
  if (headers.origin === undefined && (site === 'none' || site === 'same-origin')) return
  throw new Fault('auth.scope_forbidden', { detail: 'not for pages in a browser: keep the key on a server' })
}

/** Whether it says by a domain for whom it is. */
const namesDomain = (path: string): boolean => path.includes('/{domain}/')

const checkAccess = (
  { id, access, live, method, path, isOwn }: Endpoint,
  principal: Principal,
  viewersSee: ViewersSee,
  request: Request,
): void => {
  if (access === 'session') requireSession(principal)
  if (access === 'platform') requirePlatform(principal)
  if (access === 'workspace') requireWorkspace(principal, namesDomain(path))
  requirePermitted(principal, id, method === 'GET')
  const said = { params: request.params as Record<string, string>, query: request.url.searchParams }
  requireRight(principal, id, { viewersSee, isOwn: isOwn?.(principal, said) })
  if (live && principal.via === 'key' && principal.mode === 'test') {
    throw new Fault('auth.scope_forbidden', { detail: 'not for test-mode keys: this is about live mail' })
  }
  // Keys for tests lie in laptops and build servers, and change nothing that is live. Elsewhere that follows from
  // whom things belong to: test mail and the suppressions of test mail are no one else's.
  if (access === 'platform' && method !== 'GET' && principal.via === 'key' && principal.mode === 'test') {
    throw new Fault('auth.scope_forbidden', { detail: 'a test-mode key reads here, and changes nothing' })
  }
}

/** Counts n sends, or refuses. The response will show the window as it is then. */
export const spend = async (
  tenants: Tenancy,
  request: Request,
  principal: Principal,
  n: number,
): Promise<void> => {
  const window = await tenants.sendWindow.consume(principal, n)
  request.app.window = window
  if (!window.allowed) throw tenants.sendWindow.exceeded(window)
}

/**
 * Who asks for what anybody may have, or for what is not there: only the headers of the answer depend on it.
 * A wrong credential counts as a guess here, too.
 */
export const recognize = async ({ authenticateBearer }: Tenancy, request: Request): Promise<void> => {
  const { app } = request
  if (headerValues(request.raw.req, 'authorization').length === 0) return
  const known = async () => authenticateBearer(bearerOf(request.raw.req) ?? '', app.address)
  app.principal = await known().catch(() => null)
}

/** The window that a response shows: the caller's, or that of the address he calls from. */
export const windowFor = async (tenants: Tenancy, request: Request): Promise<WindowState> => {
  const { window, principal, address } = request.app
  const anonymous = () => tenants.failures.peek(address)
  if (window !== null) return window
  // A store that fails has been reported by then; the answer about it must still get out.
  return principal === null ? anonymous() : tenants.sendWindow.peek(principal).catch(anonymous)
}

/** A body is its octets, their text, the values in it and the mail that is made of them. */
export const TIMES = 4
const RETRY_AFTER_S = 2

const full = (): Fault =>
  new Fault('service.unavailable', {
    retryAfter: RETRY_AFTER_S,
    detail: 'Too many large requests are under way; limits.memory bounds what they take',
  })

const principalOf = (tenants: Tenancy, endpoint: Endpoint, request: Request): Promise<Principal> => {
  const { look } = request.plugins
  const ask = () => tenants.authenticateBearer(credentialOf(endpoint, request), request.app.address)
  if (look === undefined) return ask()
  look.principal ??= ask()
  return look.principal
}

/** Whether it may, and how often. */
const welcome = async (
  { tenants, viewersSee, counted }: GateDeps,
  endpoint: Endpoint,
  request: Request,
  principal: Principal,
): Promise<void> => {
  request.app.principal = principal
  checkAccess(endpoint, principal, viewersSee, request)
  request.app.window = counted.get(request.raw.req)?.window ?? null
  if (endpoint.sends && request.app.window === null) await spend(tenants, request, principal, 1)
}

/** Who says to have signed it; what is packed is not what was signed. */
const claimOf = async ({ tenants }: GateDeps, { app, raw: { req } }: Request): Promise<SignedClaim> => {
  const { method = '', url: target = '', rawHeaders = [], headers } = req
  const claimed = await tenants.claimSignature({ method, target, rawHeaders }, app.address)
  if ((headers['content-encoding'] ?? 'identity') === 'identity') return claimed
  throw new Fault('request.media_type_unsupported', {
    detail: 'A signed body must come as it is, not packed',
  })
}

/** Before the body: who, whether, how often, how large. Who signed it is only known with the body. */
export const admit = async (deps: GateDeps, endpoint: Endpoint, request: Request): Promise<void> => {
  const { tenants, maxBody, memory } = deps
  if (endpoint.dialect !== undefined) keepBrowsersOut(request.raw.req)
  if (endpoint.dialect?.signs) request.app.claimed = await claimOf(deps, request)
  else await welcome(deps, endpoint, request, await principalOf(tenants, endpoint, request))
  if (endpoint.method !== 'GET') {
    const { req, res } = request.raw
    checkDeclared(req.headers, mostOf(endpoint, maxBody), endpoint.dialect?.forms)
    const share = memory.share(TIMES)
    request.app.share = share
    res.once('close', () => share.release())
    // what a signature claims is proved by the whole body only: until then it takes what has come, and not what it declares
    const declared = request.app.claimed === null ? Number(req.headers['content-length'] ?? 0) : 0
    if (!share.cover(declared, true)) throw full()
  }
}

/** Octets and values of a body that no endpoint but the sends has use for. */
const MOST_ELSEWHERE = 1024 * 1024
const MOST_VALUES_ELSEWHERE = 20_000

const mostOf = ({ large }: Endpoint, maxBody: number): number =>
  large ? maxBody : Math.min(maxBody, MOST_ELSEWHERE)

/** More attachments than this take long to compose, however small they are. */
const MANY_FILES = 50

/** A message of so many letters of base64 takes long to read, however plain its JSON is. */
const LONG_MESSAGE = 64 * 1024

export const takesLong = (value: unknown): boolean => {
  let files = 0
  for (const one of Array.isArray(value) ? value : [value]) {
    const { attachments, raw } = (one ?? {}) as { readonly attachments?: unknown; readonly raw?: unknown }
    if (typeof raw === 'string' && raw.length > LONG_MESSAGE) return true
    if (Array.isArray(attachments)) files += attachments.length
  }
  return files > MANY_FILES
}

/** One text for many may take many times its octets. */
const SMALL_MERGE = 4 * 1024

const isMerge = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'recipients')

/** A form of more octets takes longer than others should wait. */
const LONG_FORM = 64 * 1024

/** null for one that a thread must read. */
const lightForm = (bytes: Buffer, { isLong }: Endpoint, request: Request): unknown => {
  if (bytes.length > LONG_FORM) return null
  const form = parseForm(bytes, request.raw.req.headers['content-type'] ?? '')
  return isLong?.(form) ? null : form
}

/** The body as a JSON value, or its octets when a thread must read it; neither when there was none. hapi has made a stream of it, already unpacked. */
export const readBody = async (deps: GateDeps, endpoint: Endpoint, request: Request): Promise<void> => {
  const source = request.payload
  const { share, claimed } = request.app
  const hash = claimed && createHash('sha256')
  const { tenants } = deps
  const bytes =
    source &&
    (await collect(source as Readable, mostOf(endpoint, deps.maxBody), (size, chunk) => {
      if (share && !share.cover(size)) throw full()
      hash?.update(chunk)
    }).catch((fault) => {
      // cut off: the proof never came
      if (claimed && request.raw.req.destroyed) tenants.failures.count(request.app.address)
      throw fault
    }))
  if (claimed && hash) {
    const principal = tenants.authenticateSigned(claimed, hash.digest('hex'), request.app.address)
    await welcome(deps, endpoint, request, principal)
  }
  if (!bytes) return
  if (endpoint.dialect?.forms) {
    const form = lightForm(bytes, endpoint, request)
    request.app.large = form === null ? bytes : null
    request.app.body = form
    return
  }
  const weight = endpoint.large ? weighLight(bytes) : weigh(bytes)
  if (weight === null) {
    request.app.large = bytes
    return
  }
  if (!endpoint.large && weight.values > MOST_VALUES_ELSEWHERE) {
    throw tooMany(MOST_VALUES_ELSEWHERE, 'values')
  }
  const value = parseJson(bytes, weight)
  const isLong =
    takesLong(value) || (bytes.length > SMALL_MERGE && isMerge(value)) || endpoint.isLong?.(value)
  if (endpoint.large && isLong) {
    request.app.large = bytes
    return
  }
  request.app.body = value
  giveBack(bytes)
}

/** The workspace that this request is about; null is the whole account. */
export const workspaceOf = async (
  { tenants }: GateDeps,
  endpoint: Endpoint,
  principal: Principal,
  request: Request,
): Promise<WorkspaceRow | null> => {
  if (endpoint.workspace === 'none') return null
  const named = headerValue(request.raw.req, 'x-workspace-id')?.trim() ?? null
  if (endpoint.dialect !== undefined && namesDomain(endpoint.path) && principal.workspaceId === null)
    return workspaceOfDomain(tenants.deps, principal, String(request.params.domain), named)
  if (endpoint.workspace === 'required') return tenants.workspaceForSend(principal, named)
  const id = await tenants.workspaceForRead(principal, named)
  return id === null ? null : tenants.findWorkspace(principal.accountId, id)
}
