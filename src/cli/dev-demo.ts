/**
 * NAME      dev-demo - the folder of `postern dev --demo`
 * DESCRIPTION
 *   The demo has a folder of its own, `demo` in the data folder, made anew at each start. Only what an earlier demo made
 *   is taken away, and only while no daemon runs on it; beside the data of a service there is no demo.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.js'
import type { Filled } from '../demo/fill.js'
import { demoMark, devKeyFile } from '../keys/pepper.js'
import { adminOf, isLocal, placeOf } from '../store/open.js'
import type { Globals } from './command.js'
import { configOf, keepRootOut } from './context.js'
import { Refusal } from './exit.js'
import { openLog } from './log.js'
import { near } from './own-name.js'
import type { Terminal } from './terminal.js'
import { versionText } from './version.js'

const isEmpty = (dir: string): boolean => !existsSync(dir) || readdirSync(dir).length === 0

const refuse = (config: Config, why: string): Refusal =>
  new Refusal(
    78,
    `${near(config.data_dir)} ${why}; name another folder: POSTERN_DATA_DIR=FOLDER postern dev --demo`,
  )

/** From here on this program, and every line that it prints, is about the folder of the demo, which is empty. */
export const enterDemo = async (args: Globals): Promise<void> => {
  const outer = configOf(args)
  keepRootOut(outer.data_dir)
  if (!isLocal(outer))
    throw new Refusal(
      78,
      'the demo has a database of its own: POSTERN_STORE__DRIVER=sqlite postern dev --demo',
    )
  if (existsSync(placeOf(outer.data_dir)) && !existsSync(devKeyFile(outer)))
    throw refuse(outer, 'holds the data of a service')
  process.env.POSTERN_DATA_DIR = join(outer.data_dir, 'demo')
  const config = configOf(args)
  if (isEmpty(config.data_dir)) return
  if (!existsSync(demoMark(config))) throw refuse(outer, 'has a folder demo that no demo made')
  const unlock = existsSync(placeOf(config.data_dir))
    ? (await adminOf(placeOf(config.data_dir))).lock()
    : null
  rmSync(config.data_dir, { recursive: true, force: true })
  unlock?.()
}

/** A week of mail in that folder. */
export const demoWeek = async (config: Config, terminal: Terminal): Promise<Filled> => {
  terminal.say('makes a week of mail first: 3,000 mails, which takes some seconds')
  const { fillDemo } = await import('../demo/fill.js')
  return fillDemo({ config, version: versionText(), log: openLog(config.log, 'fatal') })
}
