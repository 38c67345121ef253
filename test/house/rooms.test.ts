/**
 * Inside a room the arrows go one way, too: the folders of a folder import each other without a circle.
 * Files beside the folders are the floor or the roof of the room and are not counted. And a function is
 * something that one can see at once. What does not keep to it yet is listed; the lists may only shrink.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative, sep } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { LONG_FUNCTIONS } from './long-functions.js'

const SRC = join(import.meta.dirname, '..', '..', '..', 'src')
const MOST_LINES = 50

/** Imports that go back up, from and to; `*` is any file. */
type Row = readonly [from: string, to: string]
const BACK: readonly Row[] = [['*', 'store/sqlite/thread/wire.ts']]

const files = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? files(join(dir, entry.name))
      : /\.tsx?$/.test(entry.name)
        ? [join(dir, entry.name)]
        : [],
  )
const all = files(SRC).map((file) => relative(SRC, file))

const importsOf = (file: string): string[] =>
  [...readFileSync(join(SRC, file), 'utf8').matchAll(/(?:\bfrom|\bimport\()\s*'(\.[^']+)\.js'/g)]
    .map(([, name = '']) => normalize(join(dirname(file), `${name}.ts`)))
    .map((name) => (existsSync(join(SRC, name)) ? name : `${name}x`))

/** The folder that two files share, and the folders in it that hold one each; null when one lies in it itself. */
const apart = (from: string, to: string): readonly [within: string, a: string, b: string] | null => {
  const [a, b] = [from.split(sep), to.split(sep)]
  let depth = 0
  while (depth < a.length - 1 && depth < b.length - 1 && a[depth] === b[depth]) depth++
  if (depth === 0 || depth >= a.length - 1 || depth >= b.length - 1) return null
  return [a.slice(0, depth).join('/'), a[depth] ?? '', b[depth] ?? '']
}

const crossing = all.flatMap((from) =>
  importsOf(from).flatMap((to) => {
    const parts = apart(from, to)
    return parts === null ? [] : [{ from, to, parts }]
  }),
)

/** The imports that make a circle of folders when those of these rows are left out; null when there is none. */
const circleWithout = (rows: readonly Row[]): string | null => {
  const arrows = new Map<string, Map<string, string>>()
  for (const { from, to, parts } of crossing) {
    const isBack = rows.some(([a, b]) => (a === '*' || a === from) && (b === '*' || b === to))
    if (isBack) continue
    const [within, a, b] = parts
    const of = arrows.get(`${within}/${a}`) ?? new Map<string, string>()
    arrows.set(`${within}/${a}`, of.set(`${within}/${b}`, `${from} imports ${to}`))
  }
  const done = new Set<string>()
  const visit = (folder: string, path: readonly string[], whys: readonly string[]): string | null => {
    if (path.includes(folder)) return whys.slice(path.indexOf(folder)).join('; ')
    if (done.has(folder)) return null
    for (const [next, why] of arrows.get(folder) ?? []) {
      const circle = visit(next, [...path, folder], [...whys, why])
      if (circle !== null) return circle
    }
    done.add(folder)
    return null
  }
  for (const folder of arrows.keys()) {
    const circle = visit(folder, [], [])
    if (circle !== null) return circle
  }
  return null
}

t.test('the folders of a room import each other one way', async (t) => {
  t.ok(crossing.length > 0)
  t.equal(circleWithout(BACK), null, 'no circle of folders')
  for (const row of BACK)
    t.ok(circleWithout(BACK.filter((one) => one !== row)), `${row.join(' to ')} is still needed in BACK`)
})

t.test('an exported type has a name of its own', async (t) => {
  const declared = new Map<string, string[]>()
  for (const file of all)
    for (const [, name = ''] of readFileSync(join(SRC, file), 'utf8').matchAll(
      /^export (?:interface|type) (\w+)/gm,
    ))
      declared.set(name, [...(declared.get(name) ?? []), file])
  t.ok(declared.size > 0)
  for (const [name, files] of declared)
    if (files.length > 1) t.fail(`${name} is declared in ${files.join(' and ')}`)
})

/** Functions of more than MOST_LINES, by file and name. */
const longFunctionsOf = (file: string): (readonly [where: string, lines: number])[] => {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const text = readFileSync(join(SRC, file), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kind)
  const found: (readonly [string, number])[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const lineAt = (place: number): number => source.getLineAndCharacterOfPosition(place).line
      const lines = lineAt(node.end) - lineAt(node.getStart()) + 1
      const named = node.name ?? (node.parent as { readonly name?: ts.Node }).name
      if (lines > MOST_LINES)
        found.push([`${file.split(sep).join('/')} ${named?.getText() ?? ''}`.trim(), lines])
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

t.test('a function has at most 50 lines', async (t) => {
  const found = all.flatMap(longFunctionsOf)
  for (const [where, lines] of found)
    t.ok(LONG_FUNCTIONS.has(where), `${where} has ${lines} lines, at most ${MOST_LINES}`)
  const left = new Set(found.map(([where]) => where))
  for (const where of LONG_FUNCTIONS)
    t.ok(left.has(where), `${where} is short now: take it out of long-functions.ts`)
})
