/** One schedule: daemons, what befalls them, who reads meanwhile, and what was promised. */
import { ordAt } from '../../../../src/store/sql/order/ord.js'
import { Daemon } from './daemon.js'
import { Database, TROUBLE_MS } from './database.js'
import { follower, type Poller, pagePoller } from './pollers.js'
import { type Process, start, World } from './world.js'
import { type Fault, ROWS, type Run, T0 } from './writer.js'

const DAEMONS = 3
const LIMITS = [1, 7, 100]
const END_MS = 160_000

const live = (run: Run, daemons: Daemon[], i: number): void => {
  const { world } = run
  const daemon = new Daemon(run, world.below(800) - 400)
  daemons[i] = daemon
  start(
    world,
    daemon,
    (function* (): Process {
      yield* daemon.live()
      // it left, or found itself taken over: the service manager starts it anew
      world.after(daemon.isLeaving ? 1 : 3000, () => live(run, daemons, i))
    })(),
  )
}

const befall = (run: Run, daemons: Daemon[]): void => {
  const { world, db, hindered } = run
  const i = world.below(DAEMONS)
  const daemon = daemons[i] as Daemon
  if (daemon.isKilled) return
  const { boot } = daemon
  const kind = world.below(7)
  const ms = 2000 + world.below(48_000)
  if (kind === 0) {
    daemon.isKilled = true
    daemon.session.close()
    hindered.set(boot, Number.POSITIVE_INFINITY)
    world.after(1000 + world.below(30_000), () => live(run, daemons, i))
  } else if (kind === 1) {
    daemon.stoppedUntil = world.now + ms
    daemon.hinder(ms)
  } else if (kind === 2) {
    daemon.cut(true)
    daemon.hinder(ms)
    world.after(ms, () => daemon.cut(false))
  } else if (kind === 3) {
    daemon.session.close()
  } else if (kind === 4) {
    daemon.session.isDoomed = true
  } else if (kind === 5) {
    daemon.isLeaving = true
  } else {
    db.isAway = true
    world.after(ms, () => {
      db.isAway = false
    })
  }
}

const promised = (
  run: Run,
  requests: number,
  pollers: readonly Poller[],
  daemons: readonly Daemon[],
): void => {
  const { db, wrong, acknowledged, dots, ambiguous } = run
  const mails = [...db.keys('m')].map((key) => db.at(key, db.seq)?.id as string)
  const stored = new Set(mails)
  if (stored.size !== mails.length) wrong.push('a mail was stored twice')
  for (const id of acknowledged) if (!stored.has(id)) wrong.push(`${id} was acknowledged and is not there`)
  const waiting = [...db.keys('q')].filter((key) => db.at(key, db.seq) !== null)
  if (waiting.length > 0) wrong.push(`${waiting.length} of ${requests} are stuck`)
  for (const key of new Set(dots)) {
    const times = dots.filter((one) => one === key).length
    if (times > 1 + ambiguous.filter((one) => one === key).length)
      wrong.push(`${key} was sent ${times} times`)
  }
  if (daemons.some(({ inbox }) => inbox.length > 0)) wrong.push('a request was never looked at')
  for (const { name, seen, tables } of pollers) {
    const all = tables.flatMap((table) => [...db.keys(table)].map((key) => db.at(key, db.seq)?.ord as number))
    const twice = seen.length - new Set(seen).size
    const missed = all.filter((ord) => !seen.includes(ord)).length
    if (twice > 0 || missed > 0) wrong.push(`${name}: ${missed} missed, ${twice} seen twice`)
  }
}

/** What went wrong. */
export const schedule = (
  seed: number,
  faults: readonly Fault[] = [],
  pollersOf: (db: Database, limit: number) => readonly Poller[] = (db, limit) => [
    pagePoller(db, limit),
    follower(db, limit),
  ],
): readonly string[] => {
  const world = new World(seed)
  const db = new Database(world)
  const run: Run = {
    ...{ world, db, faults: new Set(faults), acknowledged: new Set(), dots: [], ambiguous: [] },
    ...{ ended: new Map(), hindered: new Map(), wrong: [] },
  }
  for (let n = 0; n < ROWS; n++)
    db.fill(`w${n}`, { n, epoch: 0, boot: null, heartbeat: 0, frontier: n === 0 ? ordAt(T0) : 0 })
  const daemons: Daemon[] = []
  for (let i = 0; i < DAEMONS; i++) live(run, daemons, i)
  const requests = 4 + world.below(8)
  for (let i = 0; i < requests; i++)
    world.after(world.below(TROUBLE_MS), () => {
      const ready = daemons.filter(({ isKilled, isLeaving }) => !isKilled && !isLeaving)
      const taker = ready[world.below(ready.length)]
      if (taker === undefined) return
      taker.inbox.push(`r${i}`)
    })
  for (let i = world.below(5); i > 0; i--)
    world.after(500 + world.below(TROUBLE_MS), () => befall(run, daemons))
  const pollers = pollersOf(db, LIMITS[world.below(LIMITS.length)] ?? 1)
  for (const poller of pollers) {
    const again = (): void => {
      poller.poll()
      world.after(50 + world.below(world.now < TROUBLE_MS ? 3000 : 20_000), again)
    }
    world.after(world.below(2000), again)
  }
  world.run(END_MS)
  for (const poller of pollers)
    for (let before = -1; poller.seen.length > before; ) {
      before = poller.seen.length
      poller.poll()
    }
  promised(run, requests, pollers, daemons)
  return run.wrong
}
