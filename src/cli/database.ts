/**
 * NAME      database - copies of it, schemas, moves, who shares it, the pepper of its keys
 *   `backup` works under load: one consistent snapshot, checked before it gets its name. The pepper is in it only when
 *   asked for: kept together they would prove every key. `restore` refuses a running daemon, brings the copy up to date
 *   in a folder of its own and only then puts it in place; what was there is kept. What waits in the copy may have been
 *   sent since, so it is held, and all sessions end. A copy is not restored beside another pepper than its own.
 *   `migrate` goes forward only, a file in one transaction after a copy; a daemon does the same when it starts. A server
 *   is done while daemons of the release before serve. `--compact` rewrites the file, so that it gives room back.
 *   `store move` takes all of a data folder into PostgreSQL; whenever it is cut off, the same command goes on or begins
 *   anew, and at no moment can both be served. `--undo` goes back, while nobody has used the database since.
 *   `store rewound` is for a database that was restored by other means than postern restore.
 *   `clock confirm`: a clock far ahead is not followed for an hour; who knows that it is right says so.
 *   `cluster show` reads the database, so it also answers where no daemon runs here.
 *   `pepper show` names the pepper by its mark and never prints it; `accept` is for the day it is lost: what was hashed or
 *   sealed under it has to be made again.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { toRfc3339 } from '../base/clock.js'
import { readCrashPoint } from '../base/crash.js'
import { makeDataFolder, syncFolder } from '../base/folder.js'
import type { Config } from '../config/config.js'
import { openFiles, putBack, secretFiles } from '../keys/in-backup.js'
import { findPeppers, pepperFile, pepperMark } from '../keys/pepper.js'
import { cluster } from '../record/queue.js'
import type { Moved } from '../store/move.js'
import type { Store } from '../store/port/store.js'
import type { Admin, Restored } from '../store/port/upkeep.js'
import { command, type Subject } from './command.js'
import {
  cliActor,
  configOf,
  keepRootOut,
  openStore,
  pepperOf,
  storeCommand,
  withContext,
  withStore,
} from './context.js'
import { Refusal, usage } from './exit.js'
import { spanText, tableOf } from './table.js'
import { type Terminal, whileAt } from './terminal.js'
import { versionText } from './version.js'

const DATABASE = 'postern.db'

const stamp = (): string => new Date().toISOString().replace(/[:.]/g, '-')

const bytesText = (bytes: number): string =>
  bytes < 1024 ** 2 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`

/** A server has tools of its own for copies, which know of more than one database can tell. */
const refuseServer = (config: Config, instead: string): void => {
  if (config.store.driver === 'sqlite') return
  throw usage(`the database is on a PostgreSQL server: ${instead}`)
}

/** A database beside its store; a command that needs none does not pay for loading the driver. */
const adminAt = async (file: string): Promise<Admin> => (await import('../store/open.js')).adminOf(file)

/** The schema of a database file. */
export const schemaOf = async (file: string): Promise<number> => (await adminAt(file)).version()

