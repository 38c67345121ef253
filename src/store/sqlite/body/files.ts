/**
 * NAME      files - large bodies, each a file beside the database
 * DESCRIPTION
 *   data_dir/bodies/<last two letters of the id>/<id>, mode 0600, never changed
 *   once a row names it. A body is written, it and its folder are fsynced, and
 *   only then is the row committed that speaks of it; it is unlinked after the
 *   commit that drops the row. So a crash leaves at worst a file that no row
 *   names, and orphans.ts takes that away. What several processes may bring in
 *   at a time is written under another name, and renamed.
 * NOTES
 *   Everything here waits on the system's threads and never on the caller's, and
 *   the writer's thread has no part in it: a large mail holds up no small one.
 *   An id is random in its last letters, which spread over 1024 folders.
 */
import { randomBytes } from 'node:crypto'
import { close, fsync, type NoParamCallback, open, readFile, write } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isId } from '../../../base/id.js'
import { MissingBodyError } from '../../port/upkeep.js'

/** Up to this size a row is cheaper. */
export const LARGE = 64 * 1024

const PART = '.part'
/** No call holds a thread of the system for longer than this takes. */
const MOST_AT_ONCE = 1024 * 1024

export interface BodyFiles {
  /** `isShared`: other processes may write the same body at the same time. */
  write(emailId: string, raw: Uint8Array, isShared: boolean): Promise<void>
  /** Rejects with MissingBodyError. */
  read(emailId: string): Promise<Uint8Array>
  has(emailId: string): Promise<boolean>
  /** Removing what is not there is fine. */
  drop(emailId: string): Promise<void>
  /** The folders there are; each is one step of a walk over all files. */
  shards(): Promise<readonly string[]>
  /** Ids in a folder, and the drafts of bodies that never got their name, that were last written before this time. */
  olderThan(shard: string, before: number): Promise<{ readonly ids: string[]; readonly drafts: string[] }>
  dropDraft(shard: string, name: string): Promise<void>
}

/** A call of the system that answers by callback: as promises of files cost more turns and objects than the calls do. */
const called = <T>(begin: (done: (error: Error | null, value: T) => void) => void): Promise<T> =>
  new Promise((resolve, reject) => begin((error, value) => (error === null ? resolve(value) : reject(error))))

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Opens, does something and closes again; only what went wrong before that counts. */
const within = async (path: string, flags: string, work: (fd: number) => Promise<void>): Promise<void> => {
  const fd = await called<number>((done) => open(path, flags, 0o600, done))
  try {
    await work(fd)
  } finally {
    close(fd, () => {})
  }
}

const sync = (fd: number): Promise<void> => called((done) => fsync(fd, done as NoParamCallback))

const syncFolder = (path: string): Promise<void> => within(path, 'r', sync)

/**
 * Makes a folder and its name durable, if it is new. Its parent is there: a recursive `mkdir` would say ENOENT where the
 * disk has no room for another folder.
 */
const makeFolder = async (path: string, parent: string): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  await syncFolder(parent)
}

const writeDurably = (path: string, raw: Uint8Array): Promise<void> =>
  within(path, 'w', async (fd) => {
    for (let at = 0; at < raw.length; ) {
      const length = Math.min(raw.length - at, MOST_AT_ONCE)
      at += await called<number>((done) => write(fd, raw, at, length, null, done))
    }
    await sync(fd)
  })

const listed = async (path: string): Promise<readonly string[]> => {
  try {
    return await readdir(path)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

const bodiesFolder = (dataDir: string): string => join(dataDir, 'bodies')

export const createBodyFiles = (dataDir: string): BodyFiles => {
  const root = bodiesFolder(dataDir)
  const shardOf = (emailId: string): string => join(root, emailId.slice(-2))
  /** An id from a file of somebody else's could lead anywhere: every path is made here, and from nothing but an id. */
  const fileOf = (emailId: string): string => {
    if (!isId('em', emailId)) throw new Error(`${JSON.stringify(emailId)} is no id of a mail`)
    return join(shardOf(emailId), emailId)
  }

  return {
    async write(emailId, raw, isShared) {
      const file = fileOf(emailId)
      const shard = shardOf(emailId)
      const path = isShared ? `${file}.${randomBytes(6).toString('hex')}${PART}` : file
      try {
        await writeDurably(path, raw).catch(async (error) => {
          if (!isMissing(error)) throw error
          await makeFolder(root, dataDir)
          await makeFolder(shard, root)
          await writeDurably(path, raw)
        })
        if (isShared) await rename(path, file)
        await syncFolder(shard)
      } catch (error) {
        await rm(path, { force: true }).catch(() => {}) // a full disk wants it back at once
        throw error
      }
    },
    async read(emailId) {
      try {
        return await called<Uint8Array>((done) => readFile(fileOf(emailId), done))
      } catch (error) {
        if (!isMissing(error)) throw error
        throw new MissingBodyError(
          `the body of ${emailId} is missing: ${fileOf(emailId)}; restore it from a backup`,
        )
      }
    },
    has: async (emailId) =>
      stat(fileOf(emailId)).then(
        () => true,
        (error) => {
          if (isMissing(error)) return false
          throw error
        },
      ),
    drop: async (emailId) => rm(fileOf(emailId), { force: true }),
    shards: () => listed(root),
    async olderThan(shard, before) {
      const ids: string[] = []
      const drafts: string[] = []
      for (const name of await listed(join(root, shard))) {
        const found = await stat(join(root, shard, name)).catch(() => null)
        if (found === null || !found.isFile() || found.mtimeMs >= before) continue
        if (name.endsWith(PART)) drafts.push(name)
        else ids.push(name)
      }
      return { ids, drafts }
    },
    dropDraft: (shard, name) => rm(join(root, shard, name), { force: true }),
  }
}
