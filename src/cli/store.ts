/**
 * NAME      store - where mail is kept
 * DESCRIPTION
 *   `move` takes all that a data folder keeps into PostgreSQL; the daemon must be down. Whenever it is cut off, the same
 *   command goes on or begins anew, and at no moment can both be served. `--undo` goes back, while nobody has used
 *   the database since. `rewound` is for a database that was restored to an earlier time by other means than
 *   postern restore: what waits in it may have been sent since.
 */
import { resolve } from 'node:path'
import { readCrashPoint } from '../base/crash.js'
import { pepperFile } from '../keys/pepper.js'
import type { Moved } from '../store/move.js'
import { needDatabase, safeRecord, sayWhatIsIn } from './backup.js'
import { command, type Subject } from './command.js'
import { cliActor, configOf, keepRootOut } from './context.js'
import { type Terminal, whileAt } from './terminal.js'
import { versionText } from './version.js'

const rowsOf = ({ tables }: Moved): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(tables).map(([name, { rows }]) => [name, rows]))

/** What the database does not have, and each daemon needs. */
const sayWhatElse = (terminal: Terminal, pepper: string, urlFile: string): void => {
  terminal.say(`next, in the configuration: store: { driver: postgres, url_file: ${urlFile} }`)
  terminal.say(
    `each other machine needs the same ${pepper}, a certificate of its own name, and ` +
      'the same settings; hostname and data_dir may differ',
  )
  terminal.say(
    'mail becomes searchable again while the daemon runs; until --undo or a deletion the folder keeps its copy',
  )
}

const moveCommand = command({
  usage: 'move',
  summary: 'Move all that is kept from the data folder into PostgreSQL; the daemon must be down',
  options: {
    to: {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'File with the URL of an empty database, as store.url_file',
    },
    undo: { type: 'boolean', describe: 'Back into the folder, while nobody has used that database since' },
  },
  examples: [['postern store move --to /etc/postern/database.url', 'One store for several daemons']],
  run: async (args, terminal) => {
    const config = configOf(args)
    const { data_dir: dataDir } = config
    keepRootOut(dataDir)
    needDatabase(config)
    const { moveStore, undoMove } = await import('../store/open.js')
    const faultPoint = readCrashPoint(process.env.POSTERN_CRASH_AT)
    const options = {
      ...{
        dataDir,
        urlFile: resolve(args.to),
        version: versionText(),
        say: (line: string) => terminal.say(line),
      },
      ...(faultPoint && { faultPoint }),
    }
    if (args.undo === true) {
      const place = await undoMove(options)
      terminal.data({ place, data_dir: dataDir }, () => `back from ${place} in ${dataDir}`)
      terminal.say('next, in the configuration: store: { driver: sqlite }')
      return
    }
    const moved = await whileAt(terminal, 'moving', moveStore(options))
    const record = { place: moved.place, rows: rowsOf(moved), missing_bodies: moved.missing }
    terminal.data(record, () => `moved to ${moved.place}: ${moved.tables.emails?.rows ?? 0} mails`)
    for (const id of moved.missing) terminal.say(`the body of ${id} is missing, and missing there`)
    sayWhatElse(terminal, pepperFile(config), options.urlFile)
  },
})

const rewound = command({
  usage: 'rewound',
  summary: 'Hold all that waits: the database came back as it was before; no daemon may run',
  destroys: true,
  examples: [['$0 store rewound --dry-run', '']],
  run: async (args, terminal) => {
    const config = configOf(args)
    const { isLocal, rewindStore } = await import('../store/open.js')
    if (isLocal(config)) needDatabase(config)
    keepRootOut(config.data_dir)
    if (args.dryRun) {
      terminal.say(
        'all that waits would be held as restored, all sessions ended, webhooks sent on to the end of the log',
      )
      return
    }
    await terminal.confirm('hold all mail that waits, and end all sessions', args.yes)
    const safe = safeRecord(await rewindStore({ place: config, version: versionText(), actor: cliActor() }))
    terminal.data(safe, () => `held ${safe.held}`)
    sayWhatIsIn(terminal, safe)
  },
})

export const storeSubject: Subject = { name: 'store', commands: [moveCommand, rewound] }
