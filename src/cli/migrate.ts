/**
 * NAME      migrate - the database, brought up to date
 * DESCRIPTION
 *   Forward only. A file is done in one transaction, after a copy that stays beside it;
 *   a daemon does the same when it starts, and the command is for doing it before.
 *   A server that several daemons share is done while those of the release before serve.
 *   `--compact` rewrites the file, so that it gives room back from then on: databases
 *   made by Postern 0.1 do not do so by themselves.
 */
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config/config.js'
import { adminAt, needDatabase, refuseServer, schemaOf } from './backup.js'
import { command } from './command.js'
import { configOf, openStore } from './context.js'
import { type Terminal, whileAt } from './terminal.js'
import { versionText } from './version.js'

/** The newest copy made before a migration from this schema. */
const copyOf = (folder: string, from: number): string | null =>
  readdirSync(folder)
    .filter((name) => name.startsWith(`before-migration-${from}-`) && name.endsWith('.db'))
    .map((name) => join(folder, name))
    .sort()
    .at(-1) ?? null

const compacted = async (file: string): Promise<void> => {
  const { lock, compact } = await adminAt(file)
  const unlock = lock()
  try {
    compact()
  } finally {
    unlock()
  }
}

/** On a server there is no copy of ours: whoever wants one makes it before. Daemons go on meanwhile. */
const migrateServer = async (config: Config, terminal: Terminal): Promise<void> => {
  const { migrateServerOf } = await import('../store/open.js')
  const { from, to } = await migrateServerOf(config, versionText())
  terminal.data({ from, to, copy: null, bytes_before: null, bytes: null }, () =>
    to === from ? `schema ${to}: nothing to do` : `schema ${from} is now ${to}`,
  )
}

export const migrateCommand = command({
  usage: 'migrate',
  summary: 'Bring the database up to date, after a copy',
  options: {
    compact: { type: 'boolean', describe: 'Also rewrite it without unused room; the daemon must be down' },
  },
  examples: [['$0 migrate', '']],
  run: async (args, terminal) => {
    const config = configOf(args)
    if (config.store.driver !== 'sqlite') {
      if (args.compact) refuseServer(config, 'it compacts itself; --compact is for a file')
      return migrateServer(config, terminal)
    }
    const file = needDatabase(config)
    const from = await schemaOf(file)
    const before = statSync(file).size
    const store = await openStore(config)
    const opening = store.open().finally(() => store.close())
    await whileAt(terminal, 'copying and bringing up to date', opening)
    if (args.compact) await compacted(file)
    const to = await schemaOf(file)
    const copy = to === from ? null : copyOf(dirname(file), from)
    terminal.data({ from, to, copy, bytes_before: before, bytes: statSync(file).size }, () =>
      copy === null ? `schema ${to}: nothing to do` : `schema ${from} is now ${to}; the copy is ${copy}`,
    )
    if (args.compact) terminal.say(`${before} bytes are now ${statSync(file).size}`)
  },
})
