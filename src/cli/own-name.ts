/**
 * NAME      own-name - how this very program is called, ready to be pasted
 * DESCRIPTION
 *   `postern` where that word finds it, else the path from here. What npm and npx
 *   put on the path for their own child is not on the path of the next terminal.
 */
import { realpathSync } from 'node:fs'
import { delimiter, join, relative, resolve } from 'node:path'
import { isSea } from 'node:sea'

const real = (path: string): string | null => {
  try {
    return realpathSync(path)
  } catch {
    return null
  }
}

const quoted = (word: string): string =>
  /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/** A path as it is written from the current folder. */
export const near = (path: string): string => {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : `./${short}`
}

const ownName = (): string => {
  const self = resolve(isSea() ? process.execPath : (process.argv[1] ?? ''))
  const places = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => !/\/node_modules\/\.bin$/.test(dir))
  return places.some((dir) => real(join(dir, 'postern')) === real(self)) ? 'postern' : quoted(near(self))
}

/** The same with what it takes to find the same data folder in another terminal. */
export const ownCommand = (configFile: string | undefined, ...words: readonly string[]): string => {
  const folder = process.env.POSTERN_DATA_DIR
  const before = folder ? [`POSTERN_DATA_DIR=${quoted(folder)}`] : []
  const after = configFile === undefined ? [] : ['--config', quoted(configFile)]
  return [...before, ownName(), ...words, ...after].join(' ')
}
