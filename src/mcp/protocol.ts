/**
 * NAME      protocol - the Model Context Protocol over lines
 *   JSON-RPC 2.0, one message a line, as a server of tools and resources speaks it. Both forms of the protocol: revisions
 *   that begin with `initialize` (to 2025-11-25), and 2026-07-28, where each request says its version itself. What is no
 *   message is answered with an error and changes nothing. Only answers are written: the server asks nothing.
 * NOTES
 *   When the input ends, calls under way get a few seconds to be answered.
 */
import { setTimeout as sleep } from 'node:timers/promises'

type Json = Readonly<Record<string, unknown>>
type Handler = (params: Json, signal: AbortSignal) => Promise<Json>

interface Served {
  readonly info: { readonly name: string; readonly title: string; readonly version: string }
  readonly instructions: string
  readonly handlers: Readonly<Record<string, Handler>>
  send(text: string): Promise<void>
  /** Tells of an error that is ours. */
  complain(error: unknown): void
}

/** An error of the protocol, with a code of JSON-RPC. */
export class ProtocolError extends Error {
  readonly code: number
  readonly data: Json | undefined

  constructor(code: number, message: string, data?: Json) {
    super(message)
    this.code = code
    this.data = data
  }
}

const NOT_JSON = -32700
const NO_REQUEST = -32600
const NO_METHOD = -32601
export const WRONG_PARAMS = -32602
const OURS = -32603
const WRONG_VERSION = -32022

/** Of the form that begins with `initialize`, newest first. */
const WITH_HANDSHAKE = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
/** Each request says its version. */
const STATELESS = '2026-07-28'
/** The only one in which several messages may stand on one line. */
const WITH_BATCHES = '2025-03-26'
const SAID = 'io.modelcontextprotocol/'
/** What a client may keep, and not share. */
const KEPT = { ttlMs: 0, cacheScope: 'private' }
const MAY_BE_KEPT: ReadonlySet<string> = new Set([
  ...['server/discover', 'tools/list', 'resources/list', 'resources/templates/list', 'resources/read'],
])
const MOST_LINE = 1024 ** 2
const MOST_IN_BATCH = 100
const MOST_AT_ONCE = 100
const LAST_ANSWERS_MS = 5_000

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Lines as they end; null for one that is too long, of which nothing is kept. */
async function* linesOf(input: AsyncIterable<string | Buffer>): AsyncGenerator<string | null> {
  let parts: Buffer[] = []
  let size = 0
  const take = (part: Buffer): void => {
    size += part.length
    if (size <= MOST_LINE) parts.push(part)
    else parts = []
  }
  const line = (): string | null => {
    const whole = size > MOST_LINE ? null : Buffer.concat(parts).toString('utf8')
    parts = []
    size = 0
    return whole
  }
  for await (const some of input) {
    let rest = Buffer.from(some)
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      take(rest.subarray(0, end))
      yield line()
      rest = rest.subarray(end + 1)
    }
    take(rest)
  }
  if (size > 0) yield line()
}

const errorOf = (id: unknown, code: number, message: string, data?: Json): Json => ({
  ...{ jsonrpc: '2.0', id },
  error: { code, message, ...(data && { data }) },
})

const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id)

export class Conversation {
  readonly #served: Served
  readonly #underWay = new Map<string | number, AbortController>()
  /** That `initialize` agreed on. */
  #version: string | null = null

  constructor(served: Served) {
    this.#served = served
  }

  async run(input: AsyncIterable<string | Buffer>): Promise<void> {
    const answers = new Set<Promise<void>>()
    for await (const line of linesOf(input)) {
      const answer = this.#hear(line).finally(() => answers.delete(answer))
      answers.add(answer)
      if (answers.size >= MOST_AT_ONCE) await Promise.race(answers)
    }
    const late = new AbortController()
    const inTime = sleep(LAST_ANSWERS_MS, null, { signal: late.signal }).catch(() => {})
    await Promise.race([Promise.all(answers), inTime])
    late.abort()
    for (const one of this.#underWay.values()) one.abort()
  }

  async #hear(line: string | null): Promise<void> {
    if (line?.trim() === '') return
    const answer = await this.#answerTo(line)
    if (answer !== null) await this.#served.send(JSON.stringify(answer))
  }

