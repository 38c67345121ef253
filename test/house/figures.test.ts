/** What the README says of speed is what `npm run bench` has printed: its tables are those of test/bench/FIGURES.md. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const linesOf = (...path: readonly string[]): readonly string[] =>
  readFileSync(join(ROOT, ...path), 'utf8').split('\n')

const section = (lines: readonly string[], title: string): readonly string[] => {
  const from = lines.indexOf(title)
  const length = lines.slice(from + 1).findIndex((line) => line.startsWith('## '))
  return from === -1 ? [] : lines.slice(from, from + 1 + length)
}

t.test('each row of its comparison is a row of the figures', async (t) => {
  const figures = new Set(linesOf('test', 'bench', 'FIGURES.md'))
  const rows = section(linesOf('README.md'), '## How it compares').filter((line) => line.startsWith('|'))
  t.ok(rows.length >= 4, `${rows.length} rows`)
  for (const row of rows) t.ok(figures.has(row), row)
})
