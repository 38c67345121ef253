/**
 * NAME      touches - when a key was last used and from where, cheaply
 * DESCRIPTION
 *   Uses are gathered for a second and written together, the latest per key.
 *   What a crash loses is at most that second of a best-effort fact.
 */
import type { Touch } from './writes.js'

const GATHER_MS = 1000

export interface Touches {
  touch(...touch: Touch): void
  flush(): void
}

export const createTouches = (write: (touched: readonly Touch[]) => void): Touches => {
  const gathered = new Map<string, Touch>()
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (gathered.size === 0) return
    const touched = [...gathered.values()]
    gathered.clear()
    write(touched)
  }
  return {
    touch(...touch) {
      gathered.set(touch[1], touch)
      timer ??= setTimeout(flush, GATHER_MS).unref()
    },
    flush,
  }
}