  async #answerTo(line: string | null): Promise<Json | readonly Json[] | null> {
    if (line === null) return errorOf(null, NO_REQUEST, `a message has at most ${MOST_LINE} octets`)
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      return errorOf(null, NOT_JSON, 'this line is not JSON')
    }
    if (!Array.isArray(message)) return this.#one(message)
    if (this.#version !== WITH_BATCHES)
      return errorOf(null, NO_REQUEST, 'one message a line: this version has no batches')
    if (message.length === 0 || message.length > MOST_IN_BATCH)
      return errorOf(null, NO_REQUEST, `a batch has 1 to ${MOST_IN_BATCH} messages`)
    const all = await Promise.all(message.map((one) => this.#one(one)))
    const answers = all.filter((one) => one !== null)
    return answers.length === 0 ? null : answers
  }

  /** Null where nothing is to be answered. */
  async #one(message: unknown): Promise<Json | null> {
    if (!isObject(message)) return errorOf(null, NO_REQUEST, 'a message is an object')
    const { id, method, params = {}, jsonrpc } = message
    // an answer, and we have asked nothing
    if (method === undefined && ('result' in message || 'error' in message)) return null
    if ('id' in message && !isId(id)) return errorOf(null, NO_REQUEST, 'id must be a text or a whole number')
    if (jsonrpc !== '2.0' || typeof method !== 'string')
      return errorOf(id ?? null, NO_REQUEST, 'a message has jsonrpc "2.0" and a method')
    if (!isId(id)) {
      if (isObject(params)) this.#note(method, params)
      return null
    }
    if (!isObject(params)) return errorOf(id, WRONG_PARAMS, 'params must be an object')
    if (this.#underWay.has(id)) return errorOf(id, NO_REQUEST, 'a request with this id is under way')
    return this.#request(id, method, params)
  }

  #note(method: string, { requestId }: Json): void {
    if (method === 'notifications/cancelled' && isId(requestId)) this.#underWay.get(requestId)?.abort()
  }

  async #request(id: string | number, method: string, params: Json): Promise<Json | null> {
    const stop = new AbortController()
    this.#underWay.set(id, stop)
    try {
      const result = await this.#resultOf(method, params, stop.signal)
      return stop.signal.aborted ? null : { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (stop.signal.aborted) return null
      if (error instanceof ProtocolError) return errorOf(id, error.code, error.message, error.data)
      this.#served.complain(error)
      return errorOf(id, OURS, 'this server failed; its standard error says how')
    } finally {
      this.#underWay.delete(id)
    }
  }

  async #resultOf(method: string, params: Json, signal: AbortSignal): Promise<Json> {
    const { _meta: meta } = params
    if (isObject(meta) && `${SAID}protocolVersion` in meta)
      return this.#stateless(method, meta, params, signal)
    if (method === 'initialize') return this.#initialize(params)
    if (method === 'ping') return {}
    if (method === 'server/discover')
      throw new ProtocolError(WRONG_PARAMS, `_meta must say ${SAID}protocolVersion`)
    if (this.#version === null) throw new ProtocolError(NO_REQUEST, 'initialize comes first')
    return this.#handler(method)(params, signal)
  }

  #handler(method: string): Handler {
    const { handlers } = this.#served
    const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined
    if (handler === undefined)
      throw new ProtocolError(NO_METHOD, `there is no method ${method.slice(0, 100)}`)
    return handler
  }

  #initialize({ protocolVersion: asked }: Json): Json {
    if (typeof asked !== 'string') throw new ProtocolError(WRONG_PARAMS, 'protocolVersion must be a text')
    this.#version = WITH_HANDSHAKE.find((one) => one === asked) ?? WITH_HANDSHAKE[0]
    const { info, instructions } = this.#served
    return { protocolVersion: this.#version, capabilities: CAPABILITIES, serverInfo: info, instructions }
  }

  async #stateless(method: string, meta: Json, params: Json, signal: AbortSignal): Promise<Json> {
    const requested = meta[`${SAID}protocolVersion`]
    if (requested !== STATELESS) {
      const data = { supported: [STATELESS, ...WITH_HANDSHAKE], requested: String(requested).slice(0, 100) }
      throw new ProtocolError(WRONG_VERSION, 'Unsupported protocol version', data)
    }
    if (!isObject(meta[`${SAID}clientCapabilities`]))
      throw new ProtocolError(WRONG_PARAMS, `_meta must say ${SAID}clientCapabilities`)
    const { info, instructions } = this.#served
    const result =
      method === 'server/discover'
        ? { supportedVersions: [STATELESS, ...WITH_HANDSHAKE], capabilities: CAPABILITIES, instructions }
        : await this.#handler(method)(params, signal)
    return {
      ...{ resultType: 'complete', ...result },
      ...(MAY_BE_KEPT.has(method) && KEPT),
      _meta: { [`${SAID}serverInfo`]: info },
    }
  }
}

const CAPABILITIES = { tools: {}, resources: {} }
