/** Rows of the full tier, a few times each, as tests; what it prints and writes is what is looked at. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv } from '../parts/postern.js'

interface Told {
  readonly row: string
  readonly unmet: readonly string[]
  readonly leftOut?: string
  readonly found: object
}

export const crash = (
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const words = [join(import.meta.dirname, 'main.js'), ...args]
    execFile(process.execPath, words, { env: cleanEnv() }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })

export const tier = (all: Readonly<Record<string, number>>): void => {
  t.setTimeout(400_000)
  for (const [row, times] of Object.entries(all)) {
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
      t.match(told?.found, { cycles: Number })
    })
  }
}
