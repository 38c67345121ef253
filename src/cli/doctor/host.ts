/**
 * NAME      host - this machine: its folders, its clock and limits, the pepper, and its ports
 *   Of the pepper: is there one, is there only one, and is it that of the database? And, after it was changed, whose second
 *   factor it does not open: authenticator apps are sealed with it.
 */

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { Config, ListenAddress } from '../../config/config.js'
import { findPeppers, pepperFile } from '../../keys/pepper.js'
import { collect } from '../../lifecycle/page.js'
import { adminOf, examineServerOf, isLocal, placeOf } from '../../store/open.js'
import { seedOf } from '../../tenant/factors.js'
import { type CliContext, strangersOwner, userName } from '../context.js'
import { askManagement } from '../healthcheck.js'
import { spanText } from '../table.js'
import { type Check, type DoctorFacts, type Finding, fail, ok, warn } from './finding.js'

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')

/** Whoever may not look into the data folder would see faults where none are. */
export const checkOwner: Check = async ({ config: { data_dir: dataDir } }) => {
  const owner = strangersOwner(dataDir)
  if (owner === null) return []
  const remedy = `sudo -u ${userName(owner)} postern doctor`
  return [
    fail(
      'file owner',
      `${dataDir} belongs to user ${userName(owner)}, not ${userName(process.getuid?.() ?? 0)}`,
      remedy,
      77,
    ),
  ]
}

/** What is wrong with a mode where `full` is all that others may have and the least that the owner needs. */
const wrongMode = (mode: number, full: number): string | null => {
  if ((mode & 0o077 & ~full) !== 0) return `open to others (${octal(mode)})`
  return (mode & full & 0o700) === (full & 0o700) ? null : `closed to its own user (${octal(mode)})`
}

/** The data folder and all in it belong to one user alone. */
export const checkModes: Check = async ({ config: { data_dir: dataDir } }) => {
  if (!existsSync(dataDir)) {
    return [warn('data folder', `${dataDir} does not exist yet`, 'postern serve makes it on the first start')]
  }
  const folder = statSync(dataDir)
  // a file, or /tmp and its like: nothing whose mode is ours to change
  if (!folder.isDirectory() || (folder.mode & 0o1000) !== 0) {
    const what = folder.isDirectory() ? 'is shared by all users' : 'is no folder'
    return [fail('data folder', `${dataDir} ${what}`, 'set data_dir to a folder of its own', 73)]
  }
  const found: Finding[] = []
  const isClosed = (folder.mode & 0o500) !== 0o500
  // a checkout keeps its folder by that file, which has nothing in it
  const names = isClosed ? [] : readdirSync(dataDir).filter((one) => one !== '.gitkeep')
  const wrong = wrongMode(folder.mode, 0o700)
  if (wrong?.startsWith('open') === true && !isClosed && names.length === 0)
    return [
      warn(
        'data folder',
        `${dataDir} is empty, and ${wrong}`,
        'postern serve makes it private on the first start',
      ),
    ]
  if (wrong !== null) found.push(fail('data folder', `${dataDir} is ${wrong}`, `chmod 700 ${dataDir}`, 77))
  if (isClosed) return found
  // one user owns it all: the daemon, which could not write what a command of root has left
  const owner = folder.uid
  for (const name of names) {
    const path = join(dataDir, name)
    const stat = statSync(path)
    const wrong = stat.isFile() ? wrongMode(stat.mode, name.endsWith('.crt') ? 0o644 : 0o600) : null
    if (wrong !== null) found.push(fail('file modes', `${path} is ${wrong}`, `chmod 600 ${path}`, 77))
    if (stat.uid !== owner) {
      const detail = `${path} belongs to user ${stat.uid}, the folder to ${owner}`
      found.push(fail('file owner', detail, `chown -R ${owner} ${dataDir}`, 77))
    }
  }
  return found.length > 0 ? found : [ok('file modes', `${dataDir} is private`)]
}

const MIB = 1024 ** 2
const text = (bytes: number): string =>
  bytes < 1024 * MIB ? `${Math.floor(bytes / MIB)} MiB` : `${(bytes / 1024 / MIB).toFixed(1)} GiB`

