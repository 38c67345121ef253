/** One schedule: daemons, what befalls them, who reads meanwhile, and what was promised. */
import { ordAt } from '../../../../src/store/sql/pages.js'
import { Daemon } from './daemon.js'
import { Database } from './database.js'
import { follower, type Poller, pagePoller } from './pollers.js'
import { Upstream } from './upstream.js'
import { type Process, start, World } from './world.js'
import { type Fault, ROWS, type Run, T0 } from './writer.js'

const DAEMONS = 3
const LIMITS = [1, 7, 100]
const SHORTEST_MS = 10_000
const LONGEST_MS = 50_000
/** By then all is quiet, or something is wrong. */
const END_MS = 200_000
const LOOK_MS = 2000
/** By then nobody waits for an answer or a lock of before. */
const SETTLED_MS = 15_000
const HOUR = 3_600_000

interface Cluster {
  readonly run: Run
  /** In each place, the one that lives there now. */
  readonly daemons: Daemon[]
}

const live = (cluster: Cluster, i: number, predecessor: number | null): void => {
  const { run, daemons } = cluster
  const { world, upstream } = run
  const daemon = new Daemon(run, world.below(800) - 400)
  daemons[i] = daemon
  daemon.process = start(
    world,
    daemon,
    (function* (): Process {
      yield* daemon.live(predecessor)
      upstream.drop(daemon)
      daemon.isIn = false
      daemon.isGone = true
      // it left, or found itself taken over: the service manager starts it anew
      world.after(daemon.isLeaving ? 1 : 3000, () => live(cluster, i, null))
    })(),
  )
}

type Befalls = (daemon: Daemon, ms: number, cluster: Cluster, i: number) => void

const BEFALLS: Readonly<Record<string, Befalls>> = {
  killed(daemon, ms, cluster, i) {
    const { run } = cluster
    daemon.isKilled = true
    daemon.isIn = false
    daemon.session.close()
    run.upstream.drop(daemon)
    run.hindered.set(daemon.boot, Number.POSITIVE_INFINITY)
    // on the same data folder, or on another one
    const predecessor = run.world.chance(0.5) ? daemon.boot : null
    run.world.after(1000 + (ms * 30) / 50, () => live(cluster, i, predecessor))
  },
  stopped(daemon, ms, { run }) {
    daemon.stoppedUntil = run.world.now + ms
    daemon.hinder(ms)
  },
  'cut off'(daemon, ms, { run }) {
    daemon.cut(true)
    daemon.hinder(ms)
    run.world.after(ms, () => daemon.cut(false))
  },
  'session ended': (daemon) => daemon.session.close(),
  'answer lost'(daemon) {
    daemon.session.isDoomed = true
  },
  leaves(daemon) {
    daemon.isLeaving = true
  },
  'database away'(_, ms, { run: { world, db } }) {
    db.isAway = true
    world.after(ms, () => {
      db.isAway = false
    })
  },
  'clock set'(daemon, _, { run: { world } }) {
    daemon.skew += world.chance(0.5) ? HOUR : -HOUR
  },
}
const ABOUT = JSON.stringify({ pools: null })
const KINDS = Object.keys(BEFALLS)

const befall = (cluster: Cluster): void => {
  const { run } = cluster
  const { world } = run
  const i = world.below(DAEMONS)
  const daemon = cluster.daemons[i] as Daemon
  if (daemon.isKilled || daemon.isGone) return
  const kind = KINDS[world.below(KINDS.length)] as string
  const ms = 2000 + world.below(48_000)
  world.note(kind)
  run.over = Math.max(run.over, world.now + ms)
  BEFALLS[kind]?.(daemon, ms, cluster, i)
}

/** Nothing is under way any more: each place has a daemon that lives, nothing waits, and every connection is somebody's. */
const isQuiet = ({ run, daemons }: Cluster): boolean => {
  const { world, db, upstream, quietFrom, over } = run
  if (world.now < quietFrom || world.now < over + SETTLED_MS) return false
  const boots = new Set(daemons.map(({ boot }) => boot))
  return (
    daemons.every((one) => one.isIn && !one.isLeaving && one.inbox.length === 0) &&
    daemons.reduce((sum, one) => sum + (one.part() ?? 0), 0) === upstream.limit &&
    db.writers.every((slot) => boots.has(slot.newest()?.boot ?? (daemons[0] as Daemon).boot)) &&
    boots.has(db.work.newest()?.boot ?? -1) &&
    [...db.queue.values()].every((slot) => slot.newest() === null)
  )
}

