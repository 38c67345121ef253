/** A second Postern beside this one: the same code, which knows more steps of the schema and calls itself newer. */
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Step } from '../../src/store/postgres/schema/steps.js'
import { ROOT } from './postern.js'

/** Its `bin/postern`. */
export const buildWith = (t: Test, version: string, more: readonly Step[]): string => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-build-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const filter = (from: string): boolean => !from.endsWith('.map')
  cpSync(join(ROOT, 'dist', 'src'), join(dir, 'dist', 'src'), { recursive: true, filter })
  cpSync(join(ROOT, 'bin'), join(dir, 'bin'), {
    recursive: true,
    filter: (from) => from !== join(ROOT, 'bin', 'native'),
  })
  for (const name of ['node_modules', 'bin/native', 'config', 'data'])
    symlinkSync(join(ROOT, name), join(dir, name))
  const about = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ ...about, version }))
  const steps = join(dir, 'dist', 'src', 'store', 'postgres', 'schema', 'steps.js')
  renameSync(steps, steps.replace('steps.js', 'steps-before.js'))
  writeFileSync(
    steps,
    `import { STEPS as BEFORE } from './steps-before.js'
export const STEPS = [...BEFORE, ...${JSON.stringify(more)}]
export const SCHEMA = STEPS.length
`,
  )
  return join(dir, 'bin', 'postern')
}
