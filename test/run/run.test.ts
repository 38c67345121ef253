/** The runner of these tests: what it says of a file that passes, fails, fails once, says nothing, or hangs on. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { cleanEnv, ROOT } from '../parts/postern.js'
import { filesIn, runAll, slowestFirst } from './plan.js'

const TAP = pathToFileURL(join(ROOT, 'node_modules', 'tap', 'dist', 'esm', 'index.js')).href
const file = (text: string): string => `import t from ${JSON.stringify(TAP)}\n${text}\n`

const run = (folder: string, ...words: readonly string[]) => {
  const main = join(import.meta.dirname, 'main.js')
  const tap = join(folder, 'all.tap')
  const args = [main, '--folder', folder, '--jobs', '2', '--tap', tap, ...words]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env: cleanEnv() })
  return { status, stdout, stderr, kept: existsSync(tap) ? readFileSync(tap, 'utf8') : '' }
}

t.setTimeout(120_000)
t.test('all is well', async (t) => {
  const folder = t.testdir({
    house: { 'walls.test.js': file("t.pass('stands')") },
    http: { 'one.test.js': file("t.pass('a'); t.pass('b')"), 'part.js': 'throw new Error()' },
    'left.test.js': file("t.plan(0, 'skipped: no such program here')"),
    'parts.test.js': file(
      "for (const part of ['a', 'b', 'c']) t.test(part, { skip: 'not asked here' }, () => {})",
    ),
    'leaves.test.js': file(
      "import { spawn } from 'node:child_process'\nt.pass('c')\nspawn('sleep', ['9'], { stdio: 'inherit' }).unref()",
    ),
  })
  const { status, stdout, kept } = run(folder)
  t.equal(status, 0)
  t.match(kept, /^TAP version 14\n1\.\.5\n# Subtest: house\/walls\n {4}TAP version 14\n {4}ok 1 - stands\n/)
  t.match(
    stdout,
    /^TAP version 14\n1\.\.5\nok 1 - house\/walls # time=\d+ms(?: cpu=\d+ms)?\nok 2 /,
    'a line for each file',
  )
  t.equal(kept.split('\n').at(-2), stdout.split('\n').at(-2), 'all of it is in the file, the counts too')
  t.match(stdout, /^# {3}.*\bhttp 1 \(/m, 'how much ran in each room')
  t.match(stdout, /^# left out in parts: 3 parts: not asked here$/m)
  t.match(stdout, /^# left out in left: no such program here$/m)
  t.match(
    stdout,
    /^# the slowest:\n(# +\d+\.\d s(, [\d.]+ s of a processor)? {2}\S+\n){5}# all that was said: \S+\n# 5 files in [\d.]+ s, 0 failed\n/m,
  )
  t.match(stdout, /\n# \{ total: 4, pass: 4, fail: 0 \}\n$/)
  const one = run(folder, 'test/http/one.test.ts')
  t.match(one, { status: 0, stdout: /^TAP version 14\n1\.\.1\nok 1 - http\/one / })
  t.match(run(folder, 'nowhere'), { status: 64, stderr: /no test file has nowhere in its path/ })
  t.match(run(folder, 'http/one', 'nowhere'), { status: 64, stderr: /has nowhere in its path/ })
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
  t.match(stdout.slice(at), /^#.*\n# {3}not ok 1 - only the second time$/m, 'and why')
  t.match(stdout, /^# FLAKY once after [\d.]+ s: only the second time$/m, 'and at the end once more')
  t.match(stdout, /^# 1 files in [\d.]+ s, 0 failed, 1 failed once and passed alone$/m)
  t.match(stdout, /^ok 1 - once /m)
})

t.test('what fails twice, says nothing or throws has failed', async (t) => {
  for (const [text, told] of [
    [file("t.equal(1, 2, 'one is two')"), /^ {4}not ok 1 - one is two$/m],
    ['process.exit(0)', /^ {4}# ended with 0, without a plan$/m],
    [file("t.pass(); throw new Error('thrown')"), /thrown/],
    ["process.kill(process.pid, 'SIGKILL')", /^ {4}# ended with SIGKILL, without a plan$/m],
  ] as const) {
    const { status, stdout, kept } = run(t.testdir({ 'bad.test.js': text }))
    t.equal(status, 1)
    t.match(kept, told)
    t.match(stdout, /^# FAILED bad after [\d.]+ s: ./m)
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

t.test('files that change nothing of a process run in one, and each is told alone', async (t) => {
  const seen = "import { appendFileSync } from 'node:fs'\nimport { pid } from 'node:process'\n"
  const here = (text: string): string =>
    file(`${seen}appendFileSync(new URL('pids', import.meta.url), pid + '\\n')\n${text}`)
  const folder = t.testdir({
    'a.test.js': here("t.test('later', async (t) => t.pass('a'))\nt.teardown(() => {})"),
    'b.test.js': here("t.equal(1, 2, 'one is two')\nt.pass('b')"),
    'c.test.js': here(
      "import { spawn } from 'node:child_process'\nspawn('true')\nt.test('throws', async () => { throw new Error('thrown') })",
    ),
    'd.test.js': here("t.plan(0, 'skipped: no such program here')"),
    'e.test.js': here("process['exit'](3)"),
    'f.test.js': here("setTimeout(() => process['kill'](pid, 'SIGKILL'))\nawait new Promise(() => {})"),
    'g.test.js': here('process.env.SET = 1\nt.pass()'),
    'h.test.js': here("t.pass('h')\nt.equal(process['env'].SET, undefined)"),
  })
  const { status, stdout, kept } = run(folder, '--jobs', '1')
  t.equal(status, 1)
  t.match(stdout, /^# \{ total: 9, pass: 5, fail: 4 \}$/m)
  t.match(kept, /^# Subtest: a\n {4}TAP version 14\n {4}# Subtest: later\n {8}ok 1 - a\n/m)
  t.match(stdout, /^# FAILED b after [\d.]+ s: one is two$/m)
  t.match(stdout, /^# FAILED c after [\d.]+ s: thrown$/m)
  t.match(stdout, /^# left out in d: no such program here$/m)
  t.match(stdout, /^# FAILED e after [\d.]+ s: ended with 3, without a plan$/m)
  t.match(stdout, /^# FAILED f after [\d.]+ s: ended with SIGKILL, without a plan$/m)
  const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n')
  const [a, b, c, d, e, f, g, h, ...again] = pids
  t.strictSame([b, c, d, e], [a, a, a, a], 'one after the other')
  t.equal(new Set([e, f, g, h]).size, 4, 'what was ended is not asked again, and g has its own')
  t.equal(new Set([...again, e, f, g, h]).size, 8, 'the four that failed ran once more, alone')
})

t.test('files that run beside each other have folders of their own', async (t) => {
  const waits = pathToFileURL(join(import.meta.dirname, '..', 'parts', 'eventually.js')).href
  const same = file(
    `import { appendFileSync, readFileSync } from 'node:fs'
import { eventually } from ${JSON.stringify(waits)}
t.test('of one name', async (t) => {
  const mine = t.testdir({ file: import.meta.url }) + '/file'
  const both = new URL('both', import.meta.url)
  appendFileSync(both, 'x')
  await eventually('both have begun', async () => readFileSync(both, 'utf8').length > 1)
  t.equal(readFileSync(mine, 'utf8'), import.meta.url)
})`,
  )
  const { status, stdout } = run(t.testdir({ 'a.test.js': same, 'b.test.js': same }))
  t.equal(status, 0, stdout)
  t.notMatch(stdout, /FLAKY/)
})

t.test('the quick ones start no other program', async (t) => {
  const folder = t.testdir({
    house: { 'walls.test.js': file('t.pass()') },
    e2e: { 'all.test.js': file('t.pass()') },
    http: {
      'one.test.js': file('t.pass()'),
      'two.test.js': "import './with-server.js'\n",
      'with-server.js': 'export const start = () => new Postern()',
    },
  })
  const { status, stdout } = run(folder, '--quick')
  t.equal(status, 0)
  t.match(stdout, /^1\.\.2$/m)
  t.match(stdout, /^ok 1 - house\/walls .*\nok 2 - http\/one /m)
})

/** Files that end when they are let go. */
const heldFiles = (isIdle: boolean) => {
  const ends: (() => void)[] = []
  const seen = { looks: 0, most: 0 }
  let now = 0
  const all = runAll(
    Array.from({ length: 9 }, (_, i) => `${i}`),
    { jobs: 2, most: 3, isIdle: () => seen.looks++ >= 0 && isIdle },
    async () => {
      seen.most = Math.max(seen.most, ++now)
      await new Promise<void>((resolve) => ends.push(resolve))
      now--
    },
  )
  const letGo = async (): Promise<void> => {
    const timer = setInterval(() => ends.shift()?.(), 10)
    await all.finally(() => clearInterval(timer))
  }
  return { seen, letGo }
}

