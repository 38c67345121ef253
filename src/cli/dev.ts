/**
 * NAME      dev - the first five minutes
 *   The daemon on loopback, with every mail of every workspace going to the sandbox, a test key, the lines to paste, and one
 *   line for each recipient as its mail goes its way. The key is printed on a terminal only; elsewhere the lines name the file
 *   (mode 0600) that holds it, since output may end up in a journal. That file marks a folder of dev's own; in any other no
 *   mail may wait, since the sandbox would "deliver" it. `serve` takes the mark away.
 *   Where another program holds a default port, the next free one is taken; a port that a person has named stays.
 *   The demo has the folder `demo` in the data folder, made anew at each start: only what an earlier demo made is taken away,
 *   and only while no daemon runs on it; beside the data of a service there is no demo.
 *   What npm and npx put on the path for their own child is not on the path of the next terminal, so lines to paste say
 *   `postern` only where that word finds this program, else its path.
 */
import { existsSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative, resolve } from 'node:path'
import { isSea } from 'node:sea'
import { OutageError, orElse } from '../base/fault.js'
import { idTime } from '../base/id.js'
import type { Config } from '../config/config.js'
import { originOf } from '../config/load.js'
import { type Daemon, runDaemon } from '../daemon/daemon.js'
import type { Filled } from '../demo/fill.js'
import { demoMark, devKeyFile, readDevKey } from '../keys/pepper.js'
import type { Settled } from '../lifecycle/facts.js'
import { adminOf, isLocal, placeOf } from '../store/open.js'
import type { Store } from '../store/port/store.js'
import { createKey, verifyKey } from '../tenant/key.js'
import { createLink, linkUrl } from '../tenant/people.js'
import type { TenantDeps } from '../tenant/principal.js'
import { ensureAccount } from '../tenant/workspace.js'
import { command, type Globals } from './command.js'
import { configOf, keepRootOut, withStore } from './context.js'
import { listeners, tryListen } from './doctor/host.js'
import { Refusal, usage } from './exit.js'
import { noteListening } from './listening.js'
import { openLog } from './serve.js'
import { type Paint, paintStatus } from './table.js'
import type { Terminal } from './terminal.js'
import { versionText } from './version.js'

const real = (path: string): string | null => orElse(() => realpathSync(path), null)

const quoted = (word: string): string =>
  /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** A path as it is written from the current folder. */
export const near = (path: string): string => {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : `./${short}`
}

const ownName = (): string => {
  const self = resolve(isSea() ? process.execPath : (process.argv[1] ?? ''))
  const places = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => !/\/node_modules\/\.bin$/.test(dir))
  return places.some((dir) => real(join(dir, 'postern')) === real(self)) ? 'postern' : quoted(near(self))
}

/** The same with what it takes to find the same data folder in another terminal. */
const ownCommand = (configFile: string | undefined, ...words: readonly string[]): string => {
  const folder = process.env.POSTERN_DATA_DIR
  const before = folder ? [`POSTERN_DATA_DIR=${quoted(folder)}`] : []
  const after = configFile === undefined ? [] : ['--config', quoted(configFile)]
  return [...before, ownName(), ...words, ...after].join(' ')
}

const HIGHEST = 65_535

interface DevPorts {
  /** As settings: `{'http.port': '8082'}`. */
  readonly flags: Readonly<Record<string, string>>
  /** `http 8080 → 8082`, for each that was taken. */
  readonly moved: readonly string[]
}

/** Listeners are on this host, whatever the configuration says; `port`, when given, is the API's. */
const chooseDevPorts = async (config: Config, host: string, port: number | undefined): Promise<DevPorts> => {
  if (port !== undefined && port > HIGHEST)
    throw usage(`--port: ${port} is no port; ${HIGHEST} is the highest`)
  const all = listeners(config).map((one) => ({
    ...one,
    port: one.name === 'http' ? (port ?? one.port) : one.port,
    isNamed: originOf(config, `${one.name}.port`) !== null || (one.name === 'http' && port !== undefined),
  }))
  const isFree = async (wanted: number): Promise<boolean> =>
    (await tryListen({ host, port: wanted })) !== 'EADDRINUSE'
  const flags: Record<string, string> = port === undefined ? {} : { 'http.port': `${port}` }
  const moved: string[] = []
  const given = new Set(all.map((one) => one.port))
  const named = all.filter(({ isNamed }) => isNamed).map((one) => one.port)
  for (const { name, port: wanted, isNamed } of all) {
    if (isNamed || wanted === 0 || (!named.includes(wanted) && (await isFree(wanted)))) continue
    let next = wanted + 1
    while (next < HIGHEST && (given.has(next) || !(await isFree(next)))) next++
    given.add(next)
    flags[`${name}.port`] = `${next}`
    moved.push(`${name} ${wanted} → ${next}`)
  }
  return { flags, moved }
}

const isEmpty = (dir: string): boolean => !existsSync(dir) || readdirSync(dir).length === 0

