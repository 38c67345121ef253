/**
 * NAME      serve - run the daemon
 *   Starts everything and stays until it is told to stop. SIGTERM and SIGINT drain and end with 0; a second one ends
 *   at once. SIGHUP reads the configuration and the certificate again; a bad file keeps the old one. Sockets that
 *   systemd opened are taken over. A store that can no longer keep its promise ends the process with 74, an error that
 *   nobody expected with 70. A folder that it served is no longer dev's (dev.ts).
 */
import { existsSync, rmSync } from 'node:fs'
import { crashFacts } from '../base/crash.js'
import { createListen } from '../base/listen.js'
import { createLog, type Log, type LogLevel } from '../base/log.js'
import { createNotifier, type InheritedSocket, inheritedSockets } from '../base/systemd.js'
import type { Config } from '../config/config.js'
import { ConfigError } from '../config/problem.js'
import { safetyProblems } from '../config/safety.js'
import { type Adopted, adoptSockets } from '../config/sockets.js'
import { runDaemon } from '../daemon/daemon.js'
import { type DaemonRole, ROLES, rolesOf } from '../daemon/roles.js'
import { demoMark, devKeyFile } from '../keys/pepper.js'
import { command } from './command.js'
import { configOf, keepRootOut } from './context.js'
import { Refusal, usage } from './exit.js'
import { noteListening } from './listening.js'
import { versionText } from './version.js'

/** `auto` is pretty where a person reads, and JSON for journald, files and pipes. */
export const openLog = ({ format }: Config['log'], level: LogLevel): Log => {
  const isTty = process.stdout.isTTY === true
  const pretty = format === 'pretty' || (format === 'auto' && isTty)
  const coloured = isTty && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return createLog(level, null, { format: pretty ? 'pretty' : 'json', coloured })
}

/** The configuration with the sockets that are really open, when it may be served. */
const safeConfig = (args: Parameters<typeof configOf>[0], inherited: readonly InheritedSocket[]): Adopted => {
  const adopted = adoptSockets(configOf(args), inherited)
  const problems = safetyProblems(adopted.config)
  if (problems.length > 0) throw new ConfigError(problems)
  return adopted
}

/** Rejections that nobody handles arrive here too. */
const dieOfSurprises = (log: Log): void => {
  process.prependListener('uncaughtException', (error) => {
    log.fatal(crashFacts(error), 'unexpected, this is a bug')
    process.exit(70)
  })
}

/** With a store of its own a daemon would leave undone what no other one does. */
const partsOf = (text: string | undefined, { store }: Config): ReadonlySet<DaemonRole> | undefined => {
  if (text === undefined) return undefined
  const parts = rolesOf(text)
  if (parts === null) throw usage(`--only takes of ${ROLES.join(', ')}, with commas between`)
  if (store.driver !== 'postgres') throw usage('--only needs store.driver postgres')
  return parts
}

/** Mail of the demo that waits would be sent. */
const refuseDemo = (config: Config): void => {
  if (existsSync(demoMark(config)))
    throw new Refusal(
      78,
      `${config.data_dir} is the demo's, whose mail is of nobody; set data_dir to another folder`,
    )
}

export const serveCommand = command({
  usage: 'serve',
  summary: 'Run the daemon',
  options: {
    only: {
      type: 'string',
      describe: `Of several daemons on one PostgreSQL: the parts that run here, of ${ROLES.join(', ')}`,
    },
  },
  examples: [['$0 serve --only http,submission', 'takes mail in, which other daemons carry']],
  run: async (args) => {
    const inherited = inheritedSockets(process.env, process.pid)
    const { config, sockets } = safeConfig(args, inherited)
    const only = partsOf(args.only, config)
    keepRootOut(config.data_dir)
    refuseDemo(config)
    const log = openLog(config.log, config.log.level)
    dieOfSurprises(log)
    const daemon = await runDaemon({
      config,
      log,
      version: versionText(),
      mode: 'serve',
      reload: () => safeConfig(args, inherited).config,
      notifier: createNotifier(process.env, process.pid),
      listen: createListen(sockets),
      only,
    })
    rmSync(devKeyFile(config), { force: true })
    // before the line: a script that waits for it may run a command at once, and commands find the daemon by the note
    const forget = noteListening(config, daemon.ports, log, [...sockets.keys()])
    log.info({ ...daemon.ports, version: versionText() }, 'listening')
    log.flush()
    const reason = await daemon.ended
    forget()
    if (reason !== null) throw reason
  },
})
