/**
 * NAME      secrets - files that hold a secret, and those that come to hold a new one
 *   A secret is read from a file that its owner alone can read, or root's. A new one is written to a file that was not
 *   there (O_EXCL, O_NOFOLLOW, 0600), below the data folder or /run/postern, and is on the disk before its row is
 *   stored: after a crash the file that is there is read, and the same command goes on with it.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { invalid } from '../base/fault.js'
import { syncFolder } from '../base/folder.js'
import { keyedHash } from '../base/secret.js'
import { type Inline, saidOf } from './files.js'

const MOST_OCTETS = 64 * 1024
const RUN = '/run/postern'

const wrongFile = (field: string, message: string) => invalid([{ field, kind: 'format', message }])

/** The text of a file, without the end of its line. Throws validation.request_invalid about this field. */
export const readSecret = (path: string, field: string): string => {
  let handle: number
  try {
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    throw wrongFile(field, `${path}: ${saidOf(error)}`)
  }
  try {
    const { mode, uid, size } = fstatSync(handle)
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw wrongFile(field, `${path}: is no file`)
    if ((mode & 0o077) !== 0 && uid !== 0)
      throw wrongFile(field, `${path}: others can read it; chmod 600 ${path}`)
    if (size > MOST_OCTETS) throw wrongFile(field, `${path}: is too large for a secret`)
    const octets = Buffer.alloc(size)
    const text = octets.subarray(0, readSync(handle, octets, 0, size, 0)).toString('utf8')
    const secret = text.replace(/\r?\n$/, '')
    if (secret === '') throw wrongFile(field, `${path}: is empty`)
    return secret
  } finally {
    closeSync(handle)
  }
}

/** A path, relative to the file that names it, or what would stand in that file. */
export type FileRef = string | Inline

export const secretIn = (folder: string, from: FileRef, field: string): string => {
  if (typeof from === 'string') return readSecret(resolve(folder, from), field)
  if (from.text === '') throw wrongFile(field, 'is empty')
  return from.text
}

const isBelow = (folder: string, place: string): boolean => {
  const way = relative(folder, place)
  return way === '' || !(way === '..' || way.startsWith('../'))
}

/** Where a new secret may go, with links of its folder followed. Throws about the field. */
export const outPlace = (path: string, dataDir: string, field: string): string => {
  const wanted = resolve(path)
  let folder: string
  try {
    folder = realpathSync(dirname(wanted))
  } catch (error) {
    throw wrongFile(field, `${dirname(wanted)}: ${saidOf(error)}`)
  }
  const homes = [dataDir, RUN].flatMap((home) => {
    try {
      return [realpathSync(home)]
    } catch {
      return []
    }
  })
  if (!homes.some((home) => isBelow(home, folder)))
    throw wrongFile(field, `${path}: a new secret is written below ${dataDir} or ${RUN} only`)
  return join(folder, basename(wanted))
}

/** The secret that is in the file already, or null where there is no file. */
export const secretAt = (place: string, field: string): string | null => {
  try {
    closeSync(openSync(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw wrongFile(field, `${place}: ${saidOf(error)}`)
  }
  return readSecret(place, field)
}

/** Writes a new secret to a file that was not there, to the disk. */
export const writeSecret = (place: string, secret: string): void => {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const handle = openSync(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    writeSync(handle, `${secret}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  syncFolder(dirname(place))
}

/** By which a stored setup knows a secret again. */
export const markOf = (pepper: Uint8Array, secret: string): string =>
  keyedHash(pepper, 'setup-secret', secret).toString('base64url').slice(0, 22)
