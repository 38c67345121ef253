/**
 * The wall clock is set under load, forward and back by up to two days, and now and then the daemon is killed while it is
 * wrong: nothing is lost, ends or goes out twice for that.
 */
import { fakeClock, noFakeClock } from '../parts/clock.js'
import { type Books, Rig, type RigOptions } from './rig.js'

const HOUR = 3_600_000
const STEPS = [HOUR, 0, -HOUR, 48 * HOUR, 0, -48 * HOUR, 5_000, -5_000, 0]

export const clockSteps = async (cycles: number, options: RigOptions): Promise<Books | string> => {
  if (noFakeClock !== false) return noFakeClock
  const ends: (() => void)[] = []
  const clock = fakeClock({ teardown: (end) => void ends.push(end as () => void) })
  const rig = await Rig.start({ ...options, env: clock.env })
  try {
    await rig.cycles(cycles, async (cycle) => {
      clock.set(STEPS[cycle % STEPS.length] as number)
      await rig.flows()
      if (options.random() > 0.4) return
      await rig.postern.stop('SIGKILL')
      if (options.random() > 0.5) clock.set(STEPS[(cycle + 1) % STEPS.length] as number)
      await rig.restart()
    })
    return await rig.books()
  } finally {
    await rig.remove()
    for (const end of ends) end()
  }
}
