/**
 * NAME      disk-room - room that is kept for the end of a full disk, and room that is given back
 *     A file of real bytes beside the database. When the disk is full the writer
 *     throws it out, and what is left to write down (outcomes, leases given back)
 *     has room; new work stays refused until the ballast could be laid in again.
 *     Its size is a 32nd of the disk, between 1 and 16 MiB.
 *   NOTES
 *     Random bytes: a file system that packs zeros would keep no room with them.
 *   What retention frees is used again first, so a share of it is kept; beyond that the file gives it back,
 *   a megabyte a step, each a verb among others. It takes a database made with auto_vacuum; an older one is
 *   converted once by `postern migrate --compact`, and until then only uses its room again.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statfsSync } from 'node:fs'
import { open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { type Db, openWriter } from './connect.js'

const MIB = 1024 ** 2
const SHARE = 1 / 32

const fileIn = (dataDir: string): string => join(dataDir, 'ballast')

const hasBallast = (dataDir: string): boolean => existsSync(fileIn(dataDir))

/** True when there was one. */
const dropBallast = (dataDir: string): boolean => {
  const had = hasBallast(dataDir)
  rmSync(fileIn(dataDir), { force: true })
  return had
}

const sizeFor = (total: number): number =>
  Math.min(16 * MIB, Math.max(MIB, Math.floor((total * SHARE) / MIB) * MIB))

/** Lays the ballast in when it is missing and there is room for it twice over. Whether it is there. */
export const layBallast = async (dataDir: string): Promise<boolean> => {
  if (hasBallast(dataDir)) return true
  const { bavail, blocks, bsize } = await statfs(dataDir)
  const size = sizeFor(blocks * bsize)
  if (bavail * bsize < 2 * size) return false
  const draft = `${fileIn(dataDir)}.part`
  try {
    const file = await open(draft, 'w', 0o600)
    try {
      for (let laid = 0; laid < size; laid += MIB) await file.write(randomBytes(MIB))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, fileIn(dataDir))
    return true
  } catch {
    await rm(draft, { force: true }).catch(() => {})
    return false
  }
}

const LOOK_MS = 250

/** Whether the disk is so full that no new work may begin. */
export interface Tightness {
  readonly isTight: boolean
  /** The disk is full: throws the ballast out. */
  full(): void
}

export const createTightness = (dataDir: string, now: () => number): Tightness => {
  let tight = false
  let lookedAt = 0
  const isRoomy = (): boolean => {
    if (hasBallast(dataDir)) return true
    // nobody lays it in beside a store that is no daemon's
    const { bavail, blocks, bsize } = statfsSync(dataDir)
    return bavail * bsize >= 4 * sizeFor(blocks * bsize)
  }
  return {
    get isTight() {
      if (!tight || now() - lookedAt < LOOK_MS) return tight
      lookedAt = now()
      tight = !isRoomy()
      return tight
    },
    full() {
      dropBallast(dataDir)
      tight = true
      lookedAt = now()
    },
  }
}

const STEP_PAGES = 256
const KEPT_PAGES = 1024
const KEPT_SHARE = 1 / 8
const INCREMENTAL = 2

const canShrink = (db: Db): boolean => db.pragma('auto_vacuum', { simple: true }) === INCREMENTAL

/** Rewrites the whole file; wants as much room again. Nobody else may have it open. */
export const compactFile = (file: string): void => {
  const db = openWriter(file)
  try {
    db.pragma('auto_vacuum = INCREMENTAL')
    db.exec('VACUUM')
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

export const createShrinkStep = (db: Db): (() => boolean) => {
  const free = db.prepare<[], number>('PRAGMA freelist_count').pluck()
  const all = db.prepare<[], number>('PRAGMA page_count').pluck()
  const surplus = (): number => {
    const kept = Math.max(KEPT_PAGES, (all.get() ?? 0) * KEPT_SHARE)
    return Math.floor((free.get() ?? 0) - kept)
  }
  return () => {
    const pages = Math.min(surplus(), STEP_PAGES)
    if (pages <= 0 || !canShrink(db)) return false
    db.pragma(`incremental_vacuum(${pages})`)
    return surplus() > 0
  }
}
