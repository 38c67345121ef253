/** A second Postern beside this one: the same code, which knows more steps of the schema and extras, and calls itself newer. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { SchemaStep } from '../../src/store/postgres/schema/steps.js'
import { ROOT } from './postern.js'

interface More {
  readonly postgres?: readonly SchemaStep[]
  readonly sqlite?: readonly string[]
  /** Rows of EXTRAS, as JSON. */
  readonly extras?: Readonly<Record<string, object>>
}

/** The folder that it is in. */
export const buildWith = (
  t: Test,
  version: string,
  { postgres = [], sqlite = [], extras = {} }: More,
): string => {
  const dir = mkdtempSync(join(tmpdir(), 'postern-build-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  cpSync(join(ROOT, 'src'), join(dir, 'src'), { recursive: true })
  cpSync(join(ROOT, 'bin'), join(dir, 'bin'), {
    recursive: true,
    filter: (from) => from !== join(ROOT, 'bin', 'native'),
  })
  for (const name of [
    'node_modules',
    'bin/native',
    'config',
    'data',
    'systemd',
    'tsconfig.json',
    'README.md',
    'LICENSE',
  ])
    symlinkSync(join(ROOT, name), join(dir, name))
  const about = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ ...about, version }))
  const addTo = (engine: string, newest: string, steps: readonly unknown[]): void => {
    const file = join(dir, 'src', 'store', engine, 'steps.ts')
    renameSync(file, file.replace('steps.ts', 'steps-before.ts'))
    writeFileSync(
      file,
      `import { OLDEST, STEPS as BEFORE } from './steps-before.js'
export * from './steps-before.js'
export const STEPS = [...BEFORE, ...${JSON.stringify(steps)}]
export const ${newest} = OLDEST + STEPS.length
`,
    )
  }
  addTo('postgres/schema', 'SCHEMA', postgres)
  addTo('sqlite/migrate', 'NEWEST', sqlite)
  const table = join(dir, 'src', 'lifecycle', 'extras.ts')
  const begins = 'export const EXTRAS = {'
  const rows = JSON.stringify(extras).slice(1, -1)
  const text = readFileSync(table, 'utf8')
  writeFileSync(table, text.replace(begins, `${begins}${rows === '' ? '' : `${rows},`}`))
  execFileSync(process.execPath, ['systemd/bundle/bundle.mjs'], { cwd: dir })
  return dir
}
