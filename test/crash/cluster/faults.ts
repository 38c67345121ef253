/** What breaks in a round. Each says what was not as it must be, in words, and leaves daemons that run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { WAYS, type Way } from '../../parts/database-proxy.js'
import { eventually } from '../../parts/eventually.js'
import { CONNECTIONS, type Daemon, type Fleet, type Writer } from './fleet.js'

export interface Fault {
  readonly name: string
  readonly says: string
  /** Done in seconds. */
  readonly isCheap: boolean
  readonly run: (fleet: Fleet) => Promise<readonly string[]>
}

/** Of a daemon that gave no sign of life: 30 s, a heartbeat, and what a busy machine adds. */
const TAKEOVER_MS = 45_000
const TAKEN_OVER = 75

const fault = (name: string, says: string, isCheap: boolean, run: Fault['run']): Fault => ({
  name,
  says,
  isCheap,
  run,
})

const words = (writers: readonly Writer[]): string =>
  writers.map(({ n, boot }) => `${n} of boot ${boot}`).join(', ')

/** Nobody is taken over for an outage. */
const unmoved = (before: readonly Writer[], fleet: Fleet): string[] => {
  const now = fleet.writers()
  return words(before) === words(now) ? [] : [`writers ${words(before)} became ${words(now)}`]
}

const running = (fleet: Fleet): string[] =>
  fleet.daemons.flatMap(({ name, end }) => (end === undefined ? [] : [`daemon ${name} ended with ${end}`]))

const kill = async (daemon: Daemon): Promise<void> => {
  process.kill(daemon.postern.pid, 'SIGKILL')
  await eventually('a killed daemon ends', () => daemon.end !== undefined)
}

/** All writers of a daemon lose their row, which nobody takes again: the rows as they are then. */
const takenOver = async (fleet: Fleet, daemon: Daemon) => {
  const began = performance.now()
  const { owner } = daemon
  const theirs = fleet.writers().filter((writer) => writer.owner === owner)
  const live = () => fleet.writers().filter(({ boot }) => theirs.some((one) => one.boot === boot))
  await eventually(`daemon ${daemon.name} is taken over`, () => live().length === 0, {
    every: 250,
    seen: () => ({ live: live(), of: theirs }),
  })
  const ms = Math.round(performance.now() - began)
  fleet.slowestTakeoverMs = Math.max(fleet.slowestTakeoverMs, ms)
  const late = ms > TAKEOVER_MS ? [`daemon ${daemon.name} was taken over after ${ms} ms`] : []
  const numbers = theirs.map(({ n }) => n).join(', ')
  const rows = () =>
    fleet.sql(`SELECT n, epoch, frontier, heartbeat FROM writers WHERE n IN (${numbers}) ORDER BY n`)
  return { late, rows, left: rows().join(' ') }
}

/** It notices that it has been taken over, ends, has written nothing, and is started anew. */
const endsTakenOver = async (
  daemon: Daemon,
  { late, rows, left }: Awaited<ReturnType<typeof takenOver>>,
): Promise<string[]> => {
  await eventually(`daemon ${daemon.name} ends`, () => daemon.end !== undefined)
  const now = rows().join(' ')
  const found = [
    ...late,
    ...(daemon.end === TAKEN_OVER ? [] : [`daemon ${daemon.name}, taken over, ended with ${daemon.end}`]),
    ...(now === left ? [] : [`daemon ${daemon.name}, taken over, wrote: ${left} became ${now}`]),
  ]
  await daemon.start()
  return found
}

const outage =
  (how: 'fast' | 'immediate', seconds: (fleet: Fleet) => number): Fault['run'] =>
  async (fleet) => {
    const before = fleet.writers()
    await fleet.server.stop(how)
    await sleep(seconds(fleet) * 1_000)
    await fleet.server.start()
    await fleet.flows()
    return [...unmoved(before, fleet), ...running(fleet)]
  }

const cut: Fault['run'] = async (fleet) => {
  const before = fleet.writers()
  for (let i = 0; i < 6; i++) {
    const { proxy } = fleet.any()
    const cuts = proxy.cuts
    proxy.arm(WAYS[Math.floor(fleet.random() * WAYS.length)] as Way, Math.floor(fleet.random() * 6))
    await eventually('a connection is cut', () => proxy.cuts > cuts)
  }
  await fleet.flows()
  return [...unmoved(before, fleet), ...running(fleet)]
}

const terminate: Fault['run'] = async (fleet) => {
  const before = fleet.writers()
  for (let i = 0; i < 5; i++) {
    const which = Math.floor(fleet.random() * 3)
    const some = which === 0 ? '' : ` AND pid % 3 = ${which}`
    fleet.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'postern/%'${some}`,
    )
    await sleep(fleet.random() * 400)
  }
  await fleet.flows()
  return [...unmoved(before, fleet), ...running(fleet)]
}

const asleep: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  process.kill(daemon.postern.pid, 'SIGSTOP')
  const taken = await takenOver(fleet, daemon)
  process.kill(daemon.postern.pid, 'SIGCONT')
  return endsTakenOver(daemon, taken)
}

const partition: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  fleet.mx.mostOpen = 0
  daemon.proxy.leave()
  const taken = await takenOver(fleet, daemon)
  await sleep(5_000) // the others use its part of the upstream
  const most = fleet.mx.mostOpen
  daemon.proxy.return()
  const found = await endsTakenOver(daemon, taken)
  return most > CONNECTIONS ? [...found, `${most} connections at the upstream, of ${CONNECTIONS}`] : found
}

const gone: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  await kill(daemon)
  const { late } = await takenOver(fleet, daemon)
  await daemon.start()
  return late
}

const killAndStart: Fault['run'] = async (fleet) => {
  const daemon = fleet.any()
  await kill(daemon)
  const began = performance.now()
  await daemon.start()
  fleet.slowestStartMs = Math.max(fleet.slowestStartMs, Math.round(performance.now() - began))
  return []
}

export const FAULTS: readonly Fault[] = [
  fault('kill', 'a daemon is killed and starts again', true, killAndStart),
  fault('cut', 'sockets to the database are cut in the middle of a commit', true, cut),
  fault(
    'immediate',
    'the database crashes and starts',
    true,
    outage('immediate', () => 0),
  ),
  fault('terminate', 'sessions of the database are terminated', true, terminate),
  fault(
    'away',
    'the database is away',
    false,
    outage('fast', ({ random }) => 5 + random() * 20),
  ),
  fault('asleep', 'a daemon is stopped, is taken over, and goes on', false, asleep),
  fault('partition', 'a daemon is cut off from the database until it is taken over', false, partition),
  fault('gone', 'a daemon is killed and stays away until it is taken over', false, gone),
  fault(
    'long',
    'the database is away for 90 s',
    false,
    outage('fast', () => 90),
  ),
]
