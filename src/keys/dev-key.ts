/**
 * NAME      dev-key - the key of `postern dev`
 * DESCRIPTION
 *   A test key in a file of its own, which also marks a data folder that is dev's. `serve` takes it away.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const devKeyFile = ({ data_dir: dataDir }: { readonly data_dir: string }): string =>
  join(dataDir, 'dev.key')

/** Null before the first one was made, and after somebody removed it. */
export const readDevKey = (file: string): string | null => {
  try {
    return readFileSync(file, 'utf8').trim() || null
  } catch {
    return null
  }
}
