/**
 * Rounds of faults on three daemons and one PostgreSQL under load through every door, and the books at the end:
 * `npm run crash -- --cluster [--rounds N] [--seed N] [--rows kill,cut]`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { books } from './books.js'
import type { Fault } from './fault.js'
import { FAULTS } from './faults.js'
import { CONNECTIONS, Fleet } from './fleet.js'
import { exactWindow, revoked } from './laws.js'

export interface ClusterOptions {
  readonly rounds: number
  readonly random: () => number
  /** Names of faults; without them, all. */
  readonly only?: readonly string[] | undefined
  /** How often a key is revoked. */
  readonly revocations: number
  readonly say: (line: string) => void
}

export interface ClusterReport {
  /** Empty: it holds. */
  readonly unmet: readonly string[]
  readonly found: object
}

/** Each once in an order of the seed's choice, then again; what takes longest only the first time. */
const chosen = ({ rounds, random, only }: ClusterOptions): Fault[] => {
  const kinds = FAULTS.filter(({ name }) => only?.includes(name) ?? true)
  const faults: Fault[] = []
  while (faults.length < rounds) {
    const deck = kinds.filter(({ isOnce = false }) => faults.length === 0 || !isOnce)
    while (deck.length > 0) faults.push(...deck.splice(Math.floor(random() * deck.length), 1))
  }
  return faults.slice(0, rounds)
}

const round = async (fleet: Fleet, fault: Fault): Promise<string[]> => {
  await fleet.flows()
  fleet.mx.takeMostOpen()
  await sleep(fleet.random() * 300) // when it breaks is the seed's choice
  const found = [...(await fault.run(fleet))]
  const { count, whose } = fleet.mx.takeMostOpen()
  if (count > CONNECTIONS && fault.leavesIdle !== true)
    found.push(`${count} connections at the upstream, of ${CONNECTIONS}: ${whose}`)
  return found
}

/** As a service manager does. */
const startEnded = async (fleet: Fleet): Promise<string[]> => {
  const found: string[] = []
  for (const daemon of fleet.daemons) {
    if (daemon.end === undefined) continue
    found.push(`daemon ${daemon.name} ended with ${daemon.end}: ${daemon.postern.output.slice(-3).join(' ')}`)
    await daemon.start()
  }
  return found
}

/** What one of them meets ends no run. */
const tried = async (
  fleet: Fleet,
  name: string,
  run: () => Promise<readonly string[]>,
): Promise<string[]> => {
  const found = await run().catch((error: Error) => [error.message])
  return [...found, ...(await startEnded(fleet))].map((one) => `${name}: ${one}`)
}

const laws = async (fleet: Fleet, revocations: number): Promise<string[]> => [
  ...(await tried(fleet, 'windows', () => exactWindow(fleet))),
  ...(await tried(fleet, 'revocations', () => revoked(fleet, revocations))),
]

export const clusterRounds = async (options: ClusterOptions): Promise<ClusterReport> => {
  const faults = chosen(options)
  const standby = faults.some(({ name }) => name === 'promote')
  const fleet = await Fleet.start({ random: options.random, standby })
  const { say } = options
  const started = performance.now()
  if (typeof fleet.postfix === 'string') say(`LEFT OUT ${fleet.postfix}`)
  const unmet: string[] = []
  const seconds: Record<string, number[]> = {}
  try {
    for (const [i, fault] of faults.entries()) {
      const began = performance.now()
      const wrong = await tried(fleet, fault.name, () => round(fleet, fault))
      const took = Math.round((performance.now() - began) / 1_000)
      seconds[fault.name] = [...(seconds[fault.name] ?? []), took]
      say(`round ${i + 1}: ${fault.says}, ${took} s${wrong.length > 0 ? `, ${wrong.length} NOT MET` : ''}`)
      for (const one of wrong) say(`         NOT MET ${one}`)
      unmet.push(...wrong)
    }
    unmet.push(...(await laws(fleet, options.revocations)))
    const { balances, copies, unmet: more } = await books(fleet)
    unmet.push(...more)
    const { slowestStartMs, slowestRecoveryMs, slowestTakeoverMs, delay } = fleet
    const slowest = { startMs: slowestStartMs, recoveryMs: slowestRecoveryMs, takeoverMs: slowestTakeoverMs }
    const late = { ms: Math.round(delay.ms), of: Math.round(performance.now() - started) }
    const cuts = fleet.daemons.reduce((sum, { proxy }) => sum + proxy.cuts, 0)
    return { unmet, found: { ...balances, copies, seconds, cuts, slowest, late } }
  } finally {
    await fleet.remove()
  }
}