t.test('while the machine waits more files run at once, and not more than that', async (t) => {
  const waiting = heldFiles(true)
  await eventually('a third has begun', () => waiting.seen.most === 3)
  await waiting.letGo()
  t.equal(waiting.seen.most, 3)
  const busy = heldFiles(false)
  await eventually('somebody looked twice', () => busy.seen.looks >= 2)
  await busy.letGo()
  t.equal(busy.seen.most, 2)
})

t.test('the long ones begin first', async (t) => {
  t.strictSame(slowestFirst(['mail/address', 'e2e/61-pages', 'store/sqlite', 'base/id']), [
    'e2e/61-pages',
    'store/sqlite',
    'mail/address',
    'base/id',
  ])
})

t.test('each word by which CI chooses files fits one', async (t) => {
  const ci = readFileSync(join(ROOT, '.ci', 'run'), 'utf8').replaceAll('\\\n', ' ')
  const lists = [...ci.matchAll(/\bstores=\(([^)]*)\)|test\/run\/main\.js ([^\n]*)/g)]
  const braced = lists.map(([, stores, words]) => stores ?? words).join(' ')
  const { stdout } = spawnSync('bash', ['-c', `stores=(); echo ${braced}`], { encoding: 'utf8' })
  const words = stdout.trim().split(/\s+/)
  t.ok(words.length > 20, stdout)
  const files = filesIn(join(ROOT, 'dist', 'test'))
  for (const word of words)
    t.ok(
      files.some((file) => file.includes(word)),
      word,
    )
})