/** Room for the database to grow: below the limit the daemon accepts nothing, and below 64 MiB there is none to speak of. */
export const checkDisk: Check = async ({ config: { data_dir: dataDir, limits } }) => {
  const path = existsSync(dataDir) ? dataDir : '.'
  const disk = statfsSync(path)
  const free = disk.bavail * disk.bsize
  const share = disk.blocks === 0 ? 1 : disk.bavail / disk.blocks
  const detail = `${text(free)} free for ${path} (${Math.round(share * 100)} %)`
  if (free < Math.max(limits.min_free_disk, 64 * MIB)) {
    const why =
      free < limits.min_free_disk ? 'below limits.min_free_disk: nothing more is accepted' : 'nearly full'
    return [fail('disk', `${detail}, ${why}`, 'free some space, or move data_dir', 74)]
  }
  if (share < 0.05) return [warn('disk', detail, 'free some space, or shorten retention.bodies')]
  if (disk.files > 0 && disk.ffree / disk.files < 0.01) {
    return [fail('disk', `${path} is nearly out of inodes`, 'remove small files there, or move data_dir', 74)]
  }
  return [ok('disk', detail)]
}

const run = (file: string, ...words: readonly string[]): Promise<string | null> =>
  new Promise((resolve) => {
    execFile(file, words, { timeout: 3_000 }, (error, stdout) =>
      resolve(error === null ? stdout.trim() : null),
    )
  })

const NTP = 'timedatectl set-ntp true'

/** No clock can be checked alone: this program was installed in its past, and somebody should keep it right. */
export const checkClock: Check = async ({ now }) => {
  const installed = statSync(new URL(import.meta.url)).mtimeMs
  const behind = installed - now
  if (behind > 60_000) {
    return [fail('clock', `stands ${spanText(behind)} before this program was installed`, NTP, 75)]
  }
  if ((await run('timedatectl', 'show', '--property=NTPSynchronized', '--value')) === 'no') {
    return [warn('clock', 'is kept right by nobody', NTP)]
  }
  return [ok('clock', new Date(now).toISOString())]
}

const ENOUGH_FILES = 4_096

export const checkLimits: Check = async () => {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return [] // not Linux
  }
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(limits) ?? []
  if (soft === 'unlimited' || Number(soft) >= ENOUGH_FILES) return [ok('open files', `up to ${soft}`)]
  return [
    warn('open files', `only ${soft} are allowed`, `ulimit -n ${ENOUGH_FILES}, or LimitNOFILE in the unit`),
  ]
}

/** The mark that the database has; undefined while there is no database, null when it says nothing. */
const databaseMark = async (config: Config): Promise<string | null | undefined> => {
  if (!isLocal(config)) {
    // that it does not answer is told by the check of the database
    const seen = await examineServerOf(config).catch(() => null)
    return seen?.pepperMark ?? undefined
  }
  const database = placeOf(config.data_dir)
  return existsSync(database) ? (await adminOf(database)).pepperMark() : undefined
}

export const checkPepper: Check = async ({ config }) => {
  const mark = await databaseMark(config)
  const file = pepperFile(config)
  const found = findPeppers(config, process.env.CREDENTIALS_DIRECTORY)
  const [first] = found
  if (first === undefined) {
    if (mark === undefined) return [warn('pepper', 'none yet: the first start makes it', 'postern serve')]
    return [
      fail(
        'pepper',
        `${file} is missing: no key of the database works`,
        `cp /from/backup/pepper ${file}`,
        74,
      ),
    ]
  }
  const right = mark == null ? first : found.find((one) => one.mark === mark)
  if (right === undefined) {
    const detail = `${first.file} is not the pepper of the database (${first.mark}, wanted ${mark})`
    return [fail('pepper', detail, `cp /from/backup/pepper ${file}`, 78)]
  }
  const wrong: readonly Finding[] = found
    .filter(({ mark: other }) => other !== right.mark)
    .map((one) =>
      fail(
        'pepper',
        `${one.file} is another pepper than ${right.file}${mark == null ? '' : ', which is that of the database'}`,
        `mv ${one.file} ${one.file}.other`,
        78,
      ),
    )
  return wrong.length > 0 ? wrong : [ok('pepper', `${right.file}, mark ${right.mark}`)]
}

