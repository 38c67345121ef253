/**
 * NAME      direct - a plain send, past hapi
 *   POST /v1/emails of a workspace's live key in its plainest form costs hapi more than it costs us, and so does one mail in
 *   the words of another provider, as JSON or as a form. It is answered here by the row of the endpoint itself, with the same functions for its
 *   limits, its check and its headers.
 *   Whatever is not plain, or would be refused, is handed to hapi as if it had just come: its octets are put back into
 *   the request before anything is done with them. So there is one way to say no, and it is not here.
 * NOTES
 *   A send that failed after it was counted is not counted again: `counted` has the window of then. It is tried again where
 *   it was refused, since the rows that it was refused by may be old. Of another failure hapi answers with the error: a
 *   commit that is in doubt may have stored it.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FAULTS, Fault } from '../base/fault.js'
import { newRequestId } from '../base/id.js'
import type { Log } from '../base/log.js'
import type { Budget, Share } from '../base/memory.js'
import { plainAddress } from '../base/network.js'
import type { WireDraft } from '../submission/draft.js'
import type { WindowState } from '../tenant/limits.js'
import type { Tenancy } from '../tenant/tenants.js'
import { check } from './check.js'
import type { Answer, Call, Endpoint } from './endpoint.js'
import { type CountedSends, TIMES, takesLong } from './gate.js'
import { COMPRESSED_FROM, logRequest } from './server.js'
import { isForm, parseForm, parseJson, weighLight } from './wire/body.js'
import { type Direct, MAX_HEADERS } from './wire/listener.js'
import { rateHeaders } from './wire/problem.js'
import { bearerOf } from './wire/values.js'

export interface DirectSends extends Direct {
  /** Resolves when every request that was taken is answered or handed on. */
  idle(): Promise<void>
}

interface Done {
  readonly answer: Answer
  readonly window: WindowState
}

interface DirectDeps {
  readonly tenants: Tenancy
  readonly memory: Budget
  readonly maxBody: number
  readonly log: Log
  readonly draining: () => boolean
  readonly counted: CountedSends
  /** POST /v1/emails, and its like in other words. */
  readonly sends: readonly Endpoint[]
}

/** A request that may be plain, as far as its head tells. */
interface Plain extends Found {
  /** null where it is signed. */
  readonly key: string | null
}

interface Found {
  readonly send: Endpoint
  readonly params: Readonly<Record<string, string>>
}

/** By the path of a request, if it is written as plainly as can be. */
type Find = (url: string) => Found | undefined

const finder = (sends: readonly Endpoint[]): Find => {
  const fixed = new Map(sends.map((send) => [send.path, { send, params: {} }]))
  const named = sends
    .filter(({ path }) => path.includes('{domain}'))
    .map((send) => ({ send, ends: send.path.split('{domain}') as [string, string] }))
  return (url) => {
    const found = fixed.get(url)
    if (found !== undefined) return found
    for (const { send, ends } of named) {
      if (!url.startsWith(ends[0]) || !url.endsWith(ends[1])) continue
      const domain = url.slice(ends[0].length, -ends[1].length)
      return /^[a-z0-9.-]{1,253}$/.test(domain) ? { send, params: { domain } } : undefined
    }
    return undefined
  }
}

const LARGEST = 64 * 1024
const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i
const LIVE_KEY = /^svc_live_[!-~]+$/
/** Of the others, some mean something to hapi or to us. Each is read once, so one that is repeated is not plain. */
const PLAIN = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'amz-sdk-invocation-id',
  'amz-sdk-request',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'idempotency-key',
  'sec-fetch-mode',
  'user-agent',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-user-agent',
  'x-postmark-server-token',
  'x-request-id',
])

const hasPlainHeaders = ({ rawHeaders }: IncomingMessage): boolean => {
  const seen = new Set<string>()
  let size = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    if (!PLAIN.has(name) || seen.has(name)) return false
    seen.add(name)
    size += name.length + (rawHeaders[i + 1] ?? '').length
  }
  return size <= MAX_HEADERS
}

/** The credential of its head, if it is in the form that this endpoint takes. */
const tokenOf = ({ dialect }: Endpoint, req: IncomingMessage): string | null => {
  try {
    return dialect === undefined ? bearerOf(req) : dialect.credential(req)
  } catch {
    return null
  }
}

const plainIn = (req: IncomingMessage, { maxBody }: DirectDeps, find: Find): Plain | null => {
  const { headers } = req
  const found = find(req.url ?? '')
  if (found === undefined || req.method !== found.send.method) return null
  const { send } = found
  const length = Number(headers['content-length'])
  if (!(length > 0 && length <= Math.min(LARGEST, maxBody))) return null
  const isTaken = send.dialect?.forms ? isForm : (type: string) => JSON_TYPE.test(type)
  if (!isTaken(headers['content-type'] ?? '') || !hasPlainHeaders(req)) return null
  if (send.dialect?.signs) return { ...found, key: null }
  const key = tokenOf(send, req)
  return key !== null && LIVE_KEY.test(key) ? { ...found, key } : null
}

/** The body, which stays in the request for others to read; null when the client has gone, or there is no room for more of it. */
const peek = (req: IncomingMessage, length: number, share: Share): Promise<Buffer | null> =>
  new Promise((resolve) => {
    const done = (bytes: Buffer | null): void => {
      req.off('readable', look)
      req.off('close', gone)
      resolve(bytes)
    }
    const gone = (): void => done(null)
    const look = (): void => {
      const bytes = req.read(length) as Buffer | null
      // at once: a request whose octets are all read has ended, and takes none back
      if (bytes !== null) req.unshift(bytes)
      if (!share.cover(req.readableLength, true)) done(null)
      else if (bytes?.length === length) done(bytes)
    }
    req.on('readable', look)
    req.once('close', gone)
    // its close has been told by then
    if (req.destroyed) gone()
  })

