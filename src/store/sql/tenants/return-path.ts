/**
 * NAME      return-path - the ring of keys that sign return paths
 */
import type { ReturnPathRing } from '../../port/cluster.js'
import { type AskedReads, type AskedWrites, type Asking, first, run } from '../query.js'

function* ring(): Asking<string | null> {
  return ((yield* first('SELECT ring FROM return_path'))?.ring as string | undefined) ?? null
}

export const ringReads: AskedReads<ReturnPathRing> = { returnPathRing: ring }

export const ringWrites: AskedWrites<ReturnPathRing> = {
  *replaceReturnPathRing(was, is) {
    if ((yield* ring()) !== was) return false
    yield* run('DELETE FROM return_path')
    yield* run('INSERT INTO return_path (ring) VALUES (?)', is)
    return true
  },
}
