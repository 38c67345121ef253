/**
 * NAME      http - the /v1 door
 *   Speaks HTTP and RFC 9457 and nothing else: it parses, calls one stage, renders. Stopping is gentle: new requests
 *   get 503 with Retry-After and a closed connection, those under way are finished.
 */

import { type AddressInfo, isIP, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'
import type { Request, Server, ServerInjectOptions, ServerInjectResponse } from '@hapi/hapi'
import { type Dialler, diallerBy, diallerOf, tokenSettings } from '../base/dial.js'
import { Kept } from '../base/kept.js'
import { contextsOf, type FindContext, type Listen, type NamedPair, plainListen } from '../base/listen.js'
import { Budget } from '../base/memory.js'
import { isLoopback, plainAddress, rangesOf } from '../base/network.js'
import type { Service } from '../base/service.js'
import type { Spans } from '../base/trace.js'
import type { Config, ListenAddress } from '../config/config.js'
import { ownUrl } from '../config/load.js'
import { MarkCodec } from '../record/event.js'
import { prepare } from './check.js'
import { contract } from './contract.js'
import type { HttpDeps } from './deps.js'
import { dialects } from './dialect/routes.js'
import { createDirect, type DirectSends } from './direct.js'
import { type Endpoint, served } from './endpoint.js'
import { Feed, Slots } from './feed.js'
import { CursorCodec } from './list.js'
import type { UnsubscribeMetrics } from './metrics.js'
import { followAs } from './routes/events.js'
import { demandJson } from './sends.js'
import { createServer, type Site } from './server.js'
import { createBodyReader } from './thread/reader.js'
import { unsubscribeRoutes } from './unsubscribe.js'
import { Listener } from './wire/listener.js'

interface TlsFiles {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** Shown to those who ask for one of their names. */
  readonly others?: readonly NamedPair[]
}

interface HttpOptions
  extends Omit<
    HttpDeps,
    | 'baseUrl'
    | 'cursors'
    | 'marks'
    | 'feed'
    | 'slots'
    | 'kept'
    | 'reader'
    | 'dialler'
    | 'tokenDialler'
    | 'setup'
  > {
  /** By default made from the configuration. */
  readonly dialler?: Dialler | undefined
  readonly pepper: Uint8Array
  /** Certificate and key when this listener speaks TLS itself. */
  readonly tls?: TlsFiles | null
  /** What both doors share; by default this one has all of limits.memory. */
  readonly memory?: Budget
  /** null without an OpenTelemetry SDK. */
  readonly spans?: Spans | null
  /** Pages for people, on the same listener. */
  readonly site?: Site
  /** Shared with them; by default its own. */
  readonly kept?: Kept
  /** null: hapi answers all sends. For tests, which compare the two. */
  readonly direct?: typeof createDirect | null
  /** Hears of links to unsubscribe. */
  readonly unsubscribes?: UnsubscribeMetrics | undefined
  /** How to get its socket, `http`; by default it is bound here. */
  readonly listen?: Listen | undefined
}

export interface Http extends Service {
  /** Where it listens; valid after start. */
  readonly address: ListenAddress
  /** Where clients reach it. */
  readonly baseUrl: string
  /** From now on every new request is answered 503. */
  drain(): void
  /** Another certificate for new connections; does nothing without TLS. */
  renew(tls: TlsFiles): void
  /** Makes the shapes of sends, so that the first request does not wait for it. */
  warm(): void
  /** A request without a socket, for pages of the same process. */
  inject(request: ServerInjectOptions): Promise<ServerInjectResponse>
  /** The live stream of a session, for pages of the same process; throws a Fault. */
  follow(session: string, after: string | null, address: string): Promise<Readable>
}

const STOP_MS = 10_000

/** An address as a proxy wrote it: some put IPv6 in brackets, or add the port. */
const hopOf = (text: string): string =>
  plainAddress(
    text
      .trim()
      .replace(/^\[(.*)\](:\d+)?$/, '$1')
      .replace(/^([\d.]+):\d+$/, '$1'),
  )

/** The caller's address: the last one in X-Forwarded-For that no trusted proxy of ours added. */
const addressOf = (trusted: readonly string[]) => {
  const isTrusted = rangesOf(trusted)
  return (request: Request): string => {
    let address = plainAddress(request.info.remoteAddress ?? '')
    if (trusted.length === 0) return address
    const hops = String(request.headers['x-forwarded-for'] ?? '').split(',')
    while (isTrusted(address)) {
      const hop = hopOf(hops.pop() ?? '')
      // what is no address was not written by a proxy
      if (isIP(hop) === 0) break
      address = hop
    }
    return address
  }
}

/** Where TLS ends in a proxy, whoever comes by another way would show a key in clear. */
const keepOthersOut = (trusted: readonly string[]) => {
  const isTrusted = rangesOf(trusted)
  return (socket: Socket): void => {
    const peer = plainAddress(socket.remoteAddress ?? '')
    const isHere = isLoopback(peer) || peer === plainAddress(socket.localAddress ?? '')
    if (!isHere && !isTrusted(peer)) socket.destroy()
  }
}

/** Its endpoints, with what they work with. */
export const endpoints = (deps: Omit<HttpDeps, 'baseUrl'>, baseUrl: () => string): readonly Endpoint[] =>
  served(contract(deps.config?.docs !== 'members'), { ...deps, baseUrl })

/** A base URL that nobody configured names the port that was really taken. */
const baseUrlAt = ({ base_url, http }: Config, { host, port }: ListenAddress): string => {
  const url = base_url === ownUrl(http) ? ownUrl({ ...http, host, port }) : base_url
  return url.replace(/\/+$/, '')
}

/** What its endpoints stand on, as far as the daemon does not bring it. */
const depsOf = (options: HttpOptions): Omit<HttpDeps, 'baseUrl'> => {
  const { config, log, pepper, store } = options
  const marks = new MarkCodec(pepper)
  return {
    ...options,
    marks,
    reader: createBodyReader(config.http.max_body),
    cursors: new CursorCodec(pepper),
    feed: new Feed({ store, marks, log }),
    slots: new Slots(config.events),
    kept: options.kept ?? new Kept(options.clock),
    setup: {
      ...{ store, pepper, clock: options.clock, dataDir: config.data_dir },
      ...{ perMinute: config.rate_limit.per_minute, authFailures: config.rate_limit.auth_failures },
    },
    dialler: options.dialler ?? diallerOf(config),
    tokenDialler: diallerBy(tokenSettings(config)),
  }
}

/** The certificate that is shown, and those for other names; another one is for new connections. */
const createCertificates = (first: TlsFiles | null) => {
  let tls = first
  let find = contextsOf(tls?.others ?? [])
  return {
    files: () => tls,
    byName: (name: string) => find(name),
    renew(fresh: TlsFiles, listener: Server['listener'] | undefined) {
      tls = tls && fresh
      find = contextsOf(tls?.others ?? [])
      if (listener instanceof TlsServer) listener.setSecureContext({ cert: fresh.cert, key: fresh.key })
    },
  }
}

interface Now {
  files(): TlsFiles | null
  baseUrl(): string
  draining(): boolean
  readonly byName: FindContext
}

const placeOf = ({ listener }: Server): ListenAddress => {
  const { address, port } = listener.address() as AddressInfo
  return { host: address, port }
}

/** hapi, and what answers plain sends before it. */
interface Door {
  readonly server: Server
  readonly rows: readonly Endpoint[]
  readonly direct: DirectSends | null
}

/** A server that listens and is not started yet. */
const listeningServer = async (
  { config, log, tenants, ...options }: HttpOptions,
  deps: HttpDeps,
  { baseUrl, draining, ...certificates }: Now,
): Promise<Door> => {
  const tls = certificates.files()
  const listener = new Listener({
    baseUrl,
    requestTimeoutMs: config.http.request_timeout,
    tls: tls && { ...tls, SNICallback: (name, done) => done(null, certificates.byName(name)) },
    failures: tenants.failures,
  })
  const rows = endpoints(deps, baseUrl)
  const shared = {
    ...{ log, tenants, draining },
    maxBody: config.http.max_body,
    memory: options.memory ?? new Budget(config.limits.memory),
    counted: new WeakMap(),
  }
  const others = served(dialects(config.http.dialects), deps)
  const plain = [...rows.filter(({ id }) => id === 'sendEmail'), ...others.filter(({ isPlain }) => isPlain)]
  // a span begins with hapi's request
  const make = options.spans == null ? (options.direct === undefined ? createDirect : options.direct) : null
  const direct = make?.({ ...shared, sends: plain }) ?? null
  const parts = {
    ...shared,
    ...{ listener, tls: tls !== null, baseUrl, direct },
    viewersSee: config.identity.viewers_see,
    addressOf: addressOf(config.http.trusted_proxies),
    demandJson: (bytes: Uint8Array) => demandJson(deps, bytes),
    spans: options.spans ?? null,
    site: options.site ?? null,
    routes: unsubscribeRoutes(options),
  }
  if (config.http.behind_proxy)
    listener.server.prependListener('connection', keepOthersOut(config.http.trusted_proxies))
  const server = await createServer(parts, [...rows, ...others])
  await server.initialize()
  try {
    // Only now, because hapi follows the connections of a listener from its first moment.
    await (options.listen ?? plainListen)(listener.server, 'http', config.http)
  } catch (error) {
    await server.stop()
    throw error
  }
  return { server, rows, direct }
}

const stopDoor = async ({ server, direct }: Door): Promise<void> => {
  // hapi ends the connections of all requests that it does not know
  if (direct !== null) await Promise.race([direct.idle(), sleep(STOP_MS, null, { ref: false })])
  await server.stop({ timeout: STOP_MS })
}

const warm = ({ rows }: Door): void => {
  for (const { sends, query, body } of rows)
    for (const shape of [query, body]) if (sends && shape) prepare(shape)
}

export const createHttp = (options: HttpOptions): Http => {
  let url = baseUrlAt(options.config, options.config.http)
  const deps: HttpDeps = { ...depsOf(options), baseUrl: () => url }
  const { config, reader, dialler, tokenDialler, feed } = deps
  const certificates = createCertificates(options.tls ?? null)
  let isDraining = false
  let door: Door | null = null
  const now: Now = { ...certificates, baseUrl: () => url, draining: () => isDraining }

  const running = (): Door => {
    if (door === null) throw new Error('http is not started')
    return door
  }

  const drain = (): void => {
    isDraining = true
    feed.close()
  }

  return {
    name: 'http',
    get baseUrl() {
      return url
    },
    get address() {
      return placeOf(running().server)
    },
    drain,
    renew: (fresh) => certificates.renew(fresh, door?.server.listener),
    warm: () => door !== null && warm(door),
    inject: (request) => running().server.inject(request),
    follow: followAs(deps),
    async start() {
      if (door !== null) return
      isDraining = false
      feed.start()
      const fresh = await listeningServer(options, deps, now)
      url = baseUrlAt(config, { ...config.http, port: placeOf(fresh.server).port })
      await fresh.server.start()
      door = fresh
    },
    async stop() {
      drain()
      const stopping = door
      if (stopping !== null) await stopDoor(stopping)
      await Promise.all([reader.end(), dialler.close(), tokenDialler.close()])
      if (door === stopping) door = null
    },
  }
}
