/**
 * NAME      worker - the relay thread
 *   Everything that talks to upstreams, in a thread of its own, so that TLS and message bytes never keep the doors
 *   waiting. It has its own port to the store; with the main thread it exchanges only orders and counters.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { steadyClock, systemClock } from '../base/clock.js'
import { createFaultPoint } from '../base/crash.js'
import { diallerBy } from '../base/dial.js'
import { createGiveWay } from '../base/give-way.js'
import { seal, unseal } from '../base/secret.js'
import { createTrouble } from '../base/service.js'
import { enterThread } from '../base/thread.js'
import { liveKeys } from '../keys/return-path.js'
import type { Claimed } from '../lifecycle/facts.js'
import type { CategoryRule } from '../mail/report/category.js'
import { fixedReturnPath, makeRef, makeReturnPath, REF_HEADER } from '../mail/return-path.js'
import { longestWaitMs } from '../outcome/reply.js'
import { reachStore } from '../store/open.js'
import type { KnownPool } from '../store/port/tenants.js'
import { DKIM_SEAL } from '../tenant/domain/domain.js'
import { UPSTREAM_SEAL } from '../tenant/pool.js'
import { createTokens } from './dialogue/login.js'
import { Flow } from './flow.js'
import { healthOf, Watchdog } from './health.js'
import { Journal } from './journal.js'
import { type Pool, Pools } from './pools.js'
import {
  type FromWorker,
  type RelayLogLine,
  type RelaySettings,
  type ToWorker,
  toldOf,
  type WorkerStart,
} from './settings.js'
import { Signing } from './signing.js'

import { shareOf } from './warmup.js'

const { settings, queue: shared } = workerData as WorkerStart
const port = parentPort as MessagePort
enterThread('postern-relay')
/** A reload may change some of them: they are asked each time. */
const live: { rules: readonly CategoryRule[]; quiet: boolean } & RelaySettings = { ...settings }
const SWEEP_MS = 250
const RELOAD_MS = 1_000
const SOON_MS = 20
const PATIENCE_MS = 5_000
const EXPIRE_MS = 60_000
const ARRIVED_MS = 1_000
/** Slowed domains that are told of. */
const MOST_SLOW = 1_000

const tell = (message: FromWorker): void => port.postMessage(message)
let lines: RelayLogLine[] = []
const tellLines = (): void => {
  if (lines.length > 0) tell({ say: 'log', lines })
  lines = []
}
/** The lines of one turn cross the threads together. */
const log = (level: RelayLogLine['level'], fact: string, fields: RelayLogLine['fields']): void => {
  if (level === 'info' && live.quiet) return
  if (lines.push({ level, fact, fields }) === 1) setImmediate(tellLines)
}

const queue = await reachStore(shared)
let sandboxAddress = settings.sandboxAddress
/** What is stored moves with the clock before anything is claimed or settled by the new time. */
const clock = steadyClock(systemClock, (by) => {
  log('warn', 'clock stepped', { by_s: Math.round(by / 1_000) })
  // where several daemons share a clock, each would move them
  if (queue.cluster().isShared) return stepped(by)
  queue.adjustTimes(systemClock.now(), by, longestWaitMs(settings.retry)).catch((error: Error) => {
    log('error', 'times not adjusted', { error: error.message })
  })
  stepped(by)
})
const stepped = (by: number): void => {
  journal.stepped(by)
  // once more for what was on its way to us when the clock was set
  for (const wait of [0, ARRIVED_MS]) setTimeout(() => flow.stepped(), wait)
}
const dialler = diallerBy(settings.dial)
const unsealed = (sealed: string): string => unseal(settings.pepper, UPSTREAM_SEAL, sealed)
const pools = new Pools({
  hostname: settings.hostname,
  timeouts: settings.timeouts,
  idle: settings.idle,
  endpoints: settings.endpoints,
  patience: PATIENCE_MS,
  unseal: unsealed,
  tokens: (row, user) =>
    createTokens(row, user, {
      dialler,
      unseal: unsealed,
      seal: (text) => seal(settings.pepper, UPSTREAM_SEAL, text),
      rotated: (was, is) => tell({ say: 'rotated', was, is }),
      now: clock.now,
      tick: clock.tick,
    }),
  tick: clock.tick,
  sandboxAddress: () => sandboxAddress,
  share: (pool) => shareOf(queue.cluster(), pool, clock.tick()),
  mayGo: () => clock.tick() < queue.cluster().promisedUntil,
  warmup: {
    store: queue,
    now: clock.now,
    tick: clock.tick,
    trouble: createTrouble({
      failed: ({ message }) => log('warn', 'warm-up not counted', { error: message }),
      over: (ms) =>
        log('info', 'works again', { after: 'warm-up not counted', lasted_s: Math.round(ms / 1000) }),
    }),
  },
  changed: (pool) => flow.changed(pool),
  log,
})

let troubled = false
const journal = new Journal(queue, (error) => {
  if (!troubled) log('error', 'store does not take outcomes', { error: error.message })
  troubled = true
})

const signing = new Signing(
  (sealed) => unseal(settings.pepper, DKIM_SEAL, sealed),
  (domain, error) => log('error', 'not signed', { domain, error: error.message }),
)

