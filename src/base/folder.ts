/**
 * NAME      folder - the data folder, made or refused
 * DESCRIPTION
 *   Makes a private folder with what is missing above it, and makes sure that it
 *   can be written to, so that a wrong `data_dir` is told in one line. And small
 *   files that others may read at any moment.
 * NOTES
 *   Not `mkdir` with `recursive`: where a parent takes no folders (/proc) Node 20
 *   tries for ever.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The data folder can not be made or not be used; `code` is the system's. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError'
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message)
  }
}

/** Where SQLite keeps the mail of a data folder. */
export const databaseFile = (dataDir: string): string => join(dataDir, 'postern.db')

/** Makes the entries of a folder durable. */
export const syncFolder = (path: string): void => {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Writes a private file that has its name only when it is whole. Throws what the system says, and leaves nothing then. */
export const writeWhole = (file: string, text: string): void => {
  const part = `${file}.${process.pid}`
  try {
    writeFileSync(part, text, { mode: 0o600, flush: true })
    renameSync(part, file)
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  }
}

const makeFolder = (path: string): void => {
  if (existsSync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeFolder(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return // somebody was faster
    throw error
  }
  syncFolder(parent)
}

const SAID: Readonly<Record<string, string>> = {
  ENOENT: 'nothing can be made there',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EEXIST: 'it is no folder',
  ENOTDIR: 'a part of it is no folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
}

const ELSEWHERE = 'set data_dir to a folder that this user may write to'

/** Of the others only another folder is one. */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'let this user write to it, or ',
  EROFS: 'mount a volume there, or ',
  ENOSPC: 'free some of it, or ',
}

/** The data folder is there and this user may write to it, or DataFolderError. */
export const makeDataFolder = (dataDir: string): void => {
  try {
    makeFolder(resolve(dataDir))
    if (!statSync(dataDir).isDirectory()) throw Object.assign(new Error(), { code: 'EEXIST' })
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    throw new DataFolderError(
      `data_dir: ${dataDir} can not be used: ${SAID[code] ?? message}; ${REMEDIES[code] ?? ''}${ELSEWHERE}`,
      code,
    )
  }
}