const refuse = (config: Config, why: string): Refusal =>
  new Refusal(
    78,
    `${near(config.data_dir)} ${why}; name another folder: POSTERN_DATA_DIR=FOLDER postern dev --demo`,
  )

/** From here on this program, and every line that it prints, is about the folder of the demo, which is empty. */
const enterDemo = async (args: Globals): Promise<void> => {
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
const demoWeek = async (config: Config, terminal: Terminal): Promise<Filled> => {
  terminal.say('makes a week of mail first: 3,000 mails, which takes some seconds')
  const { fillDemo } = await import('../demo/fill.js')
  return fillDemo({ config, version: versionText(), log: openLog(config.log, 'fatal') })
}

const LOOPBACK = '127.0.0.1'

/** Whatever the file says, dev mode is heard on this machine only. */
const onLoopback = (config: Config): Config => ({
  ...config,
  http: { ...config.http, host: LOOPBACK },
  management: { ...config.management, host: LOOPBACK },
  submission: config.submission.map((listener) => ({ ...listener, host: LOOPBACK })),
  bounce: { ...config.bounce, host: LOOPBACK },
  // an endpoint under development listens here, too
  webhook: {
    ...config.webhook,
    allow_networks: [...config.webhook.allow_networks, '127.0.0.0/8', '::1/128'],
  },
  oauth: { allow_networks: [...config.oauth.allow_networks, '127.0.0.0/8', '::1/128'] },
})

/** The key of the last time, while it still works, or a new one; in a file beside the database. */
const devKey = async (deps: TenantDeps, file: string): Promise<string> => {
  const kept = readDevKey(file)
  if (kept !== null && (await verifyKey(deps, kept)) !== null) return kept
  const account = await ensureAccount(deps)
  const { secret } = await createKey(deps, account.id, { name: 'dev', mode: 'test', workspace: 'default' })
  writeFileSync(file, `${secret}\n`, { mode: 0o600 })
  return secret
}

/** Opens the dashboard as an owner, once. On a terminal only: what a pipe gets may be kept. */
const signInLink = async ({ deps, ports }: Daemon): Promise<string> => {
  const { id } = await ensureAccount(deps)
  const { row, token } = await createLink(deps, id, { kind: 'setup', role: 'owner', createdBy: 'dev' })
  return linkUrl(`http://${LOOPBACK}:${ports.http}`, row, token)
}

/** Throws where mail of a service waits: the sandbox would take it, and it would look delivered. */
const keepOff = async (args: Globals, { data_dir: dataDir, store }: Config, mark: string): Promise<void> => {
  if (store.driver !== 'sqlite')
    throw new Refusal(
      78,
      'dev has a database of its own in a folder, and never one that other daemons share: POSTERN_STORE__DRIVER=sqlite postern dev',
    )
  if (!existsSync(join(dataDir, 'postern.db')) || existsSync(mark)) return
  const waits = await withStore(args, async (store) => {
    let sum = 0
    for (const { id } of await store.accounts()) {
      const scope = { accountId: id, workspaceId: null, poolId: null, domain: null, emailId: null }
      const { waiting, held, underWay } = await store.queueCount(scope)
      sum += waiting + held + underWay
    }
    return sum
  })
  if (waits === 0) return
  throw new Refusal(
    78,
    `${dataDir} is a service's: ${waits} recipients wait there for mail that the sandbox would take; ` +
      'name another folder: POSTERN_DATA_DIR=FOLDER postern dev',
  )
}

interface Started {
  readonly config: Config
  readonly daemon: Daemon
  readonly key: string
  readonly keyFile: string
  /** Ports that were taken, and what they became. */
  readonly moved: readonly string[]
  /** Shows the mails in another terminal. */
  readonly tail: string
  /** Signs in to the dashboard, once. */
  readonly link: string
  /** Makes such a link where none is shown. */
  readonly linkCommand: string
}

const banner = (
  { config, daemon, key, keyFile: file, moved, tail, link, linkCommand }: Started,
  terminal: Terminal,
): string => {
  const { bold, dim } = terminal.paint
  const base = `http://${LOOPBACK}:${daemon.ports.http}`
  const at = config.submission.findIndex((listener) => listener.tls === 'starttls')
  const smtp = daemon.ports.submission[Math.max(at, 0)]
  const shown = terminal.isTty ? key : `$(cat ${near(file)})`
  const curl = [
    `curl ${base}/v1/emails -H "Authorization: Bearer ${shown}" -H "Content-Type: application/json"`,
    `-d '{"from":"Acme <hello@acme.test>","to":"delivered@example.com","subject":"Hello","text":"It works"}'`,
  ].join(' ')
  const swaks = [
    `swaks --server ${LOOPBACK}:${smtp} --tls --auth PLAIN --auth-user apikey --auth-password "${shown}"`,
    '--from hello@acme.test --to delivered@example.com',
  ].join(' ')
  return [
    `${bold(`Postern ${versionText()}`)}  dev mode: mail is captured, nothing leaves this machine`,
    `  ${dim('API')}        ${base}/v1      ${dim('SMTP')}  ${LOOPBACK}:${smtp} (STARTTLS)`,
    `  ${dim('Dashboard')}  ${base}/      ${dim('sign in')}  ${terminal.isTty ? `${link} (one use, 30 min)` : linkCommand}`,
    `  ${dim('Key')}        ${terminal.isTty ? key : `in ${near(file)}`}      ${dim('data')}  ${near(join(config.data_dir, 'postern.db'))}`,
    ...(moved.length === 0 ? [] : [`  ${dim('Ports')}      taken by other programs: ${moved.join(', ')}`]),
    `Try:   ${curl}`,
    `       ${swaks}`,
    '       (a recipient chooses its fate: delivered@, bounced@, bounced+5.2.2@, deferred@, slow@, complained@, ooto@)',
    // a line of its own, so that it can be pasted as it is
    `Watch: ${tail}`,
    dim('Go live: postern init && postern doctor'),
  ].join('\n')
}

const MOST_WATCHED = 10_000
/** How long a mail may rest in `sent` before its line is printed without a report. */
const REST_MS = 2_000

/** One line for each recipient when it comes to rest: `em_... you@example.com  queued → sent → delivered  41 ms`. */
const watch = (
  store: Pick<Store, 'onSettled'>,
  paint: Paint,
  write: (text: string) => void,
): (() => void) => {
  const paths = new Map<string, string[]>()
  const print = (one: Settled, at: number): void => {
    const path = paths.get(one.recipientId) ?? [one.from, one.to]
    const steps = path.map((status) => paintStatus(paint, status)).join(' → ')
    write(`${one.emailId} ${one.address}  ${steps}  ${Math.max(0, at - idTime(one.emailId))} ms`)
    if (one.to === 'delivered' || one.to === 'bounced' || one.to === 'canceled') paths.delete(one.recipientId)
  }
  return store.onSettled((settled) => {
    const at = Date.now()
    for (const one of settled) {
      if (!one.applied) continue
      const path = paths.get(one.recipientId) ?? [one.from]
      if (path.at(-1) !== one.to) path.push(one.to)
      paths.set(one.recipientId, path)
      if (paths.size > MOST_WATCHED) paths.delete(paths.keys().next().value ?? '')
      if (one.to === 'sent') {
        const length = path.length
        setTimeout(() => {
          if (paths.get(one.recipientId)?.length === length) print(one, at)
        }, REST_MS).unref()
      } else if (one.to !== 'queued') print(one, at)
    }
  })
}

const LOOK_MS = 500

/** A signal to npx ends the shell between it and us, and does not reach us: when that shell is gone, this ends too. */
const endWithNpx = (): void => {
  if (process.env.npm_command !== 'exec') return
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_MS).unref()
}

