/** A daemon gives no sign of life until the others take it over; then it comes back, and must have nothing to say. */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../parts/eventually.js'
import type { Daemon } from './daemon.js'
import { CONNECTIONS, type Fleet } from './fleet.js'
import type { Crowd } from './upstream.js'

/** Of a daemon that gave no sign of life: 30 s, and some heartbeats. */
const TAKEOVER_MS = 35_000
const TAKEN_OVER = 75
/** So long after its last heartbeat a daemon may hand over a final dot; and what a busy machine adds until we read it. */
const PROMISED_MS = 20_000 + 4_000

/** What the writers of a daemon have stored: their rows, and how many mails and events have a place of theirs. */
type Stored = ReadonlyMap<string, string>

export interface TakenOver {
  readonly late: readonly string[]
  readonly stored: () => Stored
  readonly left: Stored
  /** When it gave the last sign of life at the latest. */
  readonly since: number
}

/** The number of a writer is 8 bits of each place that it gives, above the last 4. */
const countOf = (table: string): string =>
  `(SELECT count(*) FROM ${table} WHERE (ord % 4096) / 16 = w.n) AS ${table}`

/** Without those whose row somebody else has by now, for work that the dead one did. */
const storedBy = (fleet: Fleet, owner: string, numbers: string): Stored => {
  const rows = fleet.sql(
    `SELECT n, epoch, frontier, heartbeat, owner, ${countOf('emails')}, ${countOf('events')} FROM writers w
     WHERE n IN (${numbers}) AND coalesce(owner, '${owner}') = '${owner}'`,
  )
  return new Map(rows.map((row) => [row.split('|')[0] ?? '', row]))
}

const changedIn = (left: Stored, now: Stored): string[] =>
  [...now].flatMap(([n, row]) => (left.get(n) === row ? [] : [`${left.get(n)} became ${row}`]))

const lastWords = ({ postern }: Daemon): string => postern.output.slice(-4).join(' ')

/** All writers of a daemon lose their row, which nobody takes again, and their leases. */
export const takenOver = async (fleet: Fleet, daemon: Daemon): Promise<TakenOver> => {
  const since = performance.now()
  const before = fleet.delay.ms
  const { owner } = daemon
  const theirs = fleet.writersOf(daemon)
  const isTheirs = ({ boot }: { readonly boot: string }) => theirs.some((one) => one.boot === boot)
  const live = () => fleet.writers().filter(isTheirs)
  await eventually(`daemon ${daemon.name} is taken over`, () => live().length === 0, {
    every: 250,
    ms: 180_000,
    seen: () => ({ live: live(), of: theirs, told: fleet.daemons.map(lastWords) }),
  })
  const ms = Math.round(performance.now() - since)
  fleet.slowestTakeoverMs = Math.max(fleet.slowestTakeoverMs, ms)
  const boots = theirs.map(({ boot }) => boot).join(', ')
  const [leased = ''] = fleet.sql(`SELECT count(*) FROM queue WHERE boot IN (${boots})`)
  const numbers = theirs.map(({ n }) => n).join(', ')
  const stored = () => storedBy(fleet, owner, numbers)
  const late = [
    ...(ms > TAKEOVER_MS + fleet.delay.ms - before
      ? [`daemon ${daemon.name} was taken over after ${ms} ms`]
      : []),
    ...(leased === '0' ? [] : [`${leased} leases of daemon ${daemon.name} outlive it`]),
  ]
  return { late, stored, left: stored(), since }
}

/** No final dot comes from it when others may have its mail. */
const lateDots = (fleet: Fleet, { name }: Daemon, since: number): string[] => {
  const late = fleet.mx.dots.filter(({ by, at }) => by === name && at > since + PROMISED_MS)
  return late.map(({ id, at }) => `daemon ${name} sent ${id} ${Math.round(at - since)} ms after it was gone`)
}

/** It notices that it has been taken over, ends, has written and sent nothing, and is started anew. */
export const endsTakenOver = async (
  fleet: Fleet,
  daemon: Daemon,
  { late, stored, left, since }: TakenOver,
): Promise<string[]> => {
  await eventually(`daemon ${daemon.name} ends`, () => daemon.end !== undefined, {
    seen: () => lastWords(daemon),
  })
  const wrote = changedIn(left, stored())
  fleet.died(daemon, since)
  const found = [
    ...late,
    ...(daemon.end === TAKEN_OVER ? [] : [`daemon ${daemon.name}, taken over, ended with ${daemon.end}`]),
    ...wrote.map((one) => `daemon ${daemon.name}, taken over, wrote: ${one}; ${lastWords(daemon)}`),
    ...lateDots(fleet, daemon, since),
  ]
  await daemon.start()
  return found
}

/** So long nobody can have taken it over, and so long it stays where it is when somebody has. */
const SURELY_ITS_OWN_MS = 20_000
const IS_MISSED_MS = 8_000
/** By then each has let go of what a newcomer has: who is stopped before that keeps it, and nobody can tell. */
const SHARED_MS = 15_000

const beyond = ({ count, whose }: Crowd, most: number, when: string): string[] =>
  count > most ? [`${count} connections at the upstream ${when}, of ${most}: ${whose}`] : []

/**
 * Stops a daemon where it stands, until it has been taken over; `meanwhile` before it goes on. Its connections stay open:
 * nobody uses its part of the upstream before that, and after it the upstream sees that part twice and no more.
 */
export const asleep = async (
  fleet: Fleet,
  daemon: Daemon,
  meanwhile: () => void = () => {},
): Promise<string[]> => {
  await sleep(SHARED_MS)
  fleet.mx.takeMostOpen()
  daemon.signal('SIGSTOP')
  let isAsleep = true
  try {
    const early = sleep(SURELY_ITS_OWN_MS).then(() => fleet.mx.takeMostOpen())
    const taken = await takenOver(fleet, daemon)
    const before = beyond(await early, CONNECTIONS, `before ${daemon.name} was taken over`)
    await sleep(IS_MISSED_MS)
    const twice = CONNECTIONS + CONNECTIONS / fleet.daemons.length
    const after = beyond(fleet.mx.takeMostOpen(), twice, `while ${daemon.name} stood still`)
    // what it hears first when it wakes up is a matter of luck
    const isFirst = fleet.random() < 0.5
    if (isFirst) meanwhile()
    daemon.signal('SIGCONT')
    isAsleep = false
    if (!isFirst) meanwhile()
    return [...before, ...after, ...(await endsTakenOver(fleet, daemon, taken))]
  } finally {
    // a start that failed is told as it is
    if (isAsleep) daemon.signal('SIGCONT')
  }
}
