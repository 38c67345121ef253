/**
 * NAME      ballast - room kept back for outcomes
 * DESCRIPTION
 *   A file of real bytes beside the database. When the disk is full the writer
 *   throws it out, and what is left to write down (outcomes, leases given back)
 *   has room; new work stays refused until the ballast could be laid in again.
 *   Its size is a 32nd of the disk, between 1 and 16 MiB.
 * NOTES
 *   Random bytes: a file system that packs zeros would keep no room with them.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, rmSync, statfsSync } from 'node:fs'
import { open, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'

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
