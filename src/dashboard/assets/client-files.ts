/**
 * NAME      client-files - the scripts of the browser, as texts
 *   In a checkout and in the npm package they are files: the compiled ones of client/, and uPlot of its package. Where
 *   the program is put together into a few files, this module is made anew with all of them inside.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** uPlot as it is published makes a variable; browsers import ours by name. */
const uplot = (): string => {
  const file = createRequire(import.meta.url).resolve('uplot/dist/uPlot.iife.min.js')
  return `${readFileSync(file, 'utf8')}\nexport { uPlot }\n`
}

const plain = (script: string): string => script.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')

export const clientFiles = (): ReadonlyMap<string, string> => {
  const folder = join(import.meta.dirname, '..', 'client')
  const names = readdirSync(folder).filter((name) => name.endsWith('.js'))
  return new Map([
    ...names.map((name) => [name, plain(readFileSync(join(folder, name), 'utf8'))] as const),
    ['uplot.js', uplot()],
  ])
}
