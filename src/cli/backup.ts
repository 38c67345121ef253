/**
 * NAME      backup - a copy of the database, and back
 * DESCRIPTION
 *   `backup` works under load: one consistent snapshot, checked before it gets
 *   its name. `restore` refuses a running daemon, brings the copy up to date in a
 *   folder of its own and only then puts it in place; what was there is kept. What
 *   waits in the copy may have been sent since, so it is held, and all sessions end.
 * NOTES
 *   Large bodies and the return-path ring are in the copy; the pepper only when
 *   asked for: kept together they would prove every key. A copy knows the mark of
 *   its pepper, and is not restored beside another one.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { toRfc3339 } from '../base/clock.js'
import { makeDataFolder, syncFolder } from '../base/folder.js'
import type { Config } from '../config/config.js'
import { openFiles, putBack, secretFiles } from '../keys/in-backup.js'
import { findPeppers, pepperFile } from '../keys/pepper.js'
import type { Store } from '../store/port/store.js'
import type { Admin, Restored } from '../store/port/upkeep.js'
import { command } from './command.js'
import { cliActor, configOf, keepRootOut, openStore } from './context.js'
import { Refusal, usage } from './exit.js'
import { type Terminal, whileAt } from './terminal.js'

const DATABASE = 'postern.db'

const stamp = (): string => new Date().toISOString().replace(/[:.]/g, '-')

const bytesText = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`

/** A server has tools of its own for copies, which know of more than one database can tell. */
export const refuseServer = (config: Config, instead: string): void => {
  if (config.store.driver === 'sqlite') return
  throw usage(`the database is on a PostgreSQL server: ${instead}`)
}

/** A database beside its store; a command that needs none does not pay for loading the driver. */
export const adminAt = async (file: string): Promise<Admin> =>
  (await import('../store/open.js')).adminOf(file)

/** The schema of a database file. */
export const schemaOf = async (file: string): Promise<number> => (await adminAt(file)).version()

/** Where the database is; refuses (exit 74) when there is none. */
export const needDatabase = (config: Config): string => {
  const file = join(config.data_dir, DATABASE)
  // unlike existsSync, this tells a folder of another user from one without a database
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new Refusal(74, `${file}: there is no database yet; postern serve makes one`)
  return file
}

/** The folder and all above it, symbolic links resolved. */
const foldersOf = function* (file: string): Generator<string> {
  let folder = realpathSync(dirname(file))
  yield folder
  for (let above = dirname(folder); above !== folder; above = dirname(folder)) {
    folder = above
    yield folder
  }
}

/** A copy in the data folder would take the name of what is in use there, and be lost with it. */
const refuseInside = (dataDir: string, file: string): void => {
  const { dev, ino } = statSync(dataDir)
  for (const folder of foldersOf(file)) {
    const at = statSync(folder)
    if (at.dev === dev && at.ino === ino)
      throw new Refusal(73, `${file} is inside data_dir (${dataDir}); name a file outside of it`)
  }
}

export const backupCommand = command({
  usage: 'backup <file>',
  summary: 'Copy the database while it is in use, checked',
  positionals: { file: { type: 'string', demandOption: true, describe: 'The copy to make' } },
  options: {
    yes: { type: 'boolean', describe: 'Replace a file that exists' },
    'with-secrets': {
      type: 'boolean',
      describe: 'Also the pepper and the self-made certificate: all a new machine needs',
    },
  },
  examples: [['$0 backup /backup/postern.db', '']],
  run: async (args, terminal) => {
    const config = configOf(args)
    refuseServer(
      config,
      `copy it with pg_basebackup or pg_dump, and keep ${pepperFile(config)} too, and apart: without it no key verifies`,
    )
    const source = needDatabase(config)
    const file = resolve(args.file)
    refuseInside(config.data_dir, file)
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
      throw new Refusal(73, `${file} is no ordinary file, and is not replaced by one`)
    if (existsSync(file) && !args.yes) throw new Refusal(73, `${file}: exists already; --yes replaces it`)
    terminal.say(`copying ${bytesText(statSync(source).size)} ...`)
    const withSecrets = args.withSecrets === true
    const secrets = withSecrets ? secretFiles(config, process.env.CREDENTIALS_DIRECTORY) : []
    const files = [...openFiles(config), ...secrets]
    const copying = (await adminAt(source)).backup(file, files)
    const { missing } = await whileAt(terminal, 'copying', copying)
    const record = {
      file,
      bytes: statSync(file).size,
      schema_version: await schemaOf(file),
      files: files.map(({ name }) => name),
      missing_bodies: missing,
    }
    terminal.data(record, () => `${file}  ${bytesText(record.bytes)}`)
    for (const id of missing) terminal.say(`the body of ${id} is missing, and missing in the copy`)
    terminal.say(
      withSecrets
        ? 'this copy holds the pepper and opens every door: keep it as you keep a password'
        : `keep ${pepperFile(config)} too, and apart: without it no key verifies (or --with-secrets)`,
    )
  },
})

/** Says check() of a body that the copy never had: the rest is worth having. */
const MISSING = 'is missing in bodies/'

