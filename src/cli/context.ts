/**
 * NAME      context - what a command needs
 *   Loads the configuration, opens the store beside a running daemon (or without one: the daemon's lock is not taken),
 *   reads the pepper and finds the account. What was opened is closed again, however the command ends. Only this
 *   folder and daemon/ look at the environment.
 */
import { execFileSync } from 'node:child_process'
import { Resolver } from 'node:dns'
import { existsSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { systemClock } from '../base/clock.js'
import { readCrashPoint } from '../base/crash.js'
import { Fault, orElse } from '../base/fault.js'
import { databaseFile, makeDataFolder } from '../base/folder.js'
import { newId } from '../base/id.js'
import { nearest } from '../base/text.js'
import type { Config } from '../config/config.js'
import { loadConfig } from '../config/load.js'
import { loadPepper, type PepperPlace } from '../keys/pepper.js'
import type { StorePlace } from '../store/open.js'
import type { Actor } from '../store/port/identity.js'
import type { Store } from '../store/port/store.js'
import type { AccountRow } from '../store/port/tenants.js'
import type { TenantDeps } from '../tenant/principal.js'
import { ensureAccount } from '../tenant/workspace.js'
import { commandWith, type Globals } from './command.js'
import { endingOf, Refusal, usage } from './exit.js'
import { versionText } from './version.js'

export interface CliContext {
  readonly config: Config
  readonly store: Store
  readonly account: AccountRow
  readonly deps: TenantDeps
}

/** The effective configuration of this command line; `flags` are settings by their dotted names. */
export const configOf = (
  { config: file }: Pick<Globals, 'config'>,
  flags: Readonly<Record<string, string>> = {},
): Config => loadConfig({ file: file ?? null, env: process.env, flags })

/** The pepper of an installation; see keys/pepper.ts. */
export const pepperOf = (place: PepperPlace, firstRun: boolean): Buffer =>
  loadPepper(place, { credentials: process.env.CREDENTIALS_DIRECTORY, firstRun })

/** Undefined where nothing is, or nothing can be seen. */
const uidOf = (path: string): number | undefined => orElse(() => statSync(path).uid, undefined)

/**
 * The user whose data this is when it is not for us: root, too, would leave a pepper, a database or bodies that the
 * daemon could not open. Where root owns the database, in a container, root is the daemon. Null: go on.
 */
export const strangersOwner = (dataDir: string): number | null => {
  const user = process.getuid?.()
  const folder = uidOf(dataDir)
  const owner = user === 0 ? (uidOf(databaseFile(dataDir)) ?? folder) : folder
  return user === undefined || owner === undefined || owner === user || owner === 0 ? null : owner
}

/** The user as `sudo -u` takes it: by name where there is one. */
export const userName = (uid: number): string => {
  try {
    const words = ['-nu', String(uid)]
    return execFileSync('id', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return `'#${uid}'`
  }
}

/** Throws when root would work in somebody else's data; other users are told by the system. */
export const keepRootOut = (dataDir: string): void => {
  const owner = process.getuid?.() === 0 ? strangersOwner(dataDir) : null
  if (owner === null) return
  throw new Refusal(
    77,
    `${dataDir} belongs to user ${userName(owner)}; run this as that user: sudo -u ${userName(owner)} postern ...`,
  )
}

/** The store of a data folder, not yet open; a command that needs none does not pay for loading its driver. */
export const openStore = async (place: PepperPlace & StorePlace): Promise<Store> => {
  const { data_dir: dataDir } = place
  keepRootOut(dataDir)
  makeDataFolder(dataDir)
  const { isLocal, openStore: open, placeOf } = await import('../store/open.js')
  // with a database there must be a pepper; without one it is the first run, and makes it
  if (isLocal(place) && !existsSync(placeOf(dataDir))) pepperOf(place, true)
  const faultPoint = readCrashPoint(process.env.POSTERN_CRASH_AT)
  return open({
    place,
    daemon: false,
    version: versionText(),
    ...(faultPoint && { faultPoint }),
  })
}

/** As whom a command acts: the user of the system who gave it, with the `--reason` of it. */
export const cliActor = (reason?: unknown): Actor => {
  const uid = process.getuid?.() ?? 0
  let name: string | null = null
  try {
    name = userInfo().username
  } catch {
    // a user without a name, as in a container
  }
  const actor: Actor = { kind: 'cli', id: `cli:${uid}`, name, address: null }
  return typeof reason === 'string' ? { ...actor, reason } : actor
}

/** Opens the store of a configuration, uses it, closes it. What it changes is written down as the user's. */
export const withStore = async <T>(
  args: Globals & { readonly reason?: unknown },
  use: (store: Store, config: Config) => Promise<T>,
): Promise<T> => {
  const config = configOf(args)
  const store = await openStore(config)
  try {
    await store.open()
    return await use(store.by(cliActor(args.reason)), config)
  } finally {
    await store.close()
  }
}

/** The same, whose changes are one order: they share one entry of the audit, which counts them. */
export const asOneOrder = (context: CliContext): CliContext => {
  const store = context.store.by(cliActor(), newId('aud'))
  return { ...context, store, deps: { ...context.deps, store } }
}

const SOME = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 } as const

/** By what each kind of thing is called, the newest of them. */
const namesOfKind = async (
  code: string,
  { store, account: { id } }: CliContext,
): Promise<readonly string[]> => {
  if (code === 'workspace.not_found') return (await store.workspaces(id, SOME)).rows.map(({ slug }) => slug)
  if (code === 'egress_pool.not_found') return (await store.pools(id, SOME)).rows.map(({ name }) => name)
  if (code === 'domain.not_found') return (await store.domains(id, SOME)).rows.map(({ name }) => name)
  if (code === 'user.not_found') return (await store.users(id, SOME)).rows.map(({ email }) => email)
  return []
}

/** The same error; with the name that was probably meant, where one word of the command line is nearly one that there is. */
const withHint = async (error: unknown, args: object, context: CliContext): Promise<unknown> => {
  if (!(error instanceof Fault)) return error
  const names = await namesOfKind(error.code, context)
  const words = Object.values(args).filter((word) => typeof word === 'string' && !names.includes(word))
  const meant = (words as string[]).map((word) => nearest(word, names)).find((name) => name !== null)
  if (meant === undefined) return error
  const { exit, message } = endingOf(error)
  return new Refusal(exit, message.replace(/;|$/, `; did you mean ${meant}?$&`).replace('?;', '?'))
}

/** The store with its first account, ready for the verbs of tenant/. */
export const withContext = async <T>(
  args: Globals & { readonly reason?: unknown },
  use: (context: CliContext) => Promise<T>,
): Promise<T> =>
  withStore(args, async (store, config) => {
    const deps: TenantDeps = {
      store,
      pepper: pepperOf(config, config.store.driver !== 'sqlite' && (await store.pepperMark()) === null),
      clock: systemClock,
      perMinute: config.rate_limit.per_minute,
      authFailures: config.rate_limit.auth_failures,
      sessions: config.identity.session,
      secondFactor: config.identity.second_factor,
    }
    const context = { config, store, deps, account: await ensureAccount(deps) }
    return use(context).catch(async (error: unknown) => {
      throw await withHint(error, args, context)
    })
  })

/** A command that works with the store. */
export const storeCommand = commandWith(withContext)

/** The file of an upstream's password; an error names the part of the URL that it came from. */
export const readPasswordFile = async (path: string, word = 'password_file'): Promise<string> => {
  try {
    return await readSecretFile(path)
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path: `${word} ${path}` })
  }
}

/** What --resolver takes. */
export const RESOLVER = {
  resolver: { type: 'string', describe: 'Ask this name server, such as 127.0.0.1:53', requiresArg: true },
} as const

/** Throws what is wrong with --resolver. */
export const readResolver = (text: string | undefined): string | undefined => {
  if (text === undefined) return text
  const [, port = '53'] = /[\].]\w*:(\d+)$/.exec(text) ?? []
  try {
    new Resolver().setServers([text])
    if (Number(port) > 0 && Number(port) <= 65_535) return text
  } catch {
    // said below
  }
  throw usage(`--resolver: ${text} is no address such as 127.0.0.1:53`)
}

/** The text of a file that holds a secret; `-` is standard input's business, not this one's. */
export const readSecretFile = (path: string): Promise<string> => readFile(path, 'utf8')
