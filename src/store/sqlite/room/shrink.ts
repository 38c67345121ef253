/**
 * NAME      shrink - room that nothing uses goes back to the system
 * DESCRIPTION
 *   What retention frees is used again first, so a share of it is kept; beyond
 *   that the file gives it back, a megabyte a step, each a verb among others. It
 *   takes a database made with auto_vacuum; an older one is converted once by
 *   `postern migrate --compact`, and until then only uses its room again.
 */
import { type Db, openWriter } from '../connect.js'

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
