/**
 * NAME      dial - calls URLs that somebody else chose
 *     One request, one answer, and no way into our own network: https only (http where an operator's range covers the
 *     address), no user info, no redirects, TLS verified, the answer read to 64 kB, all of it within 15 seconds. What
 *     fails is a DialError, whose message may be shown to whoever gave the URL.
 *   NOTES
 *     The address is judged in the act of connecting: a name is resolved once, all its addresses are judged, and the
 *     socket gets just these, so a name server that changes its answer wins nothing. undici asks no resolver for a
 *     literal address, so those are judged before. One refused address refuses the name.
 *     A connection is kept for one idle second. With a proxy the proxy resolves names, and has to judge what they lead
 *     to; literals are judged here even so.
 *     A `100 Continue` that nobody asked for is passed over (RFC 9110, section 15.2).
 *   Errors of sockets, TLS and HTTP as words that mean something to whoever runs the other end. No address that a name
 *   led to is told, and no stack: the sentence is shown to customers.
 *   Whoever may name a URL that we call (webhooks) must not reach this machine or its network through us. An address is
 *   judged as what it stands for: the IPv4 address inside a mapped, NAT64, 6to4 or otherwise translated IPv6 address is
 *   judged itself. `allow` opens ranges that are closed by default; nothing opens our own listeners.
 */
import { lookup as systemLookup } from 'node:dns'
import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { buildConnector, Dispatcher } from 'undici'
import { plainAddress, rangesOf } from './network.js'

/** `stopped`: we gave up, nobody else is to blame. */
type DialFailure = 'forbidden' | 'network' | 'timeout' | 'stopped'

export class DialError extends Error {
  override readonly name = 'DialError'
  readonly failure: DialFailure
  /** What the other end had answered before it went wrong, or null. */
  readonly status: number | null

  constructor(failure: DialFailure, message: string, status: number | null = null) {
    super(message)
    this.failure = failure
    this.status = status
  }
}

const NETWORK: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name has no address',
  EAI_AGAIN: 'the name could not be resolved for now',
  ECONNREFUSED: 'nothing listens there: the connection was refused',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'no connection could be made in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection could be made in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its answer is not as long as it says',
}

const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNABORTED'])

const TLS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it does not send the intermediate certificate that belongs to its own',
  CERT_REVOKED: 'its certificate was revoked',
}

interface Circumstances {
  readonly host: string
  readonly status: number | null
  readonly seconds: number
  readonly isLate: boolean
  readonly isStopped: boolean
}

/** Errors of several tries, and of wrappers, stand one inside the other; undici's parser gives a name alone. */
const codesOf = (error: unknown, depth = 0): readonly string[] => {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, name, cause, errors } = error as Error & { code?: unknown; errors?: readonly unknown[] }
  return [
    ...(typeof code === 'string' ? [code] : [name]),
    ...codesOf(cause, depth + 1),
    ...(Array.isArray(errors) ? errors.flatMap((one) => codesOf(one, depth + 1)) : []),
  ]
}

const sentence = (codes: readonly string[], status: number | null): string => {
  for (const code of codes) {
    const said = NETWORK[code] ?? TLS[code]
    if (said !== undefined) return said
  }
  if (codes.some((code) => code.startsWith('HPE_') || code === 'HTTPParserError'))
    return 'it did not answer in HTTP'
  if (codes.some((code) => /^(?:ERR_SSL_|EPROTO|ERR_TLS_)/.test(code)))
    return 'no TLS could be agreed with it'
  if (codes.some((code) => BROKEN.has(code)))
    return status === null
      ? 'it closed the connection without an answer'
      : `it answered ${status}, and broke off the connection in the middle of its answer`
  return 'the connection failed'
}

/** Whatever was thrown by a call, as a DialError. */
const causeOf = (error: unknown, { host, status, seconds, isLate, isStopped }: Circumstances): DialError => {
  if (error instanceof DialError) return error
  const inner = (error as { cause?: unknown } | null)?.cause
  if (inner instanceof DialError) return inner
  if (isStopped) return new DialError('stopped', 'this server is stopping', status)
  if (isLate) {
    const what = status === null ? 'no answer' : `it answered ${status}, but the answer did not end`
    return new DialError('timeout', `${host}: ${what} within ${seconds} s`, status)
  }
  return new DialError('network', `${host}: ${sentence(codesOf(error), status)}`, status)
}

const REFUSED_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/128',
  '::1/128',
  '64:ff9b:1::/48', // NAT64 of a network's own: leads to its inside
  '100::/64',
  '2001::/32', // Teredo: an IPv4 address in disguise
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const

const isRefused = rangesOf(REFUSED_RANGES)
const isOfThisHost = rangesOf(['0.0.0.0/8', '127.0.0.0/8', '::/127'])

const groupsOf = (address: string): readonly number[] => {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const hex = (high = '0', low = '0'): string => (Number(high) * 256 + Number(low)).toString(16)
  const text =
    dotted === null ? address : `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}`
  const [head = '', tail] = text.split('::')
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const left = read(head)
  const right = tail === undefined ? [] : read(tail)
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  return [...left, ...Array<number>(Math.max(0, zeros)).fill(0), ...right]
}