export const devCommand = command({
  usage: 'dev',
  summary: 'Try it: loopback only, mail goes to the built-in sandbox',
  options: {
    port: { type: 'number', describe: 'Port of the HTTP API; of others, taken ones are stepped over' },
    demo: {
      type: 'boolean',
      describe: 'First make a week of mail of two tenants, in a folder of its own, anew each time',
    },
  },
  examples: [
    ['$0 dev', ''],
    ['$0 dev --demo', 'the dashboard with something in it'],
  ],
  run: async (args, terminal) => {
    if (args.demo) await enterDemo(args)
    const { flags, moved } = await chooseDevPorts(configOf(args), LOOPBACK, args.port)
    const config = onLoopback(configOf(args, flags))
    const file = devKeyFile(config)
    keepRootOut(config.data_dir)
    await keepOff(args, config, file)
    const week = args.demo ? await demoWeek(config, terminal) : null
    const level = config.log.level === 'info' ? 'warn' : config.log.level
    const log = openLog(config.log, level)
    const daemon = await runDaemon({
      config,
      log,
      version: versionText(),
      mode: 'dev',
      isDemo: week !== null,
      reload: null,
    })
    const key = await devKey(daemon.deps, file)
    endWithNpx()
    const stopWatching = watch(daemon.store, terminal.paint, (text) => terminal.write(text))
    const tail = ownCommand(args.config, 'email', 'tail')
    const link = terminal.isTty ? await signInLink(daemon) : ''
    const linkCommand = ownCommand(args.config, 'setup-link')
    const forget = noteListening(config, daemon.ports, log)
    terminal.write(banner({ config, daemon, key, keyFile: file, moved, tail, link, linkCommand }, terminal))
    // a daemon that stops meanwhile closes the store: the rest of the mails is not sent
    week?.slowDown(daemon.store).catch((error) => {
      if (!(error instanceof OutageError)) throw error
    })
    const reason = await daemon.ended
    week?.customers.stop()
    forget()
    stopWatching()
    if (reason !== null) throw reason
  },
})
