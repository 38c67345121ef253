/**
 * NAME      stages - the way of a mail, by a clock that is moved
 * DESCRIPTION
 *   What the daemon runs in threads by the clock of the machine runs here in one thread by a clock that is moved ahead:
 *   submission, the relay's flow, the sandbox that all of it goes to, and those who follow the log. Nothing of a mail is
 *   made up: it is accepted, leased, spoken over SMTP, settled, reported and posted by the code that does so every day.
 * NOTES
 *   Wall time and ticks move together, so that no part takes a move for a clock that was set.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../base/clock.js'
import { createGiveWay } from '../base/give-way.js'
import type { Log } from '../base/log.js'
import { type Service, startAll, stopAll } from '../base/service.js'
import type { Config } from '../config/config.js'
import { followersOf } from '../followers/stages.js'
import { liveKeys } from '../keys/return-path.js'
import type { Settled } from '../lifecycle/facts.js'
import { makeRef, makeReturnPath, REF_HEADER } from '../mail/return-path.js'
import type { Status } from '../mail/status.js'
import { logIncident, suppressLater } from '../outcome/suppress.js'
import { Flow } from '../relay/flow.js'
import { Journal } from '../relay/journal.js'
import { Pools } from '../relay/pools.js'
import { RFC_TIMEOUTS } from '../relay/settings.js'
import { createSandbox } from '../sandbox/sandbox.js'
import { simulationFor } from '../sandbox/simulation.js'
import { reachStore, shareStore } from '../store/open.js'
import type { Store } from '../store/port/store.js'

/** For what the sandbox does slowly, or later. */
const PACE_MS = 20
const LOOK_MS = 4
const PATIENCE_MS = 20_000

interface MovedClock extends Clock {
  /** Time goes on from there; it never goes back. */
  moveTo(at: number): void
}

export const movedClock = (from: number): MovedClock => {
  let ahead = from - Date.now()
  let moved = 0
  return {
    now: () => Date.now() + ahead,
    tick: () => performance.now() + moved,
    moveTo(at) {
      const by = Math.max(0, Math.round(at) - Date.now() - ahead)
      ahead += by
      moved += by
    },
  }
}

interface StageParts {
  readonly store: Store
  readonly config: Config
  readonly pepper: Uint8Array
  readonly clock: MovedClock
  readonly log: Log
  /** The same numbers each time. */
  readonly random: () => number
}

/** Whether more is to come of a recipient within this moment. */
const isUnderWay = (address: string, status: Status): boolean =>
  status === 'queued' || (status === 'sent' && simulationFor(address).steps.length > 0)

/** Which recipients are under way, by what was settled. */
const watchSettled = (store: Pick<Store, 'onSettled'>) => {
  const statuses = new Map<string, Status>()
  const awaited = new Set<string>()
  const off = store.onSettled((settled: readonly Settled[]) => {
    for (const { emailId, address, to, applied } of settled) {
      if (!applied) continue
      const key = `${emailId} ${address}`
      statuses.set(key, to)
      if (isUnderWay(address, to)) awaited.add(key)
      else awaited.delete(key)
    }
  })
  return {
    off,
    /** A mail was accepted; what was settled before that was told is known. */
    accepted(emailId: string, addresses: readonly string[]): void {
      for (const address of addresses) {
        const key = `${emailId} ${address}`
        if (isUnderWay(address, statuses.get(key) ?? 'queued')) awaited.add(key)
      }
    },
    awaited,
  }
}

const SANDBOX = { kind: 'sandbox', follows: null } as const