/** Where the database is; refuses (exit 74) when there is none. */
const needDatabase = (config: Config): string => {
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
const safeRecord = ({ held, due, sessions, keys, credentials, people }: Restored) => {
  const shown = (rows: typeof keys) =>
    rows.map(({ created_at, ...row }) => ({ ...row, created_at: toRfc3339(created_at) }))
  return {
    ...{ held, due, sessions_ended: sessions },
    ...{ keys: shown(keys), credentials: shown(credentials), people: shown(people) },
  }
}

type Safe = ReturnType<typeof safeRecord>

const sayWhatIsIn = (terminal: Terminal, safe: Safe): void => {
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

const confirm = command({
  usage: 'confirm',
  summary: 'Say that the clock is right, although it is far ahead of the last stored row',
  examples: [['$0 clock confirm', '']],
  run: async (args, terminal) => {
    await withContext(args, async ({ store }) => {
      const lead = await store.clockLead(Date.now())
      await store.followClock()
      const record = { ahead_seconds: Math.max(0, Math.round(lead / 1000)) }
      terminal.data(record, () => `confirmed; it was ${spanText(Math.max(0, lead))} ahead`)
    })
  },
})

export const clockSubject: Subject = { name: 'clock', commands: [confirm] }

type Daemon = ReturnType<typeof cluster>['daemons'][number]

const daemonTable = tableOf<Daemon>([
  ['daemon', ({ id }) => id.slice(0, 8)],
  ['host', 'host'],
  ['version', 'version'],
  ['writers', ({ writers }) => writers.map(({ role, number }) => `${role} ${number}`).join(', ')],
  ['share', ({ share }) => (share === null ? '' : `${share.part} of ${share.of}`)],
  ['pools', ({ pools }) => pools?.join(', ') ?? 'all'],
  ['heard', ({ lag_ms: lag }) => `${spanText(lag)} ago`],
])

const show = storeCommand({
  usage: 'show',
  summary: 'Which daemons share this database, and how they are doing',
  examples: [['$0 cluster show', '']],
  run: async ({ store }, _args, terminal) => {
    const isLocal = store.system === 'sqlite'
    const writers = await store.writers()
    const { self } = store.cluster()
    const others = isLocal ? writers : writers.filter(({ n }) => n !== self)
    const putBack = (await store.serverState())?.putBack ?? null
    const record = cluster({ system: store.system, writers: others, putBack })
    terminal.data(record, (paint) => {
      if (isLocal) return 'SQLite: one daemon at a time has the store to itself'
      return record.daemons.length === 0 ? 'no daemon runs' : daemonTable(paint, record.daemons)
    })
    if (record.put_back !== null)
      terminal.say(
        `the database was put back at ${record.put_back.at}, without the last ${spanText(record.put_back.lost_ms)}: mail acknowledged then may be lost`,
      )
    if (!record.same_settings) terminal.say('their settings differ: postern doctor on each host says which')
  },
})

export const clusterSubject: Subject = { name: 'cluster', commands: [show] }

const showPepper = command({
  usage: 'show',
  summary: 'Where the pepper comes from, and whether it is the one of the database',
  examples: [['$0 pepper show', '']],
  run: (args, terminal) =>
    withStore(args, async (store, config) => {
      const [found] = findPeppers(config, process.env.CREDENTIALS_DIRECTORY)
      const known = await store.pepperMark()
      const record = {
        file: found?.file ?? null,
        mark: found?.mark ?? null,
        database_mark: known,
        fits: found !== undefined && (known === null || known === found.mark),
      }
      terminal.data(record, (paint) =>
        record.file === null
          ? paint.red(`${pepperFile(config)} is missing`)
          : `${record.file}  ${record.mark}  ${record.fits ? paint.green('fits the database') : paint.red(`the database wants ${known}`)}`,
      )
      return record.fits ? 0 : 78
    }),
})

const accept = command({
  usage: 'accept',
  summary: 'Give the database the pepper that is there now; what the old one made is void',
  destroys: true,
  examples: [['$0 pepper accept', '']],
  run: (args, terminal) =>
    withStore(args, async (store) => {
      const config = configOf(args)
      const what =
        'every API key, access key of SES, long imported SMTP secret, password of an upstream, DKIM key, authenticator app and recovery code in the database is void'
      if (args.dryRun) return terminal.data({ accepted: null }, () => what)
      await terminal.confirm(what, args.yes)
      const mark = pepperMark(pepperOf(config, true))
      await store.setPepperMark(mark)
      terminal.data({ accepted: mark }, () => `the database belongs to pepper ${mark} now`)
      terminal.say(
        'next: systemctl restart postern, then make keys (postern key create) and pools (postern pool update) anew, ' +
          'and take the second factors that are void (postern user reset-factors; postern doctor names them)',
      )
    }),
})

export const pepperSubject: Subject = { name: 'pepper', commands: [showPepper, accept] }