const subject = ({ recipientId, workspaceId, address }: Claimed) => ({ recipientId, workspaceId, address })
const { bounceDomain } = settings
const { keys, look: lookAtKeys } = await liveKeys(queue, settings.pepper)
const way = createGiveWay()
const flow = new Flow({
  queue,
  way,
  pools,
  journal,
  settings: live,
  random: Math.random,
  steadySince: clock.steadySince,
  dead: (recipientId, refusal) => tell({ say: 'dead', recipientId, refusal }),
  unknownPool: () => reloadSoon(),
  attempted: settings.traced
    ? (ends) => ends.length > 0 && tell({ say: 'attempts', attempts: ends.map(toldOf) })
    : undefined,
  log,
  around: {
    now: clock.now,
    tick: clock.tick,
    returnPath: (claimed: Claimed, pool: Pool) =>
      claimed.nullSender === true
        ? ''
        : pool.row.returnPath === 'verp'
          ? makeReturnPath(keys, bounceDomain, subject(claimed))
          : fixedReturnPath(bounceDomain),
    envid: (claimed: Claimed) => makeRef(keys, 'envid', subject(claimed)),
    ref: (claimed: Claimed, pool: Pool) => {
      const purpose = pool.row.returnPath === 'fixed' ? 'ref' : 'complaint'
      return `${REF_HEADER}: ${makeRef(keys, purpose, subject(claimed))}\r\n`
    },
    sign: (claimed, pool, mail) => signing.sign(claimed, pool.row.accountId, { ...mail, now: clock.now() }),
    receivedToken: `by ${settings.hostname} with `,
    crash: createFaultPoint(settings.faultPoint),
  },
})

const unread = createTrouble({
  failed: ({ message }) => log('warn', 'pools not read', { error: message }),
  over: (ms) => log('info', 'works again', { after: 'pools not read', lasted_s: Math.round(ms / 1000) }),
})
let known: { readonly mark: string | null; readonly rows: readonly KnownPool[] } = { mark: null, rows: [] }
/** What is in the store, which hardly ever changes. */
const readPools = async (): Promise<readonly KnownPool[]> => {
  const mark = await queue.relayMark()
  if (mark !== null && mark === known.mark) return known.rows
  const rows = await queue.allPools()
  signing.update(await queue.allDomains())
  await lookAtKeys()
  // what has changed since it was asked for is seen by the next look
  known = { mark, rows }
  return rows
}
const reload = async (): Promise<void> => {
  try {
    const rows = await readPools()
    pools.update(
      settings.capture ? rows.map((row) => ({ ...row, kind: 'sandbox' as const, follows: null })) : rows,
    )
    flow.announce()
    unread.succeeded()
  } catch (error) {
    unread.failed(error as Error)
  }
}
let reloadingSoon = false
const reloadSoon = (): void => {
  if (reloadingSoon) return
  reloadingSoon = true
  setTimeout(() => {
    reloadingSoon = false
    void reload().then(() => flow.look())
  }, SOON_MS)
}

const watchdog = new Watchdog({
  pools: () => pools.all(),
  nextDue: (poolIds) => queue.nextDue(poolIds),
  now: clock.now,
  tick: clock.tick,
  begunAt: (poolId) => flow.begunAt(poolId),
  waiting: (poolId) => flow.waiting(poolId),
  restart: (pool) => flow.restart(pool),
  log,
  patience: settings.watchdog,
})

const tellStats = (): void => {
  const epoch = clock.now() - clock.tick()
  tell({
    say: 'stats',
    stats: { ...flow.measure(), clockSteps: clock.steps },
    upstreams: healthOf(pools.all(), epoch),
    pools: watchdog.pools,
    throttled: flow.slow(MOST_SLOW).map((one) => ({
      ...one,
      until: Math.round(epoch + one.until),
      since: Math.round(epoch + one.since),
    })),
  })
}

await reload()
const sweeping = setInterval(() => {
  clock.now() // a step is seen even when nothing is done
  pools.sweep((pool) => flow.resume(pool))
  flow.tend()
}, SWEEP_MS)
const expiring = setInterval(() => {
  flow.expire().catch((error: Error) => log('warn', 'expiry failed', { error: error.message }))
}, EXPIRE_MS)
const watching = setInterval(
  () => {
    watchdog.look().catch((error: Error) => log('warn', 'watchdog failed', { error: error.message }))
  },
  Math.min(settings.watchdog / 4, 10_000),
)
const reloading = setInterval(() => {
  void reload().then(() => flow.look())
  tellStats()
}, RELOAD_MS)

port.on('message', (message: ToWorker) => {
  if (message.say === 'reload') void reload().then(() => flow.look())
  else if (message.say === 'live' || message.say === 'behind') way[message.say]()
  else if (message.say === 'wake') for (const { breaker } of pools.upstreams()) breaker.wake()
  else if (message.say === 'renewed') Object.assign(live, { rules: message.rules, quiet: message.quiet })
  else if (message.say === 'sandbox') {
    sandboxAddress = message.address
    void reload().then(() => flow.look())
  } else {
    clearInterval(sweeping)
    clearInterval(reloading)
    clearInterval(expiring)
    clearInterval(watching)
    void flow.stop().then(async () => {
      await queue.close().catch(() => {})
      tellStats()
      tellLines()
      tell({ say: 'stopped' })
    })
  }
})
queue.onChanged(() => reloadSoon())
flow.start()
void watchdog.look().catch(() => {})
tell({ say: 'ready' })
