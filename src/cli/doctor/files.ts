/**
 * NAME      files - who may read what, and how much room is left
 */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { strangersOwner, userName } from '../context.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

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
  const wrong = wrongMode(folder.mode, 0o700)
  if (wrong !== null) found.push(fail('data folder', `${dataDir} is ${wrong}`, `chmod 700 ${dataDir}`, 77))
  if ((folder.mode & 0o500) !== 0o500) return found
  // one user owns it all: the daemon, which could not write what a command of root has left
  const owner = folder.uid
  // a checkout keeps its folder by that file, which has nothing in it
  for (const name of readdirSync(dataDir).filter((one) => one !== '.gitkeep')) {
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
