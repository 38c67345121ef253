/**
 * A disk that fails now and then under the whole daemon (libfiu: fsync 1 %, write
 * 0.2 %): it stops at the first error of its store with 74, promises nothing more,
 * and the next start finds every acknowledged mail.
 */
import { spawnSync } from 'node:child_process'
import { type Books, Rig, type RigOptions } from './rig.js'

const FAULTS = [
  'enable_random name=posix/io/sync/*,probability=0.01',
  'enable_random name=posix/io/rw/pwrite,probability=0.002',
]

/** What fiu-run would put into the environment of a program. */
const failing = (): Readonly<Record<string, string>> | null => {
  const words = [...FAULTS.flatMap((fault) => ['-c', fault]), 'env', '-0']
  const { error, stdout } = spawnSync('fiu-run', ['-x', ...words], { encoding: 'utf8' })
  if (error !== undefined) return null
  const pairs = stdout.split('\0').filter((pair) => /^(LD_PRELOAD|FIU_ENABLE)=/.test(pair))
  return Object.fromEntries(pairs.map((pair) => [pair.split('=', 1)[0], pair.slice(pair.indexOf('=') + 1)]))
}

/** The books, or why no errors can be made here. */
export const ioErrors = async (runs: number, options: RigOptions): Promise<Books | string> => {
  const env = failing()
  if (env === null) return 'fiu-run is not installed (Debian: fiu-utils)'
  const rig = await Rig.start(options)
  try {
    await rig.cycles(runs, async () => {
      await rig.postern.stop()
      // it may meet the first error before it listens
      await rig.postern.start(env).catch(() => {})
      await rig.ends(74)
      await rig.restart()
    })
    return await rig.books()
  } finally {
    await rig.remove()
  }
}
