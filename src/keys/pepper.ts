/**
 * NAME      pepper - where the one secret comes from, and the key of `postern dev`
 *   32 random bytes that never enter the database: a stolen database alone proves no key. Looked for as a credential of
 *   the service manager ($CREDENTIALS_DIRECTORY/pepper), in pepper_file, and in data_dir. Whoever starts first makes
 *   it: the package, `postern init`, or the first run, in pepper_file or else in data_dir, and never over another.
 *   Found in two places, both must be the same; which one is right is told by the mark in the database
 *   (tenant/workspace.ts), and a human takes the other away.
 *   A test key in a file of its own, which also marks a data folder that is dev's. `serve` takes it away.
 */

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { orElse } from '../base/fault.js'
import { makeDataFolder } from '../base/folder.js'
import { DamagedFileError, keyedHash, LooseModeError, PepperError } from '../base/secret.js'
import type { Config } from '../config/config.js'

/** A folder that all users share, as /tmp is. */
const STICKY = 0o1000

export type PepperPlace = Pick<Config, 'data_dir'> & Partial<Pick<Config, 'pepper_file'>>

interface PepperWish {
  /** $CREDENTIALS_DIRECTORY, if there is one. */
  readonly credentials?: string | undefined
  /** False once there is a database: a new pepper would silently turn every key away. */
  readonly firstRun?: boolean
}

interface FoundPepper {
  readonly file: string
  readonly pepper: Buffer
  /** What may be said of it: the mark that the database keeps. */
  readonly mark: string
}

const BYTES = 32

/** Tells one pepper from another, and nothing about either. */
export const pepperMark = (pepper: Uint8Array): string =>
  keyedHash(pepper, 'pepper mark').toString('hex').slice(0, 32)

/** Where the pepper is made, and kept when nobody hands it in. */
export const pepperFile = ({ data_dir, pepper_file }: PepperPlace): string =>
  pepper_file ?? join(data_dir, 'pepper')

/** Whole or not at all, and never over another: two first runs at once end with one pepper. */
const make = (file: string): void => {
  const draft = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const fd = openSync(draft, 'w', 0o600)
  writeSync(fd, randomBytes(BYTES))
  fsyncSync(fd)
  closeSync(fd)
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}

/** Null when there is none, or when it is out of reach and `elsewhere` holds one already. */
const read = (file: string, forbidden: number, elsewhere: boolean): FoundPepper | null => {
  let pepper: Buffer
  try {
    if ((statSync(file).mode & forbidden) !== 0) {
      const mode = (forbidden & 0o040) === 0 ? '640' : '600'
      throw new LooseModeError(`${file} can be read by others; run: chmod ${mode} ${file}`)
    }
    pepper = readFileSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || (code === 'EACCES' && elsewhere)) return null
    throw error
  }
  if (pepper.length < BYTES)
    throw new DamagedFileError(
      `${file} is damaged: expected ${BYTES} bytes, found ${pepper.length}; restore it from a backup`,
    )
  return { file, pepper, mark: pepperMark(pepper) }
}

/**
 * Every pepper in reach, the one that counts first. A credential is guarded by whoever hands it in (ACLs show
 * as group bits), pepper_file may be shared with the group of its owner, the one in data_dir with nobody.
 */
export const findPeppers = (place: PepperPlace, credentials: string | undefined): readonly FoundPepper[] => {
  const found: FoundPepper[] = []
  const look = (file: string, forbidden: number): void => {
    if (found.some((one) => one.file === file)) return
    const one = read(file, forbidden, found.length > 0)
    if (one !== null) found.push(one)
  }
  if (credentials) look(join(credentials, 'pepper'), 0o007)
  if (place.pepper_file) look(place.pepper_file, 0o037)
  look(join(place.data_dir, 'pepper'), 0o077)
  return found
}

const lost = (file: string): DamagedFileError =>
  new DamagedFileError(
    `${file} is missing, and without it no key of this database works; restore it from a backup, or copy that of another machine that serves it, ` +
      `or start over with new keys: postern pepper accept`,
  )

/** Ours, and empty but for what makes git keep it: a checkout and a container volume come open to all. */
const isUnused = (dataDir: string, { uid, mode }: Stats): boolean =>
  uid === process.getuid?.() &&
  (mode & STICKY) === 0 &&
  readdirSync(dataDir).every((name) => name === '.gitkeep')

const prepareFolder = (dataDir: string): void => {
  makeDataFolder(dataDir)
  const stat = statSync(dataDir)
  if ((stat.mode & 0o077) === 0) return
  if (!isUnused(dataDir, stat))
    throw new LooseModeError(`${dataDir} can be entered by others; run: chmod 700 ${dataDir}`)
  chmodSync(dataDir, 0o700)
}

/** The pepper of this installation. Throws LooseModeError, DamagedFileError, and PepperError when there are two. */
export const loadPepper = (place: PepperPlace, { credentials, firstRun = true }: PepperWish = {}): Buffer => {
  prepareFolder(place.data_dir)
  let found = findPeppers(place, credentials)
  if (found.length === 0) {
    if (!firstRun) throw lost(pepperFile(place))
    make(pepperFile(place))
    found = findPeppers(place, credentials)
  }
  const [first, ...more] = found
  if (first === undefined) throw lost(pepperFile(place))
  const other = more.find(({ pepper }) => !pepper.equals(first.pepper))
  if (other !== undefined)
    throw new PepperError(
      `${first.file} and ${other.file} are two different peppers; postern doctor tells which one is wrong`,
    )
  return first.pepper
}

export const devKeyFile = ({ data_dir: dataDir }: { readonly data_dir: string }): string =>
  join(dataDir, 'dev.key')

/** In a folder that `dev --demo` made, and may take away: mail of nobody, which no `serve` sends. */
export const demoMark = ({ data_dir: dataDir }: { readonly data_dir: string }): string =>
  join(dataDir, 'demo.json')

/** Null before the first one was made, and after somebody removed it. */
export const readDevKey = (file: string): string | null =>
  orElse(() => readFileSync(file, 'utf8').trim() || null, null)