/** The relay as its thread wires it, for upstreams that are all the sandbox. */
const relayOf = async (parts: StageParts, sandbox: ReturnType<typeof createSandbox>) => {
  const { store, config, pepper, clock, log, random } = parts
  const { hostname, bounce, relay } = config
  const queue = await reachStore(shareStore(store, 'relay'))
  const { keys } = await liveKeys(queue, pepper)
  const tell = (level: 'info' | 'warn' | 'error', fact: string, fields: object): void =>
    log[level](fields, fact)
  const pools = new Pools({
    ...{ hostname, timeouts: RFC_TIMEOUTS, idle: 30_000, patience: PATIENCE_MS, tick: clock.tick },
    ...{ sandboxAddress: () => sandbox.address, log: tell },
    unseal: () => '',
    tokens: () => {
      throw new Error('the sandbox asks for no sign-in')
    },
  })
  const way = createGiveWay()
  const flow = new Flow({
    ...{ queue, way, pools, random, settings: { ...relay, drain: PATIENCE_MS, quiet: true } },
    journal: new Journal(queue, (error) =>
      log.error({ error: error.message }, 'store does not take outcomes'),
    ),
    steadySince: () => 0,
    dead: suppressLater({ store: queue, clock, begun: logIncident(log), log }),
    unknownPool: () => {},
    log: tell,
    around: {
      ...{ now: clock.now, tick: clock.tick, receivedToken: `by ${hostname} with `, crash: () => {} },
      returnPath: (claimed) => makeReturnPath(keys, bounce.domain, claimed),
      envid: (claimed) => makeRef(keys, 'envid', claimed),
      ref: (claimed) => `${REF_HEADER}: ${makeRef(keys, 'complaint', claimed)}\r\n`,
    },
  })
  const renew = async (): Promise<void> => {
    pools.update((await queue.allPools()).map((row) => ({ ...row, ...SANDBOX })))
    flow.announce()
  }
  const service: Service = {
    name: 'relay',
    async start() {
      await renew()
      flow.start()
    },
    async stop() {
      await flow.stop()
      await queue.close()
    },
  }
  const ids = () => [...pools.all()].map(({ row }) => row.id)
  return { flow, service, renew, nextDue: () => queue.nextDue(ids()) }
}

type Relay = Awaited<ReturnType<typeof relayOf>>

/** Whether a moment is over, and the way to the next one. */
const momentsOf = (relay: Relay, clock: MovedClock, awaited: ReadonlySet<string>) => {
  /** Until all that is due at this moment has come to rest. */
  const rest = async (): Promise<void> => {
    const began = performance.now()
    for (;;) {
      const { inFlight, waiting } = relay.flow.measure()
      const isBusy = awaited.size > 0 || inFlight > 0 || waiting > 0
      if (!isBusy && ((await relay.nextDue()) ?? Number.POSITIVE_INFINITY) > clock.now()) return
      if (performance.now() - began > PATIENCE_MS)
        throw new Error(`mail of the demo did not come to rest: ${[...awaited].slice(0, 3).join(', ')}`)
      await sleep(1)
    }
  }

  return {
    rest,
    /** Moves the clock, and stops wherever mail is due on the way. */
    async goOn(to: number): Promise<void> {
      for (let due = await relay.nextDue(); due !== null && due < to; due = await relay.nextDue()) {
        clock.moveTo(due)
        relay.flow.look()
        await rest()
      }
      clock.moveTo(to)
    },
  }
}

/** All of them, started; what they carry goes to the sandbox. */
export const startStages = async (parts: StageParts) => {
  const { store, config, pepper, clock, log } = parts
  const sandbox = createSandbox({ hostname: config.hostname, store, log, pace: PACE_MS })
  await sandbox.start()
  const watched = watchSettled(store)
  const relay = await relayOf(parts, sandbox)
  const reading = await reachStore(shareStore(store, 'followers'))
  const followers = await followersOf({
    ...{ store: reading, config, pepper, log, clock, capture: true, rules: () => [] },
    ...{ way: createGiveWay(), reported: () => {}, sandbox: { look: LOOK_MS, pace: PACE_MS } },
  })
  const services = [...followers, relay.service]
  await startAll(services)

  return {
    ...momentsOf(relay, clock, watched.awaited),
    accepted: watched.accepted,
    /** Pools were made. */
    renew: relay.renew,
    async stop(): Promise<void> {
      watched.off()
      await stopAll([sandbox, ...services], ({ name }, error) =>
        log.error({ service: name, error: error.message }, 'stop failed'),
      )
      await reading.close()
    },
  }
}

export type Stages = Awaited<ReturnType<typeof startStages>>