/** hapi compresses answers from some size on, or says that it might. The answer shows all of this, and no more that grows. */
const isShort = ({ from, to, cc, bcc, reply_to, subject, tags, attachments }: WireDraft): boolean => {
  const shown = JSON.stringify([from, to, cc, bcc, reply_to, subject, tags])
  const many = [to, cc, bcc].reduce((sum, one) => sum + (Array.isArray(one) ? one.length : 1), 0)
  return !attachments && Buffer.byteLength(shown) * 3 + many * 250 + 1_000 < COMPRESSED_FROM
}

/** What is in the body of a plain send; null for whatever takes long, or is wrong. */
const read = (bytes: Buffer, { isPlain, body, dialect }: Endpoint, type: string) => {
  const weight = dialect?.forms ? undefined : weighLight(bytes)
  if (weight === null) return null
  try {
    const sent = dialect?.forms ? parseForm(bytes, type) : parseJson(bytes, weight)
    if (takesLong(sent)) return null
    if (body === undefined) return isPlain?.(sent) ? { sent, body: undefined } : null
    const { value, errors } = check<unknown>('body', body, sent)
    return errors === null && isShort(value as WireDraft) ? { sent, body: value } : null
  } catch {
    return null
  }
}

/** By them a repeated request is known. */
const REPEATED = ['idempotency-key', 'amz-sdk-invocation-id']

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Who sends it, and its body, which is not waited for where nobody is found. */
const receive = async (
  { tenants }: DirectDeps,
  req: IncomingMessage,
  address: string,
  key: string | null,
  share: Share,
) => {
  const length = Number(req.headers['content-length'])
  const isKept = REPEATED.some((name) => name in req.headers)
  if (key !== null) {
    const principal = await tenants.authenticateKey(key, address, isKept)
    if (principal?.workspaceId == null || !share.cover(length, true)) return null
    const bytes = await peek(req, length, share)
    return bytes && { principal, bytes }
  }
  const { method = '', url: target = '', rawHeaders } = req
  const claimed = await tenants.claimantOf({ method, target, rawHeaders }, isKept)
  // who has only claimed it takes room for what has come
  const bytes = claimed && (await peek(req, length, share))
  const principal = bytes && tenants.provedBy(claimed, hashOf(bytes), address)
  return principal && { principal, bytes }
}

/** Nothing was stored. */
const isRefusal = (error: unknown): boolean => error instanceof Fault && FAULTS[error.code].http < 500

/** The answer to a plain send, or null: then hapi says what is wrong. */
const answerTo = async (
  deps: DirectDeps,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  { send, params, key }: Plain,
  share: Share,
): Promise<Done | null> => {
  const { tenants, counted } = deps
  const address = plainAddress(req.socket.remoteAddress ?? '')
  const received = await receive(deps, req, address, key, share)
  if (received === null) return null
  const { principal, bytes } = received
  if (principal.workspaceId === null || principal.mode !== 'live' || principal.readsOnly) return null
  const found = read(bytes, send, req.headers['content-type'] ?? '')
  if (!found) return null
  const workspace = await tenants.workspaceForSend(principal, null, true)
  const window = await tenants.sendWindow.consume(principal, 1)
  if (!window.allowed) return null
  const call: Call = {
    ...{ requestId, req, res, address, principal, workspace, ...found },
    trace: null,
    params,
    query: {},
    large: null,
    route: send.path,
    spend: () => Promise.reject(new Error('one mail is one send')),
  }
  try {
    return { answer: await send.handle(call), window }
  } catch (error) {
    counted.set(req, { window, error: isRefusal(error) ? null : error })
    return null
  }
}

/** As hapi would say it. */
const say = (res: ServerResponse, requestId: string, { answer, window }: Done): void => {
  const { status, body, headers } = answer
  const text = body as string
  res.writeHead(status, {
    'x-request-id': requestId,
    ...rateHeaders(window),
    'content-type': 'application/json; charset=utf-8',
    ...headers,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  })
  res.end(text)
}

/** Answers it, or hands it on. */
const serve = async (
  deps: DirectDeps,
  req: IncomingMessage,
  res: ServerResponse,
  plain: Plain,
  handOn: () => void,
): Promise<void> => {
  const { memory, log } = deps
  const began = Date.now()
  const requestId = newRequestId()
  const share = memory.share(TIMES)
  const done = await answerTo(deps, req, res, requestId, plain, share).catch(() => null)
  if (done === null) {
    share.release()
    if (!req.destroyed) handOn()
    return
  }
  res.once('close', () => {
    share.release()
    const { statusCode: status } = res
    logRequest(log, {
      requestId,
      method: 'post',
      route: plain.send.path,
      status,
      ms: Date.now() - began,
      req,
    })
  })
  say(res, requestId, done)
  // its octets are still in it
  req.resume()
}

export const createDirect = (deps: DirectDeps): DirectSends => {
  const { draining } = deps
  const find = finder(deps.sends)
  let open = 0
  let resting: (() => void)[] = []

  const leave = (): void => {
    if (--open > 0) return
    for (const resolve of resting) resolve()
    resting = []
  }

  return {
    take(req, res, handOn) {
      const plain = draining() ? null : plainIn(req, deps, find)
      if (plain === null) return false
      open++
      void serve(deps, req, res, plain, handOn).finally(leave)
      return true
    },
    idle: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => resting.push(resolve))),
  }
}