export const checkFactors = async ({ store, account, deps }: CliContext): Promise<readonly Finding[]> => {
  const found: Finding[] = []
  for (const { id, email, hasFactor } of await collect((page) => store.users(account.id, page))) {
    const factors = hasFactor ? await store.factors(id) : []
    if (factors.some((row) => row.kind === 'totp' && seedOf(deps.pepper, row) === null))
      found.push(
        warn(
          'second factor',
          `${email} has an authenticator app of another pepper, and recovery codes: none of them is taken any more`,
          `postern user reset-factors ${email}`,
        ),
      )
  }
  return found
}

interface Listener extends ListenAddress {
  readonly name: string
}

export const listeners = (config: Config): readonly Listener[] =>
  [
    { name: 'http', ...config.http },
    { name: 'management', ...config.management },
    ...config.submission.map((one, i) => ({ name: `submission.${i}`, ...one })),
    { name: 'bounce', ...config.bounce },
  ].map(({ name, host, port }) => ({ name, host, port }))

/** The code of the error, or null when it works. */
export const tryListen = ({ host, port }: ListenAddress): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })

const reachable = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)

const tryConnect = ({ host, port }: ListenAddress): Promise<string | null> =>
  new Promise((resolve) => {
    const socket = connect({ host: reachable(host), port, timeout: 3_000 })
    const end = (code: string | null): void => {
      socket.destroy()
      resolve(code)
    }
    socket.once('connect', () => end(null))
    socket.once('timeout', () => end('ETIMEDOUT'))
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
  })

const blocked = ({ name, host, port }: Listener, code: string): Finding => {
  const where = `${name} ${host}:${port}`
  if (code === 'EADDRINUSE')
    return fail('ports', `${where} is taken by another program`, `ss -ltnp 'sport = :${port}'`, 69)
  if (code === 'EACCES') {
    const remedy = 'use the socket units, or sysctl net.ipv4.ip_unprivileged_port_start=25'
    return fail('ports', `${where} is closed to this user`, remedy, 77)
  }
  if (code === 'EADDRNOTAVAIL')
    return fail('ports', `${where} is not an address of this machine`, `set ${name}.host`, 78)
  return fail('ports', `${where}: ${code}`, `set ${name}.host and ${name}.port`, 78)
}

const checkListening = async (all: readonly Listener[]): Promise<readonly Finding[]> => {
  const found: Finding[] = []
  for (const one of all) {
    const code = await tryConnect(one)
    if (code === null) continue
    const detail = `the daemon runs, but ${one.name} ${one.host}:${one.port} does not answer (${code})`
    found.push(fail('ports', detail, 'systemctl restart postern', 69))
  }
  return found
}

export const checkPorts: Check = async ({ config, running }) => {
  const fixed = listeners(config).filter(({ port }) => port !== 0)
  const taken = fixed.filter((one, i) =>
    fixed.some((other, j) => j < i && other.port === one.port && other.host === one.host),
  )
  const twice = taken.map(({ name, host, port }) =>
    fail('ports', `${name} ${host}:${port} is configured twice`, `set ${name}.port`, 78),
  )
  if (running) {
    const silent = await checkListening(fixed)
    return silent.length > 0 ? silent : [ok('ports', `all ${fixed.length} listeners answer`)]
  }
  const found: Finding[] = [...twice]
  for (const one of fixed.filter((listener) => !taken.includes(listener))) {
    const code = await tryListen(one)
    if (code !== null) found.push(blocked(one, code))
  }
  return found.length > 0 ? found : [ok('ports', `all ${fixed.length} listeners are free to use`)]
}

/** What the daemon itself says of its health. */
export const checkDaemon: Check = async ({ config, running }: DoctorFacts) => {
  if (!running) return [ok('daemon', 'is not running')]
  if (config.management.port === 0) return [ok('daemon', 'is running')]
  try {
    const { status, text } = await askManagement(config.management, '/readyz')
    if (status === 200) return [ok('daemon', 'is running and ready')]
    return [fail('daemon', `is not ready: ${text.slice(0, 200)}`, 'journalctl -u postern -n 50', 75)]
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return [fail('daemon', `is running, but does not answer: ${said}`, 'systemctl restart postern', 69)]
  }
}
