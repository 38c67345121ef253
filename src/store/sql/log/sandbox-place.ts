/**
 * NAME      sandbox-place - up to where of the log the sandbox has reported
 */
import type { SandboxPlace } from '../../port/sandbox-place.js'
import { type AskedReads, type AskedWrites, type Asking, first, run } from '../query.js'

function* sandboxPlace(): Asking<string | null> {
  return ((yield* first('SELECT mark FROM sandbox_place'))?.mark as string | undefined) ?? null
}

export const sandboxReads: AskedReads<SandboxPlace> = { sandboxPlace }

export const sandboxWrites: AskedWrites<SandboxPlace> = {
  *moveSandboxPlace(from, to) {
    if ((yield* sandboxPlace()) !== from) return false
    yield* run('DELETE FROM sandbox_place')
    yield* run('INSERT INTO sandbox_place (mark) VALUES (?)', to)
    return true
  },
}
