/**
 * NAME      management - health and metrics, on a listener of its own
 *   For supervisors and scrapers. This machine may ask for everything, as whoever shows the token of
 *   management.token_file may, from anywhere. Others are those of management.allow_networks, and get what is marked *,
 *   and what is marked + where there is no token.
 *   * /livez, /healthz  the process answers
 *   * /readyz           whether it should be sent work: 503 when not, with a word for each check; here and with the token
 *                       also a sentence for each that fails. Red before anything else stops, and of a shared database that
 *                       is away after ten seconds
 *   + /metrics          the state of the queue and the process in Prometheus text format: names of pools, workspaces,
 *                       upstreams, no address
 *     /upstreams        how each upstream is doing (`postern upstream list` shows it)
 *     POST /wake        has those that failed tried again now (`postern queue retry`)
 *     /status           what the daemon goes by: `postern doctor` compares it with the disk; of settings it shows marks, no
 *                       values
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../base/clock.js'
import { scrub } from '../base/crash.js'
import { type Listen, plainListen } from '../base/listen.js'
import { isLoopback, plainAddress, rangesOf } from '../base/network.js'
import { sameBytes } from '../base/secret.js'
import type { Service } from '../base/service.js'
import type { Config, ListenAddress } from '../config/config.js'
import { readManagementToken } from '../config/forms.js'
import type { Queue } from '../store/port/mail.js'
import type { Operations } from '../store/port/operations.js'
import type { Upkeep } from '../store/port/upkeep.js'
import type { Watch } from '../store/port/watch.js'
import { alarmMetric, counter, gauge, Lag, type Metric, metricsText, queueMetrics } from './metrics.js'

type Check = () => string | Promise<string>

interface ManagementOptions {
  readonly config: Pick<Config, 'management'>
  readonly store: Pick<Upkeep, 'depth'> &
    Pick<Operations, 'heldDepth'> &
    Pick<Queue, 'nextDue'> &
    Pick<Watch, 'standingAlarms'>
  readonly draining: () => boolean
  /** So long the database may be away before this daemon is to be sent no more work; 0: not at all. */
  readonly awayMs?: number
  /** Further parts to ask; each answers `ok`, or a word and a sentence: `low: 3MiB are free`. */
  readonly checks?: Readonly<Record<string, Check>>
  /** Further numbers of the moment. */
  readonly metrics?: () => readonly Metric[] | Promise<readonly Metric[]>
  /** What the daemon goes by: its certificate, and marks of its settings. */
  readonly status?: () => object
  /** What the relay knows now, ready to be shown: `data` are the upstreams. */
  readonly upstreams?: () => { readonly data: readonly object[] }
  /** Has upstreams that are avoided tried again now. */
  readonly wake?: () => void
  /** How to get its socket, `management`; by default it is bound here. */
  readonly listen?: Listen | undefined
}

export interface Management extends Service {
  readonly address: ListenAddress
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
}

const json = (status: number, body: object): Reply => ({
  status,
  type: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
})

/** What the one who asks may see. */
type Rights = 'all' | 'health' | 'health and metrics' | 'none'

/** The file is read when a token is shown, so a new one counts at once. */
const showsToken = (file: string, { authorization = '' }: IncomingMessage['headers']): boolean => {
  const [, shown] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
  if (shown === undefined) return false
  try {
    return sameBytes(Buffer.from(shown), Buffer.from(readManagementToken(file) ?? ''))
  } catch {
    return false
  }
}

const rightsIn = ({ token_file, allow_networks }: Config['management']) => {
  const isAllowed = rangesOf(allow_networks)
  return ({ socket, headers }: IncomingMessage): Rights => {
    const peer = plainAddress(socket.remoteAddress ?? '')
    if (isLoopback(peer) || peer === plainAddress(socket.localAddress ?? '')) return 'all'
    if (token_file !== null && showsToken(token_file, headers)) return 'all'
    if (!isAllowed(peer)) return 'none'
    return token_file === null ? 'health and metrics' : 'health'
  }
}

const HEALTH = new Set(['/livez', '/healthz', '/readyz'])

const mayAsk = (rights: Rights, path: string): boolean =>
  rights === 'all' ||
  (rights !== 'none' && HEALTH.has(path)) ||
  (rights === 'health and metrics' && path === '/metrics')

/** A part that does not answer is no better than one that says no. */
const PATIENCE_MS = 2_000

