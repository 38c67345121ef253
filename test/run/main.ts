/**
 * Runs the test files: the house first, then the others, long ones before short ones.
 *   node dist/test/run/main.js [WORD…]        all files, or those with a WORD in their path
 *     --quick      those that start no other program and take few seconds
 *     --jobs N     N at once, and not more when the machine waits
 *     --tap FILE   where all that they say goes: dist/test.tap
 *     --slow       writes down which files took long (test/run/slow.txt), after a whole run on a machine that did nothing else
 * With TEST_STORE=postgres in the environment their stores are on a PostgreSQL (parts/store.ts).
 * What failed is said at once, and runs once more when the others are done, alone. What passes then is
 * told as FLAKY; it does not fail the run, since a starved machine can be the cause.
 */
import { execFileSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../parts/postern.js'
import { postgres } from '../parts/postgres.js'
import { endShared, killAll, type Outcome, runFile, runShared } from './file.js'
import {
  fileOf,
  filesIn,
  idleness,
  isQuick,
  isShareable,
  noteSlow,
  runAll,
  slowestFirst,
  startsProgram,
} from './plan.js'
import { type Kept, type Report, tapReport, terminalReport } from './report.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string' },
    folder: { type: 'string', default: join(ROOT, 'dist', 'test') },
    quick: { type: 'boolean', default: false },
    slow: { type: 'boolean', default: false },
    tap: { type: 'string' },
  },
})
const { folder } = values
const processors = Math.max(2, availableParallelism())
const jobs = values.jobs === undefined ? processors : Math.max(1, Number(values.jobs))
const most = values.jobs === undefined ? 4 * processors : jobs

const words = positionals.map((word) => word.replace(/^(dist\/)?test\//, '').replace(/\.test\.[jt]s$/, ''))
const there = filesIn(folder)
const wanted = there
  .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
  .filter((name) => !values.quick || isQuick(folder, name))
const isHouse = (name: string): boolean => name.startsWith('house/')

// one server for all files, and not one for each
if (process.env.TEST_STORE === 'postgres') {
  const server = await postgres()
  process.env.TEST_STORE = `postgres:${server.port}:${await server.template()}`
}

const isIdle = idleness()
const began = performance.now()
const done: Outcome[] = []
const failures: Outcome[] = []

const run = async (report: Report): Promise<boolean> => {
  report.begin(wanted.length)
  const work = async (name: string): Promise<void> => {
    report.started(name)
    const one = await (isShareable(folder, name) ? runShared : runFile)(name, fileOf(folder, name))
    if (one.ok) done.push(one)
    else failures.push(one)
    if (one.ok) report.ended(one)
    else report.failed(one)
  }
  await runAll(wanted.filter(isHouse), { jobs: 1, most: 1, isIdle }, work)
  await runAll(slowestFirst(wanted.filter((name) => !isHouse(name))), { jobs, most, isIdle }, work)
  endShared()
  for (const first of failures.splice(0)) {
    report.started(first.name)
    const again = await runFile(first.name, fileOf(folder, first.name), ['--enable-source-maps'])
    done.push(again)
    if (again.ok) report.flaky(first, again)
    else report.ended(again)
  }
  report.end(done, performance.now() - began)
  return done.length === wanted.length && done.every(({ ok }) => ok)
}

// a word that is misspelt would leave out what was meant, and the run would pass
const unknown = positionals.filter((_, i) => !there.some((name) => name.includes(words[i] ?? '')))
if (unknown.length > 0 || wanted.length === 0) {
  process.stderr.write(`no test file has ${unknown.join(' or ') || 'been built'} in its path\n`)
  process.exit(64)
}
// what bin/postern runs is made of src/, and after a bare tsc it is older than that
if (wanted.some((name) => startsProgram(folder, name))) {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  execFileSync('sh', ['-c', scripts.prestart], { cwd: ROOT, stdio: 'inherit' })
}

/** A run within a test says all that matters to that test. */
const keptIn = (file: string | null): Kept => {
  if (file !== null) writeFileSync(file, '')
  return {
    name: file === null ? null : relative(process.cwd(), file),
    write: (text) => file !== null && appendFileSync(file, text),
  }
}
const kept = keptIn(values.tap ?? (process.env.TAP === undefined ? join(ROOT, 'dist', 'test.tap') : null))
const say = (text: string): void => void process.stdout.write(text)
const { isTTY, columns } = process.stdout
const report = isTTY ? terminalReport(say, kept, columns) : tapReport(say, kept)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    killAll()
    say(`\n# interrupted: ${done.length} of ${wanted.length} files had passed\n`)
    for (const { name } of failures) say(`# had failed: ${name}\n`)
    process.exit(130)
  })
const isWell = await run(report)
if (values.slow) noteSlow(done)
process.exitCode = isWell ? 0 : 1
