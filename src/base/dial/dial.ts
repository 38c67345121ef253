/**
 * NAME      dial - calls URLs that somebody else chose
 * DESCRIPTION
 *   One request, one answer, and no way into our own network: https only (http
 *   where an operator's range covers the address), no user info, no redirects,
 *   TLS verified, the answer read to 64 kB, all of it within 15 seconds. What
 *   fails is a DialError, whose message may be shown to whoever gave the URL.
 * NOTES
 *   The address is judged in the act of connecting: a name is resolved once, all
 *   its addresses are judged, and the socket gets just these, so a name server
 *   that changes its answer wins nothing. undici asks no resolver for a literal
 *   address, so those are judged before. One refused address refuses the name.
 *   A connection is kept for one idle second. With a proxy the proxy resolves
 *   names, and has to judge what they lead to; literals are judged here even so.
 *   A `100 Continue` that nobody asked for is passed over (RFC 9110, section 15.2).
 */
import { lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { buildConnector, Dispatcher } from 'undici'
import { causeOf, DialError } from './cause.js'
import { createJudge, type DialRules, type Judge } from './forbidden.js'

const TIMEOUT_MS = 15_000
const LOOKUP_MS = 5_000
const MOST_OCTETS = 65_536
const NOWHERE = 'no address that is known, and plain http is for those of webhook.allow_networks: use https'
const IDLE_MS = 1_000

interface Address {
  readonly address: string
  readonly family: number
}

/** As dns.lookup with `all`. */
export type Lookup = (
  name: string,
  options: { readonly all: true },
  done: (error: Error | null, addresses: readonly Address[]) => void,
) => void

export interface DialOptions extends DialRules {
  /** http://host:port of a proxy; null calls directly. */
  readonly proxy?: string | null
  /** Certificates to trust instead of Node's. */
  readonly ca?: string
  readonly lookup?: Lookup
  readonly timeoutMs?: number
}

interface Call {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Gives up early: the caller stops. */
  readonly signal?: AbortSignal
}

export interface Answer {
  readonly status: number
  /** Names in lower case; of a repeated header the first. */
  readonly headers: Readonly<Record<string, string>>
  /** At most its first 64 kB. */
  readonly body: Uint8Array
}

export interface Dialler {
  /** Why this URL is not called, in a sentence; null when it is, as far as one can tell before. A name without an address is not refused. */
  refusal(url: string): Promise<string | null>
  request(call: Call): Promise<Answer>
  close(): Promise<void>
}

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '')
const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** The URL when its form is one that we call, else the sentence that says why not. */
export const readTarget = (text: string): URL | string => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.hostname === '') return 'it is no URL; write it like https://example.com/hook'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'only https URLs are called'
  if (url.username !== '' || url.password !== '')
    return 'it holds a user name or password; send them in a header'
  return url
}

const forbidden = (host: string, what: string): DialError =>
  new DialError('forbidden', `${host} ${isIP(host) === 0 ? 'leads to' : 'is'} ${what}`)

/** Resolves a name once, judges what it finds, and gives back only that. */
const createResolve = (judge: Judge, lookup: Lookup) => (host: string, port: number, isTls: boolean) =>
  new Promise<readonly Address[]>((resolve, reject) => {
    const decide = (addresses: readonly Address[]): void => {
      const what = addresses.map(({ address }) => judge(address, port, isTls)).find((said) => said !== null)
      if (what !== undefined) reject(forbidden(host, what))
      else if (addresses.length === 0) reject(Object.assign(new Error(host), { code: 'ENOTFOUND' }))
      else resolve(addresses)
    }
    if (isIP(host) !== 0) decide([{ address: host, family: isIP(host) }])
    else lookup(host, { all: true }, (error, found) => (error === null ? decide(found) : reject(error)))
  })
type Resolve = ReturnType<typeof createResolve>

/** What Node's own connect asks in place of a resolver: it hears what has been judged. */
export const answering =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, done) => {
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else done(null, first?.address ?? '', first?.family)
  }

const CONTINUE = /^HTTP\/1\.[01] 100[ \r\n][\s\S]*?\r?\n\r?\n/
const BEGINS = ['HTTP/1.1 100', 'HTTP/1.0 100']
const MOST_CONTINUE = 16_384

/** May still become a whole `100 Continue`, when more of it has come. */
const mayBeContinue = (text: string): boolean =>
  text.length < MOST_CONTINUE && BEGINS.some((begin) => begin.startsWith(text.slice(0, begin.length)))

