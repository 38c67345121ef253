/**
 * The wall clock is set under load, forward and back by up to two days, which is more than mail has; meanwhile the upstream
 * is away, and now and then the daemon is killed: nothing is lost, given up or goes out twice for that.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fakeClock, noFakeClock } from '../parts/clock.js'
import { type Books, Rig, type RigOptions } from './rig.js'

const HOUR = 3_600_000
/** What was tried twice and is past its lifetime is given up, but not in the longest wait after a step. */
const RELAY = { lifetime: '24h', retry: ['1s', '10m'] }
const STEPS = [HOUR, 0, -HOUR, 48 * HOUR, 0, -48 * HOUR, 5_000, -5_000, 0]

export const clockSteps = async (cycles: number, options: RigOptions): Promise<Books | string> => {
  if (noFakeClock !== false) return noFakeClock
  const ends: (() => void)[] = []
  const clock = fakeClock({ teardown: (end) => void ends.push(end as () => void) })
  const rig = await Rig.start({ ...options, env: clock.env, settings: { relay: RELAY } })
  try {
    await rig.cycles(cycles, async (cycle) => {
      for (const mx of rig.mxs) mx.isAway = true
      await rig.flows() // what waits now
      clock.set(STEPS[cycle % STEPS.length] as number)
      await rig.flows()
      await sleep(3_000) // and is tried in vain
      for (const mx of rig.mxs) mx.isAway = false
      if (options.random() > 0.4) return
      await rig.postern.stop('SIGKILL')
      if (options.random() > 0.5) clock.set(STEPS[(cycle + 1) % STEPS.length] as number)
      await rig.restart()
    })
    clock.set(0)
    await rig.postern.json('queue', 'retry', '--all') // what was tried twice
    return await rig.books()
  } finally {
    await rig.remove()
    for (const end of ends) end()
  }
}