const promised = (cluster: Cluster, pollers: readonly Poller[]): void => {
  const { db, wrong, acknowledged, dots, ambiguous } = cluster.run
  const stored = new Set(db.ids)
  if (stored.size !== db.ids.length) wrong.push('a mail was stored twice')
  for (const id of acknowledged) if (!stored.has(id)) wrong.push(`${id} was acknowledged and is not there`)
  const waiting = [...db.queue.values()].filter((slot) => slot.newest() !== null)
  if (waiting.length > 0) wrong.push(`${waiting.length} of ${stored.size} are stuck`)
  for (const key of new Set(dots)) {
    const times = dots.filter((one) => one === key).length
    if (times > 1 + ambiguous.filter((one) => one === key).length)
      wrong.push(`${key} was sent ${times} times`)
  }
  if (cluster.daemons.some(({ inbox }) => inbox.length > 0)) wrong.push('a request was never looked at')
  for (const { name, seen, places } of pollers) {
    const all = places.flatMap(({ ords }) => ords)
    const found = new Set(seen)
    const twice = seen.length - found.size
    const missed = all.filter((ord) => !found.has(ord)).length
    if (twice > 0 || missed > 0) wrong.push(`${name}: ${missed} missed, ${twice} seen twice`)
  }
}

const begin = (seed: number, faults: readonly Fault[]): Cluster => {
  const world = new World(seed)
  const writers = Array.from({ length: ROWS }, (_, n) => ({
    ...{ n, epoch: 0, boot: null, heartbeat: 0, frontier: n === 0 ? ordAt(T0) : 0, owner: '' },
    ...{ role: 'relay', about: ABOUT },
  }))
  const db = new Database(world, writers)
  const ended = new Map<number, number>()
  const wrong: string[] = []
  const upstream = new Upstream(world, 1 + world.below(4), ended, wrong)
  const daemons: Daemon[] = []
  const newest = (): number => {
    let latest = Number.NEGATIVE_INFINITY
    for (const { isIn, boot, from } of daemons)
      if (isIn && !ended.has(boot) && from <= world.now) latest = Math.max(latest, from)
    return latest
  }
  const run: Run = {
    ...{ world, db, upstream, faults: new Set(faults), acknowledged: new Set(), dots: [], ambiguous: [] },
    ...{ ended, hindered: new Map(), wrong, newest },
    over: 0,
    quietFrom: SHORTEST_MS + world.below(LONGEST_MS - SHORTEST_MS),
  }
  db.onDue = () => {
    // a hint, which may be late
    for (const one of daemons) world.after(world.below(1000), () => one.process?.wake())
  }
  return { run, daemons }
}

const ask = ({ run: { world, quietFrom }, daemons }: Cluster, requests: number): void => {
  for (let i = 0; i < requests; i++)
    world.after(world.below(quietFrom), () => {
      const ready = daemons.filter(({ isKilled, isLeaving, isGone }) => !isKilled && !isLeaving && !isGone)
      const taker = ready[world.below(ready.length)]
      taker?.inbox.push(`r${i}`)
      taker?.process?.wake()
    })
}

/** Often while there is something new, seldom else. */
const poll = ({ world, db, quietFrom }: Run, poller: Poller): void => {
  let known = -1
  const again = (): void => {
    const stored = db.mails.ords.length + db.events.ords.length
    if (stored !== known || world.chance(0.2)) poller.poll()
    known = stored
    world.after(50 + world.below(world.now < quietFrom ? 3000 : 10_000), again)
  }
  world.after(world.below(2000), again)
}

export interface Outcome {
  readonly wrong: readonly string[]
  /** How often what was met. */
  readonly met: ReadonlyMap<string, number>
}

export const schedule = (
  seed: number,
  faults: readonly Fault[] = [],
  pollersOf: (db: Database, limit: number) => readonly Poller[] = (db, limit) => [
    pagePoller(db, limit),
    follower(db, limit),
  ],
): Outcome => {
  const cluster = begin(seed, faults)
  const { world, db, wrong, quietFrom } = cluster.run
  for (let i = 0; i < DAEMONS; i++) live(cluster, i, null)
  ask(cluster, 4 + world.below(8))
  for (let i = world.below(5); i > 0; i--)
    world.after(500 + world.below(quietFrom - 500), () => befall(cluster))
  const pollers = pollersOf(db, LIMITS[world.below(LIMITS.length)] ?? 1)
  for (const poller of pollers) poll(cluster.run, poller)
  world.run(quietFrom)
  while (world.now < END_MS && wrong.length === 0 && !isQuiet(cluster)) world.run(world.now + LOOK_MS)
  if (!isQuiet(cluster) && wrong.length === 0) wrong.push('it does not come to rest')
  // until each has said how far it is, and has heard it of the others
  world.run(world.now + 4 * LOOK_MS)
  for (const poller of pollers)
    for (let before = -1; poller.seen.length > before; ) {
      before = poller.seen.length
      poller.poll()
    }
  promised(cluster, pollers)
  return { wrong, met: world.met }
}
