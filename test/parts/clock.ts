/**
 * A daemon's wall clock in the hands of a test: libfaketime gives it the machine's
 * time and an offset from a file. The tick clock is left as it is, as when somebody
 * sets the clock of a machine that runs.
 */
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

const PLACES = ['/usr/lib', '/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64']
const LIBRARY = PLACES.map((dir) => join(dir, 'faketime', 'libfaketimeMT.so.1')).find(existsSync)

/** Why a test of clocks can not run here; false when it can. */
export const noFakeClock: string | false = LIBRARY === undefined ? 'libfaketime is not installed' : false

export interface FakeClock {
  readonly env: NodeJS.ProcessEnv
  /** Sets the clock this many milliseconds before or after the machine's. */
  set(offset: number): void
}

export const fakeClock = (t: Pick<Test, 'teardown'>): FakeClock => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-clock-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'offset')
  const set = (offset: number): void => {
    // whole at once: it is read at every look at the clock
    writeFileSync(`${file}.new`, `${offset < 0 ? '-' : '+'}${Math.abs(offset / 1_000)}\n`)
    renameSync(`${file}.new`, file)
  }
  set(0)
  return {
    set,
    env: {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
  }
}