/** Opens a copy as a store of its own: too new, damaged or no database at all is refused here. Its pepper's mark. */
const upToDate = async (name: string, folder: string, file: string): Promise<string | null> => {
  const store: Store = await openStore({ data_dir: folder })
  try {
    if (!(await adminAt(join(folder, DATABASE))).isOurs())
      throw new Refusal(74, `${name} is no copy made by postern backup`)
    await store.open()
    const faults = (await store.check()).filter((fault) => !fault.endsWith(MISSING))
    if (faults.length > 0) throw new Refusal(74, `${name} is damaged: ${faults[0]}`)
    await store.backup(file)
    return await store.pepperMark()
  } catch (error) {
    if (!(error instanceof Error) || !/not a database|malformed/.test(error.message)) throw error
    throw new Refusal(74, `${name}: ${error.message}`)
  } finally {
    await store.close()
  }
}

/** A copy under another pepper would be a context full of wrong keys. */
const checkPepper = (config: Config, name: string, mark: string | null): void => {
  const [here] = findPeppers(config, process.env.CREDENTIALS_DIRECTORY)
  if (mark === null || here === undefined || here.mark === mark) return
  throw new Refusal(
    78,
    `${name} belongs to another pepper (${mark}) than ${here.file} (${here.mark}); ` +
      'put that pepper there first (take a new one away when the copy was made --with-secrets), ' +
      'or add --any-pepper when it is lost',
  )
}

/** Moves the database and what belongs to it into a folder; its path, or null when there was none. */
const setAside = (dataDir: string): string | null => {
  const files = [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, 'bodies'].filter((name) =>
    existsSync(join(dataDir, name)),
  )
  if (files.length === 0) return null
  const folder = join(dataDir, `before-restore-${stamp()}`)
  mkdirSync(folder, { mode: 0o700 })
  for (const name of files) renameSync(join(dataDir, name), join(folder, name))
  return folder
}

/** What was held, and what it opens. */
export const safeRecord = ({ held, due, sessions, keys, credentials, people }: Restored) => {
  const shown = (rows: typeof keys) =>
    rows.map(({ created_at, ...row }) => ({ ...row, created_at: toRfc3339(created_at) }))
  return {
    ...{ held, due, sessions_ended: sessions },
    ...{ keys: shown(keys), credentials: shown(credentials), people: shown(people) },
  }
}

type Safe = ReturnType<typeof safeRecord>

export const sayWhatIsIn = (terminal: Terminal, safe: Safe): void => {
  const { held, due, sessions_ended, keys, credentials, people } = safe
  terminal.say(
    `${held} recipients that waited are held (restored): postern queue list, then queue release or queue purge`,
  )
  if (due > 0) terminal.say(`${due} recipients stay due, and are sent when the daemon starts`)
  terminal.say(`${sessions_ended} sessions ended`)
  const text = (rows: Safe['keys']) => rows.map(({ id, name }) => `${id} ${name}`).join(', ') || 'none'
  terminal.say(`what was revoked since the copy is valid again. Keys: ${text(keys)}`)
  terminal.say(`credentials: ${text(credentials)}`)
  terminal.say(`people who can sign in, with the roles and passwords of then: ${text(people)}`)
}

export const restoreCommand = command({
  usage: 'restore <file>',
  summary: 'Put a copy in the place of the database; the daemon must be down',
  positionals: { file: { type: 'string', demandOption: true, describe: 'A copy made by postern backup' } },
  destroys: true,
  options: {
    'any-pepper': { type: 'boolean', describe: 'Although its pepper is lost: see postern pepper' },
    send: { type: 'boolean', describe: 'Send what waits in the copy, although it may have been sent since' },
  },
  examples: [['$0 restore /backup/postern.db --dry-run', 'see first whether it is whole']],
  run: async (args, terminal) => {
    const config = configOf(args)
    refuseServer(config, 'put a copy back by the tools that made it, with all daemons stopped')
    const { data_dir: dataDir } = config
    keepRootOut(dataDir)
    makeDataFolder(dataDir)
    const unlock = (await adminAt(join(dataDir, DATABASE))).lock()
    const work = mkdtempSync(join(dataDir, 'restore-'))
    try {
      copyFileSync(args.file, join(work, DATABASE))
      chmodSync(join(work, DATABASE), 0o600)
      const ready = join(work, 'ready.db')
      const mark = await whileAt(terminal, 'checking the copy', upToDate(args.file, work, ready))
      if (!args.anyPepper) checkPepper(config, args.file, mark)
      const resting = { send: args.send === true, copy: args.file, now: Date.now(), actor: cliActor() }
      const safe = safeRecord((await adminAt(ready)).putToRest(resting))
      const record = {
        file: resolve(args.file),
        database: join(dataDir, DATABASE),
        previous: null as string | null,
        files: [] as readonly string[],
        ...safe,
      }
      if (args.dryRun) return terminal.data(record, () => `${args.file} is whole and would be restored`)
      await terminal.confirm(`replace ${record.database} by ${args.file}`, args.yes)
      const files = (await adminAt(ready)).takeFiles()
      record.previous = setAside(dataDir)
      renameSync(ready, record.database)
      record.files = putBack(config, files, record.previous)
      syncFolder(dataDir)
      terminal.data(record, () => `restored ${record.database}`)
      sayWhatIsIn(terminal, safe)
      if (record.previous !== null) terminal.say(`what was there is in ${record.previous}`)
    } finally {
      rmSync(work, { recursive: true, force: true })
      unlock()
    }
  },
})
