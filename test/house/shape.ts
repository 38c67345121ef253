/**
 * How large each room is: files, lines and how many of them are code, here and at an earlier commit.
 *   node dist/test/house/shape.js [COMMIT]
 * Code is what is neither blank nor comment nor import. It only counts; what must hold is in the tests beside it.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')

type Sources = readonly (readonly [path: string, text: string])[]

const here = (): Sources =>
  readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => [path, readFileSync(join(ROOT, 'src', path), 'utf8')])

const at = (commit: string): Sources => {
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })
  return git('ls-tree', '-r', '--name-only', commit, 'src/')
    .split('\n')
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => [path.slice('src/'.length), git('show', `${commit}:${path}`)])
}

interface Size {
  readonly files: number
  readonly lines: number
  readonly code: number
}

const sizeOf = (sources: Sources): Size => ({
  files: sources.length,
  lines: sources.reduce((sum, [, text]) => sum + text.split('\n').length - 1, 0),
  code: sources.reduce((sum, [, text]) => sum + codeLines(text), 0),
})

const codeLines = (text: string): number =>
  text
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
    .replace(/^import\b[^'"]*['"][^'"]+['"].*$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*\/\//.test(line)).length

const roomsOf = (sources: Sources): ReadonlyMap<string, Size> => {
  const rooms = new Map<string, [string, string][]>()
  for (const [path, text] of sources) {
    const room = path.split('/')[0] ?? ''
    rooms.set(room, [...(rooms.get(room) ?? []), [path, text]])
  }
  return new Map([...rooms].map(([room, own]) => [room, sizeOf(own)]))
}

const COLUMNS = ['files', 'lines', 'code'] as const
const cells = (size: Size | undefined): string =>
  COLUMNS.map((name) => String(size?.[name] ?? '-').padStart(8)).join('')

const [commit] = process.argv.slice(2)
const tables = [...(commit === undefined ? [] : [at(commit)]), here()]
const rooms = tables.map(roomsOf)
const names = [...new Set(rooms.flatMap((one) => [...one.keys()]))].sort()
const heads = [...(commit === undefined ? [] : [commit]), 'here']
const line = (name: string, sizes: readonly (Size | undefined)[]): string =>
  `${name.padEnd(12)}${sizes.map(cells).join('  |')}\n`
process.stdout.write(`${' '.repeat(12)}${heads.map((head) => head.padStart(24)).join('  |')}\n`)
process.stdout.write(
  `${' '.repeat(12)}${tables.map(() => COLUMNS.map((name) => name.padStart(8)).join('')).join('  |')}\n`,
)
for (const name of names)
  process.stdout.write(
    line(
      name,
      rooms.map((one) => one.get(name)),
    ),
  )
process.stdout.write(line('all', tables.map(sizeOf)))
