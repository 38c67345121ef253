/** Settings of doors that stand alone in a test: the defaults, whatever the disk holds, but for what the test is about. */
import type { Config } from '../../src/config/config.js'
import { readConfig } from '../../src/config/load.js'

const { limits, bounce, submission } = readConfig(null)

export const limitsWith = (more: Partial<Config['limits']> = {}): Config['limits'] => ({
  ...limits,
  min_free_disk: 0,
  ...more,
})

/** The bounce door on any free port. */
export const bounceWith = (more: Partial<Config['bounce']> = {}): Config['bounce'] => ({
  ...bounce,
  port: 0,
  domain: 'bounces.test',
  ...more,
})

/** A submission listener on any free port. */
export const listenerWith = (more: Partial<Config['submission'][number]>): Config['submission'][number] => {
  const [plain] = submission
  if (plain === undefined) throw new Error('there is a listener by default')
  return { ...plain, port: 0, ...more }
}
