/**
 * NAME      parts - a relay flow over the model of the queue, for tests
 */
import { systemClock } from '../../src/base/clock.js'
import { createDialler } from '../../src/base/dial.js'
import { createGiveWay, type GiveWay } from '../../src/base/give-way.js'
import { newId, newRecipientId } from '../../src/base/id.js'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { createTokens } from '../../src/relay/dialogue/login.js'
import { Flow } from '../../src/relay/flow.js'
import { Journal } from '../../src/relay/journal.js'
import { Pools } from '../../src/relay/pools.js'
import { type RelayLogLine, RFC_TIMEOUTS } from '../../src/relay/settings.js'
import type { DaemonShare, WarmupSettings } from '../../src/relay/warmup.js'
import type { KnownPool, UpstreamRow } from '../../src/store/port/tenants.js'
import { WatchedQueue } from './watched-queue.js'

export const POOL = 'pool_test'

export const upstreamRow = (port: number, change: Partial<UpstreamRow> = {}): UpstreamRow => ({
  id: `up_${port}`,
  host: '127.0.0.1',
  port,
  tls: 'none',
  fingerprint: null,
  user: null,
  sealedPassword: null,
  clientCertFile: null,
  clientKeyFile: null,
  weight: 1,
  priority: 0,
  maxConnections: 4,
  messagesPerConnection: 100,
  rate: null,
  state: 'active',
  ...change,
})

export const poolRow = (upstreams: readonly UpstreamRow[], change: Partial<KnownPool> = {}): KnownPool => ({
  id: POOL,
  accountId: 'acct_test',
  name: 'main',
  kind: 'relay',
  returnPath: 'verp',
  notifySuccess: true,
  relayedMeans: 'delivered',
  upstreams,
  createdAt: 0,
  updatedAt: 0,
  follows: null,
  ...change,
})

export const mail = (change: Partial<Claimed> = {}): Claimed => {
  const raw = change.raw ?? Buffer.from('From: a@example.com\r\nSubject: hello\r\n\r\nHello\r\n')
  return {
    recipientId: newRecipientId(),
    emailId: newId('em'),
    workspaceId: 'ws_one',
    poolId: POOL,
    mode: 'live',
    address: 'you@example.com',
    dsn: null,
    envid: null,
    ret: null,
    messageId: '<one@example.com>',
    from: 'a@example.com',
    needsSmtpUtf8: false,
    attempts: 0,
    createdAt: Date.now(),
    queuedAt: Date.now(),
    leaseGen: 1,
    size: raw.length,
    raw,
    ...change,
  }
}

export interface FlowOptions {
  readonly timeouts?: Partial<typeof RFC_TIMEOUTS>
  readonly idle?: number
  readonly patience?: number
  readonly lifetime?: number
  readonly drain?: number
  readonly retry?: readonly number[]
  readonly mayGo?: () => boolean
  readonly way?: GiveWay
  /** Where warm-ups are counted, and what time it is there. */
  readonly warmup?: Pick<WarmupSettings, 'store' | 'now'>
  /** Among other daemons; unsaid, alone. */
  readonly share?: DaemonShare
  readonly sandboxAddress?: { readonly host: string; readonly port: number }
  readonly endpoints?: Readonly<Record<string, string>>
}

export interface TestFlow {
  readonly queue: WatchedQueue
  readonly flow: Flow
  readonly pools: Pools
  readonly logged: string[]
  readonly lines: RelayLogLine[]
  stop(): Promise<void>
}

/** Nothing is sealed, and token endpoints are on loopback. */
export const TOKEN_PARTS = {
  dialler: createDialler({ allow: ['127.0.0.0/8'], ownPorts: () => [] }),
  unseal: (sealed: string) => sealed,
  seal: (text: string) => text,
  rotated: () => {},
  now: systemClock.now,
  tick: systemClock.tick,
}

export const startFlow = (rows: readonly KnownPool[], options: FlowOptions = {}): TestFlow => {
  const queue = new WatchedQueue()
  const logged: string[] = []
  const lines: RelayLogLine[] = []
  const note = (level: RelayLogLine['level'], fact: string, fields: RelayLogLine['fields']): void => {
    logged.push(fact)
    lines.push({ level, fact, fields })
  }
  const pools = new Pools({
    hostname: 'postern.test',
    timeouts: { ...RFC_TIMEOUTS, ...options.timeouts },
    idle: options.idle ?? 30_000,
    patience: options.patience ?? 5_000,
    endpoints: options.endpoints ?? {},
    unseal: (sealed) => sealed,
    tokens: (row, user) => createTokens(row, user, TOKEN_PARTS),
    tick: systemClock.tick,
    sandboxAddress: () => options.sandboxAddress ?? null,
    ...(options.share && { share: () => options.share ?? null }),
    mayGo: options.mayGo ?? (() => true),
    ...(options.warmup && {
      warmup: {
        ...options.warmup,
        tick: systemClock.tick,
        trouble: { failed: ({ message }: Error) => void logged.push(message), succeeded: () => {} },
      },
    }),
    changed: (pool) => flow.changed(pool),
    log: note,
  })
  pools.update(rows)
  const journal = new Journal(queue, (error) => logged.push(error.message))
  const flow = new Flow({
    queue,
    pools,
    way: options.way ?? createGiveWay(),
    journal,
    settings: {
      retry: options.retry ?? [60_000],
      lifetime: options.lifetime ?? 86_400_000,
      poll: 200,
      drain: options.drain ?? 2_000,
    },
    random: Math.random,
    steadySince: () => Number.NEGATIVE_INFINITY,
    unknownPool: () => {},
    dead: (recipientId) => logged.push(`dead ${recipientId}`),
    log: note,
    around: {
      now: systemClock.now,
      tick: systemClock.tick,
      returnPath: ({ recipientId, nullSender }, { row }) => {
        if (nullSender === true) return ''
        return row.returnPath === 'fixed' ? 'fixed@bounces.test' : `b1${recipientId}@bounces.test`
      },
      envid: ({ recipientId }) => `e1${recipientId}`,
      // with `verp` messages leave as they are, so that tests can compare them
      ref: ({ recipientId }, { row }) =>
        row.returnPath === 'fixed' ? `X-Postern-Ref: r1${recipientId}\r\n` : '',
      receivedToken: 'by postern.test with ',
      crash: () => {},
    },
  })
  const sweeping = setInterval(() => {
    pools.sweep((pool) => flow.resume(pool))
    flow.tend()
  }, 20)
  flow.start()
  return {
    queue,
    flow,
    pools,
    logged,
    lines,
    async stop() {
      await flow.stop()
      clearInterval(sweeping)
    },
  }
}
