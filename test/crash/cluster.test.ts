/** A few rounds of `npm run crash -- --cluster`, one of each kind that is done in seconds. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv } from '../parts/postern.js'
import { noPostgres } from '../parts/postgres.js'
import type { ClusterReport } from './cluster/rounds.js'

const crash = (...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const words = [join(import.meta.dirname, 'main.js'), '--cluster', ...args]
    execFile(process.execPath, words, { env: cleanEnv() }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })

t.setTimeout(290_000)
t.test('three daemons on one PostgreSQL', { timeout: 280_000, skip: noPostgres() }, async (t) => {
  const file = join(t.testdir(), 'report.json')
  const few = ['--rounds', '3', '--rows', 'keyed,cut,immediate', '--revocations', '3']
  const { code, stdout, stderr } = await crash(...few, '--json', file)
  t.comment(stdout.trim())
  t.equal(code, 0, stderr)
  const { unmet, found } = JSON.parse(readFileSync(file, 'utf8')) as ClusterReport
  t.same(unmet, [])
  t.match(found, { default: { lost: [], stuck: [] }, careful: { lost: [], duplicated: 0 } })
  t.match(stdout, /^three daemons on one PostgreSQL, 3 rounds, seed \d+$/m)
})

t.test('a fault that does not exist', async (t) => {
  t.match(await crash('--rows', 'flood'), { code: 64, stderr: /^no such row: flood; there are kill,/ })
})
