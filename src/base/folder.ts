/**
 * NAME      folder - the data folder, made or refused, and whether there is room left
 *   Makes a private folder with what is missing above it, and makes sure that it can be written to, so that a wrong
 *   `data_dir` is told in one line. And small files that others may read at any moment.
 *   The free space of its file system is looked at every few seconds: below the mark that is said once, and once again
 *   when there is room. A system that cannot tell counts as roomy: the store still meets a full disk by itself.
 * NOTES
 *   Not `mkdir` with `recursive`: where a parent takes no folders (/proc) Node 20 tries for ever.
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
import { statfs } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Service } from './service.js'

export interface DiskWatch extends Service {
  readonly isLow: boolean
  /** Bytes that this user may still write, when last looked; null when unknown. */
  readonly free: number | null
}

interface DiskWatchParts {
  readonly folder: string
  /** Asked at each look, since it can be reloaded. */
  readonly mark: () => number
  readonly every?: number
  readonly changed: (isLow: boolean, free: number) => void
  /** For tests: the free bytes of a folder. */
  readonly freeOf?: (folder: string) => Promise<number>
}

const EVERY_MS = 2_000

const freeBytes = async (folder: string): Promise<number> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

export const createDiskWatch = (parts: DiskWatchParts): DiskWatch => {
  const { folder, mark, changed, every = EVERY_MS, freeOf = freeBytes } = parts
  let timer: NodeJS.Timeout | null = null
  let isLow = false
  let free: number | null = null
  const look = async (): Promise<void> => {
    try {
      free = await freeOf(folder)
    } catch {
      free = null
      return
    }
    const low = free < mark()
    if (low === isLow) return
    isLow = low
    changed(low, free)
  }
  return {
    name: 'disk',
    get isLow() {
      return isLow
    },
    get free() {
      return free
    },
    async start() {
      if (timer !== null) return
      timer = setInterval(() => void look(), every).unref()
      await look()
    },
    async stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}

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
