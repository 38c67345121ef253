/**
 * NAME      live - what happens, as a stream for the scripts of our pages
 *   Reads the cookie, since a script cannot; answers our own pages only, and hands on what /v1 tells this session. The
 *   stream ends within a second after the session has, or its role has changed. Without `Last-Event-ID` it begins now.
 */
import type { Readable } from 'node:stream'
import type { Request, ResponseObject, ResponseToolkit } from '@hapi/hapi'
import { Fault } from '../base/fault.js'

/** It ends when its reader goes, and is sent as it comes: compressed, it would be held back. */
export const flowTo = ({ raw, info }: Request, stream: Readable): void => {
  if (raw.res.destroyed) stream.destroy()
  else raw.res.once('close', () => stream.destroy())
  info.acceptEncoding = 'identity'
}

/** Given by the daemon: the events that a session may see, as server-sent events; throws a Fault. */
export type Follow = (
  session: string,
  options: { readonly after: string | null; readonly address: string },
) => Promise<Readable>

interface LiveDeps {
  readonly follow: Follow
  readonly addressOf: (request: Request) => string
  /** Null also for a session that has ended. */
  readonly sessionOf: (request: Request) => Promise<string | null>
  /** Whether a page of ours asks. */
  readonly isOurs: (request: Request) => boolean
}

const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
}

const refusal = (h: ResponseToolkit, fault: Fault): ResponseObject => {
  const response = h.response('').code(fault.row.http).header('cache-control', 'no-store')
  const { retryAfter } = fault.options
  return retryAfter === undefined ? response : response.header('retry-after', String(retryAfter))
}

const answer = async (deps: LiveDeps, request: Request, h: ResponseToolkit): Promise<ResponseObject> => {
  const { follow, addressOf, sessionOf, isOurs } = deps
  if (!isOurs(request)) return refusal(h, new Fault('auth.scope_forbidden'))
  const session = await sessionOf(request)
  if (session === null) return refusal(h, new Fault('auth.credentials_missing'))
  if (request.method === 'head') return refusal(h, new Fault('route.method_not_allowed'))
  const after = request.headers['last-event-id']
  try {
    const stream = await follow(session, {
      after: typeof after === 'string' && after !== '' ? after : null,
      address: addressOf(request),
    })
    flowTo(request, stream)
    const response = h.response(stream)
    for (const [name, value] of Object.entries(HEADERS)) response.header(name, value)
    return response
  } catch (error) {
    if (error instanceof Fault) return refusal(h, error)
    throw error
  }
}

export const liveRoute = (deps: LiveDeps) => ({
  method: 'GET' as const,
  path: '/live',
  options: { auth: false as const },
  handler: (request: Request, h: ResponseToolkit) => answer(deps, request, h),
})
