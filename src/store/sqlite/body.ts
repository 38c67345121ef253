/**
 * NAME      body - the octets of mails in files, and files that no row names
 *   data_dir/bodies/<last two letters of the id>/<id>, mode 0600, never changed once a row names it. A large body is
 *   written, it and its folder are fsynced, and only then is the row committed; it is unlinked after the commit that
 *   drops the row. So a crash leaves at worst a file that no row names, and a later run removes it when it is older than
 *   an hour and no running accept writes it. A body that several processes may bring in is renamed into its place.
 *   A full disk is a refusal; any other error of the disk ends the daemon, as in the database itself.
 *   All work here runs in the system's threads, and the writer has no part in it: a large mail delays no small one.
 *   The last letters of an id are random, which spreads files over 1024 folders.
 */
import { randomBytes } from 'node:crypto'
import { close, fsync, type NoParamCallback, open, readFile, write } from 'node:fs'
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../base/fault.js'
import { isId } from '../../base/id.js'
import { type AcceptResult, isStored, type NewEmail } from '../../lifecycle/facts.js'
import { MissingBodyError } from '../port/upkeep.js'
import type { Statements } from './statements.js'

/** Up to this size a row is cheaper. */
const LARGE = 64 * 1024

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

const YOUNG_MS = 3600_000

interface OrphanParts {
  readonly files: BodyFiles
  /** Which of these ids have a row that names their file. */
  readonly named: (ids: readonly string[]) => ReadonlySet<string>
  /** Being accepted by this process at the moment. */
  readonly inFlight: ReadonlySet<string>
}

/** Resolves with the number of files removed. */
const removeOrphans = async ({ files, named, inFlight }: OrphanParts, now: number): Promise<number> => {
  let removed = 0
  for (const shard of await files.shards()) {
    const { ids, drafts } = await files.olderThan(shard, now - YOUNG_MS)
    for (const name of drafts) {
      if (inFlight.has(name.split('.')[0] ?? '')) continue
      await files.dropDraft(shard, name)
      removed++
    }
    const known = named(ids)
    for (const id of ids) {
      if (known.has(id) || inFlight.has(id)) continue
      await files.drop(id)
      removed++
    }
  }
  return removed
}

const FULL = /^(ENOSPC|EDQUOT)$/
/** Of this process or of its limits, and gone the next time. */
const PASSING = /^(EMFILE|ENFILE|EAGAIN|ENOMEM)$/
const EVERY_MS = 3600_000

/** Ids of the mails whose bodies are in files, with their sizes. */
type Beside = Readonly<Record<string, number>>

type Body = Pick<NewEmail, 'id' | 'raw'>

export interface BodyStore {
  /** Accepts a batch; if it has large bodies, these are in their files before `accept` is called. */
  accept(
    batch: { readonly mails: readonly Body[] },
    accept: (beside?: Beside) => Promise<AcceptResult>,
  ): Promise<AcceptResult>
  /** The same for a carried body, which another process may be bringing in too: its file stays, whatever becomes of this. */
  carry<R>(one: Body, accept: (size: number | null) => Promise<R>): Promise<R>
  body(emailId: string): Promise<Uint8Array | null>
  /** The rows of these mails are gone. */
  drop(emailIds: readonly string[]): Promise<void>
  /** Removes orphans, if it is time to look for them. */
  tidy(now: number): Promise<number>
  /** Files that rows name and that are not there. */
  missing(): Promise<readonly string[]>
}

const MISSING_SHOWN = 10

/** `broken` hears of a disk that failed; `pass` is for crash tests. */
export const createBodyStore = (
  dataDir: string,
  sql: Statements,
  broken: (error: Error) => void,
  pass: (point: string) => void = () => {},
): BodyStore => {
  const files = createBodyFiles(dataDir)
  const inFlight = new Set<string>()
  let lookedAt = Number.NEGATIVE_INFINITY

  const isNamed = (id: string): boolean =>
    sql('SELECT 1 FROM bodies WHERE email_id = ? AND beside = 1').get(id) !== undefined

  const failed = (error: NodeJS.ErrnoException): Error => {
    const { code = '' } = error
    if (FULL.test(code) || PASSING.test(code)) return new Fault('service.unavailable', { retryAfter: 5 })
    broken(error)
    return error
  }

  /** What was refused takes no room; whose fate is unknown is left to the search for orphans. */
  const takeBack = async (mails: readonly Body[]): Promise<void> => {
    for (const { id } of mails) if (!isNamed(id)) await files.drop(id).catch(() => {})
  }

  const write = async (large: readonly Body[], isShared: boolean): Promise<void> => {
    pass('body.before-write')
    // one after the other: the system has few threads, and others want them too
    for (const { id, raw } of large) {
      await files.write(id, raw, isShared).catch((error: NodeJS.ErrnoException) => {
        throw failed(error)
      })
    }
    pass('body.after-write')
  }

  const acceptLarge = async (
    large: readonly Body[],
    accept: (beside: Beside) => Promise<AcceptResult>,
  ): Promise<AcceptResult> => {
    for (const { id } of large) inFlight.add(id)
    try {
      await write(large, false)
      const result = await accept(Object.fromEntries(large.map(({ id, raw }) => [id, raw.byteLength])))
      if (!isStored(result)) await takeBack(large)
      return result
    } catch (error) {
      if (error instanceof Fault) await takeBack(large)
      throw error
    } finally {
      for (const { id } of large) inFlight.delete(id)
    }
  }

  return {
    accept(batch, accept) {
      const large = batch.mails.filter(({ raw }) => raw.byteLength > LARGE)
      return large.length === 0 ? accept() : acceptLarge(large, accept)
    },

    async carry(one, accept) {
      const { byteLength } = one.raw
      if (byteLength <= LARGE) return accept(null)
      inFlight.add(one.id)
      try {
        await write([one], true)
        return await accept(byteLength)
      } finally {
        inFlight.delete(one.id)
      }
    },

    async body(emailId) {
      const find = sql(
        'SELECT b.raw, b.beside FROM emails e JOIN bodies b ON b.n = e.body AND b.email_id = e.id WHERE e.id = ?',
      )
      const row = find.get(emailId)
      if (row === undefined) return null
      if (row.beside !== 1) return row.raw as Uint8Array
      try {
        return await files.read(emailId)
      } catch (error) {
        if (error instanceof MissingBodyError && find.get(emailId) === undefined) return null // retention was faster
        throw error
      }
    },

    async drop(emailIds) {
      if (emailIds.length > 0) pass('body.before-drop')
      for (const id of emailIds) await files.drop(id).catch(() => {}) // an orphan then, for the next look
    },

    async tidy(now) {
      if (now - lookedAt < EVERY_MS && now >= lookedAt) return 0
      lookedAt = now
      const named = (ids: readonly string[]): ReadonlySet<string> => new Set(ids.filter(isNamed))
      return removeOrphans({ files, named, inFlight }, now)
    },

    async missing() {
      const gone: string[] = []
      const rows = sql('SELECT email_id FROM bodies WHERE beside = 1').all()
      for (const { email_id: id } of rows) {
        if (!(await files.has(id as string))) gone.push(id as string)
        if (gone.length === MISSING_SHOWN) break
      }
      return gone.map((id) => `the body of ${id} is missing in bodies/`)
    },
  }
}
