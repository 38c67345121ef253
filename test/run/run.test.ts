/** The runner of these tests: what it tells of a file that passes, fails, fails once, says nothing, or hangs on. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { cleanEnv, ROOT } from '../parts/postern.js'

const TAP = pathToFileURL(join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'index.js')).href
const file = (text: string): string => `import t from ${JSON.stringify(TAP)}\n${text}\n`

const run = (folder: string, ...words: readonly string[]) => {
  const main = join(import.meta.dirname, 'main.js')
  const args = [main, '--folder', folder, '--jobs', '2', ...words]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: cleanEnv() })
  return { status, stdout, stderr }
}

t.setTimeout(120_000)
t.test('all is well', async (t) => {
  const folder = t.testdir({
    house: { 'walls.test.js': file("t.pass('stands')") },
    http: { 'one.test.js': file("t.pass('a'); t.pass('b')"), 'part.js': 'throw new Error()' },
    'left.test.js': file("t.plan(0, 'skipped: no such program here')"),
    'leaves.test.js': file(
      "import { spawn } from 'node:child_process'\nt.pass('c')\nspawn('sleep', ['9'], { stdio: 'inherit' }).unref()",
    ),
  })
  const { status, stdout } = run(folder)
  t.equal(status, 0)
  t.match(stdout, /^TAP version 14\n1\.\.4\n# Subtest: house\/walls\n {4}TAP version 14\n {4}ok 1 - stands\n/)
  t.match(stdout, /^ok 1 - house\/walls # time=\d+ms$/m)
  t.match(stdout, /^# left out in left: no such program here$/m)
  t.match(stdout, /^# the slowest:\n(# +\d+\.\d s {2}\S+\n){4}# 4 files in [\d.]+ s, 0 failed\n/m)
  t.match(stdout, /\n# \{ total: 4, pass: 4, fail: 0 \}\n$/)
  const one = run(folder, 'test/http/one.test.ts')
  t.match(one, { status: 0, stdout: /^TAP version 14\n1\.\.1\n# Subtest: http\/one\n/ })
  t.match(run(folder, 'nowhere'), { status: 64, stderr: /no test file has nowhere in its path/ })
})

t.test('one that fails at first is told with its failure, and passes', async (t) => {
  const folder = t.testdir({
    'once.test.js': file(
      "import { existsSync, writeFileSync } from 'node:fs'\nconst mark = new URL('mark', import.meta.url)\nconst again = existsSync(mark)\nwriteFileSync(mark, '')\nt.ok(again, 'only the second time')",
    ),
  })
  const { status, stdout } = run(folder)
  t.equal(status, 0)
  const at = stdout.search(/^# failed at first: once after [\d.]+ s; it runs once more, alone/m)
  t.ok(at > 0 && at < stdout.indexOf('FLAKY'), 'it is named at once')
  t.match(stdout, /^# FLAKY once: .*\n# not ok 1 - only the second time$/m)
  t.match(stdout, /^ok 1 - once /m)
})

t.test('what fails twice, says nothing or throws has failed', async (t) => {
  for (const [text, told] of [
    [file("t.equal(1, 2, 'one is two')"), /^ {4}not ok 1 - one is two$/m],
    ['process.exit(0)', /^ {4}# ended with 0, without a plan$/m],
    [file("t.pass(); throw new Error('thrown')"), /thrown/],
    ["process.kill(process.pid, 'SIGKILL')", /^ {4}# ended with SIGKILL, without a plan$/m],
  ] as const) {
    const { status, stdout } = run(t.testdir({ 'bad.test.js': text }))
    t.equal(status, 1)
    t.match(stdout, told)
    t.match(stdout, /^not ok 1 - bad /m)
    t.match(stdout, /fail: [1-9]\d* \}\n$/)
  }
})

t.test('a house test that fails does not hide the others', async (t) => {
  const folder = t.testdir({
    house: { 'walls.test.js': file("t.fail('fell')") },
    'other.test.js': file('t.pass()'),
  })
  const { status, stdout } = run(folder)
  t.equal(status, 1)
  t.match(stdout, /^ok \d - other /m)
  t.match(stdout, /^not ok \d - house\/walls /m)
})
