/**
 * NAME      serve - run the daemon
 * DESCRIPTION
 *   Starts everything and stays until it is told to stop. SIGTERM and SIGINT
 *   drain and end with 0; a second one ends at once. SIGHUP reads the
 *   configuration and the certificate again; a bad file keeps the old one.
 *   A store that can no longer keep its promise ends the process with 74.
 */

import { createLog } from '../base/log.js'
import type { Config } from '../config/config.js'
import { ConfigError } from '../config/problem.js'
import { safetyProblems } from '../config/safety.js'
import { runDaemon } from '../daemon.js'
import { command } from './command.js'
import { configOf } from './context.js'
import { Refusal } from './exit.js'
import { versionText } from './version.js'

const safeConfig = (args: Parameters<typeof configOf>[0]): Config => {
  const config = configOf(args)
  const problems = safetyProblems(config)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

export const serveCommand = command({
  usage: 'serve',
  summary: 'Run the daemon',
  run: async (args) => {
    const config = safeConfig(args)
    const log = createLog(config.log.level)
    const daemon = await runDaemon({
      config,
      log,
      version: versionText(),
      mode: 'serve',
      reload: () => safeConfig(args),
    })
    log.info({ ...daemon.ports, version: versionText() }, 'listening')
    const reason = await daemon.ended
    if (reason !== null) throw new Refusal(74, `the store failed: ${reason.message}`)
  },
})