/** undici breaks off a connection on which 100 comes: what undici reads of it begins with the answer behind it. */
const withoutContinue = (socket: Socket): Socket => {
  const push = socket.push.bind(socket)
  const send = socket.write.bind(socket) as (...args: unknown[]) => boolean
  /** What came since a request was written and may be a 100; null: the answer has begun. */
  let held: Buffer | null = null
  socket.write = (...args: unknown[]): boolean => {
    held ??= Buffer.alloc(0)
    return send(...args)
  }
  socket.push = (chunk: Buffer | null): boolean => {
    if (held === null) return push(chunk)
    if (chunk === null) {
      if (held.length > 0) push(held)
      held = null
      return push(null)
    }
    held = Buffer.concat([held, chunk])
    for (;;) {
      const [interim] = CONTINUE.exec(held.toString('latin1')) ?? []
      if (interim === undefined) break
      held = held.subarray(interim.length)
    }
    if (mayBeContinue(held.toString('latin1'))) return true
    const answer = held
    held = null
    return push(answer)
  }
  return socket
}

/** The connections that `connect` makes, without it. */
const passingContinue =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, done) =>
    connect(options, (...[error, socket]) =>
      error === null ? done(null, withoutContinue(socket)) : done(error, null),
    )

const connectWith =
  (build: typeof buildConnector, resolve: Resolve, tls: object): buildConnector.connector =>
  (options, done) => {
    const at = { port: options.port, protocol: options.protocol }
    resolve(options.hostname, portOf(at), options.protocol === 'https:').then(
      (addresses) => build({ ...tls, lookup: answering(addresses) } as object)(options, done),
      (error: Error) => done(error, null),
    )
  }

const readBody = async (body: AsyncIterable<Uint8Array>): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= MOST_OCTETS) break
  }
  return Buffer.concat(chunks).subarray(0, MOST_OCTETS)
}

const headersOf = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value
      return first === undefined ? [] : [[name.toLowerCase(), first]]
    }),
  )

const within = <T>(ms: number, work: Promise<T>): Promise<T | null> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), ms)))
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** undici takes a quarter of a second to load, so it is loaded at the first call. */
const createDispatcher = async (options: DialOptions, resolve: Resolve, timeout: number) => {
  const { Agent, Pool, ProxyAgent, buildConnector } = await import('undici')
  const tls = { rejectUnauthorized: true, timeout, ...(options.ca !== undefined && { ca: options.ca }) }
  const common = {
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
  }
  if (typeof options.proxy !== 'string')
    return new Agent({ ...common, connect: passingContinue(connectWith(buildConnector, resolve, tls)) })
  // its own connect makes the tunnel
  const factory = (
    origin: string | URL,
    { connect, ...rest }: { readonly connect: buildConnector.connector },
  ) => new Pool(origin, { ...rest, connect: passingContinue(connect) })
  return new ProxyAgent({ ...common, uri: options.proxy, requestTls: tls, factory: factory as never })
}

/** Throws when it may not be called; a proxy looks up names by itself, so only addresses are judged there. */
const judge = async (url: URL, resolve: Resolve, isProxied: boolean): Promise<void> => {
  if (!isProxied || isIP(hostOf(url)) !== 0) {
    await resolve(hostOf(url), portOf(url), url.protocol === 'https:')
  } else if (url.protocol === 'http:') throw forbidden(hostOf(url), 'an address that is called by https only')
}

export const createDialler = (options: DialOptions): Dialler => {
  const timeout = options.timeoutMs ?? TIMEOUT_MS
  const resolve = createResolve(createJudge(options), options.lookup ?? systemLookup)
  const isProxied = typeof options.proxy === 'string'
  let dispatcher: Promise<Dispatcher> | null = null
  let isClosed = false

  return {
    async refusal(text) {
      const url = readTarget(text)
      if (typeof url === 'string') return url
      // by https any address may turn out to be behind the name; by http those alone that were allowed
      const unknown = url.protocol === 'https:' ? null : forbidden(hostOf(url), NOWHERE).message
      try {
        return (await within(LOOKUP_MS, judge(url, resolve, isProxied))) === null ? unknown : null
      } catch (error) {
        return error instanceof DialError ? error.message : unknown
      }
    },

    async request({ url: text, method, headers, body, signal }) {
      const url = readTarget(text)
      if (typeof url === 'string') throw new DialError('forbidden', url)
      if (isProxied) await judge(url, resolve, isProxied)
      if (isClosed) throw new DialError('stopped', 'this server is stopping')
      dispatcher ??= createDispatcher(options, resolve, timeout)
      const over = AbortSignal.timeout(timeout)
      let status: number | null = null
      try {
        const { origin, pathname, search } = url
        const until = signal === undefined ? over : AbortSignal.any([over, signal])
        const target = { origin, path: `${pathname}${search}`, method, headers, body, signal: until }
        const answer = await (await dispatcher).request(target)
        status = answer.statusCode
        return { status, headers: headersOf(answer.headers), body: await readBody(answer.body) }
      } catch (error) {
        const isStopped = isClosed || signal?.aborted === true
        const [host, seconds] = [hostOf(url), timeout / 1000]
        throw causeOf(error, { host, status, seconds, isLate: over.aborted, isStopped })
      }
    },

    async close() {
      isClosed = true
      await (await dispatcher)?.destroy()
    },
  }
}
