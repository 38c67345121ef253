/**
 * Runs the test files: the house first, then the others, as many at once as there
 * are processors, those that wait most before the rest.
 *   node dist/test/run/main.js [--jobs N] [WORD…]     all files, or those with a WORD in their path
 * With TEST_STORE=postgres in the environment their stores are on a PostgreSQL (parts/store.ts).
 * What failed is named at once, and runs once more when the others are done, alone. What passes then is
 * told as FLAKY; it does not fail the run, since a starved machine can be the cause.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../parts/postern.js'
import { postgres } from '../parts/postgres.js'
import { killAll, type Outcome, runFile } from './file.js'
import { type Report, tapReport, terminalReport } from './report.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: String(Math.max(2, availableParallelism())) },
    folder: { type: 'string', default: join(ROOT, 'dist', 'test') },
  },
})

/** Processes that start, die and wait: they leave time for the others. */
const WAIT_MOST = /^(crash|e2e)\//

const END = '.test.js'
const found = readdirSync(values.folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith(END))
  .map((file) => file.slice(0, -END.length))
  .sort()
const fileOf = (name: string): string => join(values.folder, `${name}${END}`)
const words = positionals.map((word) => word.replace(/^(dist\/)?test\//, '').replace(/\.test\.[jt]s$/, ''))
const wanted = found.filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
const isHouse = (name: string): boolean => name.startsWith('house/')
const waits = (name: string): boolean => WAIT_MOST.test(name)
const rest = wanted.filter((name) => !isHouse(name))

// one server for all files, and not one for each
if (process.env.TEST_STORE === 'postgres') process.env.TEST_STORE = `postgres:${(await postgres()).port}`

const runAll = async (names: readonly string[], jobs: number, ended: (one: Outcome) => void) => {
  const queue = [...names]
  const next = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift())
      ended(await runFile(name, fileOf(name)))
  }
  await Promise.all(Array.from({ length: jobs }, next))
}

const run = async (report: Report): Promise<boolean> => {
  const began = performance.now()
  const done: Outcome[] = []
  const failures: Outcome[] = []
  report.begin(wanted.length)
  const ended = (one: Outcome): void => {
    const all = one.ok ? done : failures
    all.push(one)
    if (one.ok) report.ended(one)
    else report.failed(one)
  }
  const jobs = Math.max(1, Number(values.jobs))
  await runAll(wanted.filter(isHouse), 1, ended)
  await runAll([...rest.filter(waits), ...rest.filter((name) => !waits(name))], jobs, ended)
  for (const first of failures) {
    const again = await runFile(first.name, fileOf(first.name), ['--enable-source-maps'])
    done.push(again)
    if (again.ok) report.flaky(first, again)
    else report.ended(again)
  }
  report.end(done, performance.now() - began)
  return done.length === wanted.length && done.every(({ ok }) => ok)
}

if (wanted.length === 0) {
  process.stderr.write(`no test file has ${positionals.join(' or ') || 'been built'} in its path\n`)
  process.exit(64)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    killAll()
    process.exit(130)
  })
// what bin/postern runs is made of src/, and after a bare tsc it is older than that
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
execFileSync('sh', ['-c', scripts.prestart], { cwd: ROOT, stdio: 'inherit' })
const say = (text: string): void => void process.stdout.write(text)
process.exitCode = (await run(process.stdout.isTTY ? terminalReport(say) : tapReport(say))) ? 0 : 1
