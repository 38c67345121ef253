/** The unit: hardened as promised, and in agreement with the daemon it starts. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../parts/postern.js'

const ANALYZE = '/usr/bin/systemd-analyze'
const skip = existsSync(ANALYZE) ? false : `${ANALYZE} is not installed`
const UNIT = join(ROOT, 'systemd', 'postern.service')

const analyze = (...args: readonly string[]): Promise<{ code: number; output: string }> =>
  new Promise((resolve) =>
    execFile(ANALYZE, args, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
    ),
  )

t.test('exposure is 2.0 or less', { skip }, async (t) => {
  const { code, output } = await analyze('--offline=yes', 'security', '--threshold=20', UNIT)
  t.equal(code, 0, output.slice(-200))
})

t.test('systemd understands each line', { skip }, async (t) => {
  const { output } = await analyze('verify', UNIT, join(ROOT, 'systemd', 'postern.socket'))
  const complaints = output
    .split('\n')
    .filter((line) => line !== '' && !/is not executable|'man postern/.test(line))
  t.strictSame(complaints, [])
})

t.test('what V8 and the exit codes need', async (t) => {
  const unit = readFileSync(UNIT, 'utf8')
  t.match(unit, /^SystemCallFilter=@system-service @pkey$/m)
  t.notMatch(unit, /^MemoryDenyWriteExecute=/m)
  t.match(unit, /^RestartPreventExitStatus=64 77 78$/m)
  t.match(unit, /^StartLimitIntervalSec=0$/m)
  t.match(unit, /^Type=notify$/m)
  t.match(unit, /^WatchdogSec=/m)
})
