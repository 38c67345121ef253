/**
 * NAME      listener - the Node server under hapi, and requests of this very process
 *   Node answers some requests before hapi sees them: unreadable ones with a bare `400 Bad Request`, slow ones, strange
 *   expectations. Here those too get a problem, a request id and the rate headers. hapi adds a clientError listener of its own
 *   when it takes the listener; take() must run after that and removes it.
 *   The pages ask without a socket, the whole way through the gate. An answer that comes little by little is gathered, or
 *   handed on as the stream that it is; a success in JSON may be handed on as the value that the JSON would be made of. Of the
 *   calls of one look, who asks is looked up once.
 * NOTES
 *   A socket closed while its client still sends is reset by the kernel, and the reset can overtake our answer. So closing
 *   means: stop writing, read on for a second, then destroy (nginx calls it a lingering close).
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, type ServerOptions as SecureServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import type { ServerInjectOptions, ServerInjectResponse } from '@hapi/hapi'
import { Fault, type FaultCode } from '../../base/fault.js'
import { newRequestId } from '../../base/id.js'
import type { Failures } from '../../tenant/limits.js'
import type { Principal } from '../../tenant/principal.js'
import { problemHeaders, rateHeaders, toProblem } from './problem.js'

/** Takes a request, or answers false; one that it has taken it may hand on later. */
export interface Direct {
  take(req: IncomingMessage, res: ServerResponse, handOn: () => void): boolean
}

interface ListenerOptions {
  /** Asked for each answer: which port it names is known only after listening. */
  readonly baseUrl: () => string
  readonly requestTimeoutMs: number
  readonly tls: Pick<SecureServerOptions, 'cert' | 'key' | 'SNICallback'> | null
  readonly failures: Failures
}

const LINGER_MS = 1_000
/** Node's bound is for both; ours are told apart, and answered as what they are. */
const MAX_HEAD = 49_152
export const MAX_HEADERS = 16_384
/** Longer request targets get 414. */
export const MAX_TARGET = 8_192

const OF_PARSER: Record<string, FaultCode> = {
  HPE_HEADER_OVERFLOW: 'request.headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'request.headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
}

