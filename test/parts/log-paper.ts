/** The rows of src/LOG.md: what each line of the log has to say. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './postern.js'

export interface LogRow {
  readonly level: string
  /** Always there. */
  readonly fields: readonly string[]
  /** In brackets: there when they apply. */
  readonly optional: readonly string[]
}

const names = (cell: string): string[] => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name)

export const logPaper = (): ReadonlyMap<string, LogRow> => {
  const rows = new Map<string, LogRow>()
  for (const line of readFileSync(join(ROOT, 'src', 'LOG.md'), 'utf8').split('\n')) {
    const [, name, level = '', fields = ''] = /^\| `([^`]+)` \| (\w+) \|([^|]*)\|/.exec(line) ?? []
    if (name === undefined) continue
    if (rows.has(name)) throw new Error(`src/LOG.md has two rows of ${name}`)
    const optional = names(fields.replace(/(^|\])[^[]*/g, '$1'))
    rows.set(name, { level, fields: names(fields).filter((one) => !optional.includes(one)), optional })
  }
  return rows
}
