/**
 * NAME      disk - is there room left?
 * DESCRIPTION
 *   Looks at the free space of a folder's file system every few seconds. Below
 *   the mark it says so once, and again once when there is room; who asks
 *   `isLow` gets the last answer and pays nothing. A system that cannot tell
 *   counts as roomy: the store still meets a full disk by itself.
 */
import { statfs } from 'node:fs/promises'
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