const ipv4 = (high = 0, low = 0): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

/** Prefixes of IPv6 that carry an IPv4 address, and the group where it starts. */
const CARRIERS: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0, 0, 0, 0, 0, 0xffff], at: 6 }, // ::ffff:0:0/96, mapped
  { prefix: [0, 0, 0, 0, 0xffff, 0], at: 6 }, // ::ffff:0:0:0/96, translated
  { prefix: [0x64, 0xff9b, 0, 0, 0, 0], at: 6 }, // 64:ff9b::/96, NAT64
  { prefix: [0x2002], at: 1 }, // 2002::/16, 6to4
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 }, // ::/96, compatible, long out of use
]

/** The IPv4 address that an IPv6 address carries, else the address itself; without a zone. */
export const unmapped = (address: string): string => {
  const plain = plainAddress(address)
  if (!isIPv6(plain)) return plain
  const groups = groupsOf(plain)
  const carrier = CARRIERS.find(({ prefix }) => prefix.every((group, i) => groups[i] === group))
  return carrier === undefined ? plain : ipv4(groups[carrier.at], groups[carrier.at + 1])
}

interface DialRules {
  /** Ranges that may be called though they are refused by default; plain http is for them alone. */
  readonly allow: readonly string[]
  /** Where we listen ourselves; asked at each connection. */
  readonly ownPorts: () => readonly number[]
  /** The setting that `allow` comes from, for who is refused. */
  readonly setting?: string
  /** Ranges of another setting, which do not count here, though somebody may believe so. */
  readonly elsewhere?: { readonly setting: string; readonly allow: readonly string[] }
}

type Judge = (address: string, port: number, isTls: boolean) => string | null

const isOurs = (address: string): boolean =>
  isOfThisHost(address) ||
  Object.values(networkInterfaces()).some((list) =>
    list?.some((one) => unmapped(one.address).toLowerCase() === address.toLowerCase()),
  )

/** Tells why an address must not be called, in the words that follow its name and "is" or "leads to"; null when it may be. */
export const createJudge = ({
  allow,
  ownPorts,
  setting = 'webhook.allow_networks',
  elsewhere,
}: DialRules): Judge => {
  const isAllowed = rangesOf(allow)
  const isAllowedElsewhere = rangesOf(elsewhere?.allow ?? [])
  const remedyFor = (address: string): string =>
    elsewhere !== undefined && isAllowedElsewhere(address)
      ? `${setting} allows ranges; those of ${elsewhere.setting} do not count here`
      : `${setting} allows ranges`
  return (address, port, isTls) => {
    const real = unmapped(address)
    if (ownPorts().includes(port) && isOurs(real)) return 'this very server, which is not called'
    if (isAllowed(real)) return null
    if (isRefused(real) || isRefused(address))
      return `a private or reserved address, which is not called (${remedyFor(real)})`
    return isTls ? null : 'an address that is called by https only'
  }
}

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

export interface HttpAnswer {
  readonly status: number
  /** Names in lower case; of a repeated header the first. */
  readonly headers: Readonly<Record<string, string>>
  /** At most its first 64 kB. */
  readonly body: Uint8Array
}

export interface Dialler {
  /** Why this URL is not called, in a sentence; null when it is, as far as one can tell before. A name without an address is not refused. */
  refusal(url: string): Promise<string | null>
  request(call: Call): Promise<HttpAnswer>
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

/** Plain values, so that they may cross to a thread. */
export interface DialSettings {
  readonly allow: readonly string[]
  readonly proxy: string | null
  readonly setting: string
  readonly elsewhere?: { readonly setting: string; readonly allow: readonly string[] }
  /** Ports that any free one was taken for are not known here; what is not for others listens on loopback. */
  readonly ownPorts: readonly number[]
}

interface Listener {
  readonly port: number
}

/** What of the configuration matters here. */
interface Dialling {
  readonly http: Listener
  readonly management: Listener
  readonly bounce: Listener
  readonly submission: readonly Listener[]
  readonly webhook: { readonly allow_networks: readonly string[]; readonly proxy: string | null }
  readonly oauth: { readonly allow_networks: readonly string[] }
}

const ownPortsOf = ({ http, management, submission, bounce }: Dialling): readonly number[] =>
  [http, management, bounce, ...submission].map(({ port }) => port).filter((port) => port !== 0)

const hookSettings = (dialling: Dialling): DialSettings => ({
  allow: dialling.webhook.allow_networks,
  proxy: dialling.webhook.proxy,
  setting: 'webhook.allow_networks',
  ownPorts: ownPortsOf(dialling),
})

/** How token endpoints of upstreams are called: operators name those, customers name endpoints of webhooks. */
export const tokenSettings = (dialling: Dialling): DialSettings => ({
  ...hookSettings(dialling),
  allow: dialling.oauth.allow_networks,
  setting: 'oauth.allow_networks',
  elsewhere: { setting: 'webhook.allow_networks', allow: dialling.webhook.allow_networks },
})

export const diallerBy = ({ ownPorts, ...settings }: DialSettings): Dialler =>
  createDialler({ ...settings, ownPorts: () => ownPorts })

export const diallerOf = (dialling: Dialling): Dialler => diallerBy(hookSettings(dialling))