const asked = async (check: Check): Promise<string> => {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`slow: no answer within ${PATIENCE_MS / 1e3} seconds`), PATIENCE_MS)
  })
  try {
    return await Promise.race([check(), patience])
  } catch (error) {
    return `fail: ${error instanceof Error ? scrub(error.message) : 'for no reason that was told'}`
  } finally {
    clearTimeout(timer)
  }
}

/** Where all daemons share a database, none of them is better off than this one while that is away for a moment. */
const patient = (awayMs: number, check: Check) => {
  let since: number | null = null
  return async (): Promise<string> => {
    const began = systemClock.tick()
    const answer = await asked(check)
    since = answer === 'ok' ? null : (since ?? began)
    return since !== null && systemClock.tick() - since < awayMs ? 'away' : answer
  }
}

const ready = async (
  db: Check,
  { draining, checks }: Pick<ManagementOptions, 'draining' | 'checks'>,
  isTold: boolean,
): Promise<Reply> => {
  const all: Record<string, Check> = {
    db,
    ...checks,
    ...(draining() && { daemon: () => 'draining: it was told to stop' }),
  }
  const answers = await Promise.all(
    Object.entries(all).map(async ([name, check]) => [name, await asked(check)] as const),
  )
  const words = Object.fromEntries(answers.map(([name, answer]) => [name, answer.split(':')[0] ?? '']))
  const failing = answers.filter(([, answer]) => answer !== 'ok' && answer !== 'away')
  if (failing.length === 0) return json(200, { status: 'ok', checks: words })
  const reasons = failing.map(([name, answer]) => `${name} is ${answer}`)
  return json(503, { status: 'fail', checks: words, ...(isTold && { reasons }) })
}

const measure = async ({ store, metrics }: ManagementOptions, late: Lag): Promise<Reply> => {
  const memory = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const all: readonly Metric[] = [
    ...queueMetrics(await store.depth(), await store.heldDepth(), Date.now()),
    alarmMetric(await store.standingAlarms()),
    gauge('process_resident_memory_bytes', 'Resident memory', memory.rss),
    gauge('nodejs_heap_size_used_bytes', 'Heap in use', memory.heapUsed),
    ...late.metrics(),
    gauge('process_uptime_seconds', 'Seconds since the start', process.uptime()),
    counter('process_cpu_seconds_total', 'Processor time used', (user + system) / 1e6),
    ...((await metrics?.()) ?? []),
  ]
  return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: metricsText(all) }
}

const answer = async (
  options: ManagementOptions,
  db: Check,
  late: Lag,
  req: IncomingMessage,
  rights: Rights,
): Promise<Reply> => {
  const path = req.url?.split('?')[0] ?? ''
  if (!mayAsk(rights, path))
    return json(options.config.management.token_file === null ? 403 : 401, { status: 'fail' })
  if (req.method === 'POST' && path === '/wake') {
    options.wake?.()
    return json(200, { status: 'ok' })
  }
  if (req.method !== 'GET' && req.method !== 'HEAD') return json(405, { status: 'fail' })
  if (path === '/livez' || path === '/healthz') return json(200, { status: 'ok' })
  if (path === '/readyz') return ready(db, options, rights === 'all')
  if (path === '/upstreams') return json(200, options.upstreams?.() ?? { data: [] })
  if (path === '/status') return json(200, options.status?.() ?? {})
  if (path === '/metrics') return measure(options, late)
  return json(404, { status: 'fail' })
}

export const createManagement = (options: ManagementOptions): Management => {
  let server: Server | null = null
  const late = new Lag()
  const rightsOf = rightsIn(options.config.management)
  const db = patient(options.awayMs ?? 0, async () => {
    await options.store.nextDue()
    return 'ok'
  })
  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { status, type, body } = await answer(options, db, late, req, rightsOf(req)).catch(() =>
      json(500, { status: 'fail' }),
    )
    res.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...(status === 405 && { allow: 'GET, HEAD' }),
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    })
    res.end(req.method === 'HEAD' ? undefined : body)
  }
  return {
    name: 'management',
    get address() {
      if (server === null) throw new Error('management is not started')
      const { address, port } = server.address() as AddressInfo
      return { host: address, port }
    },
    async start() {
      if (server !== null) return
      readManagementToken(options.config.management.token_file)
      const fresh = createServer((req, res) => void respond(req, res))
      await (options.listen ?? plainListen)(fresh, 'management', options.config.management)
      late.start()
      server = fresh
    },
    async stop() {
      const stopping = server
      server = null
      late.stop()
      if (stopping === null) return
      const closed = new Promise((resolve) => stopping.close(resolve))
      stopping.closeAllConnections()
      await closed
    },
  }
}
