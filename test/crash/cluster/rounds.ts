/**
 * Rounds of faults on three daemons and one PostgreSQL under load through every door, and the books at the end:
 * `npm run crash -- --cluster [--rounds N] [--seed N] [--rows kill,cut]`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Balance, balanceOf, few, wrongIn } from '../balance.js'
import { FAULTS, type Fault } from './faults.js'
import { Fleet, WORKSPACES, type Workspace } from './fleet.js'
import { exactWindow, oneMailAKey, revoked } from './laws.js'

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
    const deck = kinds.filter(({ name }) => faults.length < kinds.length || name !== 'long' || only)
    while (deck.length > 0) faults.push(...deck.splice(Math.floor(random() * deck.length), 1))
  }
  return faults.slice(0, rounds)
}

const round = async (fleet: Fleet, fault: Fault): Promise<string[]> => {
  await fleet.flows()
  await sleep(fleet.random() * 300) // when it breaks is the seed's choice
  const found = [...(await fault.run(fleet))]
  for (const daemon of fleet.daemons) {
    if (daemon.end === undefined) continue
    found.push(`daemon ${daemon.name} ended with ${daemon.end}: ${daemon.postern.output.slice(-3).join(' ')}`)
    await daemon.start()
  }
  return found.map((one) => `${fault.name}: ${one}`)
}

/** What the database has against what was acknowledged and what left. */
const storedWrongly = (fleet: Fleet, acknowledged: readonly string[]): string[] => {
  const stored = new Set(fleet.sql('SELECT id FROM emails'))
  const left = fleet.mx.messages.map((copy) => copy.split(' ')[0] ?? '')
  const waiting = fleet.sql('SELECT count(*) FROM queue WHERE held IS NULL')
  return [
    ...few(
      'acknowledged and not stored',
      acknowledged.filter((id) => !stored.has(id)),
    ),
    ...few(
      'sent and not stored',
      left.filter((id) => !stored.has(id)),
    ),
    ...(waiting[0] === '0' ? [] : [`${waiting[0]} recipients still wait`]),
  ]
}

const books = async (fleet: Fleet) => {
  await fleet.flows()
  const ids: Record<Workspace, string[]> = { default: [], careful: [] }
  for (const { loads } of fleet.daemons)
    for (const workspace of WORKSPACES) {
      await loads[workspace]?.stop()
      ids[workspace].push(...(loads[workspace]?.acknowledged ?? []))
    }
  const balances: Partial<Record<Workspace, Balance>> = {}
  const unmet: string[] = []
  for (const workspace of WORKSPACES) {
    let n = 0
    const balance = await balanceOf({
      ids: ids[workspace],
      copies: fleet.mx.messages,
      ask: (path) =>
        (fleet.daemons[n++ % fleet.daemons.length] ?? fleet.first).postern.api(
          'GET',
          path,
          fleet.keys[workspace],
        ),
      isHolding: workspace === 'careful',
    })
    balances[workspace] = balance
    unmet.push(...wrongIn(balance).map((one) => `workspace ${workspace}: ${one}`))
  }
  const twice = balances.careful?.duplicated ?? 0
  if (twice > 0) unmet.push(`${twice} went out twice where they are held`)
  unmet.push(...storedWrongly(fleet, [...ids.default, ...ids.careful]))
  return { balances, unmet }
}

const laws = async (fleet: Fleet, revocations: number): Promise<string[]> => [
  ...(await exactWindow(fleet)),
  ...(await oneMailAKey(fleet)),
  ...(await revoked(fleet, revocations)),
]

export const clusterRounds = async (options: ClusterOptions): Promise<ClusterReport> => {
  const fleet = await Fleet.start(options.random)
  const unmet: string[] = []
  const seconds: Record<string, number[]> = {}
  try {
    for (const [i, fault] of chosen(options).entries()) {
      const began = performance.now()
      const wrong = await round(fleet, fault)
      const took = Math.round((performance.now() - began) / 1_000)
      seconds[fault.name] = [...(seconds[fault.name] ?? []), took]
      options.say(
        `round ${i + 1}: ${fault.says}, ${took} s${wrong.length > 0 ? `, ${wrong.length} NOT MET` : ''}`,
      )
      for (const one of wrong) options.say(`         NOT MET ${one}`)
      unmet.push(...wrong)
    }
    unmet.push(...(await laws(fleet, options.revocations)))
    const { balances, unmet: more } = await books(fleet)
    unmet.push(...more)
    const { slowestStartMs, slowestTakeoverMs } = fleet
    const cuts = fleet.daemons.reduce((sum, { proxy }) => sum + proxy.cuts, 0)
    return { unmet, found: { ...balances, seconds, cuts, slowestStartMs, slowestTakeoverMs } }
  } finally {
    await fleet.remove()
  }
}
