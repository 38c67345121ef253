/**
 * Every fault that is made under load, a few times, in each run of the tests; the
 * full tier is `npm run crash`. What it prints and writes is what is looked at.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv } from '../parts/postern.js'
import { type Books, unmet } from './rig.js'
import { judgePower } from './rows.js'

const TIMES = { kill: 5, power: 3, io: 3, term: 2, second: 1, descriptors: 1, reload: 1 }

interface Told {
  readonly row: string
  readonly unmet: readonly string[]
  readonly leftOut?: string
  readonly found: object
}

const crash = (...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const words = [join(import.meta.dirname, 'main.js'), ...args]
    execFile(process.execPath, words, { env: cleanEnv() }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })

t.setTimeout(290_000)
for (const [row, times] of Object.entries(TIMES)) {
  t.test(row, { timeout: 240_000 }, async (t) => {
    const file = join(t.testdir(), 'report.json')
    const { code, stdout, stderr } = await crash('--rows', row, '--times', String(times), '--json', file)
    t.comment(stdout.trim())
    t.equal(code, 0, stderr)
    const { seed, rows } = JSON.parse(readFileSync(file, 'utf8')) as { seed: number; rows: readonly Told[] }
    t.type(seed, 'number')
    const [told] = rows
    t.match(rows, [{ row, unmet: [] }])
    if (told?.leftOut !== undefined) return void t.pass(row, { skip: told.leftOut })
    t.match(told?.found, { cycles: Number, acknowledged: Number, lost: [], stuck: [] })
  })
}

t.test('what the books must not show', async (t) => {
  const good: Books = {
    cycles: 2,
    acknowledged: 30,
    fewest: 12,
    lost: [],
    stuck: [],
    wrong: [],
    short: [],
    duplicated: 1,
    unexplained: [],
    held: 0,
    otherEnds: [],
    slowestStartMs: 1,
  }
  t.same(unmet(good, 2), [])
  t.same(unmet(good, 3), ['2 of 3 cycles'])
  t.same(unmet({ ...good, fewest: 0 }, 2), ['a cycle with 0 acknowledged mails'])
  for (const what of ['lost', 'stuck', 'wrong', 'short', 'unexplained', 'otherEnds'])
    t.same(unmet({ ...good, [what]: ['em_1'] }, 2), [`${what}: em_1 (1)`])
  const control = { acknowledged: 5, lost: 0 }
  const power = { ...good, control }
  t.match(judgePower(power, 2), { unmet: [/the control lost nothing/] })
  t.match(judgePower({ ...power, control: { ...control, lost: 1 } }, 2), { unmet: [] })
  t.match(judgePower('no disk', 2), { leftOut: 'no disk' })
})

t.test('a row that does not exist', async (t) => {
  t.match(await crash('--rows', 'flood'), { code: 64, stderr: /^no such row: flood; there are kill,/ })
})
