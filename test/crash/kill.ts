/**
 * The daemon ends under mixed load, again and again: by kill -9 at any moment, by
 * kill -9 at each point with a name, or by SIGTERM, which loses and repeats nothing.
 */
import { uncounted } from './followed.js'
import { type Books, Rig, type RigOptions } from './rig.js'

export const killCycles = async (cycles: number, options: RigOptions): Promise<Books> => {
  const rig = await Rig.start(options)
  try {
    await rig.cycles(cycles, async () => {
      await rig.postern.stop('SIGKILL')
      await rig.restart()
    })
    const books = await rig.books()
    return { ...books, uncounted: await uncounted(rig, options.random) }
  } finally {
    await rig.remove()
  }
}

export const termCycles = async (cycles: number, options: RigOptions): Promise<Books> => {
  const rig = await Rig.start(options)
  try {
    await rig.cycles(cycles, async () => {
      process.kill(rig.postern.pid, 'SIGTERM')
      await rig.ends(0)
      await rig.restart()
    })
    return await rig.books()
  } finally {
    await rig.remove()
  }
}

export const POINTS = [
  'accept.before-commit',
  'accept.after-commit',
  'attempting.before-commit',
  'attempting.after-commit',
  'relay.before-data',
  'relay.after-dot',
  'relay.before-settle',
  'settle.before-commit',
  'settle.after-commit',
] as const

/** Where a mail may have been taken by then, so that it may go out a second time. */
export const AMBIGUOUS: readonly string[] = [
  'attempting.after-commit',
  'relay.before-data',
  'relay.after-dot',
  'relay.before-settle',
  'settle.before-commit',
]

/** Beside the way of a small mail: bodies in files, leases of what waits, and who follows the log. */
export const BESIDE: readonly string[] = [
  'body.before-write',
  'body.after-write',
  'claim.before-commit',
  'claim.after-commit',
  'keepRead.before-commit',
  'keepRead.after-commit',
]

/** Every point so many times, at the first to the eighth mail that passes it. */
export const pointCycles = async (
  times: number,
  options: RigOptions,
  points: readonly string[] = POINTS,
  hits = 8,
): Promise<Books> => {
  const rig = await Rig.start(options)
  try {
    await rig.cycles(times * points.length, async (cycle) => {
      await rig.postern.stop('SIGKILL')
      const hit = 1 + Math.floor(options.random() * hits)
      await rig.postern
        .start({ ...options.env, POSTERN_CRASH_AT: `${points[cycle % points.length]}:${hit}` })
        .catch(() => {})
      await rig.ends(null)
      await rig.restart()
    })
    const books = await rig.books()
    return { ...books, uncounted: await uncounted(rig, options.random) }
  } finally {
    await rig.remove()
  }
}