const linger = (socket: Duplex): void => {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** What Node calls after the last response of a connection. */
function lingeringClose(this: Socket): void {
  this.end()
  linger(this)
}

/** Beside the request line, as Node counts: without colons and line ends. */
export const headersTooLarge = ({ rawHeaders }: IncomingMessage): boolean => {
  let size = 0
  // an injected request has none
  for (const text of rawHeaders ?? []) size += text.length
  return size > MAX_HEADERS
}

/** True when the request line alone was more than Node reads: no line of it ends within its bound. */
const isEndlessTarget = (packet: Buffer | undefined): boolean => {
  const start = packet?.subarray(0, MAX_TARGET).toString('latin1') ?? ''
  return /^[A-Z]+ \S{8}/.test(start) && !start.includes('\n')
}

/** The path of a request line that may be nonsense. */
const pathOf = (packet: Buffer | undefined): string =>
  /^[!-~]+ (\/[^? \r\n]*)/.exec(packet?.toString('latin1', 0, MAX_HEADERS) ?? '')?.[1] ?? '/'

type Answer = { readonly status: string; readonly headers: Record<string, string>; readonly body: string }

export class Listener {
  readonly server: Server
  readonly #options: ListenerOptions
  /** The response under way on each connection. */
  readonly #underWay = new WeakMap<Duplex, ServerResponse>()
  readonly #answered = new WeakSet<Duplex>()

  constructor(options: ListenerOptions) {
    this.#options = options
    const settings = {
      requireHostHeader: false,
      maxHeaderSize: MAX_HEAD,
      requestTimeout: options.requestTimeoutMs,
      headersTimeout: Math.min(options.requestTimeoutMs, 15_000),
      connectionsCheckingInterval: Math.min(1_000, Math.max(100, options.requestTimeoutMs / 4)),
      keepAliveTimeout: 60_000,
      noDelay: true,
    }
    this.server = options.tls ? createTlsServer({ ...settings, ...options.tls }) : createServer(settings)
    this.server.on(options.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
      socket.destroySoon = lingeringClose
    })
    this.server.on('checkContinue', (req, res) => this.#underWay.set(req.socket, res))
    this.server.on('checkExpectation', (req, res) => this.#refuse(req, res, 'request.expectation_failed'))
    this.server.on('connect', (req: IncomingMessage, socket: Duplex) => {
      const fault = new Fault('route.method_not_allowed', {
        allow: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
      })
      this.#write(socket, this.#answer(fault, newRequestId(), '/', req.socket.remoteAddress))
    })
  }

  /** Call once hapi has added its listeners: of requests it gets what `direct` does not take. */
  take(direct: Direct | null): void {
    const [handOn] = this.server.listeners('request') as RequestListener[]
    this.server.removeAllListeners('request')
    this.server.on('request', (req, res) => {
      this.#underWay.set(req.socket, res)
      if (direct?.take(req, res, () => handOn?.(req, res)) !== true) handOn?.(req, res)
    })
    this.server.removeAllListeners('clientError')
    this.server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket) =>
      this.#clientError(error, socket),
    )
  }

  #answer(fault: Fault, requestId: string, path: string, address: string | undefined): Answer {
    const body = JSON.stringify(toProblem(fault, this.#options.baseUrl(), requestId, path))
    const headers = {
      ...problemHeaders(fault),
      'content-length': String(Buffer.byteLength(body)),
      'x-request-id': requestId,
      'cache-control': 'no-store',
      ...rateHeaders(this.#options.failures.peek(address ?? '')),
      connection: 'close',
    }
    return { status: `${fault.row.http} ${fault.row.title}`, headers, body }
  }

  #refuse(req: IncomingMessage, res: ServerResponse, code: FaultCode): void {
    const path = req.url?.split('?')[0] ?? '/'
    const { headers, body } = this.#answer(new Fault(code), newRequestId(), path, req.socket.remoteAddress)
    res.writeHead(new Fault(code).row.http, headers).end(body)
  }

  #write(socket: Duplex, { status, headers, body }: Answer): void {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`)
    linger(socket)
  }

  #clientError(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    if (this.#answered.has(socket)) return
    this.#answered.add(socket)
    const res = this.#underWay.get(socket)
    const reply = (id: string, path: string): void => {
      const code = OF_PARSER[error.code ?? ''] ?? 'request.malformed'
      const endless = code === 'request.headers_too_large' && isEndlessTarget(error.rawPacket)
      const fault = new Fault(endless ? 'request.uri_too_long' : code)
      if (!socket.writable) socket.destroy()
      else this.#write(socket, this.#answer(fault, id, path, (socket as Socket).remoteAddress))
    }
    if (res === undefined || res.writableFinished) reply(newRequestId(), pathOf(error.rawPacket))
    // Nonsense pipelined behind a request that is still being answered: answers keep their order.
    else if (res.req.complete) res.once('close', () => reply(newRequestId(), '/'))
    else if (res.headersSent) socket.destroy()
    else reply(String(res.getHeader('x-request-id') ?? newRequestId()), res.req.url?.split('?')[0] ?? '/')
  }
}

interface InnerRequest {
  readonly session: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Of whoever is behind it. */
  readonly address: string
  readonly look?: Look
  readonly streamed?: boolean
  readonly asValue?: boolean
}

interface InnerAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** Null where the answer is octets, or was not asked for as a stream. */
  readonly stream: Readable | null
  /** Null where the answer is octets, or was not asked for as a value. */
  readonly value: object | null
}

/** Where the body of an answer is put, in place of sending it; undefined where that was not asked for. */
interface HandedOn {
  stream?: Readable | null
  value?: object | null
}

/** What a person asks of one page, with one session and at one moment. */
interface Look {
  /** Who that is, once it was asked. */
  principal?: Promise<Principal>
}

declare module '@hapi/hapi' {
  interface PluginsStates {
    handedOn?: HandedOn
    look?: Look
  }
}

type Inject = (request: ServerInjectOptions) => Promise<ServerInjectResponse>

export const askThrough =
  (inject: Inject) =>
  async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    /** With its query. */
    url: string,
    { session, body, headers = {}, address, look, streamed, asValue }: InnerRequest,
  ): Promise<InnerAnswer> => {
    const handedOn: HandedOn = { ...(streamed && { stream: null }), ...(asValue && { value: null }) }
    const answer = await inject({
      validate: false,
      plugins: { handedOn, ...(look && { look }) },
      method,
      url,
      remoteAddress: address,
      headers: {
        ...headers,
        ...(session !== null && { authorization: `Bearer ${session}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    const said = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const)
    return {
      status: answer.statusCode,
      headers: Object.fromEntries(said),
      bytes: answer.rawPayload,
      stream: handedOn.stream ?? null,
      value: handedOn.value ?? null,
    }
  }
